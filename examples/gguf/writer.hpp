#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reader.hpp"
#include "types.hpp"

namespace gguf {

/// Builds the image of a GGUF file of version 3 in memory, for synthetic models and tests.
class writer {
public:
    /// Adds a metadata entry that holds a string.
    void add_string(std::string_view key, std::string_view value) {
        std::vector<std::byte> stored;
        put(stored, std::uint32_t{8}); // the type: a string
        put(stored, value);
        metadata_.emplace_back(key, std::move(stored));
    }

    /// Adds a metadata entry that holds a u32.
    void add_u32(std::string_view key, std::uint32_t value) {
        std::vector<std::byte> stored;
        put(stored, std::uint32_t{4}); // the type: a u32
        put(stored, value);
        metadata_.emplace_back(key, std::move(stored));
    }

    /// Adds a tensor; dimensions[0] is the row length and bytes are its blocks, which are copied.
    void add_tensor(std::string_view name, std::vector<std::uint64_t> dimensions,
                    std::uint32_t type, std::span<const std::byte> bytes) {
        tensors_.push_back(
            {std::string(name), std::move(dimensions), type, data_.size(), bytes.size()});
        data_.insert(data_.end(), bytes.begin(), bytes.end());
        pad(data_);
    }

    /// The file's bytes, every tensor padded to the default alignment.
    /// Throws gguf::error if what was added breaks a rule of the format, or if the bytes of a
    /// tensor of a known type are not as many as its dimensions ask for.
    std::vector<std::byte> finish() const {
        std::vector<std::byte> image;
        for (const char c : std::string_view("GGUF")) {
            image.push_back(static_cast<std::byte>(c));
        }
        put(image, std::uint32_t{3});
        put(image, std::uint64_t{tensors_.size()});
        put(image, std::uint64_t{metadata_.size()});
        for (const auto& [key, value] : metadata_) {
            put(image, key);
            image.insert(image.end(), value.begin(), value.end());
        }
        for (const auto& added : tensors_) {
            put(image, added.name);
            put(image, static_cast<std::uint32_t>(added.dimensions.size()));
            for (const auto dimension : added.dimensions) {
                put(image, dimension);
            }
            put(image, added.type);
            put(image, added.offset);
        }
        pad(image);
        image.insert(image.end(), data_.begin(), data_.end());
        check(image);
        return image;
    }

private:
    struct added_tensor {
        std::string name;
        std::vector<std::uint64_t> dimensions;
        std::uint32_t type;
        std::uint64_t offset;
        std::uint64_t size;
    };

    template <std::unsigned_integral Value>
    static void put(std::vector<std::byte>& image, Value value) {
        for (std::size_t i = 0; i < sizeof(Value); ++i) {
            image.push_back(static_cast<std::byte>(value >> 8 * i & 0xff));
        }
    }

    static void put(std::vector<std::byte>& image, std::string_view text) {
        put(image, std::uint64_t{text.size()});
        for (const char c : text) {
            image.push_back(static_cast<std::byte>(c));
        }
    }

    static void pad(std::vector<std::byte>& image) {
        const std::size_t over = image.size() % default_alignment;
        image.resize(over == 0 ? image.size() : image.size() + default_alignment - over);
    }

    // Reading the image back holds the writer to the reader's rules without stating them twice.
    void check(std::span<const std::byte> image) const {
        const file read = file::parse(image);
        for (std::size_t i = 0; i < tensors_.size(); ++i) {
            const std::uint64_t needed = read.tensors()[i].bytes.size();
            if (find_type(tensors_[i].type) != nullptr && tensors_[i].size != needed) {
                throw error("tensor " + printable(tensors_[i].name) + ": " +
                            std::to_string(tensors_[i].size) +
                            " bytes were given, its dimensions and type ask for " +
                            std::to_string(needed));
            }
        }
    }

    std::vector<std::pair<std::string, std::vector<std::byte>>> metadata_; // with types
    std::vector<added_tensor> tensors_;
    std::vector<std::byte> data_;
};

} // namespace gguf

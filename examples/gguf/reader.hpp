#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "types.hpp"

namespace gguf {

/// The alignment of tensor data, in bytes, in a file that does not state one.
inline constexpr std::uint32_t default_alignment = 32;

/// A file that cannot be used. what() is one printable line that names the field and the rule
/// that it breaks, such as: tensor "a": offset 123 is not a multiple of the alignment 32
struct error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The text in double quotes, safe to print whatever it holds: UTF-8 as it is, but bytes of control
/// characters and those that are not UTF-8 as \xNN, and after about 160 bytes the rest becomes
/// three dots.
std::string printable(std::string_view text);

/// One tensor of a file.
struct tensor {
    std::string name;                      ///< as stored: any bytes; print it with printable()
    std::vector<std::uint64_t> dimensions; ///< [0] is the row length; 0 to 64, each may be zero
    std::uint32_t type;                    ///< perhaps a number that find_type() does not know

    /// Exactly the blocks that dimensions and type ask for. Of an unknown type all bytes up to the
    /// next tensor, padding included.
    std::span<const std::byte> bytes;
};

/// One metadata entry of a file.
struct metadata_entry {
    std::string_view key;
    std::optional<std::string_view> text; ///< the value, if it is a string
    std::optional<std::int64_t> number;   ///< the value, if it is an integer that i64 holds
};

/// A GGUF file of version 2 or 3, checked as a whole when it is read: every tensor's bytes lie
/// inside the file and are no other tensor's. The time and memory that reading takes are bounded by
/// the file's size, and tensor data is not read. A copy shares the bytes of the original.
///
/// A model that is split into several files, its shards, is read as one file: the metadata is that
/// of the first shard, the tensors are those of all.
class file {
public:
    /// Maps a regular file into memory, read only; tensor bytes are aligned as the file says, up
    /// to a page. The file must not shrink while it is in use.
    /// Of a split model any shard will do: the others are found by their names, NAME-00001-of-00003
    /// with .gguf behind it and so on.
    /// Throws gguf::error if it cannot be read or breaks a rule of the format, or if a shard is
    /// missing.
    static file open(const std::filesystem::path& path);

    /// Reads a file's bytes in place; they must outlive the result and its copies.
    /// Throws gguf::error if they break a rule of the format.
    static file parse(std::span<const std::byte> image);

    /// Reads and keeps a file's bytes.
    /// Throws gguf::error if they break a rule of the format.
    static file own(std::vector<std::byte> image);

    /// The model of which these are all the shards, in their order.
    /// Throws gguf::error if they say something else, or hold two tensors of one name.
    static file join(const std::vector<file>& shards);

    /// The files that were opened: all shards in their order; none of bytes in memory.
    const std::vector<std::filesystem::path>& paths() const { return paths_; }

    /// All tensors, in the order of the file.
    const std::vector<tensor>& tensors() const { return tensors_; }

    /// The tensor of that name, or a null pointer. It lives as long as this file.
    const tensor* find(std::string_view name) const;

    /// At most count tensor names, those with the fewest edits from name first. Names of more
    /// than 128 bytes are left out, and have no near names themselves.
    std::vector<std::string> near_names(std::string_view name, std::size_t count) const;

    /// The value of a metadata key that holds a string, else nothing. It lives as long as the
    /// file's bytes.
    std::optional<std::string_view> metadata_string(std::string_view key) const;

    /// The value of a metadata key that holds an integer of any width, if i64 can hold it, else
    /// nothing.
    std::optional<std::int64_t> metadata_integer(std::string_view key) const;

    /// The version of the format: 2 or 3.
    std::uint32_t version() const { return version_; }

    /// The alignment of tensor data in bytes, a power of two; the least of all shards.
    std::uint32_t alignment() const { return alignment_; }

private:
    file(std::shared_ptr<const void> storage, std::span<const std::byte> image);

    static file open_one(const std::filesystem::path& path);

    const metadata_entry* find_metadata(std::string_view key) const;
    std::int64_t shard_count() const; // 1 of a model that is not split
    void index_names();

    std::vector<std::shared_ptr<const void>> storage_; // null where the caller keeps the bytes
    std::vector<std::filesystem::path> paths_;
    std::uint32_t version_ = 0;
    std::uint32_t alignment_ = default_alignment;
    std::vector<metadata_entry> metadata_; // sorted by key
    std::vector<tensor> tensors_;
    std::vector<std::size_t> by_name_; // indices of tensors_, sorted by name
};

} // namespace gguf

// SPDX-License-Identifier: Apache-2.0
// libFuzzer calls this with bytes of its making: the GGUF reader refuses them in one printable
// line, or every byte and every name of the file it returns can be used. Bytes of several files
// after each other are joined as the shards of a model too.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "gguf/reader.hpp"
#include "gguf/types.hpp"

namespace {

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

bool is_printable(std::string_view text) {
    return std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

void use(const gguf::file& file, std::span<const std::byte> image) {
    unsigned sum = 0;
    std::vector<std::span<const std::byte>> taken; // no byte is two tensors'
    for (const gguf::tensor& tensor : file.tensors()) {
        require(file.find(tensor.name) == &tensor);
        require(is_printable(gguf::printable(tensor.name)));
        require(tensor.dimensions.size() <= 64);
        require(!gguf::type_name(tensor.type).empty());
        require(tensor.bytes.data() >= image.data() &&
                tensor.bytes.data() + tensor.bytes.size() <= image.data() + image.size());
        for (const std::byte stored : tensor.bytes) {
            sum += std::to_integer<unsigned>(stored);
        }
        if (!tensor.bytes.empty()) {
            taken.push_back(tensor.bytes);
        }
    }
    std::ranges::sort(taken, {}, [](const auto& bytes) { return bytes.data(); });
    for (std::size_t i = 1; i < taken.size(); ++i) {
        require(taken[i - 1].data() + taken[i - 1].size() <= taken[i].data());
    }
    volatile unsigned kept = sum; // so that the bytes are read
    static_cast<void>(kept);
    require(file.near_names("blk.0", 3).size() <= 3);
    file.metadata_string("general.name");
    file.metadata_integer("general.alignment");
}

/// The bytes as files after each other: each begins with the magic.
std::vector<gguf::file> shards_of(std::span<const std::byte> image) {
    constexpr std::size_t most = 8;
    constexpr std::string_view magic = "GGUF";
    const std::string_view text(reinterpret_cast<const char*>(image.data()), image.size());
    std::vector<gguf::file> shards;
    for (std::size_t first = 0; first < text.size() && shards.size() < most;) {
        const std::size_t next = std::min(text.find(magic, first + 1), text.size());
        shards.push_back(gguf::file::parse(image.subspan(first, next - first)));
        first = next;
    }
    return shards;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto image = std::as_bytes(std::span(data, size));
    try {
        use(gguf::file::parse(image), image);
        if (const auto shards = shards_of(image); shards.size() > 1) {
            use(gguf::file::join(shards), image);
        }
    } catch (const gguf::error& refusal) {
        require(is_printable(refusal.what()));
    }
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

/// The codebooks of the GGUF IQ encodings: facts of the file format.
namespace kq::inline KQ_ABI::codebooks {

/// A codebook of `Size` entries; an entry has its magnitudes, or their levels, from the lowest bit
/// on.
template <class Entry, int Size = 256>
struct codebook {
    Entry entries[static_cast<size_t>(Size)];
};

/// What level 0, 1 or 2 stands for where a codebook has these three.
constexpr int magnitude_of_three(uint32_t level) {
    return level == 0 ? 8 : level == 1 ? 25 : 43;
}

} // namespace kq::inline KQ_ABI::codebooks

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

namespace kq::inline KQ_ABI {

/// The 6-bit scales and minimums of eight sub-blocks in 12 bytes, as Q4_K and Q5_K pack them.
///
/// Sub-blocks 0 to 3 have their scale in the low six bits of bytes 0 to 3 and their minimum in
/// those of bytes 4 to 7. Sub-blocks 4 to 7 have their low four bits in the nibbles of bytes 8 to
/// 11 (scale low, minimum high) and their high two bits in the top bits of bytes 0 to 7.
struct packed_scales {
    uint8_t bytes[12];

    constexpr int scale(int j) const {
        return j < 4 ? bytes[j] & 0x3f : (bytes[j + 4] & 0xf) | (bytes[j - 4] >> 6) << 4;
    }
    constexpr int minimum(int j) const {
        return j < 4 ? bytes[j + 4] & 0x3f : bytes[j + 4] >> 4 | (bytes[j] >> 6) << 4;
    }
};

} // namespace kq::inline KQ_ABI

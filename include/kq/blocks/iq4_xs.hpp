// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/codebooks/iq4_nl.hpp>
#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_k.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// IQ4_XS: 256 numbers of 4 bits of one of 16 codes; 8 sub-blocks of 32 with a 6-bit scale, offset
/// by 32.
///
/// Byte `16 g + j` of `qs` holds weight `32 g + j` in its low and weight `32 g + 16 + j` in its
/// high nibble, as Q4_0 does. The scale of sub-block g has its low four bits in nibble g of
/// `scales_l` and its high two at bit 2g of `scales_h`.
struct iq4_xs {
    struct block {
        using weights = iq4_xs;

        f16 d;               ///< scale of the scales
        uint8_t scales_h[2]; ///< high two bits of the scales
        uint8_t scales_l[4]; ///< low four bits of the scales
        uint8_t qs[128];     ///< nibbles
    };

    static constexpr encoding id = encoding::iq4_xs;
    static constexpr int elements = 256;
    static constexpr float factor = 1;
    using activation = q8_k;

    static constexpr int code(const block& b, int i) {
        return codebooks::iq4_nl[(b.qs[i / 32 * 16 + i % 16] >> (i % 32 / 16 * 4)) & 0xf];
    }
    static constexpr int scale(const block& b, int i) {
        const int g = i / 32;
        const int low = (b.scales_l[g / 2] >> (g % 2 * 4)) & 0xf;
        const int high = (b.scales_h[g / 4] >> (g % 4 * 2)) & 3;
        return (low | high << 4) - 32;
    }
    static constexpr int minimum(const block&, int) { return 0; }
    static constexpr float d(const block& b) { return to_f32(b.d); }
    static constexpr float dmin(const block&) { return 0; }
};

static_assert(sizeof(iq4_xs::block) == 136 && offsetof(iq4_xs::block, scales_h) == 2 &&
              offsetof(iq4_xs::block, scales_l) == 4 && offsetof(iq4_xs::block, qs) == 8);
static_assert(weight_encoding<iq4_xs>);

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/codebooks/iq2_xs.hpp>
#include <kq/blocks/codebooks/signs.hpp>
#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_k.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// IQ2_XS: groups of 8 weights as an entry of a codebook of 512 and 8 signs; one 4-bit scale for 16
/// weights.
///
/// A group of 8 has a 16-bit number: the index in its low nine bits, a sign index of 7 bits above
/// (see IQ2_XXS). Byte j of `scales` has the scale of group of 16 number 2 j in its low nibble,
/// that of number 2 j + 1 in its high nibble. The weight is `d / 8 * (2 s + 1) * magnitude * sign`.
struct iq2_xs {
    struct block {
        using weights = iq2_xs;

        f16 d;             ///< scale
        uint16_t qs[32];   ///< indices and signs
        uint8_t scales[8]; ///< nibbles
    };

    static constexpr encoding id = encoding::iq2_xs;
    static constexpr int elements = 256;
    static constexpr float factor = 0.125f;
    using activation = q8_k;

    static constexpr int code(const block& b, int i) {
        const uint32_t q = b.qs[i / 8];
        const int magnitude = codebooks::iq2_xs_magnitude(static_cast<int>(q & 0x1ff), i % 8);
        return codebooks::is_negative(q >> 9, i % 8) ? -magnitude : magnitude;
    }
    static constexpr int scale(const block& b, int i) {
        return ((b.scales[i / 32] >> (i / 16 % 2 * 4)) & 0xf) * 2 + 1;
    }
    static constexpr int minimum(const block&, int) { return 0; }
    static constexpr float d(const block& b) { return to_f32(b.d); }
    static constexpr float dmin(const block&) { return 0; }
};

static_assert(sizeof(iq2_xs::block) == 74 && offsetof(iq2_xs::block, qs) == 2 &&
              offsetof(iq2_xs::block, scales) == 66);
static_assert(weight_encoding<iq2_xs>);

} // namespace kq::inline KQ_ABI

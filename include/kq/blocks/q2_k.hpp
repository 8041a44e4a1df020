// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_k.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// Q2_K: 256 codes of 2 bits; 16 sub-blocks of 16 with a 4-bit scale and a 4-bit minimum.
///
/// Half h of the block (128 weights) has 32 code bytes; plane p of weight `128 h + 32 p + l` is
/// bits 2p and 2p + 1 of byte `32 h + l`. Byte j of `scales` holds sub-block j's scale in its low
/// and its minimum in its high nibble.
struct q2_k {
    struct block {
        using weights = q2_k;

        uint8_t scales[16]; ///< low nibble: scale, high nibble: minimum
        uint8_t qs[64];     ///< codes, four planes of 2 bits
        f16 d;              ///< scale of the scales
        f16 dmin;           ///< scale of the minimums
    };

    static constexpr encoding id = encoding::q2_k;
    static constexpr int elements = 256;
    static constexpr float factor = 1;
    using activation = q8_k;

    static constexpr int code(const block& b, int i) {
        return (b.qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3;
    }
    static constexpr int scale(const block& b, int i) { return b.scales[i / 16] & 0xf; }
    static constexpr int minimum(const block& b, int i) { return b.scales[i / 16] >> 4; }
    static constexpr float d(const block& b) { return to_f32(b.d); }
    static constexpr float dmin(const block& b) { return to_f32(b.dmin); }
};

static_assert(sizeof(q2_k::block) == 84 && offsetof(q2_k::block, qs) == 16 &&
              offsetof(q2_k::block, d) == 80 && offsetof(q2_k::block, dmin) == 82);
static_assert(weight_encoding<q2_k>);

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/encoding.hpp>
#include <kq/blocks/packed_scales.hpp>
#include <kq/blocks/q8_k.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// Q4_K: 256 codes of 4 bits; 8 sub-blocks of 32 with a 6-bit scale and a 6-bit minimum.
///
/// Byte `32 p + l` of the codes holds weight `64 p + l` in its low nibble and weight
/// `64 p + 32 + l` in its high nibble.
struct q4_k {
    struct block {
        using weights = q4_k;

        f16 d;                ///< scale of the scales
        f16 dmin;             ///< scale of the minimums
        packed_scales scales; ///< 6-bit scales and minimums
        uint8_t qs[128];      ///< nibbles
    };

    static constexpr encoding id = encoding::q4_k;
    static constexpr int elements = 256;
    static constexpr float factor = 1;
    using activation = q8_k;

    static constexpr int code(const block& b, int i) {
        return (b.qs[i / 64 * 32 + i % 32] >> (i % 64 / 32 * 4)) & 0xf;
    }
    static constexpr int scale(const block& b, int i) { return b.scales.scale(i / 32); }
    static constexpr int minimum(const block& b, int i) { return b.scales.minimum(i / 32); }
    static constexpr float d(const block& b) { return to_f32(b.d); }
    static constexpr float dmin(const block& b) { return to_f32(b.dmin); }
};

static_assert(sizeof(q4_k::block) == 144 && offsetof(q4_k::block, dmin) == 2 &&
              offsetof(q4_k::block, scales) == 4 && offsetof(q4_k::block, qs) == 16);
static_assert(weight_encoding<q4_k>);

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/encoding.hpp>
#include <kq/blocks/packed_scales.hpp>
#include <kq/blocks/q8_k.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// Q5_K: 256 codes of 5 bits; 8 sub-blocks of 32 with a 6-bit scale and a 6-bit minimum.
///
/// The low four bits lie as in Q4_K. The fifth bit of weight i is bit `i / 32` of byte `i % 32` of
/// `qh`.
struct q5_k {
    struct block {
        using weights = q5_k;

        f16 d;                ///< scale of the scales
        f16 dmin;             ///< scale of the minimums
        packed_scales scales; ///< 6-bit scales and minimums
        uint8_t qh[32];       ///< fifth bits
        uint8_t qs[128];      ///< low nibbles
    };

    static constexpr encoding id = encoding::q5_k;
    static constexpr int elements = 256;
    static constexpr float factor = 1;
    using activation = q8_k;

    static constexpr int code(const block& b, int i) {
        const int low = (b.qs[i / 64 * 32 + i % 32] >> (i % 64 / 32 * 4)) & 0xf;
        const int high = (b.qh[i % 32] >> (i / 32)) & 1;
        return low | high << 4;
    }
    static constexpr int scale(const block& b, int i) { return b.scales.scale(i / 32); }
    static constexpr int minimum(const block& b, int i) { return b.scales.minimum(i / 32); }
    static constexpr float d(const block& b) { return to_f32(b.d); }
    static constexpr float dmin(const block& b) { return to_f32(b.dmin); }
};

static_assert(sizeof(q5_k::block) == 176 && offsetof(q5_k::block, dmin) == 2 &&
              offsetof(q5_k::block, scales) == 4 && offsetof(q5_k::block, qh) == 16 &&
              offsetof(q5_k::block, qs) == 48);
static_assert(weight_encoding<q5_k>);

} // namespace kq::inline KQ_ABI

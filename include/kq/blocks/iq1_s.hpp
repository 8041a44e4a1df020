// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/codebooks/iq1.hpp>
#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_k.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// IQ1_S: groups of 8 weights as an entry of a codebook of 2048, one 3-bit scale and one delta for
/// 32 weights.
///
/// `qs` holds the low 8 bits of an index for every 8 weights. Word g of `qh` belongs to the group
/// of 32 weights number g: bits 3 a to 3 a + 2 are the high 3 bits of index a of its four, bits 12
/// to 14 the scale s, bit 15 says that the delta is -1, else it is 1. The weight is
/// `d / 8 * (2 s + 1) * (8 * trit + delta)`.
struct iq1_s {
    struct block {
        using weights = iq1_s;

        f16 d;          ///< scale
        uint8_t qs[32]; ///< low bits of codebook indices
        uint16_t qh[8]; ///< their high bits, scales and deltas
    };

    static constexpr encoding id = encoding::iq1_s;
    static constexpr int elements = 256;
    static constexpr float factor = 0.125f;
    using activation = q8_k;

    static constexpr int code(const block& b, int i) {
        const int h = b.qh[i / 32];
        const int index = b.qs[i / 8] | ((h >> (i % 32 / 8 * 3)) & 7) << 8;
        const int delta = (h >> 15) != 0 ? -1 : 1;
        return 8 * codebooks::iq1_trit(index, i % 8) + delta;
    }
    static constexpr int scale(const block& b, int i) { return ((b.qh[i / 32] >> 12) & 7) * 2 + 1; }
    static constexpr int minimum(const block&, int) { return 0; }
    static constexpr float d(const block& b) { return to_f32(b.d); }
    static constexpr float dmin(const block&) { return 0; }
};

static_assert(sizeof(iq1_s::block) == 50 && offsetof(iq1_s::block, qs) == 2 &&
              offsetof(iq1_s::block, qh) == 34);
static_assert(weight_encoding<iq1_s>);

} // namespace kq::inline KQ_ABI

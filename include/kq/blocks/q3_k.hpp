// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_k.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// Q3_K: 256 codes of 3 bits, offset by 4; 16 sub-blocks of 16 with a 6-bit scale, offset by 32.
///
/// The low two bits lie as in Q2_K. The third bit of weight i is bit `i / 32` of byte `i % 32` of
/// `hmask`. Sub-block j's scale has its low four bits in nibble `j / 8` of `scales[j % 8]` and its
/// high two bits in `scales[8 + j % 4]`, at bit `2 (j / 4)`.
struct q3_k {
    struct block {
        using weights = q3_k;

        uint8_t hmask[32];  ///< third bits
        uint8_t qs[64];     ///< low bits, four planes of 2 bits
        uint8_t scales[12]; ///< packed 6-bit scales
        f16 d;              ///< scale of the scales
    };

    static constexpr encoding id = encoding::q3_k;
    static constexpr int elements = 256;
    static constexpr float factor = 1;
    using activation = q8_k;

    static constexpr int code(const block& b, int i) {
        const int low = (b.qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3;
        const int high = (b.hmask[i % 32] >> (i / 32)) & 1;
        return (low | high << 2) - 4;
    }
    static constexpr int scale(const block& b, int i) {
        const int j = i / 16;
        const int low = (b.scales[j % 8] >> (j / 8 * 4)) & 0xf;
        const int high = (b.scales[8 + j % 4] >> (j / 4 * 2)) & 3;
        return (low | high << 4) - 32;
    }
    static constexpr int minimum(const block&, int) { return 0; }
    static constexpr float d(const block& b) { return to_f32(b.d); }
    static constexpr float dmin(const block&) { return 0; }
};

static_assert(sizeof(q3_k::block) == 110 && offsetof(q3_k::block, qs) == 32 &&
              offsetof(q3_k::block, scales) == 96 && offsetof(q3_k::block, d) == 108);
static_assert(weight_encoding<q3_k>);

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_32.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// Q5_1: 32 codes of 5 bits, one scale, and one number that is added to all weights.
///
/// Low and fifth bits lie as in Q5_0. Weight i is `d * code + m`.
struct q5_1 {
    struct block {
        using weights = q5_1;

        f16 d;          ///< scale
        f16 m;          ///< what every weight has added
        uint8_t qh[4];  ///< fifth bits, weight i in bit i
        uint8_t qs[16]; ///< low nibbles
    };

    static constexpr encoding id = encoding::q5_1;
    static constexpr int elements = 32;
    static constexpr float factor = 1;
    using activation = q8_32;

    static constexpr int code(const block& b, int i) {
        const int low = (b.qs[i % 16] >> (i / 16 * 4)) & 0xf;
        const int high = (b.qh[i / 8] >> (i % 8)) & 1;
        return low | high << 4;
    }
    static constexpr int scale(const block&, int) { return 1; }
    static constexpr int minimum(const block&, int) { return -1; }
    static constexpr float d(const block& b) { return to_f32(b.d); }
    static constexpr float dmin(const block& b) { return to_f32(b.m); }
};

static_assert(sizeof(q5_1::block) == 24 && offsetof(q5_1::block, m) == 2 &&
              offsetof(q5_1::block, qh) == 4 && offsetof(q5_1::block, qs) == 8);
static_assert(weight_encoding<q5_1>);

} // namespace kq::inline KQ_ABI

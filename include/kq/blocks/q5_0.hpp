// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q8_0.hpp>

namespace kq::inline KQ_ABI {

/// Q5_0: 32 codes of 5 bits, offset by 16, and one scale.
///
/// The low four bits lie as in Q4_0; bit i of the little-endian word `qh` is the fifth bit of
/// weight i. Weight i is `d * (code - 16)`.
struct q5_0 {
    struct block {
        using weights = q5_0;

        f16 d;          ///< scale
        uint8_t qh[4];  ///< fifth bits, weight i in bit i
        uint8_t qs[16]; ///< low nibbles
    };

    static constexpr encoding id = encoding::q5_0;
    static constexpr int elements = 32;
    static constexpr float factor = 1;
    using activation = q8_32;

    static constexpr int code(const block& b, int i) {
        const int low = (b.qs[i % 16] >> (i / 16 * 4)) & 0xf;
        const int high = (b.qh[i / 8] >> (i % 8)) & 1;
        return (low | high << 4) - 16;
    }
    static constexpr int scale(const block&, int) { return 1; }
    static constexpr int minimum(const block&, int) { return 0; }
    static constexpr float d(const block& b) { return to_f32(b.d); }
    static constexpr float dmin(const block&) { return 0; }
};

static_assert(sizeof(q5_0::block) == 22 && offsetof(q5_0::block, qh) == 2 &&
              offsetof(q5_0::block, qs) == 6);
static_assert(weight_encoding<q5_0>);

} // namespace kq::inline KQ_ABI

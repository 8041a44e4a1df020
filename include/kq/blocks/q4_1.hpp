// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_32.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// Q4_1: 32 codes of 4 bits, one scale, and one number that is added to all weights.
///
/// The nibbles lie as in Q4_0. Weight i is `d * nibble + m`.
struct q4_1 {
    struct block {
        using weights = q4_1;

        f16 d;          ///< scale
        f16 m;          ///< what every weight has added
        uint8_t qs[16]; ///< nibbles
    };

    static constexpr encoding id = encoding::q4_1;
    static constexpr int elements = 32;
    static constexpr float factor = 1;
    using activation = q8_32;

    static constexpr int code(const block& b, int i) {
        return (b.qs[i % 16] >> (i / 16 * 4)) & 0xf;
    }
    static constexpr int scale(const block&, int) { return 1; }
    static constexpr int minimum(const block&, int) { return -1; }
    static constexpr float d(const block& b) { return to_f32(b.d); }
    static constexpr float dmin(const block& b) { return to_f32(b.m); }
};

static_assert(sizeof(q4_1::block) == 20 && offsetof(q4_1::block, m) == 2 &&
              offsetof(q4_1::block, qs) == 4);
static_assert(weight_encoding<q4_1>);

} // namespace kq::inline KQ_ABI

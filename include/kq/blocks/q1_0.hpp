// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_32.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// Q1_0: 128 signs and one scale.
///
/// Bit i % 8 of byte i / 8 is that of weight i. Weight i is `d` where it is set, else `-d`.
struct q1_0 {
    struct block {
        using weights = q1_0;

        f16 d;          ///< scale
        uint8_t qs[16]; ///< bits
    };

    static constexpr encoding id = encoding::q1_0;
    static constexpr int elements = 128;
    static constexpr float factor = 1;
    using activation = q8_32;

    static constexpr int code(const block& b, int i) {
        return 2 * ((b.qs[i / 8] >> (i % 8)) & 1) - 1;
    }
    static constexpr int scale(const block&, int) { return 1; }
    static constexpr int minimum(const block&, int) { return 0; }
    static constexpr float d(const block& b) { return to_f32(b.d); }
    static constexpr float dmin(const block&) { return 0; }
};

static_assert(sizeof(q1_0::block) == 18 && offsetof(q1_0::block, qs) == 2);
static_assert(weight_encoding<q1_0>);

} // namespace kq::inline KQ_ABI

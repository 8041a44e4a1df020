// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_32.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// Q2_0: 64 codes of 2 bits, offset by 1, and one scale.
///
/// Byte j holds weights 4 j to 4 j + 3, from its low bits on. Weight i is `d * (code - 1)`.
struct q2_0 {
    struct block {
        using weights = q2_0;

        f16 d;          ///< scale
        uint8_t qs[16]; ///< codes
    };

    static constexpr encoding id = encoding::q2_0;
    static constexpr int elements = 64;
    static constexpr float factor = 1;
    using activation = q8_32;

    static constexpr int code(const block& b, int i) {
        return ((b.qs[i / 4] >> (i % 4 * 2)) & 3) - 1;
    }
    static constexpr int scale(const block&, int) { return 1; }
    static constexpr int minimum(const block&, int) { return 0; }
    static constexpr float d(const block& b) { return to_f32(b.d); }
    static constexpr float dmin(const block&) { return 0; }
};

static_assert(sizeof(q2_0::block) == 18 && offsetof(q2_0::block, qs) == 2);
static_assert(weight_encoding<q2_0>);

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q8_0.hpp>

namespace kq::inline KQ_ABI {

/// Q4_0: 32 codes of 4 bits, offset by 8, and one scale.
///
/// Byte j holds weight j in its low nibble and weight j + 16 in its high nibble.
/// Weight i is `d * (nibble - 8)`.
struct q4_0 {
    struct block {
        using weights = q4_0;

        f16 d;          ///< scale
        uint8_t qs[16]; ///< nibbles
    };

    static constexpr encoding id = encoding::q4_0;
    static constexpr int elements = 32;
    static constexpr float factor = 1;
    using activation = q8_32;

    static constexpr int code(const block& b, int i) {
        return ((b.qs[i % 16] >> (i / 16 * 4)) & 0xf) - 8;
    }
    static constexpr int scale(const block&, int) { return 1; }
    static constexpr int minimum(const block&, int) { return 0; }
    static constexpr float d(const block& b) { return to_f32(b.d); }
    static constexpr float dmin(const block&) { return 0; }
};

static_assert(sizeof(q4_0::block) == 18 && offsetof(q4_0::block, qs) == 2);
static_assert(weight_encoding<q4_0>);

} // namespace kq::inline KQ_ABI

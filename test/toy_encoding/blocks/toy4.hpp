// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q8_0.hpp>

namespace toy {

/// TOY4: 32 codes of 4 bits, offset by 8, and one scale.
///
/// Byte j holds weight 2 j in its low nibble and weight 2 j + 1 in its high nibble; the scale comes
/// last. Weight i is `d * (nibble - 8)`.
struct toy4 {
    struct block {
        using weights = toy4;

        uint8_t qs[16]; ///< nibbles
        kq::f16 d;      ///< scale
    };

    static constexpr kq::encoding id{1000}; // none of GGUF's
    static constexpr int elements = 32;
    static constexpr float factor = 1;
    using activation = kq::q8_32;

    static constexpr int code(const block& b, int i) {
        return ((b.qs[i / 2] >> (i % 2 * 4)) & 0xf) - 8;
    }
    static constexpr int scale(const block&, int) { return 1; }
    static constexpr int minimum(const block&, int) { return 0; }
    static constexpr float d(const block& b) { return kq::to_f32(b.d); }
    static constexpr float dmin(const block&) { return 0; }
};

static_assert(sizeof(toy4::block) == 18 && offsetof(toy4::block, d) == 16);
static_assert(kq::weight_encoding<toy4>);

} // namespace toy

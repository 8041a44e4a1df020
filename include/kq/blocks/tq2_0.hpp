// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_k.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// TQ2_0: 256 codes of 2 bits, offset by 1, and one scale.
///
/// Half h of the block (128 weights) has 32 code bytes; plane p of weight `128 h + 32 p + l` is
/// bits 2p and 2p + 1 of byte `32 h + l`, as in Q2_K. Weight i is `d * (bits - 1)`; quantizers
/// write -1, 0 and 1 only, but bits 3 mean 2.
struct tq2_0 {
    struct block {
        using weights = tq2_0;

        uint8_t qs[64]; ///< codes, four planes of 2 bits
        f16 d;          ///< scale
    };

    static constexpr encoding id = encoding::tq2_0;
    static constexpr int elements = 256;
    static constexpr float factor = 1;
    using activation = q8_k;

    static constexpr int code(const block& b, int i) {
        return ((b.qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3) - 1;
    }
    static constexpr int scale(const block&, int) { return 1; }
    static constexpr int minimum(const block&, int) { return 0; }
    static constexpr float d(const block& b) { return to_f32(b.d); }
    static constexpr float dmin(const block&) { return 0; }
};

static_assert(sizeof(tq2_0::block) == 66 && offsetof(tq2_0::block, d) == 64);
static_assert(weight_encoding<tq2_0>);

} // namespace kq::inline KQ_ABI

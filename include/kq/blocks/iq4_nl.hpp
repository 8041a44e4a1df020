// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/codebooks/iq4_nl.hpp>
#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_32.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// IQ4_NL: 32 numbers of 4 bits of one of 16 codes, and one scale.
///
/// The nibbles lie as in Q4_0. Weight i is `d * codebooks::iq4_nl[nibble]`.
struct iq4_nl {
    struct block {
        using weights = iq4_nl;

        f16 d;          ///< scale
        uint8_t qs[16]; ///< nibbles
    };

    static constexpr encoding id = encoding::iq4_nl;
    static constexpr int elements = 32;
    static constexpr float factor = 1;
    using activation = q8_32;

    static constexpr int code(const block& b, int i) {
        return codebooks::iq4_nl[(b.qs[i % 16] >> (i / 16 * 4)) & 0xf];
    }
    static constexpr int scale(const block&, int) { return 1; }
    static constexpr int minimum(const block&, int) { return 0; }
    static constexpr float d(const block& b) { return to_f32(b.d); }
    static constexpr float dmin(const block&) { return 0; }
};

static_assert(sizeof(iq4_nl::block) == 18 && offsetof(iq4_nl::block, qs) == 2);
static_assert(weight_encoding<iq4_nl>);

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/codebooks/iq3_s.hpp>
#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_k.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// IQ3_S: groups of 4 weights as an entry of a codebook of 512, a sign for each weight, one 4-bit
/// scale for 32 weights.
///
/// Group of 4 number g has the low eight bits of its index in `qs[g]`, the ninth at bit g % 8 of
/// `qh[g / 8]`. Bit i % 8 of `signs[i / 8]` negates weight i. Byte j of `scales` has the scale s of
/// group of 32 number 2 j in its low nibble, that of number 2 j + 1 in its high nibble. The weight
/// is `d * (2 s + 1) * magnitude * sign`.
struct iq3_s {
    struct block {
        using weights = iq3_s;

        f16 d;             ///< scale
        uint8_t qs[64];    ///< low bits of the indices
        uint8_t qh[8];     ///< ninth bits of the indices
        uint8_t signs[32]; ///< a bit a weight
        uint8_t scales[4]; ///< nibbles
    };

    static constexpr encoding id = encoding::iq3_s;
    static constexpr int elements = 256;
    static constexpr float factor = 1;
    using activation = q8_k;

    static constexpr int code(const block& b, int i) {
        const int group = i / 4;
        const int ninth = (b.qh[group / 8] >> (group % 8)) & 1;
        const int magnitude = codebooks::iq3_s_magnitude(b.qs[group] | ninth << 8, i % 4);
        return ((b.signs[i / 8] >> (i % 8)) & 1) != 0 ? -magnitude : magnitude;
    }
    static constexpr int scale(const block& b, int i) {
        return ((b.scales[i / 64] >> (i / 32 % 2 * 4)) & 0xf) * 2 + 1;
    }
    static constexpr int minimum(const block&, int) { return 0; }
    static constexpr float d(const block& b) { return to_f32(b.d); }
    static constexpr float dmin(const block&) { return 0; }
};

static_assert(sizeof(iq3_s::block) == 110 && offsetof(iq3_s::block, qs) == 2 &&
              offsetof(iq3_s::block, qh) == 66 && offsetof(iq3_s::block, signs) == 74 &&
              offsetof(iq3_s::block, scales) == 106);
static_assert(weight_encoding<iq3_s>);

} // namespace kq::inline KQ_ABI

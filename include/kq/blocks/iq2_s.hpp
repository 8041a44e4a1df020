// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/codebooks/iq2_s.hpp>
#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_k.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// IQ2_S: groups of 8 weights as an entry of a codebook of 1024 and 8 signs; one 4-bit scale for 16
/// weights.
///
/// Group of 8 number g has the low eight bits of its index in `qs[g]`, the two bits above at bit
/// 2 (g % 4) of `qh[g / 4]`; bit j of `signs[g]` negates weight j. Scales are as in IQ2_XS. The
/// weight is `d / 8 * (2 s + 1) * magnitude * sign`.
struct iq2_s {
    struct block {
        using weights = iq2_s;

        f16 d;             ///< scale
        uint8_t qs[32];    ///< low bits of the indices
        uint8_t signs[32]; ///< a bit a weight
        uint8_t qh[8];     ///< high bits of the indices
        uint8_t scales[8]; ///< nibbles
    };

    static constexpr encoding id = encoding::iq2_s;
    static constexpr int elements = 256;
    static constexpr float factor = 0.125f;
    using activation = q8_k;

    static constexpr int code(const block& b, int i) {
        const int group = i / 8;
        const int high = (b.qh[group / 4] >> (group % 4 * 2)) & 3;
        const int magnitude = codebooks::iq2_s_magnitude(b.qs[group] | high << 8, i % 8);
        return ((b.signs[group] >> (i % 8)) & 1) != 0 ? -magnitude : magnitude;
    }
    static constexpr int scale(const block& b, int i) {
        return ((b.scales[i / 32] >> (i / 16 % 2 * 4)) & 0xf) * 2 + 1;
    }
    static constexpr int minimum(const block&, int) { return 0; }
    static constexpr float d(const block& b) { return to_f32(b.d); }
    static constexpr float dmin(const block&) { return 0; }
};

static_assert(sizeof(iq2_s::block) == 82 && offsetof(iq2_s::block, qs) == 2 &&
              offsetof(iq2_s::block, signs) == 34 && offsetof(iq2_s::block, qh) == 66 &&
              offsetof(iq2_s::block, scales) == 74);
static_assert(weight_encoding<iq2_s>);

} // namespace kq::inline KQ_ABI

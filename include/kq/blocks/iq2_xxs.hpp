// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/codebooks/iq2_xxs.hpp>
#include <kq/blocks/codebooks/signs.hpp>
#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_k.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// IQ2_XXS: groups of 8 weights as an entry of a codebook of 256 and 8 signs; one 4-bit scale for
/// 32 weights.
///
/// Group of 32 number g has 8 bytes: four codebook indices, then a little-endian word with four
/// sign indices of 7 bits and, in the top four bits, the scale s. The codebook holds 8 magnitudes
/// an entry; bit j of the sign index negates weight j, and the eighth sign is the parity of the
/// index. The weight is `d / 8 * (2 s + 1) * magnitude * sign`.
struct iq2_xxs {
    struct block {
        using weights = iq2_xxs;

        f16 d;          ///< scale
        uint8_t qs[64]; ///< eight groups of 8 bytes
    };

    static constexpr encoding id = encoding::iq2_xxs;
    static constexpr int elements = 256;
    static constexpr float factor = 0.125f;
    using activation = q8_k;

    static constexpr int code(const block& b, int i) {
        const int index = b.qs[i / 32 * 8 + i % 32 / 8];
        const int magnitude = codebooks::iq2_xxs_magnitude(index, i % 8);
        const uint32_t signs = signs_and_scale(b, i / 32) >> (i % 32 / 8 * 7);
        return codebooks::is_negative(signs & 0x7f, i % 8) ? -magnitude : magnitude;
    }
    static constexpr int scale(const block& b, int i) {
        return static_cast<int>(signs_and_scale(b, i / 32) >> 28) * 2 + 1;
    }
    static constexpr int minimum(const block&, int) { return 0; }
    static constexpr float d(const block& b) { return to_f32(b.d); }
    static constexpr float dmin(const block&) { return 0; }

private:
    static constexpr uint32_t signs_and_scale(const block& b, int group) {
        const uint8_t* bytes = b.qs + 8 * group + 4; // [4]
        return bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 |
               uint32_t{bytes[3]} << 24;
    }
};

static_assert(sizeof(iq2_xxs::block) == 66 && offsetof(iq2_xxs::block, qs) == 2);
static_assert(weight_encoding<iq2_xxs>);

} // namespace kq::inline KQ_ABI

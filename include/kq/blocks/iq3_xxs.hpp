// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/codebooks/iq3_xxs.hpp>
#include <kq/blocks/codebooks/signs.hpp>
#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_k.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// IQ3_XXS: groups of 4 weights as an entry of a codebook of 256, signs for groups of 8, one 4-bit
/// scale for 32 weights.
///
/// `qs` holds a codebook index for every 4 weights. Group of 32 number g has a little-endian word
/// in `signs` with four sign indices of 7 bits (see IQ2_XXS) and, in the top four bits, the scale
/// s. The weight is `d / 4 * (2 s + 1) * magnitude * sign`.
struct iq3_xxs {
    struct block {
        using weights = iq3_xxs;

        f16 d;             ///< scale
        uint8_t qs[64];    ///< codebook indices
        uint8_t signs[32]; ///< eight words of sign indices and scales
    };

    static constexpr encoding id = encoding::iq3_xxs;
    static constexpr int elements = 256;
    static constexpr float factor = 0.25f;
    using activation = q8_k;

    static constexpr int code(const block& b, int i) {
        const int magnitude = codebooks::iq3_xxs_magnitude(b.qs[i / 4], i % 4);
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
        const uint8_t* bytes = b.signs + 4 * group; // [4]
        return bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 |
               uint32_t{bytes[3]} << 24;
    }
};

static_assert(sizeof(iq3_xxs::block) == 98 && offsetof(iq3_xxs::block, qs) == 2 &&
              offsetof(iq3_xxs::block, signs) == 66);
static_assert(weight_encoding<iq3_xxs>);

} // namespace kq::inline KQ_ABI

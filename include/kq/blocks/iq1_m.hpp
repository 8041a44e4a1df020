// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/codebooks/iq1.hpp>
#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_k.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// IQ1_M: groups of 8 weights as an entry of IQ1_S's codebook, one delta for 8 weights, one 3-bit
/// scale for 16.
///
/// `qs` holds the low 8 bits of an index for every 8 weights. `qh` has a nibble for every 8
/// weights: the high 3 bits of the index, and a bit that says that the delta is -1, else it is 1.
/// Word j of `scales` has the scales of weights 64 j to 64 j + 63, 3 bits for every 16, and above
/// them nibble j of the block's scale, an f16. The weight is
/// `d / 8 * (2 s + 1) * (8 * trit + delta)`.
struct iq1_m {
    struct block {
        using weights = iq1_m;

        uint8_t qs[32];     ///< low bits of codebook indices
        uint8_t qh[16];     ///< nibbles of their high bits and deltas
        uint16_t scales[4]; ///< four scales each, and a nibble of d

        KQ_API constexpr f16 d() const {
            uint32_t bits = 0;
            for (int j = 0; j < 4; ++j) {
                bits |= static_cast<uint32_t>(scales[j] >> 12) << (4 * j);
            }
            return {static_cast<uint16_t>(bits)};
        }
        KQ_API constexpr void set_d(f16 d) {
            for (int j = 0; j < 4; ++j) {
                const int nibble = (d.bits >> (4 * j)) & 0xf;
                scales[j] = static_cast<uint16_t>((scales[j] & 0xfff) | nibble << 12);
            }
        }
    };

    static constexpr encoding id = encoding::iq1_m;
    static constexpr int elements = 256;
    static constexpr float factor = 0.125f;
    using activation = q8_k;

    static constexpr int code(const block& b, int i) {
        const int nibble = b.qh[i / 16] >> (i % 16 / 8 * 4);
        const int index = b.qs[i / 8] | (nibble & 7) << 8;
        const int delta = (nibble & 8) != 0 ? -1 : 1;
        return 8 * codebooks::iq1_trit(index, i % 8) + delta;
    }
    static constexpr int scale(const block& b, int i) {
        return ((b.scales[i / 64] >> (i % 64 / 16 * 3)) & 7) * 2 + 1;
    }
    static constexpr int minimum(const block&, int) { return 0; }
    static constexpr float d(const block& b) { return to_f32(b.d()); }
    static constexpr float dmin(const block&) { return 0; }
};

static_assert(sizeof(iq1_m::block) == 56 && offsetof(iq1_m::block, qh) == 32 &&
              offsetof(iq1_m::block, scales) == 48);
static_assert(weight_encoding<iq1_m>);

} // namespace kq::inline KQ_ABI

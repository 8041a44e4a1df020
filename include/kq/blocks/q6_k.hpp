// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_k.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// Q6_K: 256 codes of 6 bits, offset by 32; 16 sub-blocks of 16 with a signed 8-bit scale.
///
/// Half h (128 weights) has 64 bytes of `ql` and 32 of `qh`. Weight `128 h + 32 g + l` (g below 4)
/// has its low four bits in byte `64 h + 32 (g % 2) + l` of `ql`, low nibble for g below 2, and its
/// high two bits in byte `32 h + l` of `qh`, at bit 2 g.
struct q6_k {
    struct block {
        using weights = q6_k;

        uint8_t ql[128];   ///< low nibbles
        uint8_t qh[64];    ///< high bits, four planes of 2 bits
        int8_t scales[16]; ///< scales
        f16 d;             ///< scale of the scales
    };

    static constexpr encoding id = encoding::q6_k;
    static constexpr int elements = 256;
    static constexpr float factor = 1;
    using activation = q8_k;

    static constexpr int code(const block& b, int i) {
        const int half = i / 128;
        const int low = (b.ql[half * 64 + i % 64] >> (i % 128 / 64 * 4)) & 0xf;
        const int high = (b.qh[half * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3;
        return (low | high << 4) - 32;
    }
    static constexpr int scale(const block& b, int i) { return b.scales[i / 16]; }
    static constexpr int minimum(const block&, int) { return 0; }
    static constexpr float d(const block& b) { return to_f32(b.d); }
    static constexpr float dmin(const block&) { return 0; }
};

static_assert(sizeof(q6_k::block) == 210 && offsetof(q6_k::block, qh) == 128 &&
              offsetof(q6_k::block, scales) == 192 && offsetof(q6_k::block, d) == 208);
static_assert(weight_encoding<q6_k>);

} // namespace kq::inline KQ_ABI

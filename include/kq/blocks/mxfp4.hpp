// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/codebooks/fp4.hpp>
#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_32.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// MXFP4: 32 FP4 values and one scale, a power of two.
///
/// The nibbles lie as in Q4_0. Weight i is `2^(e - 128) * codebooks::fp4[nibble]`.
struct mxfp4 {
    struct block {
        using weights = mxfp4;

        uint8_t e;      ///< exponent of the scale
        uint8_t qs[16]; ///< nibbles
    };

    static constexpr encoding id = encoding::mxfp4;
    static constexpr int elements = 32;
    static constexpr float factor = 1;
    using activation = q8_32;

    static constexpr int code(const block& b, int i) {
        return codebooks::fp4[(b.qs[i % 16] >> (i / 16 * 4)) & 0xf];
    }
    static constexpr int scale(const block&, int) { return 1; }
    static constexpr int minimum(const block&, int) { return 0; }
    static constexpr float d(const block& b) { return kq::bit_cast<float>(d_bits(b.e)); }
    static constexpr float dmin(const block&) { return 0; }

    /// The bits of 2^(e - 128), of which 2^-128 and 2^-127 are subnormal. 255 is no NaN, as in
    /// ggml's CPU code.
    KQ_API static constexpr uint32_t d_bits(uint32_t e) {
        return e < 2 ? 0x00200000u << e : (e - 1) << 23;
    }
};

static_assert(sizeof(mxfp4::block) == 17 && offsetof(mxfp4::block, qs) == 1);
static_assert(weight_encoding<mxfp4>);

} // namespace kq::inline KQ_ABI

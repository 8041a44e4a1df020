// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_0.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// Q8_0 with the codes apart from the scales, so that codes are 16-byte aligned: eight consecutive
/// blocks of a row in the same number of bytes. A row's columns must be a multiple of 256.
///
/// No format of GGUF: `repack` makes it from `q8_0` and undoes it. Its products are bit-equal to
/// those of `q8_0`.
///
/// Weight i is `d[i / 32] * q[i]`. The parts are those of a `weight_encoding`, but for the scale,
/// of which a block has eight.
struct q8_0_aligned {
    static constexpr int q8_0_blocks = 8; ///< of a block

    struct alignas(16) block {
        using weights = q8_0_aligned;

        int8_t q[q8_0::elements * q8_0_blocks]; ///< the codes, those of block i from 32 * i on
        f16 d[q8_0_blocks];                     ///< the blocks' scales
    };

    static constexpr encoding id = encoding::q8_0;
    static constexpr int elements = q8_0::elements * q8_0_blocks;
    static constexpr float factor = 1;
    using activation = q8_32;

    static constexpr int code(const block& b, int i) { return b.q[i]; }
    static constexpr int scale(const block&, int) { return 1; }
    static constexpr int minimum(const block&, int) { return 0; }
    /// The scale of weight i.
    static constexpr float d(const block& b, int i) { return to_f32(b.d[i / q8_0::elements]); }
};

static_assert(sizeof(q8_0_aligned::block) == 272 && offsetof(q8_0_aligned::block, d) == 256);
static_assert(sizeof(q8_0_aligned::block) == q8_0_aligned::q8_0_blocks * sizeof(q8_0::block));
static_assert(weight_blocks<q8_0_aligned>);

} // namespace kq::inline KQ_ABI

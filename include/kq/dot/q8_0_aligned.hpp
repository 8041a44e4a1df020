// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q8_0_aligned.hpp>
#include <kq/dot/dot.hpp>
#include <kq/dot/q8_0.hpp>
#include <kq/core/memory.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// Aligned Q8_0: a slice is what was a block of `q8_0`, so a lane dots the same weights in the same
/// order as with `q8_0`, and the bits are the same.
template <>
struct sliced_dot<q8_0_aligned> : without_table {
    static constexpr int slices = q8_0_aligned::q8_0_blocks;
    static constexpr bool has_minimum = false;
    using image = sliced_dot<q8_0>::image;

    struct anchor {
        const unsigned char* q; ///< the slice's codes
        const unsigned char* d; ///< its scale
    };

    struct fragment {
        words<4> q[2];
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int slice) {
        return {block + offsetof(q8_0_aligned::block, q) + 32 * slice,
                block + offsetof(q8_0_aligned::block, d) + 2 * slice};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        return {{Memory::template load<words<4>>(from.q + offset),
                 Memory::template load<words<4>>(from.q + offset + 16)},
                f16{Memory::template load<uint16_t>(from.d + offset)}};
    }

    KQ_API static integers dot(const fragment& w, const image::fragment& x, const lane&) {
        int sum = 0;
        KQ_UNROLL
        for (int i = 0; i < 8; ++i) {
            sum = dp4a_ss(w.q[i / 4].word[i % 4], x.q[i], sum);
        }
        return {sum, 0};
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }
};

static_assert(dottable<q8_0_aligned>);

} // namespace kq::inline KQ_ABI

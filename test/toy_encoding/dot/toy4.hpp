// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "toy_encoding/blocks/toy4.hpp"

#include <kq/dot/dot.hpp>
#include <kq/dot/words.hpp>

/// TOY4: a lane takes a whole block. Even weights meet even activations in the low nibbles, odd
/// ones in the high nibbles, which stay in place and weigh 16; the offset of 8 is taken from the
/// activation's sums.
template <>
struct kq::sliced_dot<toy::toy4> : kq::without_table {
    static constexpr int slices = 1;
    static constexpr bool has_minimum = false;
    using image = kq::image<q8_0, slices, element_order::sequential>;

    using anchor = half_aligned; ///< of the block

    struct fragment {
        word_run<4> q;
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int) { return half_aligned::at(block); }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        constexpr int d_at = offsetof(toy::toy4::block, d);
        return {load_before_trailer<4, Memory>(from, offset),
                load_f16<Memory>(from.start + offset + d_at)};
    }

    KQ_API static integers dot(const fragment& w, const image::fragment& x, const lane&) {
        int low = 0;
        int high = 0;
        KQ_UNROLL
        for (int i = 0; i < 4; ++i) {
            const uint32_t q = w.q.word(i); // weights 8 i to 8 i + 7
            const uint32_t even = byte_permute(x.q[2 * i], x.q[2 * i + 1], 0x6420u);
            const uint32_t odd = byte_permute(x.q[2 * i], x.q[2 * i + 1], 0x7531u);
            low = dp4a_us(q & 0x0f0f0f0fu, even, low);
            high = dp4a_us(q & 0xf0f0f0f0u, odd, high);
        }
        return {low + (high >> 4) - dp2a_lo_su(x.sums[0], 0x0808u, 0), 0};
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }
};

static_assert(kq::dottable<toy::toy4>);

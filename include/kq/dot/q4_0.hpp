// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q4_0.hpp>
#include <kq/dot/dot.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// Q4_0: a lane takes a whole block. High nibbles stay in place and weigh 16; the offset of 8 is
/// taken from the activation's sums.
template <>
struct sliced_dot<q4_0> : without_table {
    static constexpr int slices = 1;
    static constexpr bool has_minimum = false;
    using image = kq::image<q8_0, slices, element_order::sequential>;

    using anchor = half_aligned; ///< of the nibbles

    struct fragment {
        word_run<4> q;
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int) {
        return half_aligned::at(block + offsetof(q4_0::block, qs));
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        constexpr int q_at = offsetof(q4_0::block, qs);
        return {load_after_header<4, Memory>(from, offset),
                load_f16<Memory>(from.start - q_at + offset)};
    }

    KQ_API static integers dot(const fragment& w, const image::fragment& x, const lane&) {
        int low = 0;
        int high = 0;
        KQ_UNROLL
        for (int i = 0; i < 4; ++i) {
            const uint32_t q = w.q.word(i);
            low = dp4a_us(q & 0x0f0f0f0fu, x.q[i], low);
            high = dp4a_us(q & 0xf0f0f0f0u, x.q[i + 4], high);
        }
        return {low + (high >> 4) - dp2a_lo_su(x.sums[0], 0x0808u, 0), 0};
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }
};

static_assert(dottable<q4_0>);

} // namespace kq::inline KQ_ABI

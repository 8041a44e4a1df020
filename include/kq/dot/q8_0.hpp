// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q8_0.hpp>
#include <kq/dot/dot.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// Q8_0: a lane takes a whole block.
template <>
struct sliced_dot<q8_0> : without_table {
    static constexpr int slices = 1;
    static constexpr bool has_minimum = false;
    using image = kq::image<q8_0, slices, element_order::sequential>;

    using anchor = half_aligned; ///< of the codes

    struct fragment {
        word_run<8> q;
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int) {
        return half_aligned::at(block + offsetof(q8_0::block, q));
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        constexpr int q_at = offsetof(q8_0::block, q);
        return {load_after_header<8, Memory>(from, offset),
                load_f16<Memory>(from.start - q_at + offset)};
    }

    KQ_API static integers dot(const fragment& w, const image::fragment& x, const lane&) {
        int sum = 0;
        KQ_UNROLL
        for (int i = 0; i < 8; ++i) {
            sum = dp4a_ss(w.q.word(i), x.q[i], sum);
        }
        return {sum, 0};
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }
};

static_assert(dottable<q8_0>);

} // namespace kq::inline KQ_ABI

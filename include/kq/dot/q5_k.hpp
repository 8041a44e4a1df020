// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q5_k.hpp>
#include <kq/dot/q4_k.hpp>

namespace kq {

/// Q5_K: as Q4_K; a slice's fifth bits are two bit planes of all 32 high-bit bytes, dotted in
/// place and shifted once as sums.
template <>
struct sliced_dot<q5_k> : without_table {
    static constexpr int slices = 4;
    static constexpr bool has_minimum = true;
    using image = kq::image<q8_k, slices, element_order::sequential>;

    using anchor = sliced_dot<q4_k>::anchor;

    struct fragment {
        detail::scales_header header;
        words<4> high[2];
        words<4> q[2];
    };

    KQ_API static anchor locate(const unsigned char* block, int slice) {
        return {block, block + offsetof(q5_k::block, qs) + 32 * slice};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        constexpr int high_at = offsetof(q5_k::block, qh);
        return {{Memory::template load<words<4>>(from.block + offset)},
                {Memory::template load<words<4>>(from.block + offset + high_at),
                 Memory::template load<words<4>>(from.block + offset + high_at + 16)},
                {Memory::template load<words<4>>(from.q + offset),
                 Memory::template load<words<4>>(from.q + offset + 16)}};
    }

    KQ_API static integers dot(const fragment& w, const image::fragment& x, const lane& where) {
        const int plane = 2 * where.slice;
        const uint32_t first_plane = 0x01010101u << plane;
        const uint32_t second_plane = 0x02020202u << plane;
        int low = 0;
        int high = 0;
        int low_fifth = 0;
        int high_fifth = 0;
        KQ_UNROLL
        for (int i = 0; i < 8; ++i) {
            const uint32_t q = w.q[i / 4].word[i % 4];
            const uint32_t fifth = w.high[i / 4].word[i % 4];
            low = dp4a_us(q & 0x0f0f0f0fu, x.q[i], low);
            high = dp4a_us(q & 0xf0f0f0f0u, x.q[i + 8], high);
            low_fifth = dp4a_us(fifth & first_plane, x.q[i], low_fifth);
            high_fifth = dp4a_us(fifth & second_plane, x.q[i + 8], high_fifth);
        }
        low += low_fifth >> plane << 4;
        high = (high >> 4) + (high_fifth >> (plane + 1) << 4);
        return detail::scale_pair(w.header.of_slice(where.slice), low, high, x);
    }

    KQ_API static scales scale(const fragment& w, float d) { return w.header.scale(d); }
};

static_assert(dottable<q5_k>);

} // namespace kq

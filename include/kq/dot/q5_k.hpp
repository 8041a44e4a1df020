// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q5_k.hpp>
#include <kq/dot/q4_k.hpp>

#include <cuda/std/bit>

namespace kq::inline KQ_ABI {

/// Q5_K: as Q4_K; a slice's fifth bits are two bit planes of all 32 high-bit bytes.
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
        // Rotated, the two planes of the slice's fifth bits stand at bits 4 and 5 of each byte.
        const int rotation = (2 * where.slice + 28) % 32;
        int low = 0;
        int high = 0; // twofold
        KQ_UNROLL
        for (int i = 0; i < 8; ++i) {
            const uint32_t q = w.q[i / 4].word[i % 4];
            const uint32_t fifth = cuda::std::rotr(w.high[i / 4].word[i % 4], rotation);
            low = dp4a_us((q & 0x0f0f0f0fu) | (fifth & 0x10101010u), x.q[i], low);
            high = dp4a_us((q >> 3 & 0x1e1e1e1eu) | (fifth & 0x20202020u), x.q[i + 8], high);
        }
        return detail::scale_pair(w.header.of_slice(where.slice), low, high >> 1, x);
    }

    KQ_API static scales scale(const fragment& w, float d) { return w.header.scale(d); }
};

static_assert(dottable<q5_k>);

} // namespace kq::inline KQ_ABI

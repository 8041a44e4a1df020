// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q5_k.hpp>
#include <kq/dot/packed_scales.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// Q5_K: as Q4_K; a slice's fifth bits are two bit planes of all 32 high-bit bytes.
template <int Parts>
struct decoder<q5_k, Parts> : detail::packed_scales_decoder {
    struct anchor {
        const unsigned char* block;
        const unsigned char* q; ///< the part's low nibbles
        int high_at;            ///< from the block to its high-bit bytes
    };

    struct fragment : detail::with_header {
        aligned_run<8 / Parts> high;
        aligned_run<8 / Parts> q;
    };

    KQ_API static constexpr int shift(int run) { return run; }

    KQ_API static anchor locate(const unsigned char* block, int slice, int part = 0) {
        constexpr int high_at = offsetof(q5_k::block, qh);
        const int part_at = 32 / Parts * part;
        return {block, block + offsetof(q5_k::block, qs) + 32 * slice + part_at, high_at + part_at};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        return {load_header<Memory>(from.block + offset),
                load_aligned<8 / Parts, 4, Memory>(from.block + offset + from.high_at),
                load_aligned<8 / Parts, 4, Memory>(from.q + offset)};
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context& where) {
        // Rotated, the two planes of the slice's fifth bits stand at bits 4 and 5 of each byte.
        const uint32_t fifth = rotate_right(w.high.word(i), (2 * where.slice + 28) % 32);
        return run == 0 ? (w.q.word(i) & 0x0f0f0f0fu) | (fifth & 0x10101010u)
                        : (w.q.word(i) >> 3 & 0x1e1e1e1eu) | (fifth & 0x20202020u);
    }
};

static_assert(dottable<q5_k> && decodable<q5_k, 4>);

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q5_1.hpp>
#include <kq/dot/added.hpp>
#include <kq/dot/fifth_bits.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// Q5_1: as Q4_1, but the fifth bits join the nibbles, which cannot stay in place then.
template <int Parts>
struct decoder<q5_1, Parts> : detail::added_decoder {
    struct anchor {
        const unsigned char* block;
        const unsigned char* q; ///< the part's nibbles
    };

    struct fragment {
        aligned_run<4 / Parts> q;
        uint32_t d_m;
        uint32_t bits; ///< the fifth ones
    };

    KQ_API static anchor locate(const unsigned char* block, int, int part = 0) {
        return {block, block + offsetof(q5_1::block, qs) + 16 / Parts * part};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        const auto header = Memory::template load<words<2>>(from.block + offset);
        return {load_aligned<4 / Parts, 2, Memory>(from.q + offset), header.word[0],
                header.word[1]};
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context& where) {
        const int first = 16 * run + 4 * (4 / Parts * where.part + i); // weight of the word
        const uint32_t q = w.q.word(i) >> (4 * run);
        return (q & 0x0f0f0f0fu) | detail::fifth_bits(w.bits >> first);
    }

    KQ_API static scales scale(const fragment& w, float d) { return scale_of(w.d_m, d); }
};

static_assert(dottable<q5_1> && decodable<q5_1, 4>);

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q4_1.hpp>
#include <kq/dot/added.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// Q4_1: the nibbles of Q4_0, without an offset.
template <int Parts>
struct decoder<q4_1, Parts> : detail::added_decoder {
    struct anchor {
        const unsigned char* block;
        const unsigned char* q; ///< the part's nibbles
    };

    struct fragment {
        aligned_run<4 / Parts> q;
        uint32_t d_m;
    };

    KQ_API static constexpr int shift(int run) { return 4 * run; }

    KQ_API static anchor locate(const unsigned char* block, int, int part = 0) {
        return {block, block + offsetof(q4_1::block, qs) + 16 / Parts * part};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        return {load_aligned<4 / Parts, 1, Memory>(from.q + offset),
                Memory::template load<uint32_t>(from.block + offset)};
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context&) {
        return w.q.word(i) & (run == 0 ? 0x0f0f0f0fu : 0xf0f0f0f0u);
    }

    KQ_API static scales scale(const fragment& w, float d) { return scale_of(w.d_m, d); }
};

static_assert(dottable<q4_1> && decodable<q4_1, 4>);

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "toy_encoding/blocks/toy4.hpp"

#include <kq/dot/decoder.hpp>
#include <kq/dot/words.hpp>

/// TOY4: a slice is a block, one run. A word of nibbles is two words of codes: even weights come
/// from the low nibbles, odd ones from the high.
template <int Parts>
struct kq::decoder<toy::toy4, Parts> : kq::plain_decoder {
    static constexpr int slices = 1;
    static constexpr int runs = 1;
    static constexpr int offset = 8;
    using image = kq::image<q8_32, slices, element_order::sequential>;

    struct anchor {
        half_aligned q; ///< the part's nibbles
        int d_at;       ///< from them to the scale
    };

    struct fragment {
        word_run<4 / Parts> q;
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int, int part = 0) {
        constexpr int d_at = offsetof(toy::toy4::block, d);
        const int q_at = 16 / Parts * part;
        return {half_aligned::at(block + q_at), d_at - q_at};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        return {load_before_trailer<4 / Parts, Memory>(from.q, offset),
                load_f16<Memory>(from.q.start + (offset + from.d_at))};
    }

    KQ_API static uint32_t codes(const fragment& w, int, int i, const lane_context&) {
        const uint32_t q = w.q.word(i / 2); // weights 8 (i / 2) to 8 (i / 2) + 7 of the part
        return byte_permute(q & 0x0f0f0f0fu, (q >> 4) & 0x0f0f0f0fu,
                            i % 2 == 0 ? 0x5140u : 0x7362u);
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }
};

static_assert(kq::dottable<toy::toy4> && kq::decodable<toy::toy4, 4>);

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q5_0.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/fifth_bits.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// Q5_0: as Q4_0, but the fifth bits join the nibbles, which cannot stay in place then.
template <int Parts>
struct decoder<q5_0, Parts> : plain_decoder {
    static constexpr int slices = 1;
    static constexpr int runs = 2;
    static constexpr int offset = 16;
    using image = kq::image<q8_32, slices, element_order::sequential>;

    struct anchor {
        half_aligned bits; ///< the fifth bits
        int q_at;          ///< from them to the part's nibbles
    };

    struct fragment {
        word_run<1> bits;
        word_run<4 / Parts> q;
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int, int part = 0) {
        constexpr int bits_at = offsetof(q5_0::block, qh);
        constexpr int q_at = offsetof(q5_0::block, qs);
        return {half_aligned::at(block + bits_at), q_at - bits_at + 16 / Parts * part};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int ahead) {
        constexpr int bits_at = offsetof(q5_0::block, qh);
        fragment f;
        if constexpr (Parts == 1) {
            const auto all = load_after_header<5, Memory>(from.bits, ahead);
            f.bits = all.template words_from<0, 1>();
            f.q = all.template words_from<1, 4>();
        } else {
            f.bits = load_after_header<1, Memory>(from.bits, ahead);
            f.q = load_after_header<4 / Parts, Memory>(from.bits, ahead + from.q_at);
        }
        f.d = load_f16<Memory>(from.bits.start - bits_at + ahead);
        return f;
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context& where) {
        const int first = 16 * run + 4 * (4 / Parts * where.part + i); // weight of the word
        const uint32_t q = w.q.word(i) >> (4 * run);
        return (q & 0x0f0f0f0fu) | detail::fifth_bits(w.bits.word(0) >> first);
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }
};

static_assert(dottable<q5_0> && decodable<q5_0, 4>);

} // namespace kq::inline KQ_ABI

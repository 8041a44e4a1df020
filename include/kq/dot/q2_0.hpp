// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q2_0.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/planes.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// Q2_0: two lanes share a block, 32 weights each. Every eighth weight is in the same bits of every
/// second byte, so those four are a word in place, for activations in strided order.
template <int Parts>
struct decoder<q2_0, Parts> : plain_decoder {
    static constexpr int slices = 2;
    static constexpr int runs = Parts == 1 ? 8 : 1; ///< a word each, or all words, shifted down
    static constexpr int offset = 1;
    using image = kq::image<q8_32, slices / 2, element_order::strided>;

    using anchor = words_after_header;

    /// All of a slice, whatever the part: each word of codes has bits of all its bytes.
    struct fragment {
        word_run<2> q;
        f16 d;
    };

    KQ_API static constexpr int shift(int run) { return Parts == 1 ? run % 4 * 2 : 0; }

    KQ_API static anchor locate(const unsigned char* block, int slice, int = 0) {
        constexpr int first_q = offsetof(q2_0::block, qs);
        return anchor::at(block, first_q + 8 * slice);
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int ahead) {
        return {load_after_header<2, Memory>(from.q, ahead), load_f16<Memory>(from.block(ahead))};
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context& where) {
        const int word = Parts == 1 ? run : 8 / Parts * where.part + i; // of the slice
        const uint32_t bytes =
            byte_permute(w.q.word(0), w.q.word(1), detail::every_second_byte(word / 4));
        const int up = word % 4 * 2;
        return Parts == 1 ? bytes & (0x03030303u << up) : (bytes >> up) & 0x03030303u;
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }
};

static_assert(dottable<q2_0> && decodable<q2_0, 4>);

} // namespace kq::inline KQ_ABI

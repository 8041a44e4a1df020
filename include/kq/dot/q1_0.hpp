// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q1_0.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// Q1_0: four lanes share a block, 32 weights each, a bit plane of a word for every eighth weight:
/// planes stay in place, for activations in strided order. Codes are twice the bit, less 1, so that
/// plane 1 stands at bit 0.
template <int Parts>
struct decoder<q1_0, Parts> : plain_decoder {
    static constexpr int slices = 4;
    static constexpr int runs = Parts == 1 ? 8 : 1; ///< a word each, or all words, shifted down
    static constexpr int offset = 1;
    using image = kq::image<q8_32, slices / 4, element_order::strided>;

    using anchor = words_after_header;

    /// All of a slice, whatever the part: each word of codes has a bit of all its bytes.
    struct fragment {
        word_run<1> q;
        f16 d;
    };

    KQ_API static constexpr int shift(int run) { return run == 0 ? 0 : run - 1; }

    KQ_API static anchor locate(const unsigned char* block, int slice, int = 0) {
        constexpr int first_q = offsetof(q1_0::block, qs);
        return anchor::at(block, first_q + 4 * slice);
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int ahead) {
        return {load_after_header<1, Memory>(from.q, ahead), load_f16<Memory>(from.block(ahead))};
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context& where) {
        const uint32_t bits = w.q.word(0);
        if constexpr (Parts == 1) {
            return run == 0 ? bits * 2 & 0x02020202u : bits & (0x01010101u << run);
        } else {
            return (bits >> (8 / Parts * where.part + i) & 0x01010101u) * 2;
        }
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }
};

static_assert(dottable<q1_0> && decodable<q1_0, 4>);

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q8_0.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// Q8_0: a slice is a block, one run.
template <int Parts>
struct decoder<q8_0, Parts> : plain_decoder {
    static constexpr int slices = 1;
    static constexpr int runs = 1;
    static constexpr bool signed_codes = true;
    using image = kq::image<q8_32, slices, element_order::sequential>;

    using anchor = words_after_header;

    struct fragment {
        word_run<8 / Parts> q;
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int, int part = 0) {
        constexpr int first_q = offsetof(q8_0::block, q);
        return anchor::at(block, first_q + 32 / Parts * part);
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        return {load_after_header<8 / Parts, Memory>(from.q, offset),
                load_f16<Memory>(from.block(offset))};
    }

    KQ_API static uint32_t codes(const fragment& w, int, int i, const lane_context&) {
        return w.q.word(i);
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }
};

static_assert(dottable<q8_0> && decodable<q8_0, 4>);

} // namespace kq::inline KQ_ABI

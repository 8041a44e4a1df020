// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/iq4_nl.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/iq4.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// IQ4_NL: blocks as Q4_0's, with nibbles that number codes.
template <int Parts>
struct decoder<iq4_nl, Parts> : detail::iq4_decoder {
    static constexpr int slices = 1;
    static constexpr int runs = 1;
    using image = kq::image<q8_32, slices, element_order::nibbles>;

    using anchor = words_after_header;

    struct fragment {
        word_run<4 / Parts> q;
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int, int part = 0) {
        constexpr int first_q = offsetof(iq4_nl::block, qs);
        return anchor::at(block, first_q + 16 / Parts * part);
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int ahead) {
        return {load_after_header<4 / Parts, Memory>(from.q, ahead),
                load_f16<Memory>(from.block(ahead))};
    }

    KQ_API static uint32_t codes(const fragment& w, int, int i, const lane_context& where) {
        return decoder::together(detail::nibbles::of(w.q.word(i / 2), i % 2), where);
    }
    KQ_API static two_words codes_apart(const fragment& w, int, int i, const lane_context& where) {
        return decoder::apart(detail::nibbles::of(w.q.word(i / 2), i % 2), where);
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }
};

static_assert(dottable<iq4_nl> && decodable<iq4_nl, 4>);

} // namespace kq::inline KQ_ABI

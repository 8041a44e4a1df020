// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/iq4_nl.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/iq4.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// IQ4_NL: as Q4_0, with nibbles that number codes.
template <int Parts>
struct decoder<iq4_nl, Parts> : plain_decoder {
    static constexpr int slices = 1;
    static constexpr int runs = 2;
    static constexpr bool signed_codes = true;
    static constexpr uint32_t constant = detail::iq4_constant;
    using image = kq::image<q8_32, slices, element_order::sequential>;

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

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context& where) {
        return detail::iq4_codes(w.q.word(i), run, where);
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }
};

static_assert(dottable<iq4_nl> && decodable<iq4_nl, 4>);

} // namespace kq::inline KQ_ABI

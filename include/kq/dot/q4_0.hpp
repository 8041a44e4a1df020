// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q4_0.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// Q4_0: a slice is a block, its runs are low and high nibbles.
template <int Parts>
struct decoder<q4_0, Parts> : plain_decoder {
    static constexpr int slices = 1;
    static constexpr int runs = 2;
    static constexpr int offset = 8;
    using image = kq::image<q8_32, slices, element_order::sequential>;

    using anchor = words_after_header;

    struct fragment {
        word_run<4 / Parts> q;
        f16 d;
    };

    KQ_API static constexpr int shift(int run) { return 4 * run; }

    KQ_API static anchor locate(const unsigned char* block, int, int part = 0) {
        constexpr int first_q = offsetof(q4_0::block, qs);
        return anchor::at(block, first_q + 16 / Parts * part);
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int ahead) {
        return {load_after_header<4 / Parts, Memory>(from.q, ahead),
                load_f16<Memory>(from.block(ahead))};
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context&) {
        return w.q.word(i) & (run == 0 ? 0x0f0f0f0fu : 0xf0f0f0f0u);
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }
};

static_assert(dottable<q4_0> && decodable<q4_0, 4>);

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/mxfp4.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/fp4.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// MXFP4: a slice is a block. Blocks lie at any address.
template <int Parts>
struct decoder<mxfp4, Parts> : detail::fp4_decoder {
    static constexpr int slices = 1;
    static constexpr int runs = 1;
    using image = kq::image<q8_32, slices, element_order::nibbles>;

    struct anchor {
        byte_aligned before_q; ///< the byte before the part's nibbles
        int e_at;              ///< from the multiple of 4 below it to the exponent
    };

    struct fragment {
        word_run<4 / Parts> q;
        uint32_t e;
    };

    KQ_API static anchor locate(const unsigned char* block, int, int part = 0) {
        const int q_at = 16 / Parts * part;
        const auto before_q = byte_aligned::at(block + q_at);
        return {before_q, static_cast<int>(before_q.past) - q_at};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int ahead) {
        return {load_after_byte<4 / Parts, Memory>(from.before_q, ahead),
                Memory::template load<uint8_t>(from.before_q.below + (ahead + from.e_at))};
    }

    KQ_API static uint32_t codes(const fragment& w, int, int i, const lane_context& where) {
        return decoder::together(detail::nibbles::of(w.q.word(i / 2), i % 2), where);
    }
    KQ_API static two_words codes_apart(const fragment& w, int, int i, const lane_context& where) {
        return decoder::apart(detail::nibbles::of(w.q.word(i / 2), i % 2), where);
    }

    KQ_API static scales scale(const fragment& w, float d) {
        return {mul_rn(kq::bit_cast<float>(mxfp4::d_bits(w.e)), d), 0};
    }
};

static_assert(dottable<mxfp4> && decodable<mxfp4, 4>);

} // namespace kq::inline KQ_ABI

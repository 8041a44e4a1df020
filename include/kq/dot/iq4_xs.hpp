// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/iq4_xs.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/iq4.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// IQ4_XS: four lanes share a block; a slice's runs are two sub-blocks.
template <int Parts>
struct decoder<iq4_xs, Parts> : detail::iq4_decoder {
    static constexpr int slices = 4;
    static constexpr int runs = 2;
    static constexpr bool has_scales = true;
    using image = kq::image<q8_k, slices, element_order::nibbles>;

    struct anchor {
        const unsigned char* block;
        const unsigned char* q; ///< the part's share of the first sub-block
    };

    struct fragment {
        aligned_run<2> header;
        aligned_run<4 / Parts> first;  ///< nibbles of the first sub-block
        aligned_run<4 / Parts> second; ///< those of the second
    };

    KQ_API static anchor locate(const unsigned char* block, int slice, int part = 0) {
        return {block, block + offsetof(iq4_xs::block, qs) + 32 * slice + 16 / Parts * part};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        constexpr int vector =
            Parts == 1 ? 2 : 1; // words that the alignment allows to load at once
        return {load_aligned<2, 2, Memory>(from.block + offset),
                load_aligned<4 / Parts, vector, Memory>(from.q + offset),
                load_aligned<4 / Parts, vector, Memory>(from.q + offset + 16)};
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context& where) {
        return decoder::together(nibbles_of(w, run, i), where);
    }
    KQ_API static two_words codes_apart(const fragment& w, int run, int i,
                                        const lane_context& where) {
        return decoder::apart(nibbles_of(w, run, i), where);
    }

    /// The bits of the slice's two scales.
    struct scale_bits {
        uint32_t low;  ///< nibbles 0 and 1
        uint32_t high; ///< bits 5..4 and 7..6
    };
    KQ_API static scale_bits integer_scales(const fragment& w, const lane_context& where) {
        constexpr int high_at = 8 * offsetof(iq4_xs::block, scales_h) - 4;
        return {w.header.word(1) >> (8 * where.slice),
                w.header.word(0) >> (high_at + 4 * where.slice)};
    }
    KQ_API static int run_scale(const scale_bits& bits, int run, int factor) {
        const uint32_t scale =
            ((bits.low >> (4 * run)) & 0x0fu) | ((bits.high >> (2 * run)) & 0x30u);
        return (static_cast<int>(scale) - 32) * factor;
    }

    KQ_API static scales scale(const fragment& w, float d) {
        const f16 d_w{static_cast<uint16_t>(w.header.word(0))};
        return {mul_rn(to_f32(d_w), d), 0};
    }

private:
    KQ_API static detail::nibbles nibbles_of(const fragment& w, int run, int i) {
        return detail::nibbles::of((run == 0 ? w.first : w.second).word(i / 2), i % 2);
    }
};

static_assert(dottable<iq4_xs> && decodable<iq4_xs, 4>);

} // namespace kq::inline KQ_ABI

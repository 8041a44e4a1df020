// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/iq2_xxs.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/signs.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// IQ2_XXS: four lanes share a block, 64 weights each; runs are groups of 32. 8 weights are looked
/// up as eight nibbles that number the magnitude, their signs as nibbles that add 4; a byte permute
/// turns the nibbles into signed codes.
template <int Parts>
struct decoder<iq2_xxs, Parts> : plain_decoder {
    static constexpr int slices = 4;
    static constexpr int runs = 2;
    static constexpr bool signed_codes = true;
    static constexpr bool has_scales = true;
    using image = kq::image<q8_k, slices, element_order::sequential>;

    static constexpr int table_columns = 32;
    static constexpr int table_rows = 256 + 128; ///< magnitudes, then signs
    static constexpr uint32_t constant = 0x002b1908u;

    static constexpr uint32_t table_row(int row) {
        if (row >= 256) {
            return detail::sign_nibbles(static_cast<uint32_t>(row - 256));
        }
        uint32_t nibbles = 0;
        for (int i = 0; i < 8; ++i) { // 8, 25 and 43 are told apart by their high nibbles 0, 1, 2
            const uint64_t entry = codebooks::iq2_xxs.entries[row];
            nibbles |= static_cast<uint32_t>((entry >> (8 * i + 4)) & 0xf) << (4 * i);
        }
        return nibbles;
    }

    struct anchor {
        half_aligned q; ///< of the slice's codes
        const unsigned char* block;
    };

    /// All of a slice, whatever the part: half of it are signs and scales, and to load one index
    /// byte of each group beside them would take more loads.
    struct fragment {
        word_run<4> q;
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int slice, int = 0) {
        return {half_aligned::at(block + offsetof(iq2_xxs::block, qs) + 16 * slice), block};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        return {load_after_header<4, Memory>(from.q, offset),
                load_f16<Memory>(from.block + offset)};
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context& where) {
        const uint32_t positive = where.constant;  // codes of nibbles 0, 1 and 2
        constexpr uint32_t negative = 0x00d5e7f8u; // codes of nibbles 4, 5 and 6
        const uint32_t column = detail::column(where);
        const int first = Parts == 1 ? 0 : where.part; // group of 8 weights
        const uint32_t indices = w.q.word(2 * run) >> (8 * first);
        const uint32_t signs = w.q.word(2 * run + 1) >> (7 * first);
        const uint32_t nibbles =
            detail::look_up(where, detail::row_offset(indices, i / 2, column)) |
            detail::look_up(where, detail::sign_offset(signs, i / 2, column) + 256 * 128);
        return byte_permute(positive, negative, i % 2 == 0 ? nibbles : detail::high_half(nibbles));
    }

    KQ_API static int run_scale(const fragment& w, int run, int factor) {
        return detail::odd_scale(w.q.word(2 * run + 1)) * factor;
    }

    KQ_API static scales scale(const fragment& w, float d) {
        return {mul_rn(to_f32(w.d), mul_rn(iq2_xxs::factor, d)), 0};
    }
};

static_assert(dottable<iq2_xxs> && decodable<iq2_xxs, 4>);

} // namespace kq::inline KQ_ABI

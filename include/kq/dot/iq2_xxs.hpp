// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/iq2_xxs.hpp>
#include <kq/dot/dot.hpp>
#include <kq/dot/signs.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// IQ2_XXS: four lanes share a block, 64 weights each. A group of 8 weights is looked up as eight
/// nibbles that number the magnitude, its signs as nibbles that add 4; a byte permute turns the
/// nibbles into signed codes.
template <>
struct sliced_dot<iq2_xxs> {
    static constexpr int slices = 4;
    static constexpr bool has_minimum = false;
    using image = kq::image<q8_k, slices, element_order::sequential>;

    static constexpr int table_rows = 256 + 128; ///< magnitudes, then signs
    static constexpr uint32_t constant = 0x002b1908u;

    KQ_API static uint32_t table_row(int row) {
        if (row >= 256) {
            return detail::sign_nibbles(static_cast<uint32_t>(row - 256));
        }
        uint32_t nibbles = 0;
        for (int i = 0; i < 8; ++i) { // 8, 25 and 43 are told apart by their high nibbles 0, 1, 2
            const uint64_t entry = codebooks::iq2_xxs_entry(row);
            nibbles |= static_cast<uint32_t>((entry >> (8 * i + 4)) & 0xf) << (4 * i);
        }
        return nibbles;
    }

    struct anchor {
        half_aligned q; ///< of the slice's codes
        const unsigned char* block;
    };

    struct fragment {
        word_run<4> q;
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int slice) {
        return {half_aligned::at(block + offsetof(iq2_xxs::block, qs) + 16 * slice), block};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        return {load_after_header<4, Memory>(from.q, offset),
                load_f16<Memory>(from.block + offset)};
    }

    KQ_API static integers dot(const fragment& w, const image::fragment& x, const lane& where) {
        const uint32_t positive = where.constant;  // codes of nibbles 0, 1 and 2
        constexpr uint32_t negative = 0x00d5e7f8u; // codes of nibbles 4, 5 and 6
        const uint32_t column = detail::column(where);
        int dot = 0;
        KQ_UNROLL
        for (int group = 0; group < 2; ++group) {
            const uint32_t indices = w.q.word(2 * group);
            const uint32_t signs = w.q.word(2 * group + 1);
            uint32_t sign_at[4];
            detail::sign_offsets(signs, column, sign_at);
            int sum = 0;
            KQ_UNROLL
            for (int i = 0; i < 4; ++i) {
                const uint32_t nibbles =
                    detail::look_up(where, detail::row_offset(indices, i, column)) |
                    detail::look_up(where, sign_at[i] + 256 * 128);
                const uint32_t* codes = x.q + 8 * group + 2 * i; // [2]
                sum = dp4a_ss(byte_permute(positive, negative, nibbles), codes[0], sum);
                sum = dp4a_ss(byte_permute(positive, negative, detail::high_half(nibbles)),
                              codes[1], sum);
            }
            dot += sum * detail::odd_scale(signs);
        }
        return {dot, 0};
    }

    KQ_API static scales scale(const fragment& w, float d) {
        return {mul_rn(to_f32(w.d), mul_rn(iq2_xxs::factor, d)), 0};
    }
};

static_assert(dottable<iq2_xxs>);

} // namespace kq::inline KQ_ABI

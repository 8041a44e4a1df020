// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/iq3_xxs.hpp>
#include <kq/dot/dot.hpp>
#include <kq/dot/signs.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// IQ3_XXS: four lanes share a block, 64 weights each. A group of 4 magnitudes is looked up as
/// bytes; the signs' nibbles pick each byte from the group or from its negation.
template <>
struct sliced_dot<iq3_xxs> {
    static constexpr int slices = 4;
    static constexpr bool has_minimum = false;
    using image = kq::image<q8_k, slices, element_order::sequential>;

    static constexpr int table_rows = 256 + 128; ///< magnitudes, then signs
    static constexpr uint32_t constant = 0;

    KQ_API static uint32_t table_row(int row) {
        return row < 256 ? codebooks::iq3_xxs_entry(row)
                         : detail::sign_nibbles(static_cast<uint32_t>(row - 256)) | 0x32103210u;
    }

    struct anchor {
        half_aligned q; ///< of the slice's indices
        const unsigned char* block;
        int signs_at; ///< from the indices to the slice's signs
    };

    struct fragment {
        word_run<4> q;
        word_run<2> signs;
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int slice) {
        const int q_at = offsetof(iq3_xxs::block, qs) + 16 * slice;
        const int signs_at = offsetof(iq3_xxs::block, signs) + 8 * slice;
        return {half_aligned::at(block + q_at), block, signs_at - q_at};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        return {load_after_header<4, Memory>(from.q, offset),
                load_after_header<2, Memory>(from.q, offset + from.signs_at),
                load_f16<Memory>(from.block + offset)};
    }

    KQ_API static integers dot(const fragment& w, const image::fragment& x, const lane& where) {
        const uint32_t column = detail::column(where);
        int dot = 0;
        KQ_UNROLL
        for (int group = 0; group < 2; ++group) {
            const uint32_t signs = w.signs.word(group);
            uint32_t sign_at[4];
            detail::sign_offsets(signs, column, sign_at);
            int sum = 0;
            KQ_UNROLL
            for (int i = 0; i < 8; ++i) {
                const uint32_t indices = w.q.word(2 * group + i / 4);
                const uint32_t magnitudes =
                    detail::look_up(where, detail::row_offset(indices, i % 4, column));
                // The lowest magnitude is above zero, so bytes never borrow from each other here.
                const uint32_t negations = 0x01010100u - magnitudes;
                const uint32_t nibbles = detail::look_up(where, sign_at[i / 2] + 256 * 128);
                const uint32_t selector = i % 2 == 0 ? nibbles : detail::high_half(nibbles);
                sum =
                    dp4a_ss(byte_permute(magnitudes, negations, selector), x.q[8 * group + i], sum);
            }
            dot += sum * detail::odd_scale(signs);
        }
        return {dot, 0};
    }

    KQ_API static scales scale(const fragment& w, float d) {
        return {mul_rn(to_f32(w.d), mul_rn(iq3_xxs::factor, d)), 0};
    }
};

static_assert(dottable<iq3_xxs>);

} // namespace kq::inline KQ_ABI

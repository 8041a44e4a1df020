// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/iq3_xxs.hpp>
#include <kq/core/standard.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/signs.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// IQ3_XXS: four lanes share a block, 64 weights each; runs are groups of 32. 4 magnitudes are
/// looked up as bytes; the signs' nibbles pick each byte from them or from their negations.
template <int Parts>
struct decoder<iq3_xxs, Parts> : plain_decoder {
    static_assert(Parts == 1 || Parts == 4, "kq: iq3_xxs is decoded by slices or quarters");

    static constexpr int slices = 4;
    static constexpr int runs = 2;
    static constexpr bool signed_codes = true;
    static constexpr bool has_scales = true;
    using image = kq::image<q8_k, slices, element_order::sequential>;

    static constexpr int table_columns = 32;
    static constexpr int table_rows = 256 + 128; ///< magnitudes, then signs

    static constexpr uint32_t table_row(int row) {
        return row < 256 ? codebooks::iq3_xxs.entries[row]
                         : detail::sign_nibbles(static_cast<uint32_t>(row - 256)) | 0x32103210u;
    }

    struct anchor {
        half_aligned q; ///< of the slice's indices
        const unsigned char* block;
        int signs_at; ///< from the indices to the slice's signs
        int part;
    };

    struct fragment {
        standard::conditional_t<Parts == 1, word_run<4>, half_run<2>> q;
        word_run<2> signs;
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int slice, int part = 0) {
        constexpr int first_q = offsetof(iq3_xxs::block, qs);
        constexpr int first_signs = offsetof(iq3_xxs::block, signs);
        const int q_at = first_q + 16 * slice;
        const int signs_at = first_signs + 8 * slice;
        return {half_aligned::at(block + q_at), block, signs_at - q_at, part};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        fragment f;
        if constexpr (Parts == 1) {
            f.q = load_after_header<4, Memory>(from.q, offset);
        } else { // 2 of the 8 indices of each group
            f.q = load_halves<2, 8, Memory>(from.q.start + offset + 2 * from.part);
        }
        f.signs = load_after_header<2, Memory>(from.q, offset + from.signs_at);
        f.d = load_f16<Memory>(from.block + offset);
        return f;
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context& where) {
        constexpr int words = Parts == 1 ? 2 : 1; // of indices, of a run
        const uint32_t indices = w.q.word(words * run + i / 4);
        const uint32_t signs = w.signs.word(run) >> (Parts == 1 ? 0 : 7 * where.part);
        const uint32_t column = detail::column(where);
        const uint32_t magnitudes =
            detail::look_up(where, detail::row_offset(indices, i % 4, column));
        // The lowest magnitude is above zero, so bytes never borrow from each other here.
        const uint32_t negations = 0x01010100u - magnitudes;
        const uint32_t nibbles =
            detail::look_up(where, detail::sign_offset(signs, i / 2, column) + 256 * 128);
        return byte_permute(magnitudes, negations,
                            i % 2 == 0 ? nibbles : detail::high_half(nibbles));
    }

    KQ_API static int run_scale(const fragment& w, int run, int factor) {
        return detail::odd_scale(w.signs.word(run)) * factor;
    }

    KQ_API static scales scale(const fragment& w, float d) {
        return {mul_rn(to_f32(w.d), mul_rn(iq3_xxs::factor, d)), 0};
    }
};

static_assert(dottable<iq3_xxs> && decodable<iq3_xxs, 4>);

} // namespace kq::inline KQ_ABI

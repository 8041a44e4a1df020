// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/iq1_s.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/iq1.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// IQ1_S: four lanes share a block, 64 weights each; runs are groups of 32. 8 weights are looked up
/// as eight nibbles that number the trit; a byte permute turns the nibbles into signed codes, of
/// which the group's delta says which three they are.
template <int Parts>
struct decoder<iq1_s, Parts> : plain_decoder {
    static constexpr int slices = 4;
    static constexpr int runs = 2;
    static constexpr bool signed_codes = true;
    static constexpr bool has_scales = true;
    using image = kq::image<q8_k, slices, element_order::sequential>;

    static constexpr int table_columns = detail::iq1_table::columns;
    static constexpr int table_rows = detail::iq1_table::rows;
    static constexpr uint32_t constant = detail::iq1_minus;

    KQ_API static constexpr uint32_t table_row(int row) { return detail::iq1_table::row(row); }

    struct anchor {
        half_aligned q; ///< of the slice's indices
        const unsigned char* block;
        int h_at; ///< from the indices to the slice's high bits
    };

    /// All of a slice, whatever the part, which would load one byte of two words and all else.
    struct fragment {
        word_run<2> q;
        word_run<1> h; ///< high bits, scale and delta of two groups
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int slice, int = 0) {
        constexpr int first_q = offsetof(iq1_s::block, qs);
        constexpr int first_h = offsetof(iq1_s::block, qh);
        const int q_at = first_q + 8 * slice;
        return {half_aligned::at(block + q_at), block, first_h + 4 * slice - q_at};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        return {load_after_header<2, Memory>(from.q, offset),
                load_after_header<1, Memory>(from.q, offset + from.h_at),
                load_f16<Memory>(from.block + offset)};
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context& where) {
        const int word = Parts == 1 ? i : 8 / Parts * where.part + i; // of the run's eight
        const int entry = word / 2;
        const uint32_t h = w.h.word(0);
        const uint32_t nibbles =
            detail::iq1_table::look_up(where, w.q.word(run), entry, h, 16 * run + 3 * entry);
        const bool negative = (h & 0x8000u << (16 * run)) != 0;
        return detail::iq1_codes(nibbles, word % 2, negative, where.constant);
    }

    KQ_API static int run_scale(const fragment& w, int run, int factor) {
        const uint32_t twice = (w.h.word(0) >> (16 * run + 11)) & 0xeu;
        return static_cast<int>(twice | 1u) * factor;
    }

    KQ_API static scales scale(const fragment& w, float d) {
        return {mul_rn(to_f32(w.d), mul_rn(iq1_s::factor, d)), 0};
    }
};

static_assert(dottable<iq1_s> && decodable<iq1_s, 4>);

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/tq1_0.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/signs.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// TQ1_0: four lanes share a block. Slice s has bytes 8 s to 8 s + 7, 32 + 4 s to 35 + 4 s and
/// 48 + s. A byte's digits are looked up; a word of codes is one digit of four bytes, or the four
/// digits of the last byte. Run n has digits n of three words, and one of the words that are left.
template <int Parts>
struct decoder<tq1_0, Parts> : plain_decoder {
    static_assert(Parts == 1 || Parts == 4, "kq: tq1_0 is decoded by slices or quarters");
    static constexpr int slices = 4;
    static constexpr int runs = 4;
    static constexpr int offset = 1;
    using image = kq::image<q8_k, slices, element_order::columns>;

    static constexpr int table_columns = 32;
    static constexpr int table_rows = 256;

    KQ_API static constexpr int shift(int run) { return 2 * run; }

    /// Of a byte: digits 0 to 3 as the nibbles of the low half, a byte permute's selector; as four
    /// planes of byte 2; and the fifth digit in each plane of byte 3.
    KQ_API static constexpr uint32_t table_row(int row) {
        uint32_t digits = static_cast<uint32_t>(tq1_0::digit(row, 4)) * 0x55000000u;
        for (int n = 0; n < 4; ++n) {
            digits |= static_cast<uint32_t>(tq1_0::digit(row, n)) << (4 * n);
            digits |= static_cast<uint32_t>(tq1_0::digit(row, n)) << (16 + 2 * n);
        }
        return digits;
    }

    struct anchor {
        half_aligned block;
        int slice;
    };

    /// All of a slice, whatever the part: each byte is in several.
    struct fragment {
        word_run<2> first;
        word_run<1> second;
        uint32_t last; ///< the byte of four digits
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int slice, int = 0) {
        return {half_aligned::at(block), slice};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int ahead) {
        constexpr int last_at = offsetof(tq1_0::block, qh);
        constexpr int d_at = offsetof(tq1_0::block, d);
        const unsigned char* block = from.block.start + ahead;
        return {load_before_trailer<2, Memory>(from.block, ahead + 8 * from.slice),
                load_before_trailer<1, Memory>(from.block, ahead + 32 + 4 * from.slice),
                Memory::template load<uint8_t>(block + (last_at + from.slice)),
                load_f16<Memory>(block + d_at)};
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context& where) {
        const uint32_t column = detail::column(where);
        const int word = Parts == 1 ? i : where.part; // of the run
        if (word == 3 && run == 3) {
            constexpr uint32_t standing = 0x00804000u; // of digits 0, 1 and 2
            return byte_permute(standing, 0,
                                detail::look_up(where, detail::row_offset(w.last, 0, column)));
        }
        const int from = word == 3 ? run : word; // the word of bytes
        const uint32_t bytes = from == 0   ? w.first.word(0)
                               : from == 1 ? w.first.word(1)
                                           : w.second.word(0);
        uint32_t rows[4];
        KQ_UNROLL
        for (int b = 0; b < 4; ++b) {
            rows[b] = detail::look_up(where, detail::row_offset(bytes, b, column));
        }
        const uint32_t low = byte_permute(rows[0], rows[1], 0x7362u);
        const uint32_t high = byte_permute(rows[2], rows[3], 0x7362u);
        return byte_permute(low, high, word == 3 ? 0x7632u : 0x5410u) & 0x03030303u << (2 * run);
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }
};

static_assert(dottable<tq1_0> && decodable<tq1_0, 4>);

} // namespace kq::inline KQ_ABI

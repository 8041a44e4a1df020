// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/iq2_s.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/signs.hpp>
#include <kq/dot/three_levels.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// IQ2_S: four lanes share a block, 64 weights each; a run is two groups of 8, whose nibbles lie in
/// the halves of two words. Signs are spread to nibbles for 32 weights at a time: with a table of
/// them too, the tables would not fit into every device's shared memory.
template <int Parts>
struct decoder<iq2_s, Parts> : detail::three_levels_decoder {
    static_assert(Parts == 1 || Parts == 4, "kq: iq2_s is decoded by slices or quarters");

    static constexpr int table_rows = 512;

    /// Bits 0 to 7 of an index number a pair of rows, bit 9 the row, bit 8 the half of its word.
    static constexpr uint32_t table_row(int row) {
        const int index = row / 2 + row % 2 * 512;
        return detail::crumbs(codebooks::iq2_s.entries[index]) |
               detail::crumbs(codebooks::iq2_s.entries[index + 256]) << 16;
    }

    struct anchor {
        half_aligned q; ///< the low bits of the slice's indices
        const unsigned char* block;
        int high_at; ///< from the block to the slice's high bits
    };

    /// All of a slice, whatever the part.
    struct fragment {
        word_run<2> q;
        word_run<2> signs;
        uint32_t high;   ///< two bits an index
        uint32_t scales; ///< four nibbles
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int slice, int = 0) {
        return {half_aligned::at(block + offsetof(iq2_s::block, qs) + 8 * slice), block,
                static_cast<int>(offsetof(iq2_s::block, qh)) + 2 * slice};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        constexpr int signs_at = offsetof(iq2_s::block, signs) - offsetof(iq2_s::block, qs);
        constexpr int scales_at = offsetof(iq2_s::block, scales) - offsetof(iq2_s::block, qh);
        const unsigned char* high = from.block + (offset + from.high_at);
        return {load_after_header<2, Memory>(from.q, offset),
                load_after_header<2, Memory>(from.q, offset + signs_at),
                Memory::template load<uint16_t>(high),
                Memory::template load<uint16_t>(high + scales_at),
                load_f16<Memory>(from.block + offset)};
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context& where) {
        const int word = Parts == 1 ? i : where.part; // of the run
        const int half = run / 2;                     // of the slice
        const uint32_t pair = run % 2 == 0 ? 0x5140u : 0x7362u;
        const uint32_t column = detail::column(where);
        const uint32_t offsets =
            byte_permute(low_bytes_of_offsets(w.high, half, column), w.q.word(half), pair);
        // Two entries as halves of a word. By the multiply pipe, as the integer ALU is what is
        // short.
        const uint32_t entries = detail::look_half_up(where, dp2a_lo_uu(offsets, 0x0001u, 0)) +
                                 detail::look_half_up(where, detail::high_half(offsets)) * 0x10000u;
        const uint32_t signs = w.signs.word(half);
        const uint32_t nibbles =
            word % 2 == 0 ? (entries & 0x33333333u) | sign_nibbles(signs, pair)
                          : ((entries >> 2) & 0x33333333u) | sign_nibbles(signs >> 4, pair);
        return codes_of(word / 2 == 0 ? nibbles : detail::high_half(nibbles), where);
    }

    KQ_API static int run_scale(const fragment& w, int run, int factor) {
        return detail::odd_scale(w.scales, run) * factor;
    }

    KQ_API static scales scale(const fragment& w, float d) {
        return {mul_rn(to_f32(w.d), mul_rn(iq2_s::factor, d)), 0};
    }

private:
    /// The low bytes of the offsets in the table of the four entries of 32 weights, `half` of the
    /// slice: the column, the row of the pair at bit 7 and the half of its word at bit 1.
    KQ_API static uint32_t low_bytes_of_offsets(uint32_t high, int half, uint32_t column) {
        const uint32_t nibbles = ((high >> (8 * half)) | (high << (12 - 8 * half))) & 0x000f000fu;
        const uint32_t pairs = (nibbles * 0x41u) & 0x03030303u; // of bits, one a byte
        return ((pairs * 0x42u) & 0x82828282u) | column * 0x01010101u;
    }

    /// A nibble of 4 for each of the low four bits of two bytes that is set, those of the pair of
    /// bytes that `pair` picks.
    KQ_API static uint32_t sign_nibbles(uint32_t bits, uint32_t pair) {
        const uint32_t low = ((bits & 0x03030303u) * 0x24u) & 0x44444444u; // of bits 0 and 1
        const uint32_t high = ((bits & 0x0c0c0c0cu) * 0x09u) & 0x44444444u;
        return byte_permute(low, high, pair);
    }
};

static_assert(dottable<iq2_s> && decodable<iq2_s, 4>);

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/iq2_xs.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/signs.hpp>
#include <kq/dot/three_levels.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// IQ2_XS: four lanes share a block, 64 weights each; a run is two groups of 8, a word of indices
/// and signs.
template <int Parts>
struct decoder<iq2_xs, Parts> : detail::three_levels_decoder {
    static_assert(Parts == 1 || Parts == 4, "kq: iq2_xs is decoded by slices or quarters");

    static constexpr int entry_rows = 256; ///< entries i and i + 256 share row i
    static constexpr int table_rows = entry_rows + 128;

    static constexpr uint32_t table_row(int row) {
        return row < entry_rows ? entry(row) | entry(row + entry_rows) << 16
                                : detail::sign_nibbles(static_cast<uint32_t>(row - entry_rows));
    }

    struct anchor {
        half_aligned q; ///< of the slice's groups
        const unsigned char* block;
        int scales_at; ///< from the block to the slice's scales
    };

    /// All of a slice, whatever the part.
    struct fragment {
        word_run<4> q;
        uint32_t scales; ///< four nibbles
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int slice, int = 0) {
        return {half_aligned::at(block + offsetof(iq2_xs::block, qs) + 16 * slice), block,
                static_cast<int>(offsetof(iq2_xs::block, scales)) + 2 * slice};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        return {load_after_header<4, Memory>(from.q, offset),
                Memory::template load<uint16_t>(from.block + (offset + from.scales_at)),
                load_f16<Memory>(from.block + offset)};
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context& where) {
        const int word = Parts == 1 ? i : where.part; // of the run
        const int at = 16 * (word / 2);               // of the group in q
        const uint32_t q = w.q.word(run);
        const uint32_t column = detail::column(where);
        // The low byte numbers the row, the ninth bit picks the half of its word.
        const uint32_t at_entry = dp4a_uu(q & 0x01ff01ffu, 0x0280u << at, column);
        const uint32_t at_signs = dp4a_uu(q & 0xfe00fe00u, 0x4000u << at, column);
        const uint32_t nibbles = nibbles_of_entry(detail::look_half_up(where, at_entry)) |
                                 detail::look_up(where, at_signs + entry_rows * 128);
        return codes_of(word % 2 == 0 ? nibbles : detail::high_half(nibbles), where);
    }

    KQ_API static int run_scale(const fragment& w, int run, int factor) {
        return detail::odd_scale(w.scales, run) * factor;
    }

    KQ_API static scales scale(const fragment& w, float d) {
        return {mul_rn(to_f32(w.d), mul_rn(iq2_xs::factor, d)), 0};
    }

private:
    /// The crumbs of an entry, made for `nibbles_of_entry`: where its product carries, weight 4
    /// gets the carry, and has 1 less here.
    static constexpr uint32_t entry(int index) {
        const uint32_t levels = codebooks::iq2_xs.entries[index];
        const uint32_t crumbs = detail::crumbs(levels);
        const bool carries = (levels & 3u) + (levels >> 14) > 3; // weights 0 and 7 meet
        return carries ? (crumbs & ~0xcu) | ((crumbs - 4u) & 0xcu) : crumbs;
    }

    /// The level of each weight of an entry, weight i in nibble i: the entry, and above it the
    /// entry two bits lower.
    KQ_API static uint32_t nibbles_of_entry(uint32_t entry) {
        return (entry * 0x4001u) & 0x33333333u;
    }
};

static_assert(dottable<iq2_xs> && decodable<iq2_xs, 4>);

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dot/decoder.hpp>
#include <kq/dot/signs.hpp>

/// What IQ2_XS and IQ2_S share: entries of 8 magnitudes 8, 25 or 43 as 16 bits, so that a row of
/// the lookup table holds two of them, and signs as nibbles.
namespace kq::inline KQ_ABI::detail {

/// The 16 bits of an entry in the table, of which `nibbles_of_entry` makes a nibble a weight.
/// Weights 0 to 3 have the low two bits of a nibble, weights 4 to 7 the high two. `levels`: two
/// bits a weight.
KQ_API constexpr uint32_t table_entry(uint32_t levels) {
    uint32_t entry = 0;
    for (int i = 0; i < 4; ++i) {
        entry |= (levels >> (2 * i) & 3u) << (4 * i);
        entry |= (levels >> (2 * i + 8) & 3u) << (4 * i + 2);
    }
    // In the product below weight 7 meets weight 0; where that carries, weight 4 gets it.
    const bool carries = (levels & 3u) + (levels >> 14) > 3;
    return carries ? (entry & ~0xcu) | ((entry - 4u) & 0xcu) : entry;
}

/// The level of each weight of an entry, weight i in nibble i.
KQ_API constexpr uint32_t nibbles_of_entry(uint32_t entry) {
    return (entry * 0x4001u) & 0x33333333u;
}

/// The entry at `offset` of the table, a half of a word.
KQ_API uint32_t look_entry_up(const lane_context& where, uint32_t offset) {
    return cached_memory::load<uint16_t>(where.table + offset);
}

/// What decoders of codebooks of three levels share: runs of 16 weights, and how nibbles become
/// codes.
struct three_levels_decoder : plain_decoder {
    static constexpr int slices = 4;
    static constexpr int runs = 4;
    static constexpr bool signed_codes = true;
    static constexpr bool has_scales = true;
    using image = kq::image<q8_k, slices, element_order::sequential>;

    static constexpr int table_columns = 32;
    static constexpr uint32_t constant = 0x002b1908u; ///< codes of nibbles 0, 1 and 2

    /// Half `half` of the eight codes of an entry at offset `entry` of the table and signs at
    /// offset `signs`.
    KQ_API static uint32_t codes_at(uint32_t entry, uint32_t signs, int half,
                                    const lane_context& where) {
        constexpr uint32_t negative = 0x00d5e7f8u; // codes of nibbles 4, 5 and 6
        const uint32_t nibbles =
            nibbles_of_entry(look_entry_up(where, entry)) | look_up(where, signs);
        return byte_permute(where.constant, negative, half == 0 ? nibbles : high_half(nibbles));
    }
};

} // namespace kq::inline KQ_ABI::detail

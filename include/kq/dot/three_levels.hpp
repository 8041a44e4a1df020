// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dot/decoder.hpp>
#include <kq/dot/signs.hpp>

/// What IQ2_XS and IQ2_S share: entries of 8 magnitudes 8, 25 or 43 as 16 bits, so that a row of
/// the lookup table holds two of them.
namespace kq::inline KQ_ABI::detail {

/// An entry in 16 bits: weights 0 to 3 have the low two bits of a nibble, weights 4 to 7 the high
/// two.
/// `levels`: two bits a weight.
constexpr uint32_t crumbs(uint32_t levels) {
    uint32_t entry = 0;
    for (int i = 0; i < 4; ++i) {
        entry |= (levels >> (2 * i) & 3u) << (4 * i);
        entry |= (levels >> (2 * i + 8) & 3u) << (4 * i + 2);
    }
    return entry;
}

/// The half of a word at `offset` of the table.
KQ_API uint32_t look_half_up(const lane_context& where, uint32_t offset) {
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

    /// Four codes, by the low four nibbles of `nibbles`: a level, 4 more where it is negative.
    KQ_API static uint32_t codes_of(uint32_t nibbles, const lane_context& where) {
        constexpr uint32_t negative = 0x00d5e7f8u; // codes of nibbles 4, 5 and 6
        return byte_permute(where.constant, negative, nibbles);
    }
};

} // namespace kq::inline KQ_ABI::detail

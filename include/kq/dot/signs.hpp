// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/codebooks/signs.hpp>
#include <kq/dot/decoder.hpp>

/// What the encodings share that look magnitudes and signs up in a table. The table has a column
/// for every lane, so that no two lanes of a warp meet in a bank.
namespace kq::inline KQ_ABI::detail {

/// The word in row `offset / 128` of the lane's column, where `offset` is a multiple of 128 plus
/// the lane's `column`.
KQ_API uint32_t look_up(const lane_context& where, uint32_t offset) {
    return cached_memory::load<uint32_t>(where.table + offset);
}

/// The byte offset of the lane's column in a row.
KQ_API uint32_t column(const lane_context& where) {
    return static_cast<uint32_t>(where.index) * 4;
}

/// The offset of the row that byte `i` of `rows` numbers. Multiplies instead of shifting, since
/// the integer ALU is what the low-bit encodings run out of.
KQ_API uint32_t row_offset(uint32_t rows, int i, uint32_t column) {
    return dp4a_uu(rows, 0x80u << (8 * i), column);
}

/// Sign index `i` of the four of 7 bits in the low 28 bits of `signs`, as an offset in a table of
/// rows of 128 bytes. Each is moved into place by the pipe that has room.
KQ_API uint32_t sign_offset(uint32_t signs, int i, uint32_t column) {
    switch (i) {
    case 0:
        return dp4a_uu(signs & 0x7fu, 0x80u, column);
    case 1:
        return (signs & 0x3f80u) | column;
    case 2:
        return ((signs >> 7) & 0x3f80u) | column;
    default:
        return dp2a_lo_uu(signs & 0x0fe00000u, 0x0400u, column);
    }
}

/// A nibble of 4 for every negative weight of a group of 8, weight i in nibble i.
constexpr uint32_t sign_nibbles(uint32_t index) {
    const uint32_t signs = codebooks::expand_signs(index);
    uint32_t nibbles = 0;
    for (int i = 0; i < 8; ++i) {
        nibbles |= ((signs >> i) & 1u) << (4 * i + 2);
    }
    return nibbles;
}

/// The high half of `x`, by the multiply pipe.
KQ_API uint32_t high_half(uint32_t x) {
    return dp2a_lo_uu(x, 0x0100u, 0);
}

/// The scale of 32 weights, `2 s + 1` with s in the top four bits.
KQ_API int odd_scale(uint32_t signs_and_scale) {
    return static_cast<int>((signs_and_scale >> 27) | 1u);
}

/// The scale `2 s + 1` with s in nibble `i` of `scales`, whose highest nibble is 0.
KQ_API int odd_scale(uint32_t scales, int i) {
    return static_cast<int>(((scales << 1) >> (4 * i) & 0x1eu) | 1u);
}

} // namespace kq::inline KQ_ABI::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/codebooks/iq1.hpp>
#include <kq/core/standard.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/signs.hpp>

/// What IQ1_S and IQ1_M share: the table of their codebook and how codes are looked up in it.
namespace kq::inline KQ_ABI::detail {

/// A table with a row for each entry of the codebook: eight nibbles, trit plus 1, which number the
/// codes of a byte permute.
struct iq1_table {
    /// Copies of the table, 8 KB each, 16 at most. Lanes l, l + columns and so on share one, and
    /// meet in its banks: a lookup of random rows takes 3.5 passes with 1 column, 2.9 with 8 and 2
    /// with 16. The more columns, the longer to fill them and the less room for weights.
    static constexpr int columns = 8;
    static constexpr int rows = 2048;
    static constexpr int row_bytes = 4 * columns;

    KQ_API static constexpr uint32_t row(int index) {
        uint32_t x = codebooks::iq1.entries[index]; // two bits apart, then four
        x = (x | x << 8) & 0x00ff00ffu;
        x = (x | x << 4) & 0x0f0f0f0fu;
        return (x | x << 2) & 0x33333333u;
    }

    /// Entry number `(byte of low) | (three bits of high, from high_at on) << 8`, in the lane's
    /// column.
    KQ_API static uint32_t look_up(const lane_context& where, uint32_t low, int byte, uint32_t high,
                                   int high_at) {
        // By dp4a: the device compiler would merge a mask into each use, which has its own.
        const auto lane = static_cast<uint32_t>(where.index % columns);
        const uint32_t column = dp4a_uu(lane, 4, 0);
        const int left = high_row_bit - high_at;
        const uint32_t moved = left > 0 ? high << left : high >> -left;
        const uint32_t first = (moved & (7u << high_row_bit)) | column;
        const uint32_t offset = dp4a_uu(low, uint32_t{row_bytes} << (8 * byte), first);
        return cached_memory::load<uint32_t>(where.table + offset);
    }

private:
    /// Where the high three bits of an entry's number are in the byte offset of its row.
    static constexpr int high_row_bit = standard::countr_zero(256u * row_bytes);
};

/// The codes of trits -1, 0 and 1, which are 8 times the trit plus the delta, as bytes.
inline constexpr uint32_t iq1_plus = 0x000901f9u;  ///< -7, 1, 9: where the delta is 1
inline constexpr uint32_t iq1_minus = 0x0007fff7u; ///< -9, -1, 7: where it is -1

/// Half `half` of an entry's codes. `minus`: `iq1_minus`, in a register.
KQ_API uint32_t iq1_codes(uint32_t entry, int half, bool negative, uint32_t minus) {
    const uint32_t codes = negative ? minus : iq1_plus;
    // A shift would make the device compiler load the high half once more.
    return byte_permute(codes, codes, half == 0 ? entry : high_half(entry));
}

} // namespace kq::inline KQ_ABI::detail

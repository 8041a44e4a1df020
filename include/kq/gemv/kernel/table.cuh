// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

namespace kq::inline KQ_ABI::detail {

/// Writes the lookup table, if there is one, each row's word into all its columns. Whole thread
/// block.
/// `table`: [table_rows][table_columns] words.
template <class Dot>
__device__ __forceinline__ void fill_table(unsigned char* table, int lane, int warp, int warps) {
    static_assert(Dot::table_rows % 32 == 0 && 32 % Dot::table_columns == 0);
    if constexpr (Dot::table_rows > 0) {
        constexpr int columns = Dot::table_columns;
        constexpr int at_once = 32 / columns;               // rows that a warp's store covers
        const int own = columns == 32 ? 0 : lane / columns; // row of these that is the lane's
        auto* words = reinterpret_cast<uint32_t*>(table);
        for (int first = 32 * warp; first < Dot::table_rows; first += 32 * warps) {
            const uint32_t row = Dot::table_row(first + lane);
            for (int i = 0; i < 32; i += at_once) {
                words[(first + i) * columns + lane] = __shfl_sync(~0u, row, i + own);
            }
        }
    }
}

} // namespace kq::inline KQ_ABI::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

namespace kq::inline KQ_ABI::detail {

/// The words of a lookup table, one for each row.
template <class Dot>
struct table_words {
    static_assert(Dot::table_rows % 32 == 0 && 32 % Dot::table_columns == 0);
    uint32_t row[static_cast<size_t>(Dot::table_rows)];
};

template <class Dot>
consteval table_words<Dot> make_table() {
    table_words<Dot> table{};
    for (int i = 0; i < Dot::table_rows; ++i) {
        table.row[i] = Dot::table_row(i);
    }
    return table;
}

/// In device memory: made when the program is compiled.
template <class Dot>
static __device__ const table_words<Dot> table_in_memory = make_table<Dot>();

/// A thread block's way from the lookup table in device memory, if there is one, to its copies in
/// shared memory. It asks for the words when it is made, and so takes the time that they need
/// before `store`.
template <class Dot, int Warps>
class table_copy {
public:
    __device__ __forceinline__ table_copy(int lane, int warp) : lane_(lane), warp_(warp) {
        if constexpr (rows > 0) {
#pragma unroll
            for (int turn = 0; turn < turns; ++turn) {
                if (first_row(turn) < rows) {
                    words_[turn] = __ldg(table_in_memory<Dot>.row + first_row(turn) + lane);
                }
            }
        }
    }

    /// Writes each row's word into all columns. Whole thread block.
    /// `table`: [table_rows][table_columns] words.
    __device__ __forceinline__ void store(unsigned char* table) const {
        if constexpr (rows > 0) {
            constexpr int columns = Dot::table_columns;
            constexpr int at_once = 32 / columns;                // rows that a warp's store covers
            const int own = columns == 32 ? 0 : lane_ / columns; // row of these that is the lane's
            auto* words = reinterpret_cast<uint32_t*>(table);
#pragma unroll
            for (int turn = 0; turn < turns; ++turn) {
                const int first = first_row(turn);
                if (first < rows) {
                    for (int i = 0; i < 32; i += at_once) {
                        words[(first + i) * columns + lane_] =
                            __shfl_sync(~0u, words_[turn], i + own);
                    }
                }
            }
        }
    }

private:
    static constexpr int rows = Dot::table_rows;
    static constexpr int turns = (rows / 32 + Warps - 1) / Warps; ///< 32 rows each, of a warp

    /// The first of the rows that are the warp's turn.
    __device__ __forceinline__ int first_row(int turn) const {
        return 32 * (warp_ + Warps * turn);
    }

    int lane_;
    int warp_;
    uint32_t words_[static_cast<size_t>(turns > 0 ? turns : 1)];
};

} // namespace kq::inline KQ_ABI::detail

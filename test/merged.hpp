// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "samples.hpp"

namespace samples {

/// How the gate and up rows of an expert lie in one matrix.
enum class layout {
    halves,      ///< first all gate rows, then all up rows
    alternating, ///< gate, up, gate, up, ... as gpt-oss has them
};
inline constexpr layout layouts[] = {layout::halves, layout::alternating};

/// Where gate and up rows of experts are in one matrix [experts, 2 n, k].
struct merged_rows {
    layout rows_lie;
    int64_t experts;
    int64_t n; ///< gate rows of an expert, and as many up rows
    int64_t k;
    int64_t row_bytes;

    int64_t rows() const { return experts * 2 * n; }
    /// The row of the matrix that is row r of an expert's gate (set 0) or up (set 1).
    int64_t row(int64_t expert, int set, int64_t r) const {
        return expert * 2 * n + (rows_lie == layout::halves ? set * n + r : 2 * r + set);
    }

    /// The arguments of a product in place.
    int64_t up_offset() const { return row(0, 1, 0) * row_bytes; }
    int64_t weight_pitch() const { return rows_lie == layout::halves ? 0 : 2 * row_bytes; }
    int64_t expert_pitch() const { return 2 * n * row_bytes; }
};

/// The same with the matrix, of random blocks.
template <class E>
struct merged : merged_rows {
    std::vector<typename E::block> blocks;

    merged(layout rows_lie, int64_t experts, int64_t n, int64_t k, uint64_t seed)
        : merged_rows{rows_lie, experts, n, k,
                      k / E::elements * static_cast<int64_t>(sizeof(typename E::block))},
          blocks(random_weights<E>(experts * 2 * n, k, seed)) {}

    const typename E::block* gate() const { return blocks.data(); }
    const typename E::block* up() const { return gate() + row(0, 1, 0) * (k / E::elements); }
};

} // namespace samples

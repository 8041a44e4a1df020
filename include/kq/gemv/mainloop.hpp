// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dot/dot.hpp>

namespace kq {

/// The work of one lane, on the host and on the device: which blocks it dots in which order.
///
/// Lane l of a warp takes slice `l % slices` of blocks `l / slices`, `l / slices + 32 / slices`
/// and so on, in ascending order, by fused multiply-adds into one sum per weight row. The lanes'
/// sums then meet in an xor butterfly, from distance 16 to 1 (contract C3).
template <dottable Encoding>
struct mainloop {
    using dot = sliced_dot<Encoding>;
    using image = typename dot::image;
    static constexpr int tile_blocks = image::tile_blocks;
    static constexpr int tile_bytes = tile_blocks * block_bytes<Encoding>; ///< of weights

    KQ_API static lane lane_at(int index, const unsigned char* table) {
        return {index, index % dot::slices, table};
    }

    /// Adds the lane's share of `blocks` blocks of `Rows` weight rows, each times the same
    /// activation, to `sums`.
    /// `rows`: [Rows] addresses of a row's first block here. `tiles`: the image from there on, at
    /// the start of a tile.
    template <memory Weights, int Rows>
    KQ_API static void accumulate(float (&sums)[Rows], const unsigned char* const (&rows)[Rows],
                                  const unsigned char* tiles, int blocks, const lane& where) {
        const int first = where.index / dot::slices;
        typename dot::anchor anchors[Rows];
        KQ_UNROLL
        for (int r = 0; r < Rows; ++r) {
            anchors[r] = dot::locate(rows[r] + first * block_bytes<Encoding>, where.slice);
        }
        int offset = 0;
        for (int b = first; b < blocks; b += tile_blocks) {
            const auto x = image::template load<cached_memory>(tiles, where.index);
            KQ_UNROLL
            for (int r = 0; r < Rows; ++r) {
                const auto w = dot::template load<Weights>(anchors[r], offset);
                sums[r] = dot::accumulate(sums[r], w, x.d, dot::dot(w, x, where));
            }
            offset += tile_bytes;
            tiles += image::tile_bytes;
        }
    }
};

} // namespace kq

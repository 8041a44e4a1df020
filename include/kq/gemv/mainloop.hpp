// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dot/dot.hpp>

namespace kq {

/// The work of one lane, on the host and on the device: which blocks it dots in which order.
///
/// `Lanes` lanes share an output. Lane l of them takes slice `l % slices` of blocks `l / slices`,
/// `l / slices + Lanes / slices` and so on, in ascending order, by fused multiply-adds into one sum
/// per weight row and activation row. The lanes' sums then meet in an xor butterfly, from distance
/// `Lanes / 2` to 1 (contract C3).
///
/// `Rows`: weight rows that share an activation fragment. `Batch`: activation rows that share a
/// weight fragment. `Prefetch`: fragments of a row that are loaded before the first is dotted.
template <dottable Encoding, int Lanes, int Rows, int Batch, int Prefetch>
struct mainloop {
    using dot = sliced_dot<Encoding>;
    using image = typename dot::image;
    static_assert(32 % Lanes == 0 && Lanes % dot::slices == 0,
                  "kq: a policy's lanes must be a multiple of the encoding's slices");

    static constexpr int tile_blocks = 32 / dot::slices;    ///< weight blocks of an image tile
    static constexpr int step_blocks = Lanes / dot::slices; ///< blocks that the lanes take at once
    static constexpr int step_bytes = step_blocks * block_bytes<Encoding>;

    KQ_API static lane lane_at(int index, const unsigned char* table) {
        return {index, index % dot::slices, table};
    }

    /// Adds the lane's share of `blocks` blocks of each row to `sums`.
    /// `rows`: addresses of the rows' first block here. `images`: for each activation row the tile
    /// that holds this block, which begins at slot `first_slot` of it.
    template <memory Weights>
    KQ_API static void accumulate(float (&sums)[Batch][Rows],
                                  const unsigned char* const (&rows)[Rows],
                                  const unsigned char* const (&images)[Batch], int first_slot,
                                  int blocks, const lane& where) {
        const int first = where.index % Lanes / dot::slices;
        typename dot::anchor anchors[Rows];
        KQ_UNROLL
        for (int r = 0; r < Rows; ++r) {
            anchors[r] = dot::locate(rows[r] + first * block_bytes<Encoding>, where.slice);
        }
        int slot = first_slot + where.index % Lanes;
        int tile = slot / 32 * image::tile_bytes; // from the images on
        slot %= 32;

        const auto dot_step = [&](const typename dot::fragment(&w)[Rows]) {
            KQ_UNROLL
            for (int j = 0; j < Batch; ++j) {
                const auto x = image::template load<cached_memory>(images[j] + tile, slot);
                KQ_UNROLL
                for (int r = 0; r < Rows; ++r) {
                    sums[j][r] = dot::accumulate(sums[j][r], w[r], x.d, dot::dot(w[r], x, where));
                }
            }
            if constexpr (Lanes == 32) {
                tile += image::tile_bytes;
            } else {
                slot += Lanes;
                tile += slot / 32 * image::tile_bytes;
                slot %= 32;
            }
        };
        const auto load_step = [&](typename dot::fragment(&w)[Rows], int offset) {
            KQ_UNROLL
            for (int r = 0; r < Rows; ++r) {
                w[r] = dot::template load<Weights>(anchors[r], offset);
            }
        };

        typename dot::fragment w[Prefetch][Rows];
        if constexpr (Prefetch == 1) {
            int offset = 0;
            for (int b = first; b < blocks; b += step_blocks) {
                load_step(w[0], offset);
                dot_step(w[0]);
                offset += step_bytes;
            }
        } else {
            KQ_UNROLL
            for (int i = 0; i < Prefetch; ++i) {
                if (first + i * step_blocks < blocks) {
                    load_step(w[i], i * step_bytes);
                }
            }
            int offset = Prefetch * step_bytes;
            for (int b = first; b < blocks; b += Prefetch * step_blocks) {
                KQ_UNROLL
                for (int i = 0; i < Prefetch; ++i) {
                    if (b + i * step_blocks < blocks) {
                        dot_step(w[i]);
                    }
                    if (b + (i + Prefetch) * step_blocks < blocks) {
                        load_step(w[i], offset + i * step_bytes);
                    }
                }
                offset += Prefetch * step_bytes;
            }
        }
    }
};

} // namespace kq

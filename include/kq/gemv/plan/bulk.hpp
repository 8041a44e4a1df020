// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/arithmetic.hpp>
#include <kq/gemv/mapping/facts.hpp>
#include <kq/gemv/policy/policy.hpp>

namespace kq::inline KQ_ABI {

/// How the method `bulk` cuts rows into pieces. A copy lands in a bay; the bays of a group's rows
/// make a stage, the stages of a warp its ring.
struct bulk_geometry {
    int stages = 0;       ///< pieces in a warp's ring, at least one
    int pieces = 0;       ///< pieces of a row
    int piece_blocks = 0; ///< of a piece, a multiple of the image's panel; the last is shorter
    int piece_bytes = 0;  ///< of a piece that is not the last, a multiple of 16
    int last_bytes = 0;   ///< of the last piece
    int copies = 0;       ///< of a stage: one for each row of a group, or one for all
    int bay_bytes = 0;    ///< room for what one copy brings, a multiple of 128
    int stage_bytes = 0;  ///< room for all copies of a stage
    int row_stride = 0;   ///< bytes between the rows of a group in a stage
    int image_bytes = 0;  ///< of each image in shared memory
};

namespace detail {

/// Bulk copies move 16-byte units, a piece keeps its address modulo 128 in shared memory, and lanes
/// may read a word past its end (`padded_memory`).
inline constexpr int bay_slack = 127 + 15;

/// Cuts rows of `row_blocks` blocks into equal pieces of about `policy.bulk.piece_bytes` bytes that
/// fit into `room` bytes of shared memory for rings. `pieces` is 0 where not even one panel fits.
/// Groups of rows that follow each other in memory (`adjacent`) and that are not cut come in one
/// copy.
constexpr bulk_geometry cut_rows(const product_facts& facts, const policy& p, int64_t row_blocks,
                                 bool adjacent, int64_t room) {
    const int64_t block = facts.weights.block_bytes;
    const int64_t panel = 32 / facts.slices; // blocks
    const int64_t row_bytes = row_blocks * block;
    const int64_t group_bytes = round_up(row_bytes * rows_of_warp(p) + bay_slack, 128);
    bulk_geometry g;
    for (g.stages = p.bulk.stages; g.stages >= 1; --g.stages) {
        if (adjacent && row_bytes <= p.bulk.piece_bytes &&
            group_bytes * p.warps * g.stages <= room) {
            g.pieces = 1;
            g.piece_blocks = static_cast<int>(round_up(row_blocks, panel));
            g.copies = 1;
            g.bay_bytes = static_cast<int>(group_bytes);
            g.row_stride = static_cast<int>(row_bytes);
            break;
        }
        const int64_t bay = room / (int64_t{p.warps} * rows_of_warp(p) * g.stages) / 128 * 128;
        const int64_t most_bytes = lesser(bay - bay_slack, p.bulk.piece_bytes);
        const int64_t most_panels = greater(most_bytes / (panel * block), 1);
        const int64_t row_panels = ceil_div(row_blocks, panel);
        const int64_t piece_blocks =
            ceil_div(row_panels, ceil_div(row_panels, most_panels)) * panel;
        const int64_t bay_bytes =
            round_up(lesser(piece_blocks, row_blocks) * block + bay_slack, 128);
        if (bay_bytes <= bay) {
            g.pieces = static_cast<int>(ceil_div(row_blocks, piece_blocks));
            g.piece_blocks = static_cast<int>(piece_blocks);
            g.copies = rows_of_warp(p);
            g.bay_bytes = static_cast<int>(bay_bytes);
            g.row_stride = g.bay_bytes;
            break;
        }
    }
    g.stage_bytes = g.copies * g.bay_bytes;
    if (g.pieces != 0) {
        g.piece_bytes = static_cast<int>(g.piece_blocks * block);
        g.last_bytes = static_cast<int>(row_bytes - int64_t{g.pieces - 1} * g.piece_bytes);
    }
    return g;
}

} // namespace detail

} // namespace kq::inline KQ_ABI

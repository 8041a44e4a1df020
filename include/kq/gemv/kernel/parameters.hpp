// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dot/dot.hpp>
#include <kq/gemv/epilogue/epilogue.hpp>
#include <kq/gemv/mapping/mapping.hpp>

/// What the host that plans a launch and the kernel share.
namespace kq::inline KQ_ABI {

/// How the bulk transport cuts rows and shared memory. In shared memory lie, each 128-byte
/// aligned: the lookup table, the barriers, the images of a thread block, the rings, the products
/// of a weighted sum.
struct bulk_geometry {
    int stages = 0;       ///< pieces in a warp's ring, at least one
    int pieces = 0;       ///< pieces of a row
    int piece_blocks = 0; ///< of a piece, a multiple of the image's tile; the last is shorter
    int copies = 0;       ///< of a stage: one for each row of a group, or one for all
    int slot_bytes = 0;   ///< room for what one copy brings, a multiple of 128
    int stage_bytes = 0;  ///< room for all copies of a stage
    int row_stride = 0;   ///< bytes between the rows of a group in a stage
    int images_at = 0;    ///< where the images begin
    int image_bytes = 0;  ///< of each image: the most tiles that a unit's columns touch
    int rings_at = 0;     ///< where the rings begin
};

/// Where the barriers begin in shared memory: of the images, then of every stage's warps.
template <dottable Encoding>
KQ_API constexpr int barriers_at() {
    return table_bytes<Encoding>;
}

/// The argument of a kernel; the same for every encoding and policy.
template <row_mapping Mapping, epilogue Epilogue>
struct kernel_parameters {
    int64_t units;
    int blocks;         ///< weight blocks of a row
    bool early_weights; ///< weights may be read before the preceding kernels end
    bool ragged;        ///< whether a matrix begins or ends between multiples of 16 bytes
    int products_at;    ///< where a weighted sum's products lie in shared memory
    int round_groups;   ///< groups of rows whose products lie there together
    bulk_geometry bulk;
    Mapping mapping;
    Epilogue epilogue;
};

} // namespace kq::inline KQ_ABI

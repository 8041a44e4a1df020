// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dot/dot.hpp>
#include <kq/gemv/arguments.hpp>
#include <kq/gemv/policy.hpp>
#include <kq/status.hpp>

#include <cuda/cmath>

#include <algorithm>
#include <limits>

/// The arithmetic of a launch, on the host, without CUDA: what `can_implement`, `workspace_bytes`
/// and `launch` agree on.
namespace kq {

/// What a launch needs to know about a device.
struct device_facts {
    int compute_capability = 0;     ///< 10 * major + minor
    int multiprocessors = 0;        ///< streaming multiprocessors
    int shared_bytes_per_block = 0; ///< most dynamic shared memory of a thread block, opted in
};

/// How the bulk transport cuts rows and shared memory. In shared memory lie, each 128-byte
/// aligned: the lookup table, the barriers, the image of one activation row, the ring.
struct bulk_geometry {
    int stages = 0; ///< pieces in a warp's ring
    int pieces = 0; ///< pieces of a row
    int piece_blocks =
        0;              ///< blocks of a piece, a multiple of the image's tile; the last is shorter
    int slot_bytes = 0; ///< room for one row's piece, a multiple of 128
};

/// What will be launched.
struct gemv_plan {
    transport via = transport::direct;
    int64_t grid = 0;              ///< thread blocks
    int blocks_per_activation = 0; ///< thread blocks that share an activation row
    int threads = 0;               ///< of a thread block
    int shared_bytes = 0;          ///< dynamic shared memory
    int row_blocks = 0;            ///< weight blocks of a row
    int64_t row_bytes = 0;         ///< bytes of a weight row
    int64_t image_bytes = 0;       ///< bytes of a quantized activation row
    int64_t workspace_bytes = 0;   ///< m quantized activation rows
    int64_t quantizer_blocks = 0;  ///< activation blocks to quantize, padding to tiles included
    bulk_geometry bulk;            ///< set where `via` is bulk
};

namespace detail {

/// Bulk copies move 16-byte units, and a piece keeps its address modulo 128 in shared memory.
inline constexpr int slot_slack = 127 + 15;

inline bool is_aligned(const void* address, int alignment) {
    return reinterpret_cast<uintptr_t>(address) % static_cast<uintptr_t>(alignment) == 0;
}

/// `a * b`, or -1 where that does not fit.
constexpr int64_t checked_product(int64_t a, int64_t b) {
    return b != 0 && a > std::numeric_limits<int64_t>::max() / b ? -1 : a * b;
}

/// Cuts rows of `row_blocks` blocks into equal pieces of about `policy.piece_bytes` bytes that fit
/// into `room` bytes of shared memory for rings. `pieces` is 0 where not even one tile fits.
template <dottable Encoding>
bulk_geometry cut_rows(const policy& p, int row_blocks, int64_t room) {
    constexpr int block = block_bytes<Encoding>;
    constexpr int tile = sliced_dot<Encoding>::image::tile_blocks;
    for (int stages = p.stages; stages >= 1; --stages) {
        const int64_t slot = room / (int64_t{p.warps} * p.rows * stages) / 128 * 128;
        const int64_t most_bytes = std::min<int64_t>(slot - slot_slack, p.piece_bytes);
        const int most_tiles = static_cast<int>(std::max<int64_t>(most_bytes / (tile * block), 1));
        const int row_tiles = cuda::ceil_div(row_blocks, tile);
        const int pieces = cuda::ceil_div(row_tiles, most_tiles);
        const int piece_blocks = cuda::ceil_div(row_tiles, pieces) * tile;
        const int piece_bytes = std::min(piece_blocks, row_blocks) * block;
        const int slot_bytes = cuda::round_up(piece_bytes + slot_slack, 128);
        if (slot_bytes <= slot) {
            return {stages, cuda::ceil_div(row_blocks, piece_blocks), piece_blocks, slot_bytes};
        }
    }
    return {};
}

} // namespace detail

/// Bytes of shared memory before the rings: the lookup table and the barriers, then the image.
template <dottable Encoding>
KQ_API constexpr int barriers_at() {
    return table_bytes<Encoding>;
}
template <dottable Encoding>
KQ_API constexpr int image_at(const policy& p) {
    return barriers_at<Encoding>() + cuda::round_up(p.warps * p.stages * 8, 128);
}

/// Checks what can be checked without a device and computes the sizes; launches are planned by
/// `plan_launch`.
///
/// Errors: names the argument and the rule it breaks. An `n`, `m` or `k` of zero is no error.
template <dottable Encoding>
status plan_sizes(const dense_arguments& a, gemv_plan& plan) {
    plan = {};
    constexpr int64_t most = std::numeric_limits<int>::max();
    using image = typename sliced_dot<Encoding>::image;
    if (a.n < 0 || a.n > most) {
        return status::invalid("n", "must be between 0 and 2^31 - 1");
    }
    if (a.m < 0 || a.m > most) {
        return status::invalid("m", "must be between 0 and 2^31 - 1");
    }
    if (a.k < 0 || a.k % Encoding::elements != 0) {
        return status::invalid("k", Encoding::elements == 32
                                        ? "must be a non-negative multiple of 32, the block"
                                        : "must be a non-negative multiple of 256, the block");
    }
    const int64_t row_blocks = a.k / Encoding::elements;
    // Lanes count the bytes of a row in int.
    if (row_blocks > most / block_bytes<Encoding> ||
        image::tiles(row_blocks) > most / image::tile_bytes) {
        return status::invalid("k",
                               "a weight row and its quantized activation must each stay below "
                               "2^31 bytes");
    }
    if (a.activation_stride != 0 && a.activation_stride < a.k) {
        return status::invalid("activation_stride", "must be 0 or at least k");
    }
    if (a.output_stride != 0 && a.output_stride < a.n) {
        return status::invalid("output_stride", "must be 0 or at least n");
    }
    plan.row_blocks = static_cast<int>(row_blocks);
    plan.row_bytes = int64_t{plan.row_blocks} * block_bytes<Encoding>;
    plan.image_bytes = image::row_bytes(plan.row_blocks);
    plan.workspace_bytes = a.n == 0 ? 0 : detail::checked_product(a.m, plan.image_bytes);
    plan.quantizer_blocks = a.m * image::tiles(plan.row_blocks) * image::tile_blocks;
    if (plan.workspace_bytes < 0) {
        return status::invalid("m", "m quantized rows must stay below 2^63 bytes");
    }
    const auto too_large = [&](int64_t stride) { // at four bytes an element
        return stride > std::numeric_limits<int64_t>::max() / 4 / std::max<int64_t>(a.m, 1);
    };
    if (too_large(std::max(a.activation_stride, a.k))) {
        return status::invalid("activation_stride", "m rows must stay below 2^63 bytes");
    }
    if (too_large(std::max(a.output_stride, a.n))) {
        return status::invalid("output_stride", "m rows must stay below 2^63 bytes");
    }
    return {};
}

/// Whether there is nothing to compute. A `k` of zero still stores zeros.
constexpr bool is_empty(const dense_arguments& a) {
    return a.n == 0 || a.m == 0;
}

/// Checks the pointers of a product that is not empty.
///
/// Errors: null or misaligned pointers, by name.
template <dottable Encoding>
status check_pointers(const dense_arguments& a) {
    if (a.output.data == nullptr) {
        return status::invalid("output", "must not be null");
    }
    if (!detail::is_aligned(a.output.data, size_of(a.output.type))) {
        return status::invalid("output", "must be aligned to its element");
    }
    if (a.k != 0) {
        if (a.weights == nullptr) {
            return status::invalid("weights", "must not be null");
        }
        if (!detail::is_aligned(a.weights, block_alignment<Encoding>)) {
            return status::invalid("weights",
                                   block_alignment<Encoding> == 16  ? "must be 16-byte aligned"
                                   : block_alignment<Encoding> == 4 ? "must be 4-byte aligned"
                                                                    : "must be 2-byte aligned");
        }
        if (a.activation.data == nullptr) {
            return status::invalid("activation", "must not be null");
        }
        if (!detail::is_aligned(a.activation.data, size_of(a.activation.type))) {
            return status::invalid("activation", "must be aligned to its element");
        }
    }
    return {};
}

/// Checks all arguments and plans the launch.
///
/// Errors: as `plan_sizes`; null or misaligned pointers; a workspace that is too small or
/// misaligned; a transport that the device or the shape does not allow.
template <dottable Encoding>
status plan_launch(const policy& p, const dense_arguments& a, const workspace& space,
                   const device_facts& device, gemv_plan& plan) {
    if (const status sizes = plan_sizes<Encoding>(a, plan); !sizes.ok()) {
        return sizes;
    }
    if (is_empty(a)) {
        return {};
    }
    if (const status pointers = check_pointers<Encoding>(a); !pointers.ok()) {
        return pointers;
    }
    if (a.k != 0) {
        if (space.data == nullptr || space.bytes < static_cast<size_t>(plan.workspace_bytes)) {
            return status::invalid("workspace", "must hold workspace_bytes(arguments) bytes");
        }
        if (!detail::is_aligned(space.data, 16)) {
            return status::invalid("workspace", "must be 16-byte aligned");
        }
    }
    const int image_offset = image_at<Encoding>(p);
    if (p.via != transport::direct) {
        const int64_t ring_at = image_offset + plan.image_bytes;
        const int64_t room = device.shared_bytes_per_block - ring_at;
        const bool capable = device.compute_capability >= 90 && room >= 0;
        if (capable && plan.row_blocks > 0) {
            plan.bulk = detail::cut_rows<Encoding>(p, plan.row_blocks, room);
        }
        if (capable && (plan.bulk.pieces > 0 || plan.row_blocks == 0)) {
            plan.via = transport::bulk;
            plan.shared_bytes = static_cast<int>(ring_at) +
                                p.warps * p.rows * plan.bulk.stages * plan.bulk.slot_bytes;
        } else if (p.via == transport::bulk) {
            return status::invalid("policy",
                                   "bulk transport needs compute capability 9.0 and a row "
                                   "that fits into shared memory");
        }
    }
    if (plan.via == transport::direct) {
        plan.shared_bytes = table_bytes<Encoding>;
    }
    plan.threads = 32 * p.warps;
    const int64_t groups = cuda::ceil_div(a.n, int64_t{p.rows});
    // Bulk rings fill a multiprocessor; direct warps hide latency by number.
    const int64_t resident =
        int64_t{device.multiprocessors} * (plan.via == transport::bulk ? 1 : 2);
    plan.blocks_per_activation = static_cast<int>(
        std::clamp<int64_t>(resident / a.m, 1, cuda::ceil_div(groups, int64_t{p.warps})));
    plan.grid = a.m * plan.blocks_per_activation;
    if (plan.grid > std::numeric_limits<int>::max()) {
        return status::invalid("m", "too many activation rows for one launch");
    }
    return {};
}

} // namespace kq

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dot/dot.hpp>
#include <kq/gemv/arguments.hpp>
#include <kq/gemv/epilogue/epilogue.hpp>
#include <kq/gemv/kernel/parameters.hpp>
#include <kq/gemv/policy/policy.hpp>
#include <kq/gemv/problem.hpp>
#include <kq/launch/options.hpp>
#include <kq/launch/shape.hpp>
#include <kq/core/status.hpp>

#include <cuda/cmath>

#include <algorithm>
#include <limits>
#include <type_traits>

/// The arithmetic of a launch, on the host, without CUDA: what `can_implement`, `workspace_bytes`,
/// `describe` and `launch` agree on.
namespace kq::inline KQ_ABI {

/// What a launch needs to know about a device.
struct device_facts {
    int compute_capability = 0;     ///< 10 * major + minor
    int multiprocessors = 0;        ///< streaming multiprocessors
    int shared_bytes_per_block = 0; ///< most dynamic shared memory of a thread block, opted in
};

/// What will be launched.
struct gemv_plan {
    transport via = transport::direct;
    int64_t grid = 0;               ///< thread blocks
    int blocks_per_unit = 0;        ///< thread blocks that share a unit, or a batch of units
    int threads = 0;                ///< of a thread block
    int shared_bytes = 0;           ///< dynamic shared memory
    int dependent_shared_bytes = 0; ///< the same, of a dependent launch
    int most_shared_bytes = 0;      ///< of a thread block on the device
    int row_blocks = 0;             ///< weight blocks of a row
    int64_t row_bytes = 0;          ///< bytes of a weight row
    int64_t image_bytes = 0;        ///< bytes of a quantized activation row
    int64_t workspace_bytes = 0;    ///< all quantized activation rows
    int products_at = 0;            ///< see `kernel_parameters`
    int round_groups = 0;           ///< likewise
    problem of;                     ///< the arguments, reduced to what all mappings share
    bulk_geometry bulk;             ///< set where `via` is bulk
};

namespace detail {

/// Bulk copies move 16-byte units, a piece keeps its address modulo 128 in shared memory, and lanes
/// may read a word past its end (`padded_memory`).
inline constexpr int slot_slack = 127 + 15;

/// Shared memory for the products that a weighted sum adds up: those of at least one group of rows,
/// 32 with 64 terms each at most.
inline constexpr int products_bytes = 8192;

/// Cuts rows of `row_blocks` blocks into equal pieces of about `policy.piece_bytes` bytes that fit
/// into `room` bytes of shared memory for rings. `pieces` is 0 where not even one tile fits.
/// Groups of rows that follow each other in memory (`adjacent`) and that are not cut come in one
/// copy.
template <dottable Encoding>
bulk_geometry cut_rows(const policy& p, int row_blocks, bool adjacent, int64_t room) {
    constexpr int block = block_bytes<Encoding>;
    constexpr int tile = 32 / sliced_dot<Encoding>::slices;
    for (int stages = p.stages; stages >= 1; --stages) {
        const int64_t row_bytes = int64_t{row_blocks} * block;
        const int64_t group_bytes =
            cuda::round_up(row_bytes * rows_of_warp(p) + slot_slack, int64_t{128});
        if (adjacent && row_bytes <= p.piece_bytes && group_bytes * p.warps * stages <= room) {
            return {.stages = stages,
                    .pieces = 1,
                    .piece_blocks = cuda::round_up(row_blocks, tile),
                    .copies = 1,
                    .slot_bytes = static_cast<int>(group_bytes),
                    .row_stride = static_cast<int>(row_bytes)};
        }
        const int64_t slot = room / (int64_t{p.warps} * rows_of_warp(p) * stages) / 128 * 128;
        const int64_t most_bytes = std::min<int64_t>(slot - slot_slack, p.piece_bytes);
        const int most_tiles = static_cast<int>(std::max<int64_t>(most_bytes / (tile * block), 1));
        const int row_tiles = cuda::ceil_div(row_blocks, tile);
        const int pieces = cuda::ceil_div(row_tiles, most_tiles);
        const int piece_blocks = cuda::ceil_div(row_tiles, pieces) * tile;
        const int piece_bytes = (std::min)(piece_blocks, row_blocks) * block;
        const int slot_bytes = cuda::round_up(piece_bytes + slot_slack, 128);
        if (slot_bytes <= slot) {
            return {.stages = stages,
                    .pieces = cuda::ceil_div(row_blocks, piece_blocks),
                    .piece_blocks = piece_blocks,
                    .copies = rows_of_warp(p),
                    .slot_bytes = slot_bytes,
                    .row_stride = slot_bytes};
        }
    }
    return {};
}

} // namespace detail

/// Checks what can be checked without pointers or a device, and computes the sizes.
///
/// Errors: names the argument and the rule it breaks. Sizes of zero are no error.
template <dottable Encoding, epilogue Epilogue = epilogues::store, class Arguments>
status plan_sizes(const Arguments& a, gemv_plan& plan) {
    plan = {};
    constexpr int64_t most = (std::numeric_limits<int>::max)();
    using image = typename sliced_dot<Encoding>::image;
    constexpr int slices = sliced_dot<Encoding>::slices;
    problem& of = plan.of;
    if (const status s = reduce<Encoding, Epilogue>(a, of); !s.ok()) {
        return s;
    }
    const int64_t row_blocks = of.k / Encoding::elements;
    const int64_t activation_blocks = of.activation_k / Encoding::activation::elements;
    if (image::tiles(activation_blocks) > most / image::tile_bytes) {
        return status::invalid("k", "a quantized activation row must stay below 2^31 bytes");
    }
    plan.row_blocks = static_cast<int>(row_blocks);
    plan.row_bytes = row_blocks * block_bytes<Encoding>;
    plan.image_bytes = image::row_bytes(activation_blocks);
    plan.workspace_bytes = of.is_empty() ? 0 : of.activation_rows * plan.image_bytes;
    // A segment that does not begin with a tile may touch one tile more.
    const int slots = plan.row_blocks * slices;
    const int64_t tiles = of.k == of.activation_k || slots % 32 == 0
                              ? cuda::ceil_div(int64_t{slots}, int64_t{32})
                              : cuda::ceil_div(int64_t{slots} + 31, int64_t{32});
    plan.bulk.image_bytes =
        static_cast<int>((std::min)(tiles * image::tile_bytes, plan.image_bytes));
    return {};
}

/// Checks what `gemv` checks of a policy when it is compiled, but for the mapping.
template <dottable Encoding>
status check_policy(const policy& p) {
    if (!is_valid(p)) {
        return status::invalid("policy", "its fields are out of range");
    }
    if (!allows(p, transport::direct) && !allows(p, transport::bulk)) {
        return status::invalid("policy", "register prefetch does not go with the bulk transport");
    }
    if (p.lanes % sliced_dot<Encoding>::slices != 0) {
        return status::invalid("policy", "its lanes must be a multiple of the encoding's slices");
    }
    return {};
}

/// Plans a launch for a device, without looking at pointers.
///
/// Errors: as `check_policy` and `plan_sizes`; a transport that the device or the shape does not
/// allow.
template <dottable Encoding, epilogue Epilogue = epilogues::store, class Arguments>
status plan_shape(const policy& p, const Arguments& a, const device_facts& device,
                  gemv_plan& plan) {
    if (const status s = check_policy<Encoding>(p); !s.ok()) {
        return s;
    }
    if (const status s = plan_sizes<Encoding, Epilogue>(a, plan); !s.ok()) {
        return s;
    }
    const problem& of = plan.of;
    if (of.is_empty()) {
        return {};
    }
    const int64_t groups = cuda::ceil_div(of.n, int64_t{rows_of_warp(p)});
    const int64_t batches = cuda::ceil_div(of.units, int64_t{p.batch});
    int products = 0; // in bytes
    if (of.summed_terms != 0) {
        const int of_group = rows_of_warp(p) * of.summed_terms * static_cast<int>(sizeof(float));
        plan.round_groups =
            static_cast<int>(std::clamp<int64_t>(detail::products_bytes / of_group, 1, groups));
        products = cuda::round_up(plan.round_groups * of_group, 128);
    }
    const bulk_geometry staged = plan.bulk;
    plan.bulk = {};
    if (allows(p, transport::bulk)) {
        const int images = of.images_of_unit * p.batch;
        const int images_at =
            barriers_at<Encoding>() + cuda::round_up((p.warps * p.stages + 1) * 8, 128);
        const int64_t ring_at = images_at + int64_t{images} * staged.image_bytes;
        const int64_t room = device.shared_bytes_per_block - ring_at - products;
        const bool capable = device.compute_capability >= 90 && room >= 0;
        if (capable && plan.row_blocks > 0) {
            plan.bulk = detail::cut_rows<Encoding>(p, plan.row_blocks, of.adjacent_rows, room);
        }
        if (capable && (plan.bulk.pieces > 0 || plan.row_blocks == 0)) {
            plan.via = transport::bulk;
            // The kernel meets at its first stage, also where rows have no block.
            plan.bulk.stages = (std::max)(plan.bulk.stages, 1);
            plan.bulk.images_at = images_at;
            plan.bulk.image_bytes = staged.image_bytes;
            plan.bulk.rings_at = static_cast<int>(ring_at);
            plan.bulk.stage_bytes = plan.bulk.copies * plan.bulk.slot_bytes;
            plan.shared_bytes =
                plan.bulk.rings_at + p.warps * plan.bulk.stages * plan.bulk.stage_bytes;
        } else if (p.via == transport::bulk) {
            return status::invalid("policy", "bulk transport needs compute capability 9.0 and rows "
                                             "that fit into shared memory");
        }
    }
    if (plan.via == transport::direct) {
        plan.shared_bytes = table_bytes<Encoding>;
        if (plan.shared_bytes + products > device.shared_bytes_per_block) {
            return status::invalid("policy", "the encoding's lookup table and the products of a "
                                             "weighted sum do not fit into the device's shared "
                                             "memory");
        }
    }
    plan.products_at = plan.shared_bytes;
    plan.shared_bytes += products;
    plan.threads = 32 * p.warps;
    plan.most_shared_bytes = device.shared_bytes_per_block;
    // Bulk rings fill a multiprocessor; direct warps hide latency by number. Blocks of a unit are a
    // grid's y.
    constexpr int64_t most_blocks = 65535;
    const int64_t resident = (std::min)(
        int64_t{device.multiprocessors} * (plan.via == transport::bulk ? 1 : 2), most_blocks);
    const int64_t shares = groups * (std::max)(of.summed_terms, 1); // what warps take in turn
    plan.blocks_per_unit = static_cast<int>(std::clamp<int64_t>(
        resident / batches, 1, (std::min)(groups, cuda::ceil_div(shares, int64_t{p.warps}))));
    plan.grid = batches * plan.blocks_per_unit;
    if (plan.grid > (std::numeric_limits<int>::max)()) {
        return status::invalid("m", "too many activation rows for one launch");
    }
    // A dependent launch's thread blocks start where those before them end. With half of a
    // multiprocessor free, two might meet there, each with work for a whole one.
    const bool alone = plan.via == transport::bulk && plan.grid <= device.multiprocessors;
    plan.dependent_shared_bytes =
        (std::max)(plan.shared_bytes, alone ? plan.most_shared_bytes / 2 + 1 : 0);
    return {};
}

/// Checks all arguments and plans the launch.
///
/// Errors: as `plan_shape`; null or misaligned pointers; a workspace that is too small or
/// misaligned.
template <dottable Encoding, epilogue Epilogue = epilogues::store, class Arguments>
status plan_launch(const policy& p, const Arguments& a, const workspace& space,
                   const device_facts& device, gemv_plan& plan) {
    if (const status s = plan_sizes<Encoding, Epilogue>(a, plan); !s.ok() || plan.of.is_empty()) {
        return s;
    }
    if (const status s = check_pointers<Encoding, Epilogue>(a, plan.of); !s.ok()) {
        return s;
    }
    if (plan.of.k != 0) {
        if (space.data == nullptr || space.bytes < static_cast<size_t>(plan.workspace_bytes)) {
            return status::invalid("workspace", "must hold workspace_bytes(arguments) bytes");
        }
        if (!detail::is_aligned(space.data, 16)) {
            return status::invalid("workspace", "must be 16-byte aligned");
        }
    }
    return plan_shape<Encoding, Epilogue>(p, a, device, plan);
}

/// The mapping that arguments are bound to.
template <dottable Encoding, epilogue Epilogue, class Arguments>
using mapping_of = decltype(bind<Encoding, Epilogue>(Arguments{}, image_rows{}));

/// Checks the options of a launch; afterwards they are those that the device knows.
///
/// Errors: early weights that ids on the device choose.
template <row_mapping Mapping>
status check_options(const device_facts& device, launch_options& options) {
    if (options.early_weights && Mapping::chosen_on_device) {
        return status::invalid("early_weights", "is not for weights that ids on the device choose");
    }
    options.dependent = options.dependent && device.compute_capability >= 90;
    options.early_weights = options.early_weights && options.dependent;
    return {};
}

/// How the planned kernel is launched: by no thread block where there is nothing to compute.
inline launch_shape shape_of(const gemv_plan& plan, launch_options options = {}) {
    if (plan.of.is_empty()) {
        return {};
    }
    return {.grid = plan.grid / plan.blocks_per_unit,
            .grid_y = plan.blocks_per_unit,
            .threads = plan.threads,
            .shared_bytes = options.dependent ? plan.dependent_shared_bytes : plan.shared_bytes,
            .most_shared_bytes = plan.most_shared_bytes,
            .dependent = options.dependent};
}

/// The argument of the planned kernel.
template <dottable Encoding, epilogue Epilogue, class Arguments>
auto parameters_of(const Arguments& a, const gemv_plan& plan, const workspace& space,
                   launch_options options = {}) {
    const image_rows images{static_cast<const unsigned char*>(space.data), plan.image_bytes};
    const auto mapping = bind<Encoding, Epilogue>(a, images);
    return kernel_parameters<std::remove_const_t<decltype(mapping)>, Epilogue>{
        .units = plan.of.units,
        .blocks = plan.row_blocks,
        .early_weights = options.early_weights,
        .ragged = mapping.ragged(),
        .products_at = plan.products_at,
        .round_groups = plan.round_groups,
        .bulk = plan.bulk,
        .mapping = mapping,
        .epilogue = bind_epilogue<Epilogue>(a.epilogue, plan.of)};
}

} // namespace kq::inline KQ_ABI

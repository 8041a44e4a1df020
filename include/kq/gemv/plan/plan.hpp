// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/rules.hpp>
#include <kq/gemv/mapping/sizes.hpp>
#include <kq/gemv/plan/bulk.hpp>
#include <kq/gemv/plan/shared_layout.hpp>
#include <kq/gemv/policy/rules.hpp>
#include <kq/launch/device.hpp>
#include <kq/launch/options.hpp>
#include <kq/launch/shape.hpp>

namespace kq::inline KQ_ABI {

/// A launch, planned: what `describe` tells and `launch` does. Plain data, made of plain data by
/// `plan_launch`.
struct launch_plan {
    encoding_facts weights = {};
    product_sizes sizes = {};
    kq::policy policy = {};                 ///< as it was given or chosen
    kq::method method = kq::method::direct; ///< decided
    launch_options options = {};            ///< as far as the device knows them
    launch_shape shape = {};                ///< of the product's kernel; no grid if it is empty
    int round_groups = 0;                   ///< groups of rows whose products are summed together
    bulk_geometry bulk = {};                ///< set where `method` is bulk
    shared_layout shared = {};
};

namespace detail {

/// Shared memory for the products that a weighted sum adds up: those of at least one group of rows,
/// 32 with 64 terms each at most.
inline constexpr int products_bytes = 8192;

/// Plans rings for the method `bulk`.
///
/// Errors: the rule that keeps bulk copies from serving this launch.
constexpr status plan_bulk(const product_facts& facts, const device_facts& device, int64_t products,
                           launch_plan& plan) {
    const policy& p = plan.policy;
    const product_sizes& sizes = plan.sizes;
    if (device.compute_capability < 90) {
        return status::invalid("policy.method", "bulk copies need compute capability 9.0 or above");
    }
    const int64_t barriers = int64_t{p.warps} * p.bulk.stages + 1;
    const int64_t images_at = facts.table_bytes + round_up(8 * barriers, 128);
    const int64_t rings_at =
        images_at + int64_t{sizes.images_of_unit} * p.batch * sizes.unit_image_bytes;
    const int64_t room = device.shared_bytes_per_block - rings_at - products;
    if (room >= 0 && sizes.row_blocks > 0) {
        plan.bulk = cut_rows(facts, p, sizes.row_blocks, sizes.adjacent_rows, room);
    }
    if (room < 0 || (sizes.row_blocks > 0 && plan.bulk.pieces == 0)) {
        plan.bulk = {};
        return status::invalid("policy.method", "bulk copies need rows and activations that fit "
                                                "into the device's shared memory");
    }
    // The kernel's warps meet at its first stage, also where rows have no block.
    plan.bulk.stages = static_cast<int>(greater(plan.bulk.stages, 1));
    plan.bulk.image_bytes = sizes.unit_image_bytes;
    plan.shared.images_at = static_cast<int>(images_at);
    plan.shared.rings_at = static_cast<int>(rings_at);
    plan.shared.products_at =
        plan.shared.rings_at + p.warps * plan.bulk.stages * plan.bulk.stage_bytes;
    return {};
}

} // namespace detail

/// Plans the launch of a measured product for a device. No pointer is looked at.
///
/// Errors: a rule of the policy that is broken; options that do not suit the product; a method that
/// the device or the shape does not allow.
constexpr status plan_launch(const product_facts& facts, const policy& p,
                             const product_sizes& sizes, const device_facts& device,
                             launch_options options, launch_plan& plan) {
    plan = {.weights = facts.weights, .sizes = sizes, .policy = p};
    if (const status s = check_policy(p, facts); !s.ok()) {
        return s;
    }
    if (const status s = detail::check_options(device, facts.chosen_on_device, options); !s.ok()) {
        return s;
    }
    plan.options = options;
    if (sizes.is_empty()) {
        return {};
    }
    const int64_t groups = detail::ceil_div(sizes.n, rows_of_warp(p));
    const int64_t batches = detail::ceil_div(sizes.units, p.batch);
    int64_t products = 0; // in bytes
    if (sizes.summed_terms != 0) {
        const int64_t of_group =
            int64_t{rows_of_warp(p)} * sizes.summed_terms * static_cast<int>(sizeof(float));
        const int64_t fit = detail::greater(detail::products_bytes / of_group, 1);
        plan.round_groups = static_cast<int>(detail::lesser(fit, groups));
        products = detail::round_up(plan.round_groups * of_group, 128);
    }
    bool by_bulk = false;
    if (allows(p, method::bulk)) {
        const status s = detail::plan_bulk(facts, device, products, plan);
        if (p.method == method::bulk && !s.ok()) {
            return s;
        }
        by_bulk = s.ok();
    }
    if (!by_bulk) {
        plan.shared.products_at = facts.table_bytes;
        if (facts.table_bytes + products > device.shared_bytes_per_block) {
            return status::invalid("policy", "the encoding's lookup table and the products of a "
                                             "weighted sum do not fit into the device's shared "
                                             "memory");
        }
    }
    plan.method = by_bulk ? method::bulk : method::direct;
    // Bulk rings fill a multiprocessor; direct warps hide latency by number. Blocks of a unit are a
    // grid's y.
    constexpr int64_t most_ctas = 65535;
    const int64_t resident =
        detail::lesser(int64_t{device.multiprocessors} * (by_bulk ? 1 : 2), most_ctas);
    const int64_t shares = groups * detail::greater(sizes.summed_terms, 1); // warps take in turn
    const int64_t most_useful = detail::lesser(groups, detail::ceil_div(shares, p.warps));
    const int64_t ctas_of_unit =
        detail::lesser(detail::greater(resident / batches, 1), most_useful);
    if (batches * ctas_of_unit > detail::most_int) {
        return status::invalid("m", "too many activation rows for one launch");
    }
    plan.shape.grid = batches;
    plan.shape.grid_y = static_cast<int>(ctas_of_unit);
    plan.shape.threads = 32 * p.warps;
    plan.shape.shared_bytes = plan.shared.products_at + static_cast<int>(products);
    plan.shape.most_shared_bytes = device.shared_bytes_per_block;
    plan.shape.dependent = options.dependent;
    // A dependent launch's thread blocks start where those before them end. With half of a
    // multiprocessor free, two might meet there, each with work for a whole one.
    const bool alone = by_bulk && plan.shape.ctas() <= device.multiprocessors;
    if (options.dependent && alone) {
        plan.shape.shared_bytes = static_cast<int>(
            detail::greater(plan.shape.shared_bytes, plan.shape.most_shared_bytes / 2 + 1));
    }
    return {};
}

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/epilogue/bind.hpp>
#include <kq/gemv/plan/plan.hpp>
#include <kq/gemv/plan/product.hpp>

/// What the host that plans a launch and the kernel share.
namespace kq::inline KQ_ABI {

/// The argument of a kernel; the same for every encoding and policy.
template <row_mapping Mapping, epilogue Epilogue>
struct kernel_parameters {
    int64_t units;
    int blocks;         ///< weight blocks of a row
    bool early_weights; ///< weights may be read before the preceding kernels end
    bool ragged;        ///< whether a matrix begins or ends between multiples of 16 bytes
    int round_groups;   ///< groups of rows whose products are in shared memory together
    shared_layout shared;
    bulk_geometry bulk;
    Mapping mapping;
    Epilogue epilogue;
};

/// The argument of a product's kernels.
template <class Product>
using parameters_of = kernel_parameters<typename Product::mapping, typename Product::epilogue>;

/// The argument of the planned kernel, for checked arguments.
template <class Product>
parameters_of<Product> bind(const typename Product::arguments& a, const launch_plan& plan,
                            const workspace& space) {
    const image_rows images{static_cast<const unsigned char*>(space.data),
                            plan.sizes.image_row_bytes};
    const auto mapping = Product::mapping::bind(a, Product::facts, plan.sizes, images);
    return {.units = plan.sizes.units,
            .blocks = plan.sizes.row_blocks,
            .early_weights = plan.options.early_weights,
            .ragged = mapping.ragged(),
            .round_groups = plan.round_groups,
            .shared = plan.shared,
            .bulk = plan.bulk,
            .mapping = mapping,
            .epilogue = detail::bind_epilogue<typename Product::epilogue>(a.epilogue,
                                                                          plan.sizes.output_rows)};
}

} // namespace kq::inline KQ_ABI

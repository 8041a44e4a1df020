// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dot/lane_loop.hpp>
#include <kq/gemv/kernel/parameters.hpp>
#include <kq/gemv/policy/rules.hpp>

namespace kq::inline KQ_ABI {

/// What a kernel is composed of, as one type: a class-type template argument on the kernel itself
/// breaks nvcc's host stub.
///
/// `Product`: a `product`. `Policy`: one with one method, the `compiled_part` of it.
template <class Product, policy Policy>
struct config {
    static_assert(detail::composable<Product, Policy>::value);
    static_assert(Policy.method != method::automatic, "kq: a kernel has one method");

    using product = Product;
    using encoding = typename Product::encoding;
    using mapping = typename Product::mapping;
    using epilogue = typename Product::epilogue;
    static constexpr kq::policy policy = Policy;
    using parameters = parameters_of<Product>;
    using loop =
        lane_loop<encoding, Policy.order, Policy.rows, Policy.batch, Policy.direct.prefetch>;
};

} // namespace kq::inline KQ_ABI

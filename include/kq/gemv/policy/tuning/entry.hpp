// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/encoding.hpp>
#include <kq/gemv/mapping/facts.hpp>
#include <kq/gemv/policy/policy.hpp>

namespace kq::inline KQ_ABI::tuning {

/// What kind of product an entry was measured for.
enum class product_kind {
    dense,         ///< everything but experts
    experts,       ///< one product an output
    experts_gated, ///< gate and up
    experts_sum,   ///< a weighted sum
};

/// Every kind, for loops.
inline constexpr product_kind product_kinds[] = {product_kind::dense, product_kind::experts,
                                                 product_kind::experts_gated,
                                                 product_kind::experts_sum};

constexpr const char* name_of(product_kind kind) {
    switch (kind) {
    case product_kind::dense:
        return "dense";
    case product_kind::experts:
        return "experts";
    case product_kind::experts_gated:
        return "experts_gated";
    case product_kind::experts_sum:
        break;
    }
    return "experts_sum";
}

/// The kind of a product.
constexpr product_kind kind_of(const product_facts& facts) {
    return !facts.chosen_on_device  ? product_kind::dense
           : facts.sums_terms       ? product_kind::experts_sum
           : facts.weight_sets == 2 ? product_kind::experts_gated
                                    : product_kind::experts;
}

/// The fastest of the policies that were tried for one product on one GPU, and their times. Those
/// of a table have one order of additions.
struct entry {
    int compute_capability; ///< 10 * major + minor; all that is kept of the GPU
    kq::encoding encoding;
    product_kind kind;
    int64_t n; ///< weight rows, of an expert
    int64_t k; ///< columns
    int batch; ///< activation rows, of experts slots
    policy best;
    float us;              ///< of the product alone, weights cold
    policy best_dependent; ///< for dependent launches, with and without a quantizer between
    float us_dependent;    ///< of the product alone in a chain of them
};

/// Entries of one or several GPUs, the argument of every selection. `shipped` holds kq's own; a
/// user's table is an array of entries, made by `kq_tune`.
struct table {
    const entry* first = nullptr; // [count]
    int count = 0;

    constexpr table() = default;
    template <size_t Count>
    constexpr table(const entry (&entries)[Count])
        : first(entries), count(static_cast<int>(Count)) {}
    constexpr const entry* begin() const { return first; }
    constexpr const entry* end() const { return first + count; }
};

} // namespace kq::inline KQ_ABI::tuning

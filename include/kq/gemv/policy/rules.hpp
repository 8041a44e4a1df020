// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/status.hpp>
#include <kq/gemv/mapping/facts.hpp>
#include <kq/gemv/policy/policy.hpp>

/// The one list of what a policy must keep, of its own and to serve a kind of product: `p` is the
/// policy, `f` the product's facts. Both the refusals of a launch and the static_asserts of a
/// composition come from it. A macro, because a static_assert's text must be a literal.
// clang-format off
#define KQ_POLICY_RULES(rule)                                                                       \
    rule(p.order.lanes == 8 || p.order.lanes == 16 || p.order.lanes == 32,                          \
         "policy.order.lanes", "must be 8, 16 or 32")                                               \
    rule(p.rows >= 1 && p.rows <= 8, "policy.rows", "must be 1 to 8")                               \
    rule(p.batch >= 1 && p.batch <= 8, "policy.batch", "must be 1 to 8")                            \
    rule(p.warps >= 1 && p.warps <= 32, "policy.warps", "must be 1 to 32")                          \
    rule(p.method >= kq::method::automatic && p.method <= kq::method::bulk,                         \
         "policy.method", "must be one of method's")                                                \
    rule(p.direct.prefetch >= 1 && p.direct.prefetch <= 8,                                          \
         "policy.direct.prefetch", "must be 1 to 8")                                                \
    rule(p.bulk.stages >= 1 && p.bulk.stages <= 8, "policy.bulk.stages", "must be 1 to 8")          \
    rule(p.bulk.piece_bytes >= 1, "policy.bulk.piece_bytes", "must be at least 1")                  \
    rule(p.direct.prefetch == 1 || p.method != kq::method::bulk,                                    \
         "policy.direct.prefetch", "must be 1 where weights come by bulk copies")
#define KQ_PRODUCT_RULES(rule)                                                                      \
    rule(p.order.lanes % f.slices == 0,                                                             \
         "policy.order.lanes", "must be a multiple of the encoding's slices")                       \
    rule(p.batch == 1 || f.batchable,                                                               \
         "policy.batch", "must be 1 unless the mapping is dense or stacked")
// clang-format on

namespace kq::inline KQ_ABI {

#define KQ_CHECK(holds, field, text)                                                               \
    if (!(holds)) {                                                                                \
        return status::invalid(field, text);                                                       \
    }

/// Whether a policy's fields are in range, and if not, which rule is broken.
constexpr status check_policy(const policy& p) {
    KQ_POLICY_RULES(KQ_CHECK)
    return {};
}

/// Whether a policy serves a kind of product, and if not, which rule is broken.
constexpr status check_policy(const policy& p, const product_facts& f) {
    KQ_POLICY_RULES(KQ_CHECK)
    KQ_PRODUCT_RULES(KQ_CHECK)
    return {};
}

#undef KQ_CHECK

namespace detail {

/// The same when a composition is compiled, a line for each rule.
template <class Product, policy Policy>
struct composable {
    static constexpr policy p = Policy;
    static constexpr product_facts f = Product::facts;
#define KQ_ASSERT(holds, field, text) static_assert(holds, "kq: " field " " text);
    KQ_POLICY_RULES(KQ_ASSERT)
    KQ_PRODUCT_RULES(KQ_ASSERT)
#undef KQ_ASSERT
    static constexpr bool value = true;
};

} // namespace detail

} // namespace kq::inline KQ_ABI

#undef KQ_POLICY_RULES
#undef KQ_PRODUCT_RULES

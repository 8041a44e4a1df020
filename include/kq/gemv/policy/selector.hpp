// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/standard.hpp>
#include <kq/gemv/mapping/sizes.hpp>
#include <kq/gemv/policy/policy.hpp>
#include <kq/launch/device.hpp>
#include <kq/launch/options.hpp>

namespace kq::inline KQ_ABI {

/// Policies to choose from at each launch; the first one serves where the chosen one cannot, and
/// must run on every device. All of them have one order of additions, so the choice changes no bit.
template <int Count>
struct policy_list {
    static constexpr int count = Count;
    policy of[static_cast<size_t>(Count)];

    constexpr bool has_one_order() const {
        for (const policy& p : of) {
            if (p.order != of[0].order) {
                return false;
            }
        }
        return true;
    }
};

/// A way to choose a policy for a kind of product at each launch; `tuned` is one.
/// docs/composition.md shows how to write another.
///
/// Requires: `policies<Product>()`, the list to choose from, each of which is compiled; and
/// `choose<Product>(sizes, device, options)`, the place in the list.
template <class Selector, class Product>
concept policy_selector = requires(const product_sizes& sizes, const device_facts& device,
                                   const launch_options& options) {
    { Selector::template policies<Product>().of[0] } -> standard::convertible_to<policy>;
    { Selector::template choose<Product>(sizes, device, options) } -> standard::same_as<int>;
};

namespace detail {

/// One policy, always.
template <policy Policy>
struct always {
    template <class Product>
    static constexpr policy_list<1> policies() {
        return {{Policy}};
    }
    template <class Product>
    static constexpr int choose(const product_sizes&, const device_facts&, const launch_options&) {
        return 0;
    }
};

template <auto Choice>
struct selector_of {
    using type = standard::remove_cvref_t<decltype(Choice)>;
};
template <auto Choice>
    requires standard::same_as<standard::remove_cvref_t<decltype(Choice)>, policy>
struct selector_of<Choice> {
    using type = always<Choice>;
};

} // namespace detail

/// A policy or a selector of policies, as a template argument.
template <class Choice, class Product>
concept policy_choice = standard::same_as<Choice, policy> || policy_selector<Choice, Product>;

} // namespace kq::inline KQ_ABI

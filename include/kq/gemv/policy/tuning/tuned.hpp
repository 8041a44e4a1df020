// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/policy/selector.hpp>
#include <kq/gemv/policy/tuning/select.hpp>
#include <kq/gemv/policy/tuning/shipped.hpp>

namespace kq::inline KQ_ABI {

namespace tuning::detail {

/// What a table says of one encoding and one kind of product, made when it is compiled: shapes to
/// search, and each policy once.
template <int Entries>
struct choices {
    struct entry {
        detail::shape shape;
        int best; ///< of `policies`
        int best_dependent;
    };

    entry entries[static_cast<size_t>(Entries + 1)] =
        {}; ///< one more than there are, so that there is one
    policy policies[static_cast<size_t>(2 * Entries + 3)] = {};
    int count = 0;          ///< policies
    int untuned_single = 0; ///< of `policies`, for shapes that have no entry
    int untuned_batch = 0;

    constexpr choices(const table& from, encoding weights, product_kind kind, bool batchable) {
        add(with_method(kq::policies::warp, method::direct)); // runs on every device
        untuned_single = add(untuned(1));
        untuned_batch = batchable ? add(untuned(2)) : untuned_single;
        int i = 0;
        for (const tuning::entry& e : from) {
            if (serves(e, weights, kind, batchable)) {
                entries[i++] = {shape::of(e.compute_capability, e.n, e.k, e.batch), add(e.best),
                                add(e.best_dependent)};
            }
        }
    }

    /// The place of the policy that serves a shape.
    constexpr int choose(const shape& wanted, bool dependent) const {
        search search(wanted);
        const entry* best = nullptr;
        for (int i = 0; i < Entries; ++i) {
            if (search.is_nearer(entries[i].shape)) {
                best = &entries[i];
            }
        }
        if (best == nullptr) {
            return wanted.batch == 0 ? untuned_single : untuned_batch;
        }
        return dependent ? best->best_dependent : best->best;
    }

    static constexpr bool serves(const tuning::entry& e, encoding weights, product_kind kind,
                                 bool batchable) {
        return e.encoding == weights && e.kind == kind && (batchable || e.best.batch == 1);
    }

private:
    /// The place of a policy, which is added if it is not there.
    constexpr int add(const policy& p) {
        for (int i = 0; i < count; ++i) {
            if (policies[i] == p) {
                return i;
            }
        }
        policies[count] = p;
        return count++;
    }
};

} // namespace tuning::detail

/// Chooses the policy that a table of measurements holds for the shape and the device.
///
/// `Table`: `kq_tune` writes one for the GPU that it runs on. Each policy that it names for the
/// encoding and the kind of product is compiled.
template <const tuning::table& Table>
struct tuned_by {
    template <class Product>
    static constexpr auto policies() {
        constexpr const auto& all = choices<Product>;
        policy_list<all.count> list{};
        for (int i = 0; i < all.count; ++i) {
            list.of[i] = all.policies[i];
        }
        return list;
    }

    template <class Product>
    static constexpr int choose(const product_sizes& sizes, const device_facts& device,
                                const launch_options& options) {
        const int64_t slots = sizes.units * (sizes.summed_terms > 0 ? sizes.summed_terms : 1);
        const int64_t batch = Product::facts.chosen_on_device ? slots
                              : Product::facts.batchable      ? sizes.activation.m
                                                              : 1;
        return choices<Product>.choose(
            tuning::detail::shape::of(device.compute_capability, sizes.n, sizes.k, batch),
            options.dependent);
    }

private:
    template <class Product>
    static constexpr int entries() {
        int count = 0;
        for (const tuning::entry& e : Table) {
            count += tuning::detail::choices<0>::serves(e, Product::facts.weights.id,
                                                        tuning::kind_of(Product::facts),
                                                        Product::facts.batchable);
        }
        return count;
    }

    template <class Product>
    static constexpr tuning::detail::choices<entries<Product>()> choices{
        Table, Product::facts.weights.id, tuning::kind_of(Product::facts),
        Product::facts.batchable};
};

/// Chooses by kq's own measurements: `kq::gemv<kq::q4_k, kq::tuned>`. Those of the H200 serve every
/// GPU of its compute capability, an H100 too: a table is keyed by nothing else of the device.
inline constexpr tuned_by<tuning::shipped> tuned{};

} // namespace kq::inline KQ_ABI

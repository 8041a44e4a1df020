// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "candidates.hpp"

#include <kq/gemv/gemv.cuh>
#include <kq/gemv/mapping/experts.hpp>
#include <kq/gemv/policy/tuning/select.hpp>

namespace bench {
namespace detail {

template <class Encoding, template <int> class Mapping, class Epilogue, kq::policy... Policies>
auto list() {
    using arguments = typename Mapping<Epilogue::weight_sets>::arguments;
    return std::vector<candidate<arguments>>{
        {Policies, kq::gemv<Encoding, Policies, Mapping, Epilogue>::workspace_bytes,
         kq::gemv<Encoding, Policies, Mapping, Epilogue>::quantize,
         kq::gemv<Encoding, Policies, Mapping, Epilogue>::multiply}...};
}

using kq::policies::bulk;
using kq::policies::direct;

constexpr int whole_row = 1 << 20;

/// What serves `m` activation rows on a GPU that nobody tuned, by either method. Among the
/// candidates of every product: a table must not be worse than none.
constexpr kq::policy untuned(int64_t m, kq::method by) {
    return kq::with_method(kq::tuning::untuned(m), by);
}

template <class Encoding, int Batch>
auto of_batch() {
    return list<Encoding, kq::mappings::dense, kq::epilogues::store, direct(1, Batch, 16),
                direct(2, Batch, 16), direct(4, Batch, 16), direct(1, Batch, 8),
                direct(2, Batch, 8), direct(4, Batch, 8), bulk(1, Batch, 16, {2, 2304}),
                bulk(1, Batch, 16, {2, 4608}), bulk(1, Batch, 16, {1, whole_row}),
                bulk(1, Batch, 16, {3, 2304}), bulk(2, Batch, 16, {2, 1152}),
                bulk(2, Batch, 16, {2, 2304}), bulk(2, Batch, 16, {1, whole_row}),
                bulk(2, Batch, 16, {1, 2304}), bulk(2, Batch, 8, {2, 2304}),
                bulk(4, Batch, 8, {2, whole_row}), bulk(4, Batch, 8, {1, whole_row})>();
}

template <class Encoding, class Epilogue>
auto experts() {
    using kq::method;
    return list<
        Encoding, kq::mappings::experts, Epilogue, untuned(1, method::direct), direct(1, 1, 16),
        direct(4, 1, 16), direct(1, 1, 8), direct(2, 1, 8), direct(4, 1, 8), direct(1, 1, 16, {2}),
        untuned(1, method::bulk), bulk(1, 1, 16, {2, whole_row}), bulk(1, 1, 16, {2, 4608}),
        bulk(1, 1, 16, {1, whole_row}), bulk(1, 1, 16, {2, 2304}), bulk(2, 1, 16, {2, whole_row}),
        bulk(2, 1, 16, {1, whole_row}), bulk(4, 1, 16, {1, whole_row}), bulk(4, 1, 16, {2, 1152}),
        bulk(4, 1, 16, {2, whole_row}), bulk(2, 1, 24, {2, whole_row})>();
}

/// Terms go to the warps in turn, so that rows are short work.
template <class Encoding>
auto summed() {
    using kq::method;
    return list<Encoding, kq::mappings::experts, kq::epilogues::weighted_sum,
                untuned(1, method::direct), direct(1, 1, 16), direct(4, 1, 16), direct(2, 1, 8),
                direct(4, 1, 8), direct(8, 1, 8), untuned(1, method::bulk),
                bulk(1, 1, 16, {2, whole_row}), bulk(2, 1, 16, {1, whole_row}),
                bulk(2, 1, 16, {2, whole_row}), bulk(4, 1, 16, {1, whole_row}),
                bulk(4, 1, 16, {2, whole_row}), bulk(4, 1, 16, {3, whole_row}),
                bulk(4, 1, 16, {2, 1152}), bulk(4, 1, 24, {1, whole_row}),
                bulk(6, 1, 12, {1, whole_row}), bulk(8, 1, 8, {1, whole_row}),
                bulk(8, 1, 8, {2, whole_row}), bulk(8, 1, 16, {1, whole_row})>();
}

} // namespace detail

template <class Encoding>
std::vector<candidate<kq::dense_arguments>> candidates<Encoding>::dense() {
    using namespace detail;
    using kq::method;
    return list<
        Encoding, kq::mappings::dense, kq::epilogues::store, untuned(1, method::direct),
        direct(1, 1, 16), direct(4, 1, 16), direct(1, 1, 8), direct(2, 1, 8), direct(4, 1, 8),
        direct(1, 1, 16, {2}), direct(2, 1, 16, {2}), untuned(1, method::bulk),
        bulk(1, 1, 16, {1, whole_row}), bulk(1, 1, 16, {2, whole_row}), bulk(1, 1, 16, {2, 4608}),
        bulk(1, 1, 16, {2, 2304}), bulk(1, 1, 16, {3, 2304}), bulk(2, 1, 16, {1, whole_row}),
        bulk(2, 1, 16, {2, whole_row}), bulk(2, 1, 16, {2, 1152}), bulk(2, 1, 16, {3, 1152}),
        bulk(4, 1, 16, {1, whole_row}), bulk(4, 1, 16, {2, whole_row}), bulk(4, 1, 16, {2, 1152}),
        bulk(4, 1, 8, {1, whole_row}), bulk(4, 1, 8, {2, whole_row}), bulk(4, 1, 8, {2, 2304}),
        bulk(1, 1, 28, {2, 1152}), bulk(2, 1, 28, {2, whole_row}), bulk(4, 1, 24, {1, whole_row}),
        bulk(6, 1, 12, {1, whole_row}), bulk(8, 1, 8, {1, whole_row}),
        bulk(4, 1, 15, {1, whole_row})>();
}

template <class Encoding>
std::vector<candidate<kq::dense_arguments>> candidates<Encoding>::batched(int64_t m) {
    using namespace detail;
    using kq::method;
    auto all = list<Encoding, kq::mappings::dense, kq::epilogues::store, untuned(2, method::direct),
                    untuned(2, method::bulk)>();
    const auto add = [&](const auto& more) {
        for (const auto& c : more) {
            const bool known = std::any_of(all.begin(), all.end(), [&](const auto& other) {
                return alike(c.policy, other.policy);
            });
            if (c.policy.batch == batch_for(m) && !known) {
                all.push_back(c);
            }
        }
    };
    [&]<int... Batches>(std::integer_sequence<int, Batches...>) {
        (add(of_batch<Encoding, Batches>()), ...);
    }
    (batches{});
    return all;
}

template <class Encoding>
std::vector<candidate<kq::experts_arguments>> candidates<Encoding>::experts() {
    return detail::experts<Encoding, kq::epilogues::store>();
}

template <class Encoding>
std::vector<candidate<kq::experts_arguments>> candidates<Encoding>::experts_gated() {
    return detail::experts<Encoding, kq::epilogues::gated>();
}

template <class Encoding>
std::vector<candidate<kq::experts_arguments>> candidates<Encoding>::experts_sum() {
    return detail::summed<Encoding>();
}

} // namespace bench

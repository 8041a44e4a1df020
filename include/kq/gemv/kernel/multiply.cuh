// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/kernel/output.cuh>
#include <kq/gemv/kernel/weighted_sum.cuh>

namespace kq::inline KQ_ABI::detail {

/// Computes and stores the outputs of the thread block. Whole thread block.
///
/// `dot(at, sums)`: adds the dots of a group's rows with a term; called in the warp's sequence.
/// `shared`: the shared memory of the thread block.
template <class Config, class Dot>
__device__ __forceinline__ void multiply(const schedule<Config>& work, Dot&& dot,
                                         unsigned char* shared) {
    if constexpr (schedule<Config>::sums_terms) {
        weighted_sum<Config>::run(work, dot, work.p.shared.products(shared));
    } else {
        using output = detail::output<Config>;
        for (group_term at = work.first(); work.exists(at.group); at.group += work.group_step) {
            typename output::states outputs = {};
            for (at.term = 0; at.term < work.p.mapping.terms(); ++at.term) {
                typename schedule<Config>::dots sums = {};
                dot(at, sums);
                output::add(work, outputs, sums, at);
            }
            output::store(work, outputs, at.group);
        }
    }
}

} // namespace kq::inline KQ_ABI::detail

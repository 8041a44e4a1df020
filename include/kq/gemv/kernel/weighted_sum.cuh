// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/kernel/output.cuh>

namespace kq::inline KQ_ABI::detail {

/// Outputs that are weighted sums of terms. Warps leave their products in shared memory, a round of
/// groups at a time; then a thread adds up a row's, in the order of the terms.
template <class Config>
struct weighted_sum {
    using schedule = detail::schedule<Config>;
    using output = detail::output<Config>;
    static constexpr int rows = schedule::rows;
    static constexpr int group_rows = schedule::group_rows;

    /// Computes and stores the outputs of the thread block. Whole thread block.
    /// `dot`: see `multiply`. `products`: [round_groups, group_rows, terms] in shared memory.
    template <class Dot>
    __device__ __forceinline__ static void run(const schedule& work, Dot&& dot, float* products) {
        static_assert(schedule::batch == 1);
        const int round_groups = work.p.round_groups;
        const int terms = work.p.mapping.terms();
        group_term at = work.first();
        int begin = 0; // of the round
        for (unsigned group = blockIdx.y; work.exists(group); group += gridDim.y * round_groups) {
            for (; work.exists(at.group) && at.local < begin + round_groups; work.advance(at)) {
                typename schedule::dots sums = {};
                dot(at, sums);
                float flat[rows];
                output::sum(work, sums, flat);
#pragma unroll
                for (int i = 0; i < output::kept; ++i) {
                    const int row = work.row_of_lane(output::sums::first(work.lane) + i);
                    if (output::sums::is_first(work.lane)) {
                        products[((at.local - begin) * group_rows + row) * terms + at.term] =
                            flat[i];
                    }
                }
            }
            __syncthreads();
            store(work, products, group);
            __syncthreads();
            begin += round_groups;
        }
    }

private:
    /// Adds up and stores the rows of a round that begins with `first_group`.
    __device__ __forceinline__ static void store(const schedule& work, const float* products,
                                                 unsigned first_group) {
        const int terms = work.p.mapping.terms();
        for (int i = static_cast<int>(threadIdx.x); i < work.p.round_groups * group_rows;
             i += 32 * schedule::policy.warps) {
            const unsigned group = first_group + gridDim.y * (i / group_rows);
            const int r = i % group_rows;
            if (!work.exists(group) || r >= work.rows_of(group)) {
                return;
            }
            typename Config::epilogue::state sum = {};
#pragma unroll 4
            for (int t = 0; t < (work.has_terms() ? terms : 0); ++t) {
                // Without branches, so that the loads of several terms are on their way together.
                auto with = sum;
                const weight_row row = work.has_term(t) ? work.row(group, t, r) : weight_row{};
                work.p.epilogue.add(with, finished_dot{.dot = products[i * terms + t],
                                                       .set = 0,
                                                       .slot = work.p.mapping.slot(work.unit, t),
                                                       .weight_row = row.index,
                                                       .matrix = row.matrix});
                sum = work.has_term(t) ? with : sum;
            }
            const destination to = work.p.mapping.to(work.unit, work.first_row(group) + r);
            to.output.store(to.index, work.p.epilogue.finish(sum, to));
        }
    }
};

} // namespace kq::inline KQ_ABI::detail

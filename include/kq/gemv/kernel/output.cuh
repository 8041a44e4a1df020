// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/kernel/butterfly.cuh>
#include <kq/gemv/kernel/schedule.cuh>

namespace kq::inline KQ_ABI::detail {

/// How the lanes' dots become outputs: sums over lanes, terms, values.
template <class Config>
struct output {
    using schedule = detail::schedule<Config>;
    using sums = butterfly<schedule::lanes, schedule::batch * schedule::rows>;
    using dots = typename schedule::dots;
    static constexpr int rows = schedule::rows;
    static constexpr int kept = sums::kept; ///< outputs that a lane has afterwards
    using states = typename Config::epilogue::state[static_cast<size_t>(kept)];

    /// Sums dots over the lanes of an output; `flat`: see `butterfly::sum`.
    __device__ __forceinline__ static void sum(const schedule& work, const dots& of_lane,
                                               float (&flat)[schedule::batch * schedule::rows]) {
#pragma unroll
        for (int i = 0; i < schedule::batch * rows; ++i) {
            flat[i] = of_lane[i / rows][i % rows];
        }
        sums::sum(flat, work.lane);
    }

    /// Adds a term's dots to the outputs' states.
    __device__ __forceinline__ static void add(const schedule& work, states& to,
                                               const dots& of_lane, const group_term& at) {
        float flat[schedule::batch * schedule::rows];
        sum(work, of_lane, flat);
#pragma unroll
        for (int i = 0; i < kept; ++i) {
            const int value = sums::first(work.lane) + i;
            const weight_row row =
                work.row(at.group, at.term, work.row_in_group(at.group, value % rows));
            work.p.epilogue.add(to[i], finished_dot{.dot = flat[i],
                                                    .set = at.term % Config::epilogue::weight_sets,
                                                    .slot = work.p.mapping.slot(
                                                        work.unit_of(value / rows), at.term),
                                                    .weight_row = row.index,
                                                    .matrix = row.matrix});
        }
    }

    /// Stores the outputs of a group.
    __device__ __forceinline__ static void store(const schedule& work, const states& from,
                                                 unsigned group) {
        if (!sums::is_first(work.lane)) {
            return;
        }
#pragma unroll
        for (int i = 0; i < kept; ++i) {
            const int value = sums::first(work.lane) + i;
            const int row = work.row_of_lane(value % rows);
            if ((schedule::batch == 1 || value / rows < work.units) && row < work.rows_of(group)) {
                const destination to =
                    work.p.mapping.to(work.unit + value / rows, work.first_row(group) + row);
                to.output.store(to.index, work.p.epilogue.finish(from[i], to));
            }
        }
    }

    /// Stores zeros in all outputs of the thread block.
    __device__ __forceinline__ static void store_zeros(const schedule& work) {
        for (unsigned group = work.first().group; work.exists(group); group += work.group_step) {
            for (int i = work.lane; i < work.rows_of(group); i += 32) {
                const destination to = work.p.mapping.to(work.unit, work.first_row(group) + i);
                to.output.store(to.index, 0.0f);
            }
        }
    }
};

} // namespace kq::inline KQ_ABI::detail

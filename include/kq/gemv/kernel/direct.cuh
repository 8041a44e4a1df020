// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/memory.hpp>
#include <kq/gemv/kernel/multiply.cuh>
#include <kq/gemv/kernel/table.cuh>
#include <kq/launch/dependent.cuh>

namespace kq::inline KQ_ABI::detail {

/// Weights from global memory straight into registers, the activation through the first-level
/// cache.
template <class Config>
__device__ __forceinline__ void run_direct(const typename Config::parameters& p,
                                           unsigned char* shared) {
    schedule<Config> work(p);
    using loop = typename Config::loop;
    constexpr int rows = work.rows;
    constexpr int batch = work.batch;

    let_dependents_start();
    const table_copy<typename loop::dot, work.policy.warps> table(work.lane, work.warp);
    table.store(shared);
    wait_for_predecessors();
    if (work.is_missing()) {
        output<Config>::store_zeros(work);
        return;
    }
    work.find_terms();
    __syncthreads();
    const lane_context where = loop::lane_at(work.lane, shared);

    const auto dot = [&](const group_term& at, float(&sums)[batch][rows]) {
        const unsigned char* weights[rows]; // [rows][blocks] blocks
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            weights[r] =
                from_here(work.row(at.group, at.term, work.row_in_group(at.group, r)).bytes);
        }
        const unsigned char* images[batch]; // [batch][panels, panel_bytes]
#pragma unroll
        for (int j = 0; j < batch; ++j) {
            images[j] = work.image_of(j, at.term);
        }
        loop::template accumulate<streamed_memory>(sums, weights, images, work.first_slot(),
                                                   p.blocks, where);
    };
    multiply(work, dot, shared);
}

} // namespace kq::inline KQ_ABI::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/kernel/bulk/bulk.cuh>
#include <kq/gemv/kernel/config.hpp>
#include <kq/gemv/kernel/direct.cuh>

#include <nv/target>

namespace kq::inline KQ_ABI {

/// The work of a thread block of `gemv_kernel`, for a kernel of your own with that kernel's grid
/// and threads. `shared`: its dynamic shared memory, 128-byte aligned.
template <class Config>
__device__ __forceinline__ void run_gemv(const typename Config::parameters& p,
                                         unsigned char* shared) {
    if constexpr (Config::policy.method == method::bulk) {
        // Code compiled for older architectures may run on a device that could do bulk copies.
        NV_IF_ELSE_TARGET(NV_PROVIDES_SM_90, (detail::run_bulk<Config>(p, shared);),
                          (detail::run_direct<Config>(p, shared);))
    } else {
        detail::run_direct<Config>(p, shared);
    }
}

KQ_HIDDEN_BEGIN

/// The one kernel. Grid: [batches of units, thread blocks that share a batch].
template <class Config>
__global__ void __launch_bounds__(32 * Config::policy.warps, 1)
    gemv_kernel(const __grid_constant__ typename Config::parameters p) {
    extern __shared__ __align__(128) unsigned char shared[];
    run_gemv<Config>(p, shared);
}

KQ_HIDDEN_END

} // namespace kq::inline KQ_ABI

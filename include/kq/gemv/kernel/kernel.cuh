// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/kernel/bulk/bulk.cuh>
#include <kq/gemv/kernel/direct.cuh>
#include <kq/gemv/epilogue/epilogue.hpp>
#include <kq/gemv/kernel/parameters.hpp>
#include <kq/dot/lane_loop.hpp>
#include <kq/gemv/mapping/mapping.hpp>
#include <kq/gemv/policy/policy.hpp>

#include <nv/target>

namespace kq::inline KQ_ABI {

/// What a kernel is composed of, as one type: a class-type template argument on the kernel itself
/// breaks nvcc's host stub.
template <dottable Encoding, policy Policy, row_mapping Mapping, epilogue Epilogue>
struct config {
    static_assert(is_valid(Policy), "kq: the policy's fields are out of range");
    static_assert(Policy.via != transport::automatic, "kq: a kernel has one transport");
    static_assert(allows(Policy, Policy.via),
                  "kq: register prefetch does not go with the bulk transport");
    static_assert(Policy.batch == 1 || Mapping::batchable,
                  "kq: a batch of activation rows needs the dense or the stacked mapping");
    static_assert(!Epilogue::sums_terms || Mapping::chosen_on_device,
                  "kq: a weighted sum needs the grouped mapping");

    using encoding = Encoding;
    using mapping = Mapping;
    using epilogue = Epilogue;
    static constexpr kq::policy policy = Policy;
    using parameters = kernel_parameters<Mapping, Epilogue>;
    using loop = mainloop<Encoding, Policy.lanes, Policy.rows, Policy.batch, Policy.prefetch>;
};

/// The work of a thread block of `gemv_kernel`, for a kernel of your own with that kernel's grid
/// and threads. `shared`: its dynamic shared memory, 128-byte aligned.
template <class Config>
__device__ __forceinline__ void run_gemv(const typename Config::parameters& p,
                                         unsigned char* shared) {
    if constexpr (Config::policy.via == transport::bulk) {
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

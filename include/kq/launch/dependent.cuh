// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/version.hpp>

#include <nv/target>

/// Programmatic dependent launch, as kernels see it: a kernel that was launched as dependent may
/// start while the kernels before it on its stream still run. Does nothing in a kernel that was
/// launched otherwise, nor below compute capability 9.0.
namespace kq::inline KQ_ABI::detail {

/// Lets a kernel that was launched as dependent on this one start, once every thread block has come
/// here or ended.
__device__ __forceinline__ void let_dependents_start() {
    NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("griddepcontrol.launch_dependents;" ::
                                                      : "memory");))
}

/// Waits until the kernels before this one are complete and their writes visible. Every kernel of
/// kq waits before it reads what they may have written and before it writes anything, so that its
/// own end says that all before it have ended.
__device__ __forceinline__ void wait_for_predecessors() {
    NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("griddepcontrol.wait;" ::: "memory");))
}

/// The same address, unknown to the compiler before this point: it cannot move a load through it up
/// across `wait_for_predecessors`.
template <class T>
__device__ __forceinline__ T* from_here(T* address) {
    asm volatile("" : "+l"(address)::"memory");
    return address;
}

} // namespace kq::inline KQ_ABI::detail

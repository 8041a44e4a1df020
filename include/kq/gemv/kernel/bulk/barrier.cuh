// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

#include <nv/target>

namespace kq::inline KQ_ABI::detail {

/// The shared-memory address of a pointer into it.
__device__ __forceinline__ uint32_t shared_address(const void* address) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(address));
}

/// Makes plain writes to shared memory visible to bulk copies that are asked for afterwards.
__device__ __forceinline__ void fence_before_bulk_copies() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Starts to copy 16 bytes from global to shared memory, both 16-byte aligned. One thread.
__device__ __forceinline__ void copy_16_bytes(void* to, const void* from) {
    NV_IF_TARGET(
        NV_PROVIDES_SM_80,
        (asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)),
                      "l"(__cvta_generic_to_global(from))
                      : "memory");))
}

/// Waits for what the thread copies by `copy_16_bytes`.
__device__ __forceinline__ void wait_for_own_copies() {
    NV_IF_TARGET(NV_PROVIDES_SM_80, (asm volatile("cp.async.wait_all;" ::: "memory");))
}

/// A barrier in shared memory that bulk copies complete on.
class copy_barrier {
public:
    __device__ __forceinline__ explicit copy_barrier(uint64_t* word) : word_(word) {}

    /// One thread; the others of the thread block after a barrier.
    __device__ __forceinline__ void init() const {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(word_))
                     : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }

    /// Announces all bytes of a phase, before or after the copies start. One thread.
    __device__ __forceinline__ void expect(uint32_t bytes) const {
        asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(
                         shared_address(word_)),
                     "r"(bytes)
                     : "memory");
    }

    /// Starts a copy. Addresses and `bytes` are multiples of 16.
    __device__ __forceinline__ void copy(void* to, const void* from, uint32_t bytes) const {
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
            "[%3];" ::"r"(shared_address(to)),
            "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(word_))
            : "memory");
    }

    /// Waits for a phase. `parity`: the number of phases before it, modulo 2.
    __device__ __forceinline__ void wait(uint32_t parity) const {
        uint32_t done = 0;
        do {
            asm volatile("{ .reg .pred p;\n"
                         "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                         "selp.u32 %0, 1, 0, p; }"
                         : "=r"(done)
                         : "r"(shared_address(word_)), "r"(parity)
                         : "memory");
        } while (done == 0);
    }

private:
    uint64_t* word_;
};

} // namespace kq::inline KQ_ABI::detail

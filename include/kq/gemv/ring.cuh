// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/config.hpp>
#include <kq/gemv/mapping.hpp>
#include <kq/memory.hpp>

#include <cuda/ptx>
#include <nv/target>

namespace kq::detail {

/// A barrier in shared memory that bulk copies complete on.
class copy_barrier {
public:
    __device__ __forceinline__ explicit copy_barrier(uint64_t* word) : word_(word) {}

    /// Requires: called by one thread, before `fence_mbarrier_init`.
    __device__ __forceinline__ void init() const { cuda::ptx::mbarrier_init(word_, 1); }

    /// Announces all bytes of a phase, before or after the copies start. One thread.
    __device__ __forceinline__ void expect(uint32_t bytes) const {
        cuda::ptx::mbarrier_arrive_expect_tx(cuda::ptx::sem_release, cuda::ptx::scope_cta,
                                             cuda::ptx::space_shared, word_, bytes);
    }

    /// Starts a copy. Addresses and `bytes` are multiples of 16.
    __device__ __forceinline__ void copy(void* to, const void* from, uint32_t bytes) const {
        cuda::ptx::cp_async_bulk(cuda::ptx::space_cluster, cuda::ptx::space_global, to, from, bytes,
                                 word_);
    }

    /// Waits for a phase. `parity`: the number of phases before it, modulo 2.
    __device__ __forceinline__ void wait(uint32_t parity) const {
        while (!cuda::ptx::mbarrier_try_wait_parity(word_, parity)) {
        }
    }

private:
    uint64_t* word_;
};

/// One warp's ring of weight pieces in shared memory, filled by bulk copies (compute capability 9.0
/// and up).
///
/// A bulk copy moves 16-byte units between 16-byte boundaries, so it may also bring bytes of
/// neighbouring rows. It never leaves the row's matrix (contract C5): the few bytes at its very
/// ends that lie outside whole units are copied by `patch` with plain loads. A byte keeps its
/// address modulo 128 in shared memory, since copies between differently aligned addresses are
/// slower.
class weight_ring {
public:
    /// A part of a weight row.
    struct piece {
        const unsigned char* bytes; ///< in global memory
        int size;                   ///< in bytes
    };

    /// Requires: called by all lanes of the warp. `barriers`: [stages]. `slots`: [stages * rows,
    /// slot_bytes], 128-byte aligned.
    __device__ __forceinline__ weight_ring(uint64_t* barriers, unsigned char* slots, int stages,
                                           int slot_bytes, int lane)
        : barriers_(barriers), slots_(slots), slot_bytes_(slot_bytes), lane_(lane) {
        if (lane == 0) {
#pragma unroll 1
            for (int s = 0; s < stages; ++s) {
                barrier(s).init();
            }
            cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster);
        }
        __syncwarp();
    }

    /// Starts the copies of a stage: lane i < `count` brings piece `part` of `row` into slot
    /// `first_slot + i`. Whole warp, after all lanes are done with what the stage held.
    /// Returns whether `patch` has to bring the rest of some lane's piece.
    __device__ __forceinline__ bool fill(int stage, int first_slot, int count,
                                         const weight_row& row, piece part) const {
        const auto address = reinterpret_cast<uintptr_t>(part.bytes);
        // The 16-byte units that bring the piece, cut to those that lie inside the matrix.
        const uintptr_t from = address & ~uintptr_t{15};
        const uintptr_t to = (address + part.size + 15) & ~uintptr_t{15};
        const uintptr_t start = (max)(from, reinterpret_cast<uintptr_t>(row.first_unit));
        const uintptr_t end = (min)(to, reinterpret_cast<uintptr_t>(row.last_unit));
        const bool taken = lane_ < count;
        const uint32_t bytes = taken && start < end ? static_cast<uint32_t>(end - start) : 0;
        uint32_t total = 0;
        NV_IF_TARGET(NV_PROVIDES_SM_90, (total = __reduce_add_sync(~0u, bytes);))
        if (lane_ == 0) {
            barrier(stage).expect(total);
        }
        if (bytes != 0) {
            barrier(stage).copy(place(first_slot + lane_, part.bytes, start),
                                reinterpret_cast<const void*>(start), bytes);
        }
        return __any_sync(~0u, taken && (start != from || end != to));
    }

    /// Waits for a stage's copies. `parity`: how often the stage was waited for, modulo 2.
    __device__ __forceinline__ void wait(int stage, uint32_t parity) const {
        barrier(stage).wait(parity);
    }

    /// Where a byte lies in a slot that holds its piece. `address`: of the byte in global memory,
    /// modulo 128.
    __device__ __forceinline__ const unsigned char* find(int slot, uint32_t address) const {
        return slots_ + slot * slot_bytes_ + address % 128;
    }

    /// Copies the bytes of a piece that no bulk copy may bring, where there are any. Whole warp.
    __device__ __forceinline__ void patch(int slot, const weight_row& row, piece part) const {
        const auto start = reinterpret_cast<uintptr_t>(part.bytes);
        const uintptr_t end = start + part.size;
        const auto first = reinterpret_cast<uintptr_t>(row.first_unit);
        const auto last = reinterpret_cast<uintptr_t>(row.last_unit);
        copy_halves(slot, part.bytes, start, first < end ? first : end);
        copy_halves(slot, part.bytes, last > start ? last : start, end);
        // A later bulk copy may reuse the slot: it must not overtake these writes.
        cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
        __syncwarp();
    }

private:
    __device__ __forceinline__ copy_barrier barrier(int stage) const {
        return copy_barrier(barriers_ + stage);
    }

    /// Where the byte at `address` lies in the slot that holds the piece at `bytes`.
    __device__ __forceinline__ unsigned char* place(int slot, const unsigned char* bytes,
                                                    uintptr_t address) const {
        const auto low = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(bytes)) & ~127u;
        return slots_ + slot * slot_bytes_ + (static_cast<uint32_t>(address) - low);
    }

    __device__ __forceinline__ void copy_halves(int slot, const unsigned char* bytes,
                                                uintptr_t from, uintptr_t to) const {
#pragma unroll 1
        for (uintptr_t at = from + 2 * lane_; at < to; at += 64) {
            *reinterpret_cast<uint16_t*>(place(slot, bytes, at)) =
                streamed_memory::load<uint16_t>(reinterpret_cast<const unsigned char*>(at));
        }
    }

    uint64_t* barriers_;
    unsigned char* slots_;
    int slot_bytes_;
    int lane_;
};

} // namespace kq::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>
#include <kq/gemv/kernel/parameters.hpp>
#include <kq/gemv/mapping/mapping.hpp>
#include <kq/core/memory.hpp>

#include <cuda/ptx>
#include <nv/target>

namespace kq::inline KQ_ABI::detail {

/// Starts to copy 16 bytes from global to shared memory, both 16-byte aligned. One thread.
__device__ __forceinline__ void copy_16_bytes(void* to, const void* from) {
    NV_IF_TARGET(NV_PROVIDES_SM_80,
                 (asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                                   static_cast<uint32_t>(__cvta_generic_to_shared(to))),
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
        cuda::ptx::mbarrier_init(word_, 1);
        cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster);
    }

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

/// What a copy brings: a part of a weight row, or rows that follow each other.
struct weight_piece {
    const unsigned char* bytes; ///< in global memory
    int size;                   ///< in bytes
};

/// One warp's ring of weight pieces in shared memory, filled by bulk copies (compute capability 9.0
/// and up).
///
/// A bulk copy goes from one multiple of 16 bytes to another, so it may also bring bytes of
/// neighbouring rows. It never leaves the row's matrix (contract C5): the few bytes at its very
/// ends, before the first such multiple and after the last, are copied by `patch` with plain loads.
/// A byte keeps its address modulo 128 in shared memory, since copies between differently aligned
/// addresses are slower.
///
/// `Warps`: of the thread block, each with a ring. `Rows`: most copies that fill a stage.
template <int Warps, int Rows>
class weight_ring {
public:
    /// A range in global memory between multiples of 16 bytes.
    struct span {
        uintptr_t start;
        uint32_t bytes;
    };

    /// `barriers`: this warp's of [stages, Warps]. `slots`: [stages, copies, slot_bytes], 128-byte
    /// aligned.
    __device__ __forceinline__ weight_ring(uint64_t* barriers, unsigned char* slots,
                                           const bulk_geometry& bulk, int lane)
        : barriers_(barriers), slots_(slots), bulk_(bulk), lane_(lane) {}

    /// Makes the stages' barriers. Whole warp.
    __device__ __forceinline__ void open() const {
        if (lane_ == 0) {
#pragma unroll 1
            for (int stage = 0; stage < bulk_.stages; ++stage) {
                barrier(stage).init();
            }
        }
        __syncwarp();
    }

    /// The least that holds a piece.
    __device__ __forceinline__ static span around(const weight_piece& part) {
        const auto address = reinterpret_cast<uintptr_t>(part.bytes);
        const auto before = static_cast<uint32_t>(address) % 16;
        return {address & ~uintptr_t{15}, (before + part.size + 15) & ~15u};
    }

    /// The same without what lies outside the row's matrix.
    __device__ __forceinline__ static span inside(const weight_piece& part, const weight_row& row) {
        const span all = around(part);
        const uintptr_t start = (max)(all.start, reinterpret_cast<uintptr_t>(row.aligned_begin));
        const uintptr_t end =
            (min)(all.start + all.bytes, reinterpret_cast<uintptr_t>(row.aligned_end));
        return {start, start < end ? static_cast<uint32_t>(end - start) : 0};
    }

    /// Starts the copies of a stage: lane i < `count` brings a piece into slot i. Whole
    /// warp, after all lanes are done with what the stage held.
    __device__ __forceinline__ void fill(int stage, int count, const weight_piece& part,
                                         const span& from) const {
        const uint32_t bytes = lane_ < count ? from.bytes : 0;
        uint32_t total = bytes; // of all lanes
        if constexpr (Rows > 1) {
            NV_IF_TARGET(NV_PROVIDES_SM_90, (total = __reduce_add_sync(~0u, bytes);))
        }
        if (lane_ == 0) {
            barrier(stage).expect(total);
        }
        if (bytes != 0) {
            barrier(stage).copy(place(slot(stage, lane_), part, from.start),
                                reinterpret_cast<const void*>(from.start), bytes);
        }
    }

    /// Waits for a stage's copies. `parity`: how often the stage was waited for, modulo 2.
    __device__ __forceinline__ void wait(int stage, uint32_t parity) const {
        barrier(stage).wait(parity);
    }

    /// Where a byte lies in a stage's first slot, if it begins that slot's piece. `address`: of the
    /// byte in global memory, modulo 128.
    __device__ __forceinline__ const unsigned char* find(int stage, uint32_t address) const {
        return slot(stage, 0) + address % 128;
    }

    /// Copies the bytes of a piece that no bulk copy may bring, where there are any, into slot i.
    /// Whole warp.
    __device__ __forceinline__ void patch(int stage, int i, const weight_piece& part,
                                          const weight_row& row) const {
        const auto start = reinterpret_cast<uintptr_t>(part.bytes);
        const uintptr_t end = start + part.size;
        const auto first = reinterpret_cast<uintptr_t>(row.aligned_begin);
        const auto last = reinterpret_cast<uintptr_t>(row.aligned_end);
        if (first <= start && end <= last) {
            return;
        }
        copy_halves(slot(stage, i), part, start, (min)(first, end));
        copy_halves(slot(stage, i), part, (max)(last, start), end);
        // A later bulk copy may reuse the slot: it must not overtake these writes.
        cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
        __syncwarp();
    }

private:
    __device__ __forceinline__ copy_barrier barrier(int stage) const {
        return copy_barrier(barriers_ + stage * Warps);
    }

    /// Slot i of a stage.
    __device__ __forceinline__ unsigned char* slot(int stage, int i) const {
        return slots_ + stage * bulk_.stage_bytes + i * bulk_.slot_bytes;
    }

    /// Where the byte at `address` lies in the slot that holds a piece.
    __device__ __forceinline__ static unsigned char*
    place(unsigned char* slot, const weight_piece& part, uintptr_t address) {
        const auto low = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(part.bytes)) & ~127u;
        return slot + (static_cast<uint32_t>(address) - low);
    }

    /// Copies what lies from `from` up to `to` of a piece.
    __device__ __forceinline__ void copy_halves(unsigned char* slot, const weight_piece& part,
                                                uintptr_t from, uintptr_t to) const {
#pragma unroll 1
        for (uintptr_t at = from + 2 * lane_; at < to; at += 64) {
            *reinterpret_cast<uint16_t*>(place(slot, part, at)) =
                streamed_memory::load<uint16_t>(reinterpret_cast<const unsigned char*>(at));
        }
    }

    uint64_t* barriers_;
    unsigned char* slots_;
    const bulk_geometry& bulk_;
    int lane_;
};

} // namespace kq::inline KQ_ABI::detail

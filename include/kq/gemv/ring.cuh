// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/config.hpp>
#include <kq/gemv/mapping.hpp>
#include <kq/memory.hpp>

#include <cuda/cmath>
#include <cuda/ptx>

namespace kq::detail {

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
                                           int rows, int slot_bytes, int lane)
        : barriers_(barriers), slots_(slots), slot_bytes_(slot_bytes), lane_(lane) {
        if (lane == 0) {
#pragma unroll 1
            for (int s = 0; s < stages; ++s) {
                cuda::ptx::mbarrier_init(barriers + s, rows);
            }
            cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster);
        }
        __syncwarp();
    }

    /// Starts the copy of a piece of `row` into a slot. A stage is complete once each of its `rows`
    /// slots was filled or skipped.
    /// Requires: called by one lane, after all lanes are done with what the stage held.
    __device__ __forceinline__ void fill(int stage, int slot, const weight_row& row,
                                         piece part) const {
        const auto address = reinterpret_cast<uintptr_t>(part.bytes);
        // The 16-byte units that bring the piece, cut to those that lie inside the matrix.
        const uintptr_t from = cuda::round_down(address, uintptr_t{16});
        const uintptr_t to = cuda::round_up(address + part.size, uintptr_t{16});
        const uintptr_t first = first_unit(row);
        const uintptr_t last = last_unit(row);
        const uintptr_t start = from > first ? from : first;
        const uintptr_t end = to < last ? to : last;
        const uint32_t total = start < end ? static_cast<uint32_t>(end - start) : 0;
        expect(stage, total);
        if (total != 0) {
            cuda::ptx::cp_async_bulk(
                cuda::ptx::space_cluster, cuda::ptx::space_global, place(slot, part.bytes, start),
                reinterpret_cast<const void*>(start), total, barriers_ + stage);
        }
    }

    /// Leaves a slot of a stage as it is.
    __device__ __forceinline__ void skip(int stage) const {
        expect(stage, 0);
    }

    /// Waits for a stage's copies. `parity`: how often the stage was waited for, modulo 2.
    __device__ __forceinline__ void wait(int stage, uint32_t parity) const {
        while (!cuda::ptx::mbarrier_try_wait_parity(barriers_ + stage, parity)) {
        }
    }

    /// Where a piece lies in shared memory.
    __device__ __forceinline__ unsigned char* find(int slot, const unsigned char* bytes) const {
        return place(slot, bytes, reinterpret_cast<uintptr_t>(bytes));
    }

    /// Copies the bytes of a piece that no bulk copy may bring, where there are any. Whole warp.
    __device__ __forceinline__ void patch(int slot, const weight_row& row, piece part) const {
        const auto start = reinterpret_cast<uintptr_t>(part.bytes);
        const uintptr_t end = start + part.size;
        const uintptr_t first = first_unit(row);
        const uintptr_t last = last_unit(row);
        if (start >= first && end <= last) {
            return;
        }
        copy_halves(slot, part.bytes, start, first < end ? first : end);
        copy_halves(slot, part.bytes, last > start ? last : start, end);
        // A later bulk copy may reuse the slot: it must not overtake these writes.
        cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
        __syncwarp();
    }

private:
    __device__ __forceinline__ static uintptr_t first_unit(const weight_row& row) {
        return cuda::round_up(reinterpret_cast<uintptr_t>(row.first), uintptr_t{16});
    }
    __device__ __forceinline__ static uintptr_t last_unit(const weight_row& row) {
        return cuda::round_down(reinterpret_cast<uintptr_t>(row.last), uintptr_t{16});
    }

    __device__ __forceinline__ void expect(int stage, uint32_t bytes) const {
        cuda::ptx::mbarrier_arrive_expect_tx(cuda::ptx::sem_release, cuda::ptx::scope_cta,
                                             cuda::ptx::space_shared, barriers_ + stage, bytes);
    }

    /// Where the byte at `address` lies in the slot that holds the piece at `bytes`.
    __device__ __forceinline__ unsigned char* place(int slot, const unsigned char* bytes,
                                                    uintptr_t address) const {
        const uintptr_t base = cuda::round_down(reinterpret_cast<uintptr_t>(bytes), uintptr_t{128});
        return slots_ + slot * slot_bytes_ + (address - base);
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

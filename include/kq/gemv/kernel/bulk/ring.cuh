// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/memory.hpp>
#include <kq/core/standard.hpp>
#include <kq/gemv/kernel/bulk/barrier.cuh>
#include <kq/gemv/mapping/matrix.hpp>
#include <kq/gemv/plan/bulk.hpp>

namespace kq::inline KQ_ABI::detail {

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
/// `Alignment`: of weight rows, in bytes.
template <int Warps, int Rows, int Alignment>
class weight_ring {
public:
    /// A range in global memory between multiples of 16 bytes.
    struct span {
        uintptr_t start;
        uint32_t bytes;
    };

    /// `barriers`: this warp's of [stages, Warps]. `bays`: [stages, copies, bay_bytes], 128-byte
    /// aligned.
    __device__ __forceinline__ weight_ring(uint64_t* barriers, unsigned char* bays,
                                           const bulk_geometry& bulk, int lane)
        : barriers_(barriers), bays_(bays), bulk_(bulk), lane_(lane) {}

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

    /// Starts the copies of a stage: lane i < `count` brings a piece into bay i. Whole
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
            barrier(stage).copy(place(bay(stage, lane_), part, from.start),
                                reinterpret_cast<const void*>(from.start), bytes);
        }
    }

    /// Waits for a stage's copies. `parity`: how often the stage was waited for, modulo 2.
    __device__ __forceinline__ void wait(int stage, uint32_t parity) const {
        barrier(stage).wait(parity);
    }

    /// Where a byte lies in a stage's first bay, if it begins that bay's piece. `address`: of the
    /// byte in global memory, modulo 128.
    __device__ __forceinline__ const unsigned char* find(int stage, uint32_t address) const {
        return bay(stage, 0) + address % 128;
    }

    /// Copies the bytes of a piece that no bulk copy may bring, where there are any, into bay i.
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
        copy_units(bay(stage, i), part, start, (min)(first, end));
        copy_units(bay(stage, i), part, (max)(last, start), end);
        // A later bulk copy may reuse the bay: it must not overtake these writes.
        fence_before_bulk_copies();
        __syncwarp();
    }

private:
    /// The widest unit that every row's ends are multiples of, two bytes at most.
    using unit = standard::conditional_t<Alignment == 1, uint8_t, uint16_t>;

    __device__ __forceinline__ copy_barrier barrier(int stage) const {
        return copy_barrier(barriers_ + stage * Warps);
    }

    /// Slot i of a stage.
    __device__ __forceinline__ unsigned char* bay(int stage, int i) const {
        return bays_ + stage * bulk_.stage_bytes + i * bulk_.bay_bytes;
    }

    /// Where the byte at `address` lies in the bay that holds a piece.
    __device__ __forceinline__ static unsigned char*
    place(unsigned char* bay, const weight_piece& part, uintptr_t address) {
        const auto low = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(part.bytes)) & ~127u;
        return bay + (static_cast<uint32_t>(address) - low);
    }

    /// Copies what lies from `from` up to `to` of a piece.
    __device__ __forceinline__ void copy_units(unsigned char* bay, const weight_piece& part,
                                               uintptr_t from, uintptr_t to) const {
#pragma unroll 1
        for (uintptr_t at = from + sizeof(unit) * lane_; at < to; at += 32 * sizeof(unit)) {
            *reinterpret_cast<unit*>(place(bay, part, at)) =
                streamed_memory::load<unit>(reinterpret_cast<const unsigned char*>(at));
        }
    }

    uint64_t* barriers_;
    unsigned char* bays_;
    const bulk_geometry& bulk_;
    int lane_;
};

} // namespace kq::inline KQ_ABI::detail

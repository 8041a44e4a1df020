// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "timing.cuh"

#include <kq/core/check.hpp>
#include <kq/gemv/kernel/bulk/barrier.cuh>
#include <kq/launch/dependent.cuh>
#include <kq/launch/kernel.cuh>

/// How fast bytes can be read at all: kernels that read a range once and do next to nothing with
/// it, in the two ways in which the products read theirs.
namespace bench {

struct read_range {
    const unsigned char* bytes; ///< 128-byte aligned
    size_t count;               ///< a multiple of 16
    uint32_t* never;            ///< written in one of four billion cases, so that reads are needed
};

/// Plain loads of 16 bytes, four in flight a thread.
static __global__ void __launch_bounds__(512) read_by_loads(const __grid_constant__ read_range r) {
    kq::detail::let_dependents_start();
    const auto* vectors = reinterpret_cast<const uint4*>(r.bytes);
    const size_t count = r.count / 16;
    const size_t step = size_t{gridDim.x} * blockDim.x;
    uint32_t mix = 0;
    for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += 4 * step) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            if (i + j * step < count) {
                uint4 v;
                asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                             : "l"(vectors + i + j * step));
                mix ^= v.x ^ v.y ^ v.z ^ v.w;
            }
        }
    }
    kq::detail::wait_for_predecessors();
    if (mix == 0x12345678 && r.never != nullptr) {
        *r.never = mix;
    }
}

/// Bulk copies into a ring per warp: 16 warps, two stages of 4 KB, waited for and thrown away.
static __global__ void __launch_bounds__(512)
    read_by_bulk_copies(const __grid_constant__ read_range r) {
    kq::detail::let_dependents_start();
    constexpr int warps = 16, stages = 2, piece = 4096;
    extern __shared__ __align__(128) unsigned char shared[];
    __shared__ uint64_t words[warps * stages];
    const int warp = static_cast<int>(threadIdx.x / 32);
    const size_t pieces = (r.count + piece - 1) / piece;
    const size_t step = size_t{gridDim.x} * warps;
    size_t next = blockIdx.x + size_t{gridDim.x} * warp;
    size_t done = next;
    const auto barrier = [&](int stage) {
        return kq::detail::copy_barrier(words + warp * stages + stage);
    };
    const auto fill = [&](int stage) {
        if (next < pieces) {
            const auto size = static_cast<uint32_t>(
                r.count - next * piece < piece ? r.count - next * piece : piece);
            barrier(stage).expect(size);
            barrier(stage).copy(shared + (warp * stages + stage) * piece, r.bytes + next * piece,
                                size);
            next += step;
        }
    };
    if (threadIdx.x % 32 == 0) {
        for (int s = 0; s < stages; ++s) {
            barrier(s).init();
            fill(s);
        }
        uint32_t parity = 0;
        for (int stage = 0; done < pieces; done += step) {
            barrier(stage).wait(parity);
            fill(stage);
            if (++stage == stages) {
                stage = 0;
                parity ^= 1;
            }
        }
    }
    kq::detail::wait_for_predecessors();
}

/// Starts a read of a range.
inline void read_once(bool by_bulk, const read_range& r, bool dependent, cudaStream_t stream) {
    constexpr int ring_bytes = 16 * 2 * 4096;
    int device = 0;
    int multiprocessors = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
          "cudaDeviceGetAttribute");
    kq::check(kq::detail::launch_kernel(by_bulk ? read_by_bulk_copies : read_by_loads, "read",
                                        {.grid = by_bulk ? multiprocessors : 2 * multiprocessors,
                                         .threads = 512,
                                         .shared_bytes = by_bulk ? ring_bytes : 0,
                                         .most_shared_bytes = ring_bytes,
                                         .dependent = dependent},
                                        stream, r));
}

} // namespace bench

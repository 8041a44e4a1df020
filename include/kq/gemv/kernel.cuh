// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/mainloop.hpp>
#include <kq/gemv/plan.hpp>
#include <kq/gemv/policy.hpp>
#include <kq/gemv/ring.cuh>

#include <nv/target>

namespace kq {

/// What a kernel is composed of, as one type: a class-type template argument on the kernel itself
/// breaks nvcc's host stub.
template <dottable Encoding, policy Policy, class Mapping, class Epilogue>
struct config {
    static_assert(is_valid(Policy), "kq: the policy's fields are out of range");
    static_assert(Policy.via != transport::automatic, "kq: a kernel has one transport");

    using encoding = Encoding;
    using mapping = Mapping;
    using epilogue = Epilogue;
    static constexpr policy policy = Policy;
};

/// The argument of a kernel.
template <class Config>
struct kernel_parameters {
    typename Config::mapping mapping;
    typename Config::epilogue epilogue;
    int blocks_per_activation; ///< thread blocks that share an activation row
    bulk_geometry bulk;
};

namespace detail {

/// The sum of all lanes' `x`, in every lane: an xor butterfly from distance 16 to 1.
__device__ __forceinline__ float butterfly(float x) {
#pragma unroll
    for (int distance = 16; distance >= 1; distance /= 2) {
        x = add_rn(x, __shfl_xor_sync(~0u, x, distance));
    }
    return x;
}

/// Writes the lookup table, if there is one, each row's word into the columns of all 32 lanes.
/// Whole thread block.
template <class Dot>
__device__ __forceinline__ void fill_table(unsigned char* table, int lane, int warp, int warps) {
    static_assert(Dot::table_rows % 32 == 0);
    if constexpr (Dot::table_rows > 0) {
        for (int first = 32 * warp; first < Dot::table_rows; first += 32 * warps) {
            const uint32_t row = Dot::table_row(first + lane);
            for (int i = 0; i < 32; ++i) {
                const uint32_t word = __shfl_sync(~0u, row, i);
                reinterpret_cast<uint32_t*>(table)[(first + i) * 32 + lane] = word;
            }
        }
    }
}

/// Where a warp is in its thread block, and which row groups it takes.
///
/// A thread block serves one activation row. Row group g, of `Policy.rows` weight rows, belongs to
/// warp `g / blocks` (modulo the warps) of block `g % blocks` of those that share the activation
/// row, so that a short last wave spreads over all multiprocessors.
struct warp_position {
    int lane;
    int warp;
    int batch;       ///< activation row
    int first_group; ///< row groups first_group, first_group + group_step, ...
    int group_step;

    __device__ __forceinline__ static warp_position here(int warps, int blocks_per_activation) {
        const int thread = static_cast<int>(threadIdx.x);
        const int block = static_cast<int>(blockIdx.x);
        const int batch = block / blocks_per_activation;
        // The shuffle tells the compiler that the index is the same in all lanes.
        const int warp = __shfl_sync(~0u, thread / 32, 0);
        return {thread % 32, warp, batch,
                block - batch * blocks_per_activation + blocks_per_activation * warp,
                blocks_per_activation * warps};
    }
};

/// Adds the lanes' sums up and hands the finished dots to the epilogue.
template <int Rows, class Epilogue>
__device__ __forceinline__ void finish(const float (&sums)[Rows], int first_row, int rows,
                                       const warp_position& at, const Epilogue& epilogue) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        const float dot = butterfly(sums[r]);
        if (at.lane == 0 && r < rows) {
            epilogue(at.batch, first_row + r, dot);
        }
    }
}

/// Weights from global memory straight into registers, the activation through the first-level
/// cache.
template <class Config>
__device__ __forceinline__ void run_direct(const kernel_parameters<Config>& p,
                                           const warp_position& at, unsigned char* shared) {
    using loop = mainloop<typename Config::encoding>;
    constexpr int rows = Config::policy.rows;
    const auto& map = p.mapping;

    fill_table<typename loop::dot>(shared, at.lane, at.warp, Config::policy.warps);
    __syncthreads();
    const lane where = loop::lane_at(at.lane, shared);
    const unsigned char* image = map.image_row(at.batch); // [tiles, tile_bytes]

    for (int64_t group = at.first_group; group * rows < map.n; group += at.group_step) {
        const int first_row = static_cast<int>(group) * rows;
        const int count = min(rows, map.n - first_row);
        const unsigned char* weights[rows]; // [rows][blocks] blocks
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            weights[r] = map.weight_row(first_row + min(r, count - 1));
        }
        float sums[rows] = {};
        loop::template accumulate<streamed_memory>(sums, weights, image, map.blocks, where);
        finish(sums, first_row, count, at, p.epilogue);
    }
}

/// Weights through a ring in shared memory per warp, the activation from shared memory.
template <class Config>
__device__ __forceinline__ void run_bulk(const kernel_parameters<Config>& p,
                                         const warp_position& at, unsigned char* shared) {
    using encoding = typename Config::encoding;
    using loop = mainloop<encoding>;
    constexpr policy policy = Config::policy;
    constexpr int rows = policy.rows;
    const auto& map = p.mapping;
    const bulk_geometry bulk = p.bulk;

    unsigned char* image = shared + image_at<encoding>(policy); // [image_bytes]
    const int ring_slots = bulk.stages * rows;                  // of a warp
    weight_ring ring(reinterpret_cast<uint64_t*>(shared + barriers_at<encoding>()) +
                         at.warp * bulk.stages,
                     image + map.image_bytes + at.warp * ring_slots * bulk.slot_bytes, bulk.stages,
                     rows, bulk.slot_bytes, map.weights, map.weights_end(), at.lane);

    const int64_t piece_pitch = int64_t{bulk.piece_blocks} * block_bytes<encoding>;
    const auto blocks_of = [&](int piece) {
        return min(bulk.piece_blocks, map.blocks - piece * bulk.piece_blocks);
    };

    // The next piece to copy runs `stages` pieces ahead of the one to dot.
    int64_t next_group = at.first_group;
    int next_piece = 0;
    const auto fill = [&](int stage) {
        const int64_t first_row = next_group * rows;
        if (first_row >= map.n || bulk.pieces == 0) {
            return;
        }
        if (at.lane == 0) {
            const int bytes = blocks_of(next_piece) * block_bytes<encoding>;
            const unsigned char* source =
                map.weight_row(static_cast<int>(first_row)) + next_piece * piece_pitch;
#pragma unroll 1
            for (int r = 0; r < rows; ++r) {
                if (first_row + r < map.n) {
                    ring.fill(stage, stage * rows + r, source + r * map.row_bytes, bytes);
                } else {
                    ring.skip(stage);
                }
            }
        }
        if (++next_piece == bulk.pieces) {
            next_piece = 0;
            next_group += at.group_step;
        }
    };
    // The image is asked for first: it is small, and every warp waits for it. Then each warp's
    // first piece, then the others, so that no warp's second piece delays another's first.
    const unsigned char* source = map.image_row(at.batch); // [image_bytes]
    const int own_part = static_cast<int>(threadIdx.x) * static_cast<int>(sizeof(words<4>));
    words<4> first_part{};
    if (own_part < map.image_bytes) {
        first_part = streamed_memory::load<words<4>>(source + own_part);
    }
    fill(0);
    __syncthreads();
#pragma unroll 1
    for (int stage = 1; stage < bulk.stages; ++stage) {
        fill(stage);
    }

    fill_table<typename loop::dot>(shared, at.lane, at.warp, policy.warps);
    if (own_part < map.image_bytes) {
        *reinterpret_cast<words<4>*>(image + own_part) = first_part;
    }
    constexpr int parts = 32 * policy.warps * static_cast<int>(sizeof(words<4>));
    for (int i = own_part + parts; i < map.image_bytes; i += parts) {
        *reinterpret_cast<words<4>*>(image + i) = streamed_memory::load<words<4>>(source + i);
    }
    __syncthreads();

    const lane where = loop::lane_at(at.lane, shared);
    int stage = 0;
    uint32_t parity = 0;
    for (int64_t group = at.first_group; group * rows < map.n; group += at.group_step) {
        const int first_row = static_cast<int>(group) * rows;
        const int count = min(rows, map.n - first_row);
        float sums[rows] = {};
        const unsigned char* tiles = image; // from the piece's first tile on
        for (int piece = 0; piece < bulk.pieces; ++piece) {
            const int blocks = blocks_of(piece);
            ring.wait(stage, parity);
            const unsigned char* weights[rows]; // [rows][blocks] blocks
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                const int row = min(r, count - 1);
                const unsigned char* global = map.weight_row(first_row + row) + piece * piece_pitch;
                ring.patch(stage * rows + row, global, blocks * block_bytes<encoding>);
                weights[r] = ring.piece(stage * rows + row, global);
            }
            loop::template accumulate<cached_memory>(sums, weights, tiles, blocks, where);
            __syncwarp();
            fill(stage);
            tiles += bulk.piece_blocks / loop::tile_blocks * loop::image::tile_bytes;
            if (++stage == bulk.stages) {
                stage = 0;
                parity ^= 1;
            }
        }
        finish(sums, first_row, count, at, p.epilogue);
    }
}

} // namespace detail

/// The one kernel. `blocks_per_activation` thread blocks for every activation row.
template <class Config>
__global__ void __launch_bounds__(32 * Config::policy.warps, 1)
    gemv_kernel(const __grid_constant__ kernel_parameters<Config> p) {
    extern __shared__ __align__(128) unsigned char shared[];
    const auto at = detail::warp_position::here(Config::policy.warps, p.blocks_per_activation);
    if constexpr (Config::policy.via == transport::bulk) {
        NV_IF_ELSE_TARGET(NV_PROVIDES_SM_90, (detail::run_bulk<Config>(p, at, shared);),
                          (__trap();))
    } else {
        detail::run_direct<Config>(p, at, shared);
    }
}

} // namespace kq

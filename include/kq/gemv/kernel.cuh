// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/epilogue.hpp>
#include <kq/gemv/mainloop.hpp>
#include <kq/gemv/mapping.hpp>
#include <kq/gemv/plan.hpp>
#include <kq/gemv/policy.hpp>
#include <kq/gemv/ring.cuh>

#include <nv/target>

namespace kq {

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

    using encoding = Encoding;
    using mapping = Mapping;
    using epilogue = Epilogue;
    static constexpr kq::policy policy = Policy;
    using loop = mainloop<Encoding, Policy.lanes, Policy.rows, Policy.batch, Policy.prefetch>;
};

/// The argument of a kernel.
template <class Config>
struct kernel_parameters {
    typename Config::mapping mapping;
    typename Config::epilogue epilogue;
    int64_t units;
    int blocks;          ///< weight blocks of a row
    int blocks_per_unit; ///< thread blocks that share a batch of units
    bulk_geometry bulk;
};

namespace detail {

/// The sum of `x` over a lane's group, in every lane of it: an xor butterfly from distance
/// `Lanes / 2` to 1.
template <int Lanes>
__device__ __forceinline__ float butterfly(float x) {
#pragma unroll
    for (int distance = Lanes / 2; distance >= 1; distance /= 2) {
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

/// What one thread block works on, and the share of a warp and of a lane.
///
/// A thread block serves one unit, or a batch of them. A warp takes `rows_of_warp` output rows at a
/// time, a group; group g belongs to warp `g / blocks` (modulo the warps) of block `g % blocks` of
/// those that share the units, so that a short last wave spreads over all multiprocessors.
template <class Config>
class warp_work {
public:
    static constexpr kq::policy policy = Config::policy;
    static constexpr int rows = policy.rows;
    static constexpr int batch = policy.batch;
    static constexpr int group_rows = rows_of_warp(policy);
    using encoding = typename Config::encoding;
    using loop = typename Config::loop;
    using image = typename loop::image;
    using state = typename Config::epilogue::state;

    __device__ __forceinline__ explicit warp_work(const kernel_parameters<Config>& p) : p(p) {
        const int thread = static_cast<int>(threadIdx.x);
        const int block = static_cast<int>(blockIdx.x);
        const int first = block / p.blocks_per_unit;
        // The shuffle tells the compiler that the index is the same in all lanes.
        warp = __shfl_sync(~0u, thread / 32, 0);
        lane = thread % 32;
        unit = int64_t{first} * batch;
        units = static_cast<int>((min)(int64_t{batch}, p.units - unit));
        first_group = block - first * p.blocks_per_unit + p.blocks_per_unit * warp;
        group_step = p.blocks_per_unit * policy.warps;
    }

    /// Whether a group has any row.
    __device__ __forceinline__ bool exists(int64_t group) const {
        return group * group_rows < p.mapping.n;
    }
    /// Rows of a group that exist.
    __device__ __forceinline__ int rows_of(int64_t group) const {
        return static_cast<int>((min)(int64_t{group_rows}, p.mapping.n - group * group_rows));
    }
    /// The lane's row r of a group, in the group; past its end the last row that exists.
    __device__ __forceinline__ int row_in_group(int64_t group, int r) const {
        return (min)(lane / policy.lanes * rows + r, rows_of(group) - 1);
    }

    /// The image tile in global memory that holds the first block of unit `unit + j` for a term.
    __device__ __forceinline__ const unsigned char* image_of(int j, int term) const {
        const int64_t slot = p.mapping.first_block(unit) * loop::dot::slices;
        return p.mapping.images.first +
               p.mapping.image_row(unit + (min)(j, units - 1), term) * p.mapping.images.row_bytes +
               slot / 32 * image::tile_bytes;
    }
    /// The slot of that tile in which the block begins.
    __device__ __forceinline__ int first_slot() const {
        return static_cast<int>(p.mapping.first_block(unit) * loop::dot::slices % 32);
    }

    /// Adds a term's dots to the outputs' states.
    __device__ __forceinline__ void add(state (&states)[batch][rows],
                                        const float (&sums)[batch][rows], int64_t group,
                                        int term) const {
#pragma unroll
        for (int j = 0; j < batch; ++j) {
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                const float dot = butterfly<policy.lanes>(sums[j][r]);
                const int row = static_cast<int>(group * group_rows) + row_in_group(group, r);
                p.epilogue.add(states[j][r], dot, term % Config::epilogue::weight_sets,
                               p.mapping.slot(unit + j, term),
                               p.mapping.row(unit, term, row).index);
            }
        }
    }

    /// Stores the outputs of a group.
    __device__ __forceinline__ void store(const state (&states)[batch][rows], int64_t group) const {
        const int in_group = lane / policy.lanes * rows;
        if (lane % policy.lanes != 0) {
            return;
        }
#pragma unroll
        for (int j = 0; j < batch; ++j) {
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                if (j < units && in_group + r < rows_of(group)) {
                    const destination to =
                        p.mapping.to(unit + j, static_cast<int>(group * group_rows) + in_group + r);
                    store_value(to, p.epilogue.finish(states[j][r], to));
                }
            }
        }
    }

    /// Whether the unit's only product is missing: an expert id out of range.
    __device__ __forceinline__ bool is_missing() const {
        return !Config::epilogue::sums_terms && !p.mapping.has_term(unit, 0);
    }

    /// Stores zeros in all outputs of the thread block.
    __device__ __forceinline__ void store_zeros() const {
        for (int64_t group = first_group; exists(group); group += group_step) {
            for (int i = lane; i < rows_of(group); i += 32) {
                store_value(p.mapping.to(unit, static_cast<int>(group * group_rows) + i), 0.0f);
            }
        }
    }

    const kernel_parameters<Config>& p;
    int lane;
    int warp;
    int64_t unit; ///< the first one
    int units;    ///< at most `batch`
    int first_group;
    int group_step;
};

/// Weights from global memory straight into registers, the activation through the first-level
/// cache.
template <class Config>
__device__ __forceinline__ void run_direct(const kernel_parameters<Config>& p,
                                           unsigned char* shared) {
    const warp_work<Config> work(p);
    using loop = typename Config::loop;
    constexpr int rows = work.rows;
    constexpr int batch = work.batch;
    const auto& map = p.mapping;

    if (work.is_missing()) {
        work.store_zeros();
        return;
    }
    fill_table<typename loop::dot>(shared, work.lane, work.warp, work.policy.warps);
    __syncthreads();
    const lane where = loop::lane_at(work.lane, shared);

    for (int64_t group = work.first_group; work.exists(group); group += work.group_step) {
        typename warp_work<Config>::state states[batch][rows] = {};
        for (int term = 0; term < map.terms(); ++term) {
            if (Config::epilogue::sums_terms && !map.has_term(work.unit, term)) {
                continue;
            }
            const unsigned char* weights[rows]; // [rows][blocks] blocks
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                const int row = work.row_in_group(group, r);
                weights[r] =
                    map.row(work.unit, term, static_cast<int>(group * work.group_rows) + row).bytes;
            }
            const unsigned char* images[batch]; // [batch][tiles, tile_bytes]
#pragma unroll
            for (int j = 0; j < batch; ++j) {
                images[j] = work.image_of(j, term);
            }
            float sums[batch][rows] = {};
            loop::template accumulate<streamed_memory>(sums, weights, images, work.first_slot(),
                                                       p.blocks, where);
            work.add(states, sums, group, term);
        }
        work.store(states, group);
    }
}

/// Weights through a ring in shared memory per warp, the activation from shared memory.
template <class Config>
__device__ __forceinline__ void run_bulk(const kernel_parameters<Config>& p,
                                         unsigned char* shared) {
    const warp_work<Config> work(p);
    using encoding = typename Config::encoding;
    using loop = typename Config::loop;
    constexpr policy policy = Config::policy;
    constexpr int rows = work.rows;
    constexpr int batch = work.batch;
    constexpr int group_rows = work.group_rows;
    const auto& map = p.mapping;
    const bulk_geometry bulk = p.bulk;

    if (work.is_missing()) {
        work.store_zeros();
        return;
    }
    // Terms of a weighted sum may meet a row each; otherwise a unit meets one.
    const bool image_per_term =
        Config::epilogue::sums_terms && map.image_row(work.unit, 0) != map.image_row(work.unit, 1);
    const int staged_images = image_per_term ? map.terms() : batch;
    unsigned char* image = shared + image_at<encoding>(policy); // [staged_images, bulk.image_bytes]
    const int ring_slots = bulk.stages * group_rows;            // of a warp
    const weight_ring ring(
        reinterpret_cast<uint64_t*>(shared + barriers_at<encoding>()) + work.warp * bulk.stages,
        image + staged_images * bulk.image_bytes + work.warp * ring_slots * bulk.slot_bytes,
        bulk.stages, group_rows, bulk.slot_bytes, work.lane);

    const auto has_term = [&](int term) {
        return !Config::epilogue::sums_terms || map.has_term(work.unit, term);
    };
    const auto piece_of = [&](const weight_row& row, int piece) {
        const int first = piece * bulk.piece_blocks;
        return weight_ring::piece{row.bytes + int64_t{first} * block_bytes<encoding>,
                                  (min)(bulk.piece_blocks, p.blocks - first) *
                                      block_bytes<encoding>};
    };

    // The next piece to copy runs `stages` pieces ahead of the one to dot.
    int64_t next_group = work.first_group;
    int next_term = 0;
    int next_piece = 0;
    const auto fill = [&](int stage) {
        while (work.exists(next_group) && !has_term(next_term)) {
            if (++next_term == map.terms()) {
                next_term = 0;
                next_group += work.group_step;
            }
        }
        if (!work.exists(next_group) || bulk.pieces == 0) {
            return;
        }
        if (work.lane == 0) {
            const int count = work.rows_of(next_group);
            const int first_row = static_cast<int>(next_group * group_rows);
#pragma unroll 1
            for (int i = 0; i < group_rows; ++i) {
                if (i < count) {
                    const weight_row row = map.row(work.unit, next_term, first_row + i);
                    ring.fill(stage, stage * group_rows + i, row, piece_of(row, next_piece));
                } else {
                    ring.skip(stage);
                }
            }
        }
        if (++next_piece == bulk.pieces) {
            next_piece = 0;
            if (++next_term == map.terms()) {
                next_term = 0;
                next_group += work.group_step;
            }
        }
    };

    // The image is asked for first: it is small, and every warp waits for it. Then each warp's
    // first piece, then the others, so that no warp's second piece delays another's first.
    const int own_part = static_cast<int>(threadIdx.x) * static_cast<int>(sizeof(words<4>));
    // The tiles that a segment touches may be fewer than it might touch.
    const auto end_of = [&](int i) {
        return map.images.first +
               (map.image_row(work.unit + (image_per_term ? 0 : (min)(i, work.units - 1)),
                              image_per_term ? i : 0) +
                1) *
                   map.images.row_bytes;
    };
    const auto source_of = [&](int i) {
        return image_per_term ? work.image_of(0, i) : work.image_of(i, 0);
    };
    const auto bytes_of = [&](int i) {
        return static_cast<int>(
            (min)(int64_t{bulk.image_bytes}, int64_t{end_of(i) - source_of(i)}));
    };
    words<4> first_part{};
    if (own_part < bytes_of(0)) {
        first_part = streamed_memory::load<words<4>>(source_of(0) + own_part);
    }
    fill(0);
    __syncthreads();
#pragma unroll 1
    for (int stage = 1; stage < bulk.stages; ++stage) {
        fill(stage);
    }

    fill_table<typename loop::dot>(shared, work.lane, work.warp, policy.warps);
    if (own_part < bytes_of(0)) {
        *reinterpret_cast<words<4>*>(image + own_part) = first_part;
    }
    constexpr int parts = 32 * policy.warps * static_cast<int>(sizeof(words<4>));
#pragma unroll 1
    for (int i = 0; i < staged_images; ++i) {
        const unsigned char* source = source_of(i);
        const int bytes = bytes_of(i);
        for (int at = own_part + (i == 0 ? parts : 0); at < bytes; at += parts) {
            *reinterpret_cast<words<4>*>(image + i * bulk.image_bytes + at) =
                streamed_memory::load<words<4>>(source + at);
        }
    }
    __syncthreads();

    const lane where = loop::lane_at(work.lane, shared);
    int stage = 0;
    uint32_t parity = 0;
    for (int64_t group = work.first_group; work.exists(group); group += work.group_step) {
        const int first_row = static_cast<int>(group * group_rows);
        typename warp_work<Config>::state states[batch][rows] = {};
        for (int term = 0; term < map.terms(); ++term) {
            if (!has_term(term)) {
                continue;
            }
            float sums[batch][rows] = {};
            const unsigned char* images[batch]; // [batch], from the piece's first tile on
#pragma unroll
            for (int j = 0; j < batch; ++j) {
                images[j] = image + (image_per_term ? term : j) * bulk.image_bytes;
            }
            for (int piece = 0; piece < bulk.pieces; ++piece) {
                ring.wait(stage, parity);
                if (piece == 0 || piece == bulk.pieces - 1) { // others touch no end of a matrix
#pragma unroll 1
                    for (int i = 0; i < work.rows_of(group); ++i) {
                        const weight_row row = map.row(work.unit, term, first_row + i);
                        ring.patch(stage * group_rows + i, row, piece_of(row, piece));
                    }
                }
                const unsigned char* weights[rows]; // [rows][blocks] blocks
                int blocks = 0;
#pragma unroll
                for (int r = 0; r < rows; ++r) {
                    const int i = work.row_in_group(group, r);
                    const auto part = piece_of(map.row(work.unit, term, first_row + i), piece);
                    weights[r] = ring.find(stage * group_rows + i, part.bytes);
                    blocks = part.size / block_bytes<encoding>;
                }
                loop::template accumulate<cached_memory>(sums, weights, images, work.first_slot(),
                                                         blocks, where);
                __syncwarp();
                fill(stage);
#pragma unroll
                for (int j = 0; j < batch; ++j) {
                    images[j] += bulk.piece_blocks / loop::tile_blocks * loop::image::tile_bytes;
                }
                if (++stage == bulk.stages) {
                    stage = 0;
                    parity ^= 1;
                }
            }
            work.add(states, sums, group, term);
        }
        work.store(states, group);
    }
}

} // namespace detail

/// The one kernel. `blocks_per_unit` thread blocks for every batch of units.
template <class Config>
__global__ void __launch_bounds__(32 * Config::policy.warps, 1)
    gemv_kernel(const __grid_constant__ kernel_parameters<Config> p) {
    extern __shared__ __align__(128) unsigned char shared[];
    if constexpr (Config::policy.via == transport::bulk) {
        // Code compiled for older architectures may run on a device that could do bulk copies.
        NV_IF_ELSE_TARGET(NV_PROVIDES_SM_90, (detail::run_bulk<Config>(p, shared);),
                          (detail::run_direct<Config>(p, shared);))
    } else {
        detail::run_direct<Config>(p, shared);
    }
}

} // namespace kq

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dependent_launch.cuh>
#include <kq/gemv/epilogue.hpp>
#include <kq/gemv/kernel_parameters.hpp>
#include <kq/gemv/mainloop.hpp>
#include <kq/gemv/mapping.hpp>
#include <kq/gemv/policy.hpp>
#include <kq/gemv/ring.cuh>

#include <cuda/std/bit>
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

    using encoding = Encoding;
    using mapping = Mapping;
    using epilogue = Epilogue;
    static constexpr kq::policy policy = Policy;
    using parameters = kernel_parameters<Mapping, Epilogue>;
    using loop = mainloop<Encoding, Policy.lanes, Policy.rows, Policy.batch, Policy.prefetch>;
};

namespace detail {

/// Sums `Values` numbers each over the `Lanes` lanes of a group, by an xor butterfly from distance
/// `Lanes / 2` to 1. As long as their number is even, a lane keeps one half of the values and hands
/// the other half to its partner: half the work of the step before, and each sum's additions stay
/// the butterfly's.
template <int Lanes, int Values>
struct butterfly {
    static constexpr int steps = cuda::std::countr_zero(static_cast<unsigned>(Lanes));
    static constexpr int even_steps = cuda::std::countr_zero(static_cast<unsigned>(Values));
    static constexpr int halvings = even_steps < steps ? even_steps : steps;
    static constexpr int kept = Values >> halvings;   ///< sums that a lane ends up with
    static constexpr int sharers = Lanes >> halvings; ///< lanes that end up with the same sums

    /// Leaves the sums of values `first(lane)` and following in `x[0]` to `x[kept - 1]`.
    __device__ __forceinline__ static void sum(float (&x)[Values], int lane) {
#pragma unroll
        for (int step = 0; step < steps; ++step) {
            const int distance = Lanes / 2 >> step;
            const int half = step < halvings ? Values >> (step + 1) : 0;
            const bool upper = (lane & distance) != 0;
#pragma unroll
            for (int i = 0; i < (half > 0 ? half : kept); ++i) {
                const float own = half > 0 && upper ? x[i + half] : x[i];
                const float other = half > 0 && !upper ? x[i + half] : x[i];
                x[i] = add_rn(own, __shfl_xor_sync(~0u, other, distance));
            }
        }
    }
    __device__ __forceinline__ static int first(int lane) {
        return lane % Lanes / sharers * kept;
    }
    /// Whether a lane is the first of those with the same sums.
    __device__ __forceinline__ static bool is_first(int lane) {
        return lane % sharers == 0;
    }
};

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
/// The thread blocks of one x serve one unit, or a batch of them. A warp takes `rows_of_warp`
/// output rows at a time, a group; group g belongs to warp `g / blocks` (modulo the warps) of block
/// `g % blocks` of those that share the units, so that a short last wave spreads over all
/// multiprocessors.
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
    using sums = butterfly<policy.lanes, batch * rows>;
    using state = typename Config::epilogue::state;
    using states = state[sums::kept]; ///< of the outputs that the lane has after the butterfly

    __device__ __forceinline__ explicit warp_work(const typename Config::parameters& p) : p(p) {
        // The shuffle tells the compiler that the index is the same in all lanes.
        warp = static_cast<int>(__shfl_sync(~0u, threadIdx.x / 32, 0));
        lane = static_cast<int>(threadIdx.x % 32);
        unit = int64_t{blockIdx.x} * batch;
        units = batch == 1 ? 1 : static_cast<int>((min)(int64_t{batch}, p.units - unit));
        first_group = blockIdx.y + gridDim.y * warp;
        group_step = gridDim.y * policy.warps;
        groups = (static_cast<unsigned>(p.mapping.n) + group_rows - 1) / group_rows;
    }

    /// Whether a group has any row.
    __device__ __forceinline__ bool exists(unsigned group) const { return group < groups; }
    __device__ __forceinline__ int first_row(unsigned group) const {
        return static_cast<int>(group * group_rows);
    }
    /// Rows of a group that exist.
    __device__ __forceinline__ int rows_of(unsigned group) const {
        return (min)(group_rows, p.mapping.n - first_row(group));
    }
    /// The lane's row r of a group, in the group; past its end the last row that exists.
    __device__ __forceinline__ int row_in_group(unsigned group, int r) const {
        return (min)(lane / policy.lanes * rows + r, rows_of(group) - 1);
    }
    /// Row i of a group for a term.
    __device__ __forceinline__ weight_row row(unsigned group, int term, int i) const {
        return p.mapping.row(unit, term, first_row(group) + i);
    }

    /// The image tile in global memory that holds the first block of unit `unit + j` for a term.
    __device__ __forceinline__ const unsigned char* image_of(int j, int term) const {
        return p.mapping.images.first +
               p.mapping.image_row(unit + (min)(j, units - 1), term) * p.mapping.images.row_bytes +
               first_tile() * image::tile_bytes;
    }
    /// The number of that tile in its row.
    __device__ __forceinline__ int first_tile() const {
        return static_cast<int>(p.mapping.first_block(unit)) / loop::tile_blocks;
    }
    /// The slot of that tile in which the block begins.
    __device__ __forceinline__ int first_slot() const {
        return static_cast<int>(p.mapping.first_block(unit)) % loop::tile_blocks *
               loop::dot::slices;
    }

    /// Adds a term's dots to the outputs' states.
    /// `dots`: the lane's share, [batch, rows].
    __device__ __forceinline__ void add(states& to, float (&dots)[batch][rows], unsigned group,
                                        int term) const {
        float flat[batch * rows];
#pragma unroll
        for (int i = 0; i < batch * rows; ++i) {
            flat[i] = dots[i / rows][i % rows];
        }
        sums::sum(flat, lane);
#pragma unroll
        for (int i = 0; i < sums::kept; ++i) {
            const int value = sums::first(lane) + i;
            p.epilogue.add(to[i], flat[i], term % Config::epilogue::weight_sets,
                           p.mapping.slot(unit + value / rows, term),
                           row(group, term, row_in_group(group, value % rows)).index);
        }
    }

    /// Stores the outputs of a group.
    __device__ __forceinline__ void store(const states& from, unsigned group) const {
        if (!sums::is_first(lane)) {
            return;
        }
#pragma unroll
        for (int i = 0; i < sums::kept; ++i) {
            const int value = sums::first(lane) + i;
            const int row = lane / policy.lanes * rows + value % rows;
            if ((batch == 1 || value / rows < units) && row < rows_of(group)) {
                const destination to = p.mapping.to(unit + value / rows, first_row(group) + row);
                store_value(to, p.epilogue.finish(from[i], to));
            }
        }
    }

    /// Whether the unit's only product is missing: an expert id out of range.
    __device__ __forceinline__ bool is_missing() const {
        return !Config::epilogue::sums_terms && !p.mapping.has_term(unit, 0);
    }

    /// Stores zeros in all outputs of the thread block.
    __device__ __forceinline__ void store_zeros() const {
        for (unsigned group = first_group; exists(group); group += group_step) {
            for (int i = lane; i < rows_of(group); i += 32) {
                store_value(p.mapping.to(unit, first_row(group) + i), 0.0f);
            }
        }
    }

    const typename Config::parameters& p;
    int lane;
    int warp;
    int64_t unit;    ///< the first one
    int units;       ///< at most `batch`
    unsigned groups; ///< of a unit
    unsigned first_group;
    unsigned group_step;
};

/// Weights from global memory straight into registers, the activation through the first-level
/// cache.
template <class Config>
__device__ __forceinline__ void run_direct(const typename Config::parameters& p,
                                           unsigned char* shared) {
    const warp_work<Config> work(p);
    using loop = typename Config::loop;
    constexpr int rows = work.rows;
    constexpr int batch = work.batch;
    const auto& map = p.mapping;

    let_dependents_start();
    fill_table<typename loop::dot>(shared, work.lane, work.warp, work.policy.warps);
    wait_for_predecessors();
    if (work.is_missing()) {
        work.store_zeros();
        return;
    }
    __syncthreads();
    const lane where = loop::lane_at(work.lane, shared);

    for (unsigned group = work.first_group; work.exists(group); group += work.group_step) {
        typename warp_work<Config>::states states = {};
        for (int term = 0; term < map.terms(); ++term) {
            if (Config::epilogue::sums_terms && !map.has_term(work.unit, term)) {
                continue;
            }
            const unsigned char* weights[rows]; // [rows][blocks] blocks
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                weights[r] = from_here(work.row(group, term, work.row_in_group(group, r)).bytes);
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

/// The images of a thread block's units in shared memory.
template <class Config>
class staged_images {
public:
    __device__ __forceinline__ staged_images(const warp_work<Config>& work, unsigned char* place)
        : work(work),
          map(work.p.mapping),
          place(place),
          bytes(work.p.bulk.image_bytes),
          // Terms of a weighted sum may meet a row each; otherwise a unit meets one.
          per_term(Config::epilogue::sums_terms &&
                   map.image_row(work.unit, 0) != map.image_row(work.unit, 1)) {}

    /// Where the image of unit `unit + j` for a term lies.
    __device__ __forceinline__ const unsigned char* find(int j, int term) const {
        return place + (per_term ? term : j) * bytes;
    }

    /// Starts to copy all images. One thread.
    __device__ __forceinline__ void fill(copy_barrier barrier) const {
        barrier.expect(count() * size());
        if (size() != 0) {
#pragma unroll 1
            for (int i = 0; i < count(); ++i) {
                barrier.copy(place + i * bytes, source(i), size());
            }
        }
    }

    /// Starts to copy all images, for `wait_for_units`: they come sooner than by bulk copies, but
    /// it keeps every warp busy. Whole thread block.
    __device__ __forceinline__ void fill_together() const {
        // Opaque, or the lanes' loops would add the begin of shared memory to every address.
        unsigned char* const to = from_here(place);
#pragma unroll 1
        for (int i = 0; i < count(); ++i) {
            const unsigned char* from = source(i);
#pragma unroll 1
            for (int at = 16 * static_cast<int>(threadIdx.x); at < size();
                 at += 16 * 32 * work.policy.warps) {
                copy_unit(to + i * bytes + at, from + at);
            }
        }
    }

private:
    using image = typename Config::loop::image;

    __device__ __forceinline__ int count() const {
        return per_term ? map.terms() : work.batch;
    }
    /// Bytes of an image: the tiles that a segment touches may be fewer than it might touch.
    __device__ __forceinline__ int size() const {
        const auto row_bytes = static_cast<int>(map.images.row_bytes);
        return (min)(bytes, row_bytes - work.first_tile() * image::tile_bytes);
    }
    __device__ __forceinline__ const unsigned char* source(int i) const {
        return per_term ? work.image_of(0, i) : work.image_of(i, 0);
    }

    const warp_work<Config>& work;
    const typename Config::mapping& map;
    unsigned char* place; // [count, bytes]
    int bytes;
    bool per_term;
};

/// Where a warp is in its sequence of pieces: groups of rows, their terms, pieces of the rows.
template <class Config>
class piece_cursor {
public:
    /// The warp's first piece. Without columns there is none.
    __device__ __forceinline__ explicit piece_cursor(const warp_work<Config>& work)
        : work_(work), group(work.p.bulk.pieces != 0 ? work.first_group : work.groups) {
        find_row();
    }

    __device__ __forceinline__ bool exists() const { return work_.exists(group); }

    __device__ __forceinline__ void advance() {
        if (++piece == work_.p.bulk.pieces) {
            piece = 0;
            next_term();
            find_row();
        } else {
            bytes += work_.p.bulk.piece_blocks * block_bytes<typename Config::encoding>;
        }
    }

    /// The lane's row: row `lane` of the group, which may not exist.
    __device__ __forceinline__ weight_row row() const { return work_.row(group, term, work_.lane); }

private:
    __device__ __forceinline__ void next_term() {
        if (++term == work_.p.mapping.terms()) {
            term = 0;
            group += work_.group_step;
        }
    }
    __device__ __forceinline__ void find_row() {
        while (Config::epilogue::sums_terms && exists() &&
               !work_.p.mapping.has_term(work_.unit, term)) {
            next_term();
        }
        count = work_.rows_of(group);
        bytes = row().bytes;
    }

    const warp_work<Config>& work_;

public:
    unsigned group;
    int term = 0;
    int piece = 0;
    int count;                  ///< rows of the group
    const unsigned char* bytes; ///< the piece of the lane's row
};

/// Weights through a ring in shared memory per warp, the activation from shared memory.
template <class Config>
__device__ __forceinline__ void run_bulk(const typename Config::parameters& p,
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

    const auto barriers = reinterpret_cast<uint64_t*>(shared + barriers_at<encoding>());
    const copy_barrier images_here(barriers);
    const staged_images<Config> images(work, shared + bulk.images_at);
    const weight_ring<policy.warps, group_rows> ring(
        barriers + 1 + work.warp,
        shared + bulk.rings_at + work.warp * bulk.stages * bulk.stage_bytes, bulk, work.lane);
    if (!p.early_weights) {
        wait_for_predecessors();
        if (work.is_missing()) { // ids are never early
            work.store_zeros();
            return;
        }
    }
    const int piece_bytes = bulk.piece_blocks * block_bytes<encoding>;
    const bool together = bulk.copies == 1 && group_rows != 1; // rows of a group, in one copy
    // What a copy brings: piece `number` of a row, at `bytes`, or `count` rows.
    const auto piece_of = [&](const unsigned char* bytes, int number, int count) {
        const int blocks = (min)(bulk.piece_blocks, p.blocks - number * bulk.piece_blocks);
        return weight_piece{bytes, blocks * block_bytes<encoding> * (together ? count : 1)};
    };

    piece_cursor<Config> next(work); // `stages` pieces ahead of the one to dot
    const auto fill = [&](int stage) {
        if (next.exists()) {
            const auto piece = piece_of(next.bytes, next.piece, next.count);
            ring.fill(stage, together ? 1 : next.count, piece,
                      p.ragged ? ring.units_inside(piece, next.row()) : ring.units_of(piece));
            next.advance();
        }
    };
    // The image is asked for first: it is small, and every warp waits for it. Then each warp's
    // first piece, then the others, so that no warp's second piece delays another's first. Weights
    // that may be read early do not wait for the image.
    if (threadIdx.x == 0) {
        images_here.init();
        if (!p.early_weights) {
            images.fill(images_here);
        }
    }
    ring.open();
    int stage = 0;
#pragma unroll 1
    do {
        fill(stage);
        if (stage == 0) {
            __syncthreads();
        }
    } while (++stage < bulk.stages);
    fill_table<typename loop::dot>(shared, work.lane, work.warp, policy.warps);
    if (p.early_weights) {
        wait_for_predecessors();
        images.fill_together();
    }
    let_dependents_start(); // whose early weights are not to come before these images
    if (p.early_weights) {
        wait_for_units();
    } else {
        images_here.wait(0);
    }
    __syncthreads();

    const lane where = loop::lane_at(work.lane, shared);
    stage = 0;
    uint32_t parity = 0;
    for (unsigned group = work.first_group; work.exists(group); group += work.group_step) {
        typename warp_work<Config>::states states = {};
        for (int term = 0; term < map.terms(); ++term) {
            if (Config::epilogue::sums_terms && !map.has_term(work.unit, term)) {
                continue;
            }
            uint32_t addresses[rows]; // of each row's next piece in global memory, the low bits
            int places[rows];         // from the stage's begin on
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                // Rows past the end are dotted, whatever lies there, and not stored.
                const int i = work.lane / policy.lanes * rows + r;
                places[r] = i * bulk.row_stride;
                addresses[r] = static_cast<uint32_t>(
                    reinterpret_cast<uintptr_t>(work.row(group, term, together ? 0 : i).bytes));
            }
            float sums[batch][rows] = {};
            const unsigned char* tiles[batch]; // [batch], from the piece's first tile on
#pragma unroll
            for (int j = 0; j < batch; ++j) {
                tiles[j] = images.find(j, term);
            }
#pragma unroll 1
            for (int piece = 0; piece < bulk.pieces; ++piece) {
                ring.wait(stage, parity);
                if (p.ragged) {
#pragma unroll 1
                    for (int i = 0; i < (together ? 1 : work.rows_of(group)); ++i) {
                        const weight_row row = work.row(group, term, i);
                        ring.patch(stage, i,
                                   piece_of(row.bytes + int64_t{piece} * piece_bytes, piece,
                                            work.rows_of(group)),
                                   row);
                    }
                }
                const unsigned char* weights[rows]; // [rows][blocks] blocks
#pragma unroll
                for (int r = 0; r < rows; ++r) {
                    weights[r] = ring.find(stage, addresses[r]) + places[r];
                    addresses[r] += piece_bytes;
                }
                loop::template accumulate<padded_memory>(
                    sums, weights, tiles, work.first_slot(),
                    (min)(bulk.piece_blocks, p.blocks - piece * bulk.piece_blocks), where);
                __syncwarp();
                fill(stage);
#pragma unroll
                for (int j = 0; j < batch; ++j) {
                    tiles[j] += static_cast<unsigned>(bulk.piece_blocks) / loop::tile_blocks *
                                loop::image::tile_bytes;
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

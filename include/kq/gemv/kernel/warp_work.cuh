// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/epilogue/epilogue.hpp>
#include <kq/gemv/kernel/parameters.hpp>
#include <kq/gemv/mapping/mapping.hpp>
#include <kq/gemv/policy/policy.hpp>

#include <cuda/std/bit>

namespace kq::inline KQ_ABI::detail {

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

/// A group of output rows and one of its terms.
struct group_term {
    unsigned group;
    int term;
    // Counted where terms are summed:
    int local; ///< the group's number in the thread block
    int rank;  ///< the term's number among those that are there
};

/// What one thread block works on, and the share of a warp and of a lane.
///
/// The thread blocks of one x serve one unit, or a batch of them. A warp takes `rows_of_warp`
/// output rows at a time, a group; group g belongs to block `g % blocks` of those that share the
/// units, so that a short last wave spreads over all multiprocessors. The groups of a block go to
/// its warps in turn, each with all its terms. Where an output sums its terms it is the terms that
/// go to the warps in turn: there may be few rows and many terms.
template <class Config>
class warp_work {
public:
    static constexpr kq::policy policy = Config::policy;
    static constexpr bool sums_terms = Config::epilogue::sums_terms;
    static constexpr int rows = policy.rows;
    static constexpr int batch = policy.batch;
    static constexpr int group_rows = rows_of_warp(policy);
    using encoding = typename Config::encoding;
    using loop = typename Config::loop;
    using image = typename loop::image;
    using dots = float[batch][rows]; ///< the lane's share

    __device__ __forceinline__ explicit warp_work(const typename Config::parameters& p) : p(p) {
        // The shuffle tells the compiler that the index is the same in all lanes.
        warp = static_cast<int>(__shfl_sync(~0u, threadIdx.x / 32, 0));
        lane = static_cast<int>(threadIdx.x % 32);
        unit = int64_t{blockIdx.x} * batch;
        units = batch == 1 ? 1 : static_cast<int>((min)(int64_t{batch}, p.units - unit));
        group_step = gridDim.y * policy.warps;
        groups = (static_cast<unsigned>(p.mapping.n) + group_rows - 1) / group_rows;
    }

    /// Finds out which terms there are, before anything but `store_zeros` is called. Their ids may
    /// be written by preceding kernels. Whole warp.
    __device__ __forceinline__ void find_terms() {
        if constexpr (sums_terms) {
            const int terms = p.mapping.terms();
#pragma unroll 1
            for (int first = 0; first < terms; first += 32) {
                const int term = first + lane;
                const bool has = term < terms && p.mapping.has_term(unit, term);
                present_ |= uint64_t{__ballot_sync(~0u, has)} << first;
            }
            terms_there_ = __popcll(present_);
            if (terms_there_ != terms) {
                terms_of_lane_ = term_of_rank(lane) | term_of_rank(32 + lane) << 8;
            }
        }
    }

    /// Where the warp begins.
    __device__ __forceinline__ group_term first() const {
        if constexpr (sums_terms) {
            group_term at{blockIdx.y, 0, 0, warp};
            settle(at);
            return at;
        } else {
            return {blockIdx.y + gridDim.y * warp, 0, 0, 0};
        }
    }
    /// Goes on to the warp's next group or term.
    __device__ __forceinline__ void advance(group_term& at) const {
        if constexpr (sums_terms) {
            at.rank += policy.warps;
            settle(at);
        } else if (++at.term == p.mapping.terms()) {
            at.term = 0;
            at.group += group_step;
        }
    }

    /// Whether a group has any row.
    __device__ __forceinline__ bool exists(unsigned group) const {
        return group < groups;
    }
    __device__ __forceinline__ int first_row(unsigned group) const {
        return static_cast<int>(group * group_rows);
    }
    /// Rows of a group that exist.
    __device__ __forceinline__ int rows_of(unsigned group) const {
        return (min)(group_rows, p.mapping.n - first_row(group));
    }
    /// The lane's row r of a group, which may not exist.
    __device__ __forceinline__ int row_of_lane(int r) const {
        return lane / policy.lanes * rows + r;
    }
    /// The same; past the group's end the last row that exists.
    __device__ __forceinline__ int row_in_group(unsigned group, int r) const {
        return (min)(row_of_lane(r), rows_of(group) - 1);
    }
    /// Row i of a group for a term.
    __device__ __forceinline__ weight_row row(unsigned group, int term, int i) const {
        return p.mapping.row(unit, term, first_row(group) + i);
    }

    /// The image tile in global memory that holds the first block of unit `unit + j` for a term.
    __device__ __forceinline__ const unsigned char* image_of(int j, int term) const {
        return p.mapping.images.first +
               p.mapping.image_row(unit_of(j), term) * p.mapping.images.row_bytes +
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

    /// Computes and stores the outputs of the thread block. Whole thread block.
    ///
    /// `dot(at, sums)`: adds the dots of a group's rows with a term; called in the warp's sequence.
    /// `shared`: the shared memory of the thread block.
    template <class Dot>
    __device__ __forceinline__ void multiply(Dot&& dot, unsigned char* shared) const {
        if constexpr (sums_terms) {
            sum_terms(dot, reinterpret_cast<float*>(shared + p.products_at));
        } else {
            for (group_term at = first(); exists(at.group); at.group += group_step) {
                states outputs = {};
                for (at.term = 0; at.term < p.mapping.terms(); ++at.term) {
                    dots sums = {};
                    dot(at, sums);
                    add(outputs, sums, at);
                }
                store(outputs, at.group);
            }
        }
    }

    /// Whether the unit's only product is missing: an expert id out of range.
    __device__ __forceinline__ bool is_missing() const {
        return !sums_terms && !p.mapping.has_term(unit, 0);
    }

    /// Stores zeros in all outputs of the thread block.
    __device__ __forceinline__ void store_zeros() const {
        for (unsigned group = first().group; exists(group); group += group_step) {
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
    unsigned group_step;

private:
    using sums_of_lanes = butterfly<policy.lanes, batch * rows>;
    static constexpr int kept = sums_of_lanes::kept; ///< outputs that a lane has afterwards
    using state = typename Config::epilogue::state;
    using states = state[kept];

    // Of a weighted sum, which has at most 64 terms:
    uint64_t present_ = 0; ///< a bit for each term
    int terms_there_ = 0;
    int terms_of_lane_ = 0; ///< the terms of ranks `lane` and `32 + lane`, a byte each

    /// Unit j of the batch; past its end the last one.
    __device__ __forceinline__ int64_t unit_of(int j) const {
        return unit + (min)(j, units - 1);
    }

    /// Whether a term of a weighted sum is there.
    __device__ __forceinline__ bool has_term(int term) const {
        return present_ >> term & 1;
    }

    /// The term before which `rank` others are there, by bisection; some number if there is none.
    __device__ __forceinline__ int term_of_rank(int rank) const {
        int term = 0;
#pragma unroll
        for (int step = 32; step > 0; step /= 2) {
            const uint64_t before = present_ & ((uint64_t{1} << (term + step)) - 1);
            term += __popcll(before) <= rank ? step : 0;
        }
        return term;
    }

    /// Brings a rank past the last to the groups that follow, and finds its term.
    __device__ __forceinline__ void settle(group_term& at) const {
        if (terms_there_ == 0) {
            at.group = groups; // nothing to do
            return;
        }
        while (at.rank >= terms_there_) {
            at.rank -= terms_there_;
            at.group += gridDim.y;
            ++at.local;
        }
        at.term = at.rank;
        if (terms_there_ != p.mapping.terms()) {
            const int both = __shfl_sync(~0u, terms_of_lane_, at.rank % 32);
            at.term = both >> (at.rank / 32 * 8) & 0xff;
        }
    }

    /// Sums dots over the lanes of an output; `flat`: see `butterfly::sum`.
    __device__ __forceinline__ void sum(const dots& of_lane, float (&flat)[batch * rows]) const {
#pragma unroll
        for (int i = 0; i < batch * rows; ++i) {
            flat[i] = of_lane[i / rows][i % rows];
        }
        sums_of_lanes::sum(flat, lane);
    }

    /// Adds a term's dots to the outputs' states.
    __device__ __forceinline__ void add(states& to, const dots& of_lane,
                                        const group_term& at) const {
        float flat[batch * rows];
        sum(of_lane, flat);
#pragma unroll
        for (int i = 0; i < kept; ++i) {
            const int value = sums_of_lanes::first(lane) + i;
            p.epilogue.add(to[i], flat[i], at.term % Config::epilogue::weight_sets,
                           p.mapping.slot(unit_of(value / rows), at.term),
                           row(at.group, at.term, row_in_group(at.group, value % rows)).index);
        }
    }

    /// Stores the outputs of a group.
    __device__ __forceinline__ void store(const states& from, unsigned group) const {
        if (!sums_of_lanes::is_first(lane)) {
            return;
        }
#pragma unroll
        for (int i = 0; i < kept; ++i) {
            const int value = sums_of_lanes::first(lane) + i;
            const int row = row_of_lane(value % rows);
            if ((batch == 1 || value / rows < units) && row < rows_of(group)) {
                const destination to = p.mapping.to(unit + value / rows, first_row(group) + row);
                store_value(to, p.epilogue.finish(from[i], to));
            }
        }
    }

    /// Sums each output's terms. Warps leave their products in shared memory, a round of groups at
    /// a time; then a thread adds up a row's, in the order of the terms.
    /// `products`: [round_groups, group_rows, terms].
    template <class Dot>
    __device__ __forceinline__ void sum_terms(Dot&& dot, float* products) const {
        static_assert(batch == 1);
        const int terms = p.mapping.terms();
        group_term at = first();
        int begin = 0; // of the round
        for (unsigned group = blockIdx.y; exists(group); group += gridDim.y * p.round_groups) {
            for (; exists(at.group) && at.local < begin + p.round_groups; advance(at)) {
                dots sums = {};
                dot(at, sums);
                float flat[rows];
                sum(sums, flat);
#pragma unroll
                for (int i = 0; i < kept; ++i) {
                    const int row = row_of_lane(sums_of_lanes::first(lane) + i);
                    if (sums_of_lanes::is_first(lane)) {
                        products[((at.local - begin) * group_rows + row) * terms + at.term] =
                            flat[i];
                    }
                }
            }
            __syncthreads();
            store_sums(products, group);
            __syncthreads();
            begin += p.round_groups;
        }
    }

    /// Adds up and stores the rows of a round that begins with `first_group`.
    __device__ __forceinline__ void store_sums(const float* products, unsigned first_group) const {
        for (int i = static_cast<int>(threadIdx.x); i < p.round_groups * group_rows;
             i += 32 * policy.warps) {
            const unsigned group = first_group + gridDim.y * (i / group_rows);
            const int r = i % group_rows;
            if (!exists(group) || r >= rows_of(group)) {
                return;
            }
            state sum = {};
#pragma unroll 4
            for (int term = 0; term < (present_ != 0 ? p.mapping.terms() : 0); ++term) {
                // Without branches, so that the loads of several terms are on their way together.
                state with = sum;
                p.epilogue.add(with, products[i * p.mapping.terms() + term], 0,
                               p.mapping.slot(unit, term),
                               has_term(term) ? row(group, term, r).index : 0);
                sum = has_term(term) ? with : sum;
            }
            const destination to = p.mapping.to(unit, first_row(group) + r);
            store_value(to, p.epilogue.finish(sum, to));
        }
    }
};

} // namespace kq::inline KQ_ABI::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/kernel/config.hpp>

namespace kq::inline KQ_ABI::detail {

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
class schedule {
public:
    static constexpr kq::policy policy = Config::policy;
    static constexpr bool sums_terms = Config::epilogue::sums_terms;
    static constexpr int rows = policy.rows;
    static constexpr int batch = policy.batch;
    static constexpr int lanes = policy.order.lanes;
    static constexpr int group_rows = rows_of_warp(policy);
    using encoding = typename Config::encoding;
    using loop = typename Config::loop;
    using image = typename loop::image;
    using dots = float[static_cast<size_t>(batch)][static_cast<size_t>(rows)]; ///< the lane's share

    __device__ __forceinline__ explicit schedule(const typename Config::parameters& all) : p(all) {
        // The shuffle tells the compiler that the index is the same in all lanes.
        warp = static_cast<int>(__shfl_sync(~0u, threadIdx.x / 32, 0));
        lane = static_cast<int>(threadIdx.x % 32);
        unit = int64_t{blockIdx.x} * batch;
        units = batch == 1 ? 1 : static_cast<int>((min)(int64_t{batch}, p.units - unit));
        group_step = gridDim.y * policy.warps;
        groups = (static_cast<unsigned>(p.mapping.n) + group_rows - 1) / group_rows;
    }

    /// Whether the unit's only product is missing: an expert id out of range.
    __device__ __forceinline__ bool is_missing() const {
        return !sums_terms && !p.mapping.has_term(unit, 0);
    }

    /// Finds out which terms of a weighted sum are there, before their sequence begins. Their ids
    /// may be written by preceding kernels. Whole warp.
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
    /// Whether any term of a weighted sum is there.
    __device__ __forceinline__ bool has_terms() const {
        return present_ != 0;
    }
    /// Whether a term of a weighted sum is there.
    __device__ __forceinline__ bool has_term(int term) const {
        return present_ >> term & 1;
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
        return lane / lanes * rows + r;
    }
    /// The same; past the group's end the last row that exists.
    __device__ __forceinline__ int row_in_group(unsigned group, int r) const {
        return (min)(row_of_lane(r), rows_of(group) - 1);
    }
    /// Row i of a group for a term.
    __device__ __forceinline__ weight_row row(unsigned group, int term, int i) const {
        return p.mapping.row(unit, term, first_row(group) + i);
    }

    /// Unit j of the batch; past its end the last one.
    __device__ __forceinline__ int64_t unit_of(int j) const {
        return unit + (min)(j, units - 1);
    }
    /// The image panel in global memory that holds the first block of unit `unit + j` for a term.
    __device__ __forceinline__ const unsigned char* image_of(int j, int term) const {
        return p.mapping.images.first +
               p.mapping.image_row(unit_of(j), term) * p.mapping.images.row_bytes +
               first_panel() * image::panel_bytes;
    }
    /// The number of that panel in its row.
    __device__ __forceinline__ int first_panel() const {
        return static_cast<int>(p.mapping.first_block(unit)) / loop::panel_blocks;
    }
    /// The slot of that panel in which the block begins.
    __device__ __forceinline__ int first_slot() const {
        return static_cast<int>(p.mapping.first_block(unit)) % loop::panel_blocks *
               loop::dot::slices;
    }

    const typename Config::parameters& p;
    int lane;
    int warp;
    int64_t unit;    ///< the first one
    int units;       ///< at most `batch`
    unsigned groups; ///< of a unit
    unsigned group_step;

private:
    // Of a weighted sum, which has at most 64 terms:
    uint64_t present_ = 0; ///< a bit for each term
    int terms_there_ = 0;
    int terms_of_lane_ = 0; ///< the terms of ranks `lane` and `32 + lane`, a byte each

    /// The term before which `rank` others are there, by bisection; any number if no term has that
    /// rank.
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
};

} // namespace kq::inline KQ_ABI::detail

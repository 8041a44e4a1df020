// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/kernel/bulk/ring.cuh>
#include <kq/gemv/kernel/schedule.cuh>

namespace kq::inline KQ_ABI::detail {

/// Where a warp is in its sequence of pieces: groups of rows, their terms, pieces of the rows.
template <class Config>
class piece_cursor {
public:
    static constexpr int group_rows = schedule<Config>::group_rows;

    __device__ __forceinline__ explicit piece_cursor(const schedule<Config>& work) : work_(work) {}

    /// Goes to the warp's first piece; without columns there is none.
    __device__ __forceinline__ void start() {
        at_ = work_.first();
        if (work_.p.bulk.pieces == 0) {
            at_.group = work_.groups;
        }
        find_row();
    }

    __device__ __forceinline__ bool exists() const { return work_.exists(at_.group); }

    __device__ __forceinline__ void advance() {
        if (++piece_ == work_.p.bulk.pieces) {
            piece_ = 0;
            work_.advance(at_);
            find_row();
        } else {
            bytes_ += work_.p.bulk.piece_bytes;
        }
    }

    /// Whether the rows of a group come in one copy.
    __device__ __forceinline__ static bool is_together(const bulk_geometry& bulk) {
        return bulk.copies == 1 && group_rows != 1;
    }
    /// What a copy brings: piece `number` of a row, at `bytes`, or `count` rows.
    __device__ __forceinline__ static weight_piece
    piece_of(const schedule<Config>& work, const unsigned char* bytes, int number, int count) {
        const bulk_geometry& bulk = work.p.bulk;
        const int size = number + 1 == bulk.pieces ? bulk.last_bytes : bulk.piece_bytes;
        return {bytes, is_together(bulk) ? count * bulk.last_bytes : size};
    }

    /// Starts the copies of the current piece into a stage of the warp's ring, and goes on to the
    /// next; does nothing at the end. Whole warp.
    template <class Ring>
    __device__ __forceinline__ void fill(const Ring& ring, int stage) {
        if (exists()) {
            const weight_piece piece = piece_of(work_, bytes_, piece_, count_);
            const int copies = is_together(work_.p.bulk) ? 1 : count_;
            ring.fill(stage, copies, piece,
                      work_.p.ragged ? ring.inside(piece, row()) : ring.around(piece));
            advance();
        }
    }

private:
    /// The lane's row: row `lane` of the group, which may not exist.
    __device__ __forceinline__ weight_row row() const {
        return work_.row(at_.group, at_.term, work_.lane);
    }
    __device__ __forceinline__ void find_row() {
        count_ = work_.rows_of(at_.group);
        bytes_ = row().bytes;
    }

    const schedule<Config>& work_;
    group_term at_;
    int piece_ = 0;              ///< its number in its row
    int count_;                  ///< rows of the group
    const unsigned char* bytes_; ///< the piece of the lane's row
};

} // namespace kq::inline KQ_ABI::detail

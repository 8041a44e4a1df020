// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/launch/dependent.cuh>
#include <kq/gemv/kernel/bulk/ring.cuh>
#include <kq/gemv/kernel/warp_work.cuh>
#include <kq/core/memory.hpp>

namespace kq::inline KQ_ABI::detail {

/// The images of a thread block's units in shared memory: one for each unit of a batch or, where
/// the terms of a weighted sum meet different rows, for each term. Several are whole rows that
/// follow each other.
template <class Config>
class staged_images {
public:
    __device__ __forceinline__ staged_images(const warp_work<Config>& work, unsigned char* place)
        : work_(work),
          place_(place),
          bytes_(work.p.bulk.image_bytes),
          per_term_(work.sums_terms && work.image_of(0, 0) != work.image_of(0, 1)) {}

    /// Where the image of unit `unit + j` for a term lies; past the last unit, whatever lies there.
    __device__ __forceinline__ const unsigned char* find(int j, int term) const {
        return place_ + (per_term_ ? term : j) * bytes_;
    }

    /// Starts to copy all images. One thread.
    __device__ __forceinline__ void fill(copy_barrier barrier) const {
        const int size = total();
        barrier.expect(size);
        if (size != 0) {
            barrier.copy(place_, work_.image_of(0, 0), size);
        }
    }

    /// Starts to copy all images, for `wait_for_own_copies`: they come sooner than by bulk copies,
    /// but it keeps every warp busy. Whole thread block.
    __device__ __forceinline__ void fill_together() const {
        // Opaque, or the lanes' loops would add the begin of shared memory to every address.
        unsigned char* const to = from_here(place_);
        const unsigned char* const from = work_.image_of(0, 0);
        const int size = total();
#pragma unroll 1
        for (int at = 16 * static_cast<int>(threadIdx.x); at < size;
             at += 16 * 32 * Config::policy.warps) {
            copy_16_bytes(to + at, from + at);
        }
    }

private:
    /// Bytes of all images.
    __device__ __forceinline__ int total() const {
        const auto row_bytes = static_cast<int>(work_.p.mapping.images.row_bytes);
        if (per_term_ || work_.batch != 1) {
            return (per_term_ ? work_.p.mapping.terms() : work_.units) * row_bytes;
        }
        // The tiles that a segment touches may be fewer than it might touch.
        return (min)(bytes_, row_bytes - work_.first_tile() * Config::loop::image::tile_bytes);
    }

    const warp_work<Config>& work_;
    unsigned char* place_; // [images, bytes]
    int bytes_;            // of an image
    bool per_term_;
};

/// Where a warp is in its sequence of pieces: groups of rows, their terms, pieces of the rows.
template <class Config>
class piece_cursor {
public:
    /// The warp's first piece. Without columns there is none.
    __device__ __forceinline__ explicit piece_cursor(const warp_work<Config>& work)
        : work_(work), at_(work.first()) {
        if (work.p.bulk.pieces == 0) {
            at_.group = work.groups;
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
            bytes_ += work_.p.bulk.piece_blocks * block_bytes<typename Config::encoding>;
        }
    }

    /// The piece's number in its row.
    __device__ __forceinline__ int piece() const { return piece_; }
    /// Rows of the group.
    __device__ __forceinline__ int count() const { return count_; }
    /// The lane's row: row `lane` of the group, which may not exist.
    __device__ __forceinline__ weight_row row() const {
        return work_.row(at_.group, at_.term, work_.lane);
    }
    /// The piece of the lane's row.
    __device__ __forceinline__ const unsigned char* bytes() const { return bytes_; }

private:
    __device__ __forceinline__ void find_row() {
        count_ = work_.rows_of(at_.group);
        bytes_ = row().bytes;
    }

    const warp_work<Config>& work_;
    group_term at_;
    int piece_ = 0;
    int count_;
    const unsigned char* bytes_;
};

/// Weights through a ring in shared memory per warp, the activation from shared memory.
template <class Config>
__device__ __forceinline__ void run_bulk(const typename Config::parameters& p,
                                         unsigned char* shared) {
    warp_work<Config> work(p);
    using encoding = typename Config::encoding;
    using loop = typename Config::loop;
    constexpr int rows = work.rows;
    constexpr int batch = work.batch;
    constexpr int group_rows = work.group_rows;
    const bulk_geometry bulk = p.bulk;

    const auto barriers = reinterpret_cast<uint64_t*>(shared + barriers_at<encoding>());
    const copy_barrier images_here(barriers);
    const staged_images<Config> images(work, shared + bulk.images_at);
    const weight_ring<work.policy.warps, group_rows> ring(
        barriers + 1 + work.warp,
        shared + bulk.rings_at + work.warp * bulk.stages * bulk.stage_bytes, bulk, work.lane);
    if (!p.early_weights) {
        wait_for_predecessors();
        if (work.is_missing()) { // ids are never early
            work.store_zeros();
            return;
        }
        work.find_terms();
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
            const auto piece = piece_of(next.bytes(), next.piece(), next.count());
            ring.fill(stage, together ? 1 : next.count(), piece,
                      p.ragged ? ring.inside(piece, next.row()) : ring.around(piece));
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
    fill_table<typename loop::dot>(shared, work.lane, work.warp, work.policy.warps);
    if (p.early_weights) {
        wait_for_predecessors();
        images.fill_together();
    }
    let_dependents_start(); // whose early weights are not to come before these images
    if (p.early_weights) {
        wait_for_own_copies();
    } else {
        images_here.wait(0);
    }
    __syncthreads();

    const lane where = loop::lane_at(work.lane, shared);
    stage = 0;
    uint32_t parity = 0;
    const auto dot = [&](const group_term& at, float(&sums)[batch][rows]) {
        uint32_t addresses[rows]; // of each row's next piece in global memory, the low bits
        int places[rows];         // from the stage's begin on
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            // Rows past the end are dotted, whatever lies there, and not stored.
            const int i = work.row_of_lane(r);
            places[r] = i * bulk.row_stride;
            addresses[r] = static_cast<uint32_t>(
                reinterpret_cast<uintptr_t>(work.row(at.group, at.term, together ? 0 : i).bytes));
        }
        const unsigned char* tiles[batch]; // [batch], from the piece's first tile on
#pragma unroll
        for (int j = 0; j < batch; ++j) {
            tiles[j] = images.find(j, at.term);
        }
#pragma unroll 1
        for (int piece = 0; piece < bulk.pieces; ++piece) {
            ring.wait(stage, parity);
            if (p.ragged) {
#pragma unroll 1
                for (int i = 0; i < (together ? 1 : work.rows_of(at.group)); ++i) {
                    const weight_row row = work.row(at.group, at.term, i);
                    ring.patch(stage, i,
                               piece_of(from_here(row.bytes) + int64_t{piece} * piece_bytes, piece,
                                        work.rows_of(at.group)),
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
    };
    work.multiply(dot, shared);
}

} // namespace kq::inline KQ_ABI::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/kernel/bulk/cursor.cuh>
#include <kq/gemv/kernel/bulk/images.cuh>
#include <kq/gemv/kernel/bulk/ring.cuh>
#include <kq/gemv/kernel/multiply.cuh>
#include <kq/gemv/kernel/table.cuh>
#include <kq/launch/dependent.cuh>

namespace kq::inline KQ_ABI::detail {

/// Weights through a ring in shared memory per warp, the activation from shared memory. The phases
/// of a thread block: `load` asks for the image and for the first pieces, `meet` waits for the
/// image, `dot` uses up pieces and asks for those that follow.
template <class Config>
class bulk_work {
public:
    using schedule = detail::schedule<Config>;
    using loop = typename Config::loop;
    static constexpr int rows = schedule::rows;
    static constexpr int batch = schedule::batch;
    static constexpr int warps = schedule::policy.warps;

    /// Reads nothing that kernels before this one may write.
    __device__ __forceinline__ bulk_work(const schedule& work, const bulk_geometry& bulk,
                                         unsigned char* shared)
        : work_(work),
          p_(work.p),
          bulk_(bulk),
          shared_(shared),
          images_here_(barriers()),
          images_(work, p_.shared.images(shared)),
          ring_(barriers() + 1 + work.warp,
                p_.shared.rings(shared) + work.warp * bulk.stages * bulk.stage_bytes, bulk,
                work.lane),
          next_(work),
          table_(work.lane, work.warp) {}

    /// Asks for the image first: it is small, and every warp waits for it. Then for each warp's
    /// first piece, then for the others, so that no warp's second piece delays another's first.
    /// Weights that may be read early do not wait for the image.
    __device__ __forceinline__ void load() {
        if (threadIdx.x == 0) {
            images_here_.init();
            if (!p_.early_weights) {
                images_.fill(images_here_);
            }
        }
        ring_.open();
        next_.start();
        int stage = 0;
#pragma unroll 1
        do {
            next_.fill(ring_, stage);
            if (stage == 0) {
                __syncthreads();
            }
        } while (++stage < bulk_.stages);
    }

    /// Waits for the image; the lookup table is copied meanwhile.
    __device__ __forceinline__ void meet() {
        table_.store(shared_);
        if (p_.early_weights) {
            wait_for_predecessors();
            images_.fill_together();
        }
        let_dependents_start(); // whose early weights are not to come before these images
        if (p_.early_weights) {
            wait_for_own_copies();
        } else {
            images_here_.wait(0);
        }
        __syncthreads();
    }

    /// Adds the dots of a group's rows with a term, piece by piece.
    __device__ __forceinline__ void dot(const group_term& at, typename schedule::dots& sums,
                                        const lane_context& where) {
        const bulk_geometry& bulk = bulk_;
        uint32_t addresses[rows]; // of each row's next piece in global memory, the low bits
        int places[rows];         // from the stage's begin on
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            // Rows past the end are dotted, whatever lies there, and not stored.
            const int i = work_.row_of_lane(r);
            places[r] = i * bulk.row_stride;
            addresses[r] = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(
                work_.row(at.group, at.term, next_.is_together(bulk) ? 0 : i).bytes));
        }
        const unsigned char* panels[batch]; // [batch], from the piece's first panel on
#pragma unroll
        for (int j = 0; j < batch; ++j) {
            panels[j] = images_.find(j, at.term);
        }
#pragma unroll 1
        for (int piece = 0; piece < bulk.pieces; ++piece) {
            ring_.wait(stage_, parity_);
            if (p_.ragged) {
                patch(at, piece);
            }
            const unsigned char* weights[rows]; // [rows][blocks] blocks
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                weights[r] = ring_.find(stage_, addresses[r]) + places[r];
                addresses[r] += bulk.piece_bytes;
            }
            loop::template accumulate<padded_memory>(
                sums, weights, panels, work_.first_slot(),
                (min)(bulk.piece_blocks, p_.blocks - piece * bulk.piece_blocks), where);
            __syncwarp();
            next_.fill(ring_, stage_);
#pragma unroll
            for (int j = 0; j < batch; ++j) {
                panels[j] += static_cast<unsigned>(bulk.piece_blocks) / loop::panel_blocks *
                             loop::image::panel_bytes;
            }
            if (++stage_ == bulk.stages) {
                stage_ = 0;
                parity_ ^= 1;
            }
        }
    }

private:
    using cursor = piece_cursor<Config>;

    __device__ __forceinline__ uint64_t* barriers() const {
        return shared_layout::barriers(shared_, table_bytes<typename Config::encoding>);
    }

    /// Copies what of a piece no bulk copy may bring.
    __device__ __forceinline__ void patch(const group_term& at, int piece) const {
        const int count = work_.rows_of(at.group);
#pragma unroll 1
        for (int i = 0; i < (next_.is_together(bulk_) ? 1 : count); ++i) {
            const weight_row row = work_.row(at.group, at.term, i);
            const unsigned char* bytes = from_here(row.bytes) + int64_t{piece} * bulk_.piece_bytes;
            ring_.patch(stage_, i, cursor::piece_of(work_, bytes, piece, count), row);
        }
    }

    const schedule& work_;
    const typename Config::parameters& p_;
    const bulk_geometry& bulk_;
    unsigned char* shared_;
    copy_barrier images_here_;
    staged_images<Config> images_;
    weight_ring<warps, schedule::group_rows, block_alignment<typename Config::encoding>> ring_;
    cursor next_; ///< `stages` pieces ahead of the one to dot
    table_copy<typename loop::dot, warps> table_;
    int stage_ = 0;
    uint32_t parity_ = 0;
};

/// The work of a thread block by bulk copies.
template <class Config>
__device__ __forceinline__ void run_bulk(const typename Config::parameters& p,
                                         unsigned char* shared) {
    schedule<Config> work(p);
    // A copy: read from the parameters, it costs up to a tenth more instructions (nvcc 13.0).
    const bulk_geometry geometry = p.bulk;
    bulk_work<Config> bulk(work, geometry, shared);
    if (!p.early_weights) {
        wait_for_predecessors();
        if (work.is_missing()) { // ids are never early
            output<Config>::store_zeros(work);
            return;
        }
        work.find_terms();
    }
    bulk.load();
    bulk.meet();
    const lane_context where = Config::loop::lane_at(work.lane, shared);
    multiply(
        work, [&](const group_term& at, auto& sums) { bulk.dot(at, sums, where); }, shared);
}

} // namespace kq::inline KQ_ABI::detail

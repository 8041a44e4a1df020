// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/kernel/bulk/barrier.cuh>
#include <kq/gemv/kernel/schedule.cuh>
#include <kq/launch/dependent.cuh>

namespace kq::inline KQ_ABI::detail {

/// The images of a thread block's units in shared memory: one for each unit of a batch or, where
/// the terms of a weighted sum meet different rows, for each term. Several are whole rows that
/// follow each other.
template <class Config>
class staged_images {
public:
    __device__ __forceinline__ staged_images(const schedule<Config>& work, unsigned char* place)
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
        // The panels that a segment touches may be fewer than it might touch.
        return (min)(bytes_, row_bytes - work_.first_panel() * Config::loop::image::panel_bytes);
    }

    const schedule<Config>& work_;
    unsigned char* place_; // [images, bytes]
    int bytes_;            // of an image
    bool per_term_;
};

} // namespace kq::inline KQ_ABI::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dot/dot.hpp>
#include <kq/dot/order.hpp>

namespace kq::inline KQ_ABI {

/// The work of one lane, on the host and on the device: its blocks of a row, in the order of
/// additions that `Order` is, up to where the lanes' sums meet.
///
/// `Rows`: weight rows that share an activation fragment. `Batch`: activation rows that share a
/// weight fragment. `Prefetch`: fragments of a row that are loaded before the first is dotted.
template <dottable Encoding, order Order, int Rows, int Batch, int Prefetch>
struct lane_loop {
    static constexpr int lanes = Order.lanes;
    static constexpr size_t row_count = Rows; // bounds of arrays, which are no int
    static constexpr size_t batch = Batch;
    using dot = dp4a_dot<Encoding, Batch>;
    using image = typename dot::image;
    static_assert(32 % lanes == 0 && lanes % dot::slices == 0,
                  "kq: a policy's lanes must be a multiple of the encoding's slices");

    static constexpr int panel_blocks = 32 / dot::slices;   ///< weight blocks of an image panel
    static constexpr int step_blocks = lanes / dot::slices; ///< blocks that the lanes take at once
    static constexpr int step_bytes = step_blocks * block_bytes<Encoding>;

    KQ_API static lane_context lane_at(int index, const unsigned char* table) {
        return {index, index % dot::slices, table, in_register(dot::constant)};
    }

    /// Adds the lane's share of `blocks` blocks of each row to `sums`.
    /// `rows`: addresses of the rows' first block here. `images`: for each activation row the panel
    /// that holds this block, which begins at slot `first_slot` of it.
    template <memory Weights>
    KQ_API static void accumulate(float (&sums)[batch][row_count],
                                  const unsigned char* const (&rows)[row_count],
                                  const unsigned char* const (&images)[batch], int first_slot,
                                  int blocks, const lane_context& where) {
        const int first = where.index % lanes / dot::slices;
        typename dot::anchor anchors[row_count];
        KQ_UNROLL
        for (int r = 0; r < Rows; ++r) {
            anchors[r] = dot::locate(rows[r] + first * block_bytes<Encoding>, where.slice);
        }
        int slot = first_slot + where.index % lanes;
        int panel = slot / 32 * image::panel_bytes; // from the images on
        slot %= 32;

        const auto dot_step = [&](const typename dot::fragment(&w)[row_count]) {
            KQ_UNROLL
            for (int j = 0; j < Batch; ++j) {
                const auto x = image::template load<cached_memory>(images[j] + panel, slot);
                KQ_UNROLL
                for (int r = 0; r < Rows; ++r) {
                    sums[j][r] = kq::accumulate<dot>(sums[j][r], dot::scale(w[r], x.d),
                                                     dot::dot(w[r], x, where));
                }
            }
            if constexpr (lanes == 32) {
                panel += image::panel_bytes;
            } else {
                slot += lanes;
                panel += slot / 32 * image::panel_bytes;
                slot %= 32;
            }
        };
        const auto load_step = [&](typename dot::fragment(&w)[row_count], int offset) {
            KQ_UNROLL
            for (int r = 0; r < Rows; ++r) {
                w[r] = dot::template load<Weights>(anchors[r], offset);
            }
        };

        typename dot::fragment w[static_cast<size_t>(Prefetch)][row_count];
        if constexpr (Prefetch == 1) {
            const int rest = in_pairs(blocks);
            int offset = 0;
            for (int b = first; b < blocks - rest; b += step_blocks) {
                load_step(w[0], offset);
                dot_step(w[0]);
                offset += step_bytes;
            }
            if constexpr (lanes == 32 && Rows % 2 == 0) {
                NV_IF_TARGET(NV_IS_DEVICE, (if (rest != 0) {
                                 accumulate_pairs<Weights>(sums, rows, images, first_slot,
                                                           blocks - rest, rest, where);
                             }))
            }
        } else {
            KQ_UNROLL
            for (int i = 0; i < Prefetch; ++i) {
                if (first + i * step_blocks < blocks) {
                    load_step(w[i], i * step_bytes);
                }
            }
            int offset = Prefetch * step_bytes;
            for (int b = first; b < blocks; b += Prefetch * step_blocks) {
                KQ_UNROLL
                for (int i = 0; i < Prefetch; ++i) {
                    if (b + i * step_blocks < blocks) {
                        dot_step(w[i]);
                    }
                    if (b + (i + Prefetch) * step_blocks < blocks) {
                        load_step(w[i], offset + i * step_bytes);
                    }
                }
                offset += Prefetch * step_bytes;
            }
        }
    }

private:
    /// The blocks at a row's end that its lanes leave to `accumulate_pairs`. Whole warps only: the
    /// host goes lane by lane.
    KQ_API static int in_pairs([[maybe_unused]] int blocks) {
        int rest = 0;
        NV_IF_TARGET(NV_IS_DEVICE, (rest = static_cast<int>(static_cast<unsigned>(blocks) %
                                                            unsigned{step_blocks});))
        return lanes == 32 && Rows % 2 == 0 && 2 * rest <= step_blocks ? rest : 0;
    }

#if defined(__CUDACC__)
    /// Adds the last `rest` blocks, half of a step or fewer, of two rows at once: half of the warp
    /// takes the first row's, the other half takes the second's and hands what it found to the
    /// lanes whose turn it is, so that every lane adds what it adds without pairs.
    template <memory Weights>
    __device__ __forceinline__ static void
    accumulate_pairs(float (&sums)[batch][row_count], const unsigned char* const (&rows)[row_count],
                     const unsigned char* const (&images)[batch], int first_slot, int done,
                     int rest, const lane_context& where) {
        const bool upper = where.index >= 16;
        const int taken = where.index % 16; // slices, from the first of the rest
        const bool adds = !upper && taken < rest * dot::slices;
        // lanes without a block take the last one again, for nothing.
        const int block = done + (min)(taken / dot::slices, rest - 1);
        const int offset = block * block_bytes<Encoding>;
        const int slot = first_slot + block * dot::slices + where.slice;
        const int panel = slot / 32 * image::panel_bytes;
        typename dot::fragment w[row_count / 2];
        KQ_UNROLL
        for (int p = 0; p < Rows / 2; ++p) {
            const unsigned char* row = upper ? rows[2 * p + 1] : rows[2 * p];
            w[p] = dot::template load<Weights>(dot::locate(row + offset, where.slice), 0);
        }
        KQ_UNROLL
        for (int j = 0; j < Batch; ++j) {
            const auto a = image::template load<cached_memory>(images[j] + panel, slot % 32);
            KQ_UNROLL
            for (int p = 0; p < Rows / 2; ++p) {
                const integers x = dot::dot(w[p], a, where);
                const scales scale = dot::scale(w[p], a.d);
                const integers second{from_upper_half(x.dot),
                                      dot::has_minimum ? from_upper_half(x.min) : 0};
                const scales second_scale{from_upper_half(scale.dot),
                                          dot::has_minimum ? from_upper_half(scale.min) : 0.0f};
                if (adds) {
                    float(&sum)[row_count] = sums[j];
                    sum[2 * p] = kq::accumulate<dot>(sum[2 * p], scale, x);
                    sum[2 * p + 1] = kq::accumulate<dot>(sum[2 * p + 1], second_scale, second);
                }
            }
        }
    }

    template <class T>
    __device__ __forceinline__ static T from_upper_half(T x) {
        return __shfl_down_sync(~0u, x, 16);
    }
#endif
};

} // namespace kq::inline KQ_ABI

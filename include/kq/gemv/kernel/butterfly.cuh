// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/intrinsics.hpp>
#include <kq/core/standard.hpp>

namespace kq::inline KQ_ABI::detail {

/// Sums `Values` numbers each over the `Lanes` lanes of a group, by an xor butterfly from distance
/// `Lanes / 2` to 1. As long as their number is even, a lane keeps one half of the values and hands
/// the other half to its partner: half the work of the step before, and each sum's additions stay
/// the butterfly's.
template <int Lanes, int Values>
struct butterfly {
    static constexpr int steps = standard::countr_zero(static_cast<unsigned>(Lanes));
    static constexpr int even_steps = standard::countr_zero(static_cast<unsigned>(Values));
    static constexpr int halvings = even_steps < steps ? even_steps : steps;
    static constexpr int kept = Values >> halvings;   ///< sums that a lane ends up with
    static constexpr int sharers = Lanes >> halvings; ///< lanes that end up with the same sums

    /// Leaves the sums of values `first(lane)` and following in `x[0]` to `x[kept - 1]`.
    __device__ __forceinline__ static void sum(float (&x)[static_cast<size_t>(Values)], int lane) {
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

} // namespace kq::inline KQ_ABI::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/intrinsics.hpp>

namespace kq::inline KQ_ABI {

/// The order in which the products of a weight row and an activation row are added: with the
/// encoding and k it decides every bit of an output (contract C3), so it is a type of its own that
/// policies, tables and the host model name.
///
/// `lanes` lanes share a row. Lane l of them takes slice `l % slices` of blocks `l / slices`,
/// `l / slices + lanes / slices` and so on, in ascending order, by fused multiply-adds into one
/// sum. The lanes' sums then meet in an xor butterfly, from distance `lanes / 2` to 1.
struct order {
    int lanes = 32; ///< 8, 16 or 32

    bool operator==(const order&) const = default;

    /// The butterfly, on the host. `sums`: [lanes], of the lanes. Returns the sum of all.
    float meet(float* sums) const {
        // The lane at the lower place keeps the sum; addition commutes, so its partner's is equal.
        for (int distance = lanes / 2; distance >= 1; distance /= 2) {
            for (int l = 0; l < distance; ++l) {
                sums[l] = add_rn(sums[l], sums[l + distance]);
            }
        }
        return sums[0];
    }
};

} // namespace kq::inline KQ_ABI

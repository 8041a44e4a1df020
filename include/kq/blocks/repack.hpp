// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q8_0.hpp>
#include <kq/blocks/q8_0_aligned.hpp>

#include <cuda/std/cstring>

/// Changes of a weight matrix's layout on the host; `repack.cuh` has the same on the device. They
/// move bytes and change none. Rows are back to back, so a whole matrix is one call. Out of place
/// only: the two ranges must not overlap.
namespace kq::inline KQ_ABI {

/// Separates codes from scales.
/// `from`: [count] blocks. `count`: a multiple of 8. `to`: [count / 8] blocks.
inline void repack(const q8_0::block* from, int64_t count, q8_0_aligned::block* to) {
    constexpr int together = q8_0_aligned::q8_0_blocks;
    for (int64_t b = 0; b < count; ++b) {
        q8_0_aligned::block& group = to[b / together];
        const auto i = static_cast<int>(b % together);
        cuda::std::memcpy(group.q + i * q8_0::elements, from[b].q, q8_0::elements);
        group.d[i] = from[b].d;
    }
}

/// The inverse: puts each block's scale before its codes again.
/// `from`: [count / 8] blocks. `count`: a multiple of 8. `to`: [count] blocks.
inline void repack(const q8_0_aligned::block* from, int64_t count, q8_0::block* to) {
    constexpr int together = q8_0_aligned::q8_0_blocks;
    for (int64_t b = 0; b < count; ++b) {
        const q8_0_aligned::block& group = from[b / together];
        const auto i = static_cast<int>(b % together);
        cuda::std::memcpy(to[b].q, group.q + i * q8_0::elements, q8_0::elements);
        to[b].d = group.d[i];
    }
}

} // namespace kq::inline KQ_ABI

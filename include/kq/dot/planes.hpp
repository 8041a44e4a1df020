// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dot/dot.hpp>

/// What encodings share whose 16 code bytes hold bit planes of four 16-element groups.
namespace kq::inline KQ_ABI::detail {

/// The byte-permute selector of bytes `parity`, `parity + 2`, `parity + 4` and `parity + 6`.
KQ_API uint32_t every_second_byte(int parity) {
    return parity != 0 ? 0x7531u : 0x6420u;
}

/// `sum` plus the dot of 16 codes, of which only the bits in `mask` count, with 16 activations.
KQ_API int dot_plane(const uint32_t (&q)[4], uint32_t mask, const uint32_t* x, int sum) { // x: [4]
    KQ_UNROLL
    for (int i = 0; i < 4; ++i) {
        sum = dp4a_us(q[i] & mask, x[i], sum);
    }
    return sum;
}

/// The sum of plane `plane`'s activations.
KQ_API int plane_sum(const uint32_t (&sums)[2], int plane) {
    return static_cast<int16_t>(sums[plane / 2] >> (16 * (plane % 2)));
}

/// Plane p's codes of 2 bits lie 2 p bits up, so its dot comes out 4^p times too large. With this
/// factor beside its scale every plane is 64 times too large instead: nothing has to be shifted
/// before the sum.
KQ_API constexpr uint32_t plane_factor(int plane) {
    return 64u >> (2 * plane);
}

} // namespace kq::inline KQ_ABI::detail

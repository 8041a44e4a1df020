// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

namespace kq::inline KQ_ABI {

/// Q8_K: 256 signed bytes, one f32 scale and the sums of every 16 codes. An activation encoding
/// only: element i is `d * q[i]`.
struct q8_k {
    struct block {
        float d;          ///< scale
        int8_t q[256];    ///< codes
        int16_t sums[16]; ///< sums[j] = q[16 j] + ... + q[16 j + 15]
    };

    static constexpr int elements = 256;

    static constexpr int code(const block& b, int i) { return b.q[i]; }
    static constexpr float d(const block& b) { return b.d; }
};

static_assert(sizeof(q8_k::block) == 292 && offsetof(q8_k::block, q) == 4 &&
              offsetof(q8_k::block, sums) == 260);

} // namespace kq::inline KQ_ABI

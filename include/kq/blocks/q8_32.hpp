// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

namespace kq::inline KQ_ABI {

/// 32 signed bytes and one f32 scale. An activation encoding only: element i is `d * q[i]`.
///
/// The codes are those of ggml's `q8_0`, and `d` rounds to its f16 scale.
struct q8_32 {
    struct block {
        float d;      ///< scale
        int8_t q[32]; ///< codes
    };

    static constexpr int elements = 32;

    static constexpr int code(const block& b, int i) { return b.q[i]; }
    static constexpr float d(const block& b) { return b.d; }
};

static_assert(sizeof(q8_32::block) == 36 && offsetof(q8_32::block, q) == 4);

} // namespace kq::inline KQ_ABI

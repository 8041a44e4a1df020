// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_32.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// Q8_0: 32 signed bytes and one scale.
///
/// Weight i is `d * q[i]`.
struct q8_0 {
    struct block {
        using weights = q8_0;

        f16 d;        ///< scale
        int8_t q[32]; ///< the codes
    };

    static constexpr encoding id = encoding::q8_0;
    static constexpr int elements = 32;
    static constexpr float factor = 1;
    using activation = q8_32;

    static constexpr int code(const block& b, int i) { return b.q[i]; }
    static constexpr int scale(const block&, int) { return 1; }
    static constexpr int minimum(const block&, int) { return 0; }
    static constexpr float d(const block& b) { return to_f32(b.d); }
    static constexpr float dmin(const block&) { return 0; }
};

static_assert(sizeof(q8_0::block) == 34 && offsetof(q8_0::block, q) == 2);
static_assert(weight_encoding<q8_0>);

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dot/decoder.hpp>

namespace kq::inline KQ_ABI::detail {

/// What q4_1 and q5_1 share: a block is a slice, its runs are low and high nibbles, and every
/// weight has the same number added, which is a minimum of -1 for all codes.
struct added_decoder : plain_decoder {
    static constexpr int slices = 1;
    static constexpr int runs = 2;
    static constexpr bool has_minimum = true;
    using image = kq::image<q8_32, slices, element_order::sequential>;

    /// `d_m`: the scale, above it what is added.
    KQ_API static scales scale_of(uint32_t d_m, float d) {
        const f16 d_w{static_cast<uint16_t>(d_m)};
        const f16 m_w{static_cast<uint16_t>(d_m >> 16)};
        return {mul_rn(to_f32(d_w), d), mul_rn(to_f32(m_w), d)};
    }

    template <class Scales>
    KQ_API static uint32_t minimums(const Scales&) {
        return 0xffffffffu;
    }
};

} // namespace kq::inline KQ_ABI::detail

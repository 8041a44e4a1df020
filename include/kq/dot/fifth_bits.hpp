// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

namespace kq::inline KQ_ABI::detail {

/// Bits 0 to 3 of `bits`, each as bit 4 of a byte. The multiplier's copies do not overlap.
KQ_API uint32_t fifth_bits(uint32_t bits) {
    return ((bits & 0xfu) * 0x02040810u) & 0x10101010u;
}

} // namespace kq::inline KQ_ABI::detail

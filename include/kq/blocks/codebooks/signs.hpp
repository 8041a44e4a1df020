// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

namespace kq::inline KQ_ABI::codebooks {

/// The eight signs that the 7-bit index `signs` stands for: bit i is set where weight i is
/// negative. The eighth bit makes their number even.
KQ_API constexpr uint32_t expand_signs(uint32_t signs) {
    uint32_t parity = signs ^ signs >> 4;
    parity ^= parity >> 2;
    parity ^= parity >> 1;
    return signs | (parity & 1) << 7;
}

constexpr bool is_negative(uint32_t signs, int i) {
    return ((expand_signs(signs) >> i) & 1) != 0;
}

} // namespace kq::inline KQ_ABI::codebooks

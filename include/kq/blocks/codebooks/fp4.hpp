// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

namespace kq::inline KQ_ABI::codebooks {

/// FP4 (E2M1, one sign bit before): twice the value of each 4-bit code, so that it is an integer.
inline constexpr int fp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

} // namespace kq::inline KQ_ABI::codebooks

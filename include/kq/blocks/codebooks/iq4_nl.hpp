// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

namespace kq::inline KQ_ABI::codebooks {

/// IQ4_NL and IQ4_XS: the code of each nibble.
inline constexpr int8_t iq4_nl[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};

/// Codes `4 Word` to `4 Word + 3`, a byte each, the first in the lowest.
template <int Word>
inline constexpr uint32_t iq4_nl_word = uint32_t{static_cast<uint8_t>(iq4_nl[4 * Word])} |
                                        uint32_t{static_cast<uint8_t>(iq4_nl[4 * Word + 1])} << 8 |
                                        uint32_t{static_cast<uint8_t>(iq4_nl[4 * Word + 2])} << 16 |
                                        uint32_t{static_cast<uint8_t>(iq4_nl[4 * Word + 3])} << 24;

} // namespace kq::inline KQ_ABI::codebooks

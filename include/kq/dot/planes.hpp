// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

/// What encodings share whose 16 code bytes hold bit planes of four 16-element groups.
namespace kq::inline KQ_ABI::detail {

/// The byte-permute selector of bytes `parity`, `parity + 2`, `parity + 4` and `parity + 6`.
KQ_API uint32_t every_second_byte(int parity) {
    return parity != 0 ? 0x7531u : 0x6420u;
}

} // namespace kq::inline KQ_ABI::detail

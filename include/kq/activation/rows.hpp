// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/element.hpp>

namespace kq::inline KQ_ABI {

/// Activation rows to quantize.
struct activation_rows {
    input_pointer activation = {}; ///< [m, k], rows `activation_stride` elements apart
    int64_t k = 0;                 ///< columns, a multiple of every image's block
    int64_t m = 1;                 ///< rows
    int64_t activation_stride = 0; ///< in elements, at least k; 0 means k
};

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/activation/rows.hpp>

namespace kq::inline KQ_ABI {

/// The sizes of a product: its arguments, reduced to what all row mappings share. `measure` makes
/// them without a policy, a device or a pointer.
struct product_sizes {
    int64_t n = 0;               ///< output rows of a unit
    int64_t k = 0;               ///< columns of a weight row
    int64_t units = 0;           ///< see `row_mapping`
    int64_t output_rows = 0;     ///< of an activation row or slot, as bias and residual count them
    int64_t most_rows = 0;       ///< weight rows that are read, at most; both sets counted
    int images_of_unit = 1;      ///< quantized activation rows that a unit meets
    int summed_terms = 0;        ///< products whose weighted sum is an output; 0 where none is
    bool adjacent_rows = true;   ///< whether a unit's weight rows follow each other without gaps
    activation_rows activation;  ///< all rows, of all units
    int row_blocks = 0;          ///< weight blocks of a row
    int64_t row_bytes = 0;       ///< of a weight row
    int64_t image_row_bytes = 0; ///< of a quantized activation row
    int unit_image_bytes = 0;    ///< the most of an image that a unit's columns touch
    int64_t workspace_bytes = 0; ///< all quantized activation rows

    /// Whether there is nothing to compute. A `k` of zero still stores.
    KQ_API constexpr bool is_empty() const { return n == 0 || units == 0; }
    /// Bytes of weights that all units together need; fewer where experts coincide.
    KQ_API constexpr int64_t weight_bytes() const { return is_empty() ? 0 : most_rows * row_bytes; }
};

} // namespace kq::inline KQ_ABI

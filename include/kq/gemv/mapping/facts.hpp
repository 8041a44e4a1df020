// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/activation/image.hpp>
#include <kq/blocks/encoding.hpp>

namespace kq::inline KQ_ABI {

/// What the host needs to know of a kind of product to measure and plan it, as data.
struct product_facts {
    encoding_facts weights;
    image_facts image;     ///< what the weights meet
    int slices;            ///< lanes that share a weight block
    int table_bytes;       ///< of the encoding's lookup table; 0 where it has none
    int weight_sets;       ///< 2 where every weight matrix comes twice, as gate and up
    bool sums_terms;       ///< whether an output is a weighted sum of terms
    bool batchable;        ///< whether several activation rows may share a weight fragment
    bool chosen_on_device; ///< whether ids in device memory choose the weights
};

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/config.hpp>

namespace kq::mappings {

/// Every weight row meets every activation row.
struct dense {
    const unsigned char* weights; ///< [n, row_bytes]
    int64_t row_bytes;            ///< bytes of a weight row
    const unsigned char* images;  ///< [m, image_bytes]
    int64_t image_bytes;          ///< bytes of a quantized activation row
    int n;                        ///< weight rows
    int blocks;                   ///< blocks of a row

    KQ_API const unsigned char* weight_row(int row) const { return weights + row * row_bytes; }
    KQ_API const unsigned char* weights_end() const { return weights + n * row_bytes; }
    KQ_API const unsigned char* image_row(int batch) const { return images + batch * image_bytes; }
};

} // namespace kq::mappings

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

namespace kq::inline KQ_ABI {

/// Where things lie in the dynamic shared memory of a thread block, in bytes from its begin. First
/// the encoding's lookup table; by bulk copies then the barriers (of the images, then of every
/// stage's warps), the images and the rings; last the products of a weighted sum. Each is 128-byte
/// aligned.
struct shared_layout {
    int images_at = 0;
    int rings_at = 0;
    int products_at = 0;

    /// Where the barriers begin: behind the table.
    KQ_API static uint64_t* barriers(unsigned char* shared, int table_bytes) {
        return reinterpret_cast<uint64_t*>(shared + table_bytes);
    }
    KQ_API unsigned char* images(unsigned char* shared) const { return shared + images_at; }
    KQ_API unsigned char* rings(unsigned char* shared) const { return shared + rings_at; }
    KQ_API float* products(unsigned char* shared) const {
        return reinterpret_cast<float*>(shared + products_at);
    }
};

} // namespace kq::inline KQ_ABI

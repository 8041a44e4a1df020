// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <driver_types.h>

/// What the operator uses of kq: here, nvcc needs none of PyTorch's headers and the host compiler
/// none of kq's.
namespace products {

enum class element { f32, f16, bf16 };

/// y = x W: `x` [m, k], `y` [m, n], both of type `type`, `weights` [n, k / elements] blocks.
struct product {
    std::string encoding;
    int64_t m;
    int64_t n;
    int64_t k;
    element type;
    const void* x = nullptr;
    const void* weights = nullptr;
    void* y = nullptr;
};

/// Bytes of memory.
struct sizes {
    int64_t weights;
    int64_t workspace;
};

/// What a product needs. Throws `std::invalid_argument`, in the operator's words, for an encoding
/// or sizes that cannot be.
sizes sizes_of(const product& p);

/// Launches the product on the current device. Throws `std::invalid_argument` for arguments that
/// cannot be, `std::runtime_error` for errors of CUDA.
void launch(const product& p, void* workspace, int64_t workspace_bytes, cudaStream_t stream);

} // namespace products

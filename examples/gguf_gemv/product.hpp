// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/encoding.hpp>
#include <kq/gemv/arguments.hpp>

#include <cstddef>
#include <vector>

namespace gguf_gemv {

/// A product to compute. Pointers are to host memory, the weights 16-byte aligned; there is no
/// output yet, and rows are dense.
struct product {
    kq::encoding encoding;
    kq::dense_arguments arguments;
    std::size_t weight_bytes;
};

/// A computed product.
struct product_result {
    std::vector<float> output; ///< [m, n]
    double seconds;            ///< a median, quantizing the activation included
    bool cold;                 ///< whether the time is that of weights outside the L2 cache
};

/// Computes with kq's host model on all cores.
product_result multiply_on_host(const product& p);

/// Computes on the current CUDA device with a policy of known_policies.
/// Throws kq::cuda_error, or kq::argument_error for more rows than a launch can take.
product_result multiply_on_gpu(const product& p, std::size_t policy);

/// The middle one of an odd number of times.
double median(std::vector<double> times);

} // namespace gguf_gemv

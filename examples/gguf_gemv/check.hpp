// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "product.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace gguf_gemv {

/// How far an output is from the reference, as sum (a - b)^2 / sum b^2. Numbers that are not finite
/// must be equal, NaN for NaN, and are left out of the sums.
struct check_result {
    double quantized;                  ///< against the quantized activation
    std::optional<double> unquantized; ///< against the activation before quantization, if compared
    std::int64_t rows;                 ///< output rows compared, in all columns of the batch
    std::int64_t not_finite;           ///< numbers of the output that are not finite, as is right

    /// Whether both are within their bounds; a NaN is not.
    bool passed() const;
};

/// Compares the product's output [m, n] with the reference, on a sample of the output rows if
/// there are more than 2^22 weights times batch. Rows without an expert must be exactly zero.
///
/// `gaussian`: whether the activation is normally distributed; the band of the comparison with the
/// activation before quantization holds for no other, and not for gated products.
check_result check_product(const product& p, const std::vector<float>& output, bool gaussian,
                           std::uint64_t seed);

} // namespace gguf_gemv

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/config.hpp>
#include <kq/gemv/arguments.hpp>

namespace kq::epilogues {

/// Stores a finished dot product as f32, f16 or bf16, rounded to nearest even.
///
/// The output's type is a run-time value: it costs one uniform branch an output and saves two
/// thirds of the kernels.
struct store {
    output_pointer output; ///< [m, n]
    int64_t stride;        ///< in elements

    KQ_API void operator()(int64_t batch, int64_t row, float value) const {
        const int64_t i = batch * stride + row;
        switch (output.type) {
        case element_type::f32:
            static_cast<float*>(output.data)[i] = value;
            break;
        case element_type::f16:
            static_cast<f16*>(output.data)[i] = to_f16(value);
            break;
        case element_type::bf16:
            static_cast<bf16*>(output.data)[i] = to_bf16(value);
            break;
        }
    }
};

} // namespace kq::epilogues

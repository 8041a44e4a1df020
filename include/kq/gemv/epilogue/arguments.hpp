// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/element.hpp>

namespace kq::inline KQ_ABI {

/// How gate and up products become one value.
enum class gate_function {
    silu,          ///< SwiGLU: gate * (1 / (1 + exp(-gate))) * up
    silu_clamped,  ///< as silu, with gate at most `limit` and up within +-`limit`
    silu_weighted, ///< gate * sigmoid(alpha * gate) * (up + beta), clamped as above if limit > 0
    gelu_tanh,     ///< GELU by its tanh approximation, times up
    gelu_erf,      ///< GELU by erf, times up
    relu,          ///< max(gate, 0) * up
};

/// A gate function and its constants.
struct gate_form {
    gate_function function = gate_function::silu;
    float alpha = 1;
    float beta = 0;
    float limit = 0;
};

/// What happens to finished dot products before they are stored, in this order:
///
///     term  = dot * matrix_scale[matrix] * row_scale[row] + bias[row]
///     value = term, the gate function of two, or the sum of term_weights[slot] * term
///     value = value * scale * unit_scale[unit] + residual
///
/// A gated product has two terms; that of up takes `up_matrix_scale`, `up_row_scale` and `up_bias`
/// in place of the others. A weighted sum has a term for each expert.
///
/// Each step rounds once, to nearest even, and a weighted sum's product and addition together once;
/// steps whose pointer is null are left out. `row` counts all weight rows of a launch, experts
/// included; `matrix` is the expert, or the number of a stacked matrix, else 0; `unit` is the
/// activation row or the expert slot, of a weighted sum the token.
struct epilogue_arguments {
    float scale = 1;
    const float* matrix_scale = nullptr; ///< [matrices]: 1, or as many as are stacked, or experts
    const float* up_matrix_scale = nullptr; ///< as `matrix_scale`, gated products only
    const float* row_scale = nullptr;       ///< [weight rows]
    const float* up_row_scale = nullptr;    ///< [weight rows], gated products only
    const float* bias = nullptr;            ///< [weight rows]
    const float* up_bias = nullptr;         ///< [weight rows], gated products only
    const float* unit_scale = nullptr;      ///< [units]
    input_pointer residual = {};            ///< [units, output rows], rows `residual_stride` apart
    int64_t residual_stride = 0;            ///< in elements; 0 means the output rows
    gate_form gate = {};                    ///< gated products only
    const float* term_weights = nullptr;    ///< [slots], weighted sums only
};

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/rules.hpp>
#include <kq/gemv/epilogue/epilogue.hpp>

/// The host's half of an epilogue: its rules (contract C7), and what the kernel gets.
namespace kq::inline KQ_ABI::detail {

/// What can be checked without pointers. `n`: output rows of each of `units` units.
constexpr status check_epilogue(const epilogue_arguments& e, int weight_sets, int64_t n,
                                int64_t units) {
    if (weight_sets == 2) {
        if (e.gate.function < gate_function::silu || e.gate.function > gate_function::relu) {
            return status::invalid("epilogue.gate.function", "must be one of gate_function's");
        }
        if (e.gate.function == gate_function::silu_clamped && !(e.gate.limit > 0)) {
            return status::invalid("epilogue.gate.limit", "must be above 0 where the gate clamps");
        }
    }
    return check_stride("epilogue.residual_stride", e.residual_stride, n, units);
}

/// The pointers, null where a step is left out.
inline status check_steps(const epilogue_arguments& e, int weight_sets, bool sums_terms) {
    if (!sums_terms && e.term_weights != nullptr) {
        return status::invalid("epilogue.term_weights", "is for weighted sums only");
    }
    constexpr const char* gated_only = "is for gated products only";
    if (weight_sets == 1 && e.up_matrix_scale != nullptr) {
        return status::invalid("epilogue.up_matrix_scale", gated_only);
    }
    if (weight_sets == 1 && e.up_row_scale != nullptr) {
        return status::invalid("epilogue.up_row_scale", gated_only);
    }
    if (weight_sets == 1 && e.up_bias != nullptr) {
        return status::invalid("epilogue.up_bias", gated_only);
    }
    return first_error(check_floats("epilogue.matrix_scale", e.matrix_scale),
                       check_floats("epilogue.up_matrix_scale", e.up_matrix_scale),
                       check_floats("epilogue.row_scale", e.row_scale),
                       check_floats("epilogue.up_row_scale", e.up_row_scale),
                       check_floats("epilogue.bias", e.bias),
                       check_floats("epilogue.up_bias", e.up_bias),
                       check_floats("epilogue.unit_scale", e.unit_scale),
                       check_floats("epilogue.term_weights", e.term_weights),
                       e.residual.data == nullptr
                           ? status()
                           : check_elements("epilogue.residual", e.residual.data, e.residual.type));
}

/// The epilogue of checked arguments. `n`: output rows of a unit.
template <epilogue Epilogue>
Epilogue bind_epilogue(const epilogue_arguments& a, int64_t n) {
    Epilogue e{};
    e.a = a;
    e.residual_stride = stride_or(a.residual_stride, n);
    e.any = a.scale != 1 || a.matrix_scale != nullptr || a.up_matrix_scale != nullptr ||
            a.row_scale != nullptr || a.up_row_scale != nullptr || a.bias != nullptr ||
            a.up_bias != nullptr || a.unit_scale != nullptr || a.residual.data != nullptr;
    return e;
}

} // namespace kq::inline KQ_ABI::detail

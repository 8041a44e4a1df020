// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/mapping/all.hpp>

#include <vector>

namespace gpu {

/// Every gate function, its constants included.
inline constexpr kq::gate_form gates[] = {
    {.function = kq::gate_function::silu},
    {.function = kq::gate_function::silu_clamped, .limit = 0.5f},
    {.function = kq::gate_function::silu_weighted, .alpha = 1.702f, .beta = 1, .limit = 7},
    {.function = kq::gate_function::gelu_tanh},
    {.function = kq::gate_function::gelu_erf},
    {.function = kq::gate_function::relu},
};

/// `kq::apply_gate` on the device, element by element.
std::vector<float> apply_gate(const kq::gate_form& form, const std::vector<float>& gate,
                              const std::vector<float>& up);

} // namespace gpu

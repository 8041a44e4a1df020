// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/arguments.hpp>

#include <vector>

namespace gpu {

/// `kq::apply_gate` on the device, element by element.
std::vector<float> apply_gate(const kq::gate_form& form, const std::vector<float>& gate,
                              const std::vector<float>& up);

} // namespace gpu

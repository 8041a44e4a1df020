// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace gguf_gemv {

/// Input that the tool cannot use. what() names the field and the rule that it breaks.
struct input_error : std::runtime_error {
    input_error(const std::string& field, const std::string& rule)
        : std::runtime_error(field + ": " + rule) {}
};

} // namespace gguf_gemv

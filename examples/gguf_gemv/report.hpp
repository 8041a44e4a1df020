// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "check.hpp"
#include "device.hpp"
#include "model.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gguf_gemv {

/// What happened to one tensor, or to a pair of them.
struct outcome {
    weight multiplied;
    std::int64_t batch;
    std::vector<std::int32_t> ids; ///< of experts, if slices are experts
    std::size_t bytes;             ///< of weights that the product needs
    double seconds;
    bool cold; ///< whether the time is that of weights outside the L2 cache
    std::optional<check_result> check;

    bool failed() const { return check && !check->passed(); }
};

/// What happened to all of them.
struct report {
    std::string model; ///< its path or "synthetic"
    device where;
    std::string policy;
    std::size_t skipped; ///< tensors that kq cannot multiply
    std::vector<outcome> outcomes;
};

/// The report as lines of text, or as one JSON object.
std::string text_of(const report& all);
std::string json_of(const report& all);

/// The model's tensors, as lines of text or as one JSON object.
std::string text_list_of(const gguf::file& model);
std::string json_list_of(const gguf::file& model, const std::string& name);

} // namespace gguf_gemv

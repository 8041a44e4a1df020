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
    bool cold;            ///< whether the time is that of weights outside the L2 cache
    kq::launch_plan plan; ///< on the GPU
    std::optional<check_result> check;

    bool failed() const { return check && !check->passed(); }
};

/// What happened to all of them.
struct report {
    std::string model; ///< the path of its first file or "synthetic"
    std::size_t files; ///< that it is split into
    device where;
    obstacle_counts skipped; ///< tensors that kq cannot multiply
    std::vector<outcome> outcomes;
};

/// All outcomes together.
struct totals {
    std::size_t bytes = 0;
    double seconds = 0;

    double gigabytes_per_second() const;
};
totals totals_of(const report& all);

/// The report as text, part by part as they become known: where, each outcome in its line, and what
/// there is to say of all. `name_width` is that of the column of names.
std::string text_head(const report& all);
std::string text_line(const outcome& o, const report& all, std::size_t name_width);
std::string text_summary(const report& all);

/// The characters that the names of the tensors need, within reason.
std::size_t name_width(const std::vector<weight>& weights);

/// The names of a product's tensors, as they are printed.
std::string names_of(const weight& w);

/// The report as one JSON object.
std::string json_of(const report& all);

/// The model's tensors, as lines of text or as one JSON object.
std::string text_list_of(const gguf::file& model);
std::string json_list_of(const gguf::file& model, const std::string& name);

} // namespace gguf_gemv

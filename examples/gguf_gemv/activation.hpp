// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gguf_gemv {

/// The activation of every product: the numbers of a file, or generated ones.
class activation {
public:
    /// Reads a file of little-endian f32, or settles for normally distributed numbers.
    /// Throws input_error if the file cannot be read.
    activation(const std::optional<std::string>& path, std::uint64_t seed);

    /// Whether the numbers are generated.
    bool is_generated() const { return !path_; }

    /// How many rows of `w.k` numbers there are: as asked for, or what the file holds.
    /// Throws input_error if the file holds no such matrix, or if it or the output is too large.
    std::int64_t rows_for(const weight& w, const std::optional<std::int64_t>& batch) const;

    /// The first `count` numbers. They live until the next call.
    const float* numbers(std::int64_t count);

private:
    std::optional<std::string> path_;
    std::uint64_t seed_;
    std::vector<float> numbers_;
};

} // namespace gguf_gemv

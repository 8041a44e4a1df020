// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gguf/reader.hpp"

#include <kq/blocks/encoding.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gguf_gemv {

/// A tensor as the weights [n, k] of a product: slices of more than two dimensions are stacked.
struct weight {
    const gguf::tensor* tensor;
    kq::encoding encoding;
    std::int64_t n;
    std::int64_t k;
};

/// A small model in memory: a tensor of every encoding with random blocks, one of three dimensions
/// and one that kq cannot multiply.
gguf::file synthetic_model(std::uint64_t seed);

/// Why kq cannot multiply a tensor; empty if it can.
std::string refusal(const gguf::tensor& tensor);

/// The tensors to multiply: the one of that name, or without a name every one that kq multiplies.
/// They live as long as the model.
/// Throws input_error if there is none.
std::vector<weight> choose_weights(const gguf::file& model, const std::optional<std::string>& name);

} // namespace gguf_gemv

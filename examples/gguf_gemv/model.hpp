// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gguf/reader.hpp"

#include <kq/blocks/encoding.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gguf_gemv {

/// A tensor as the weights [n, k] of a product: slices of more than two dimensions are stacked,
/// or are experts of n rows each.
struct weight {
    const gguf::tensor* tensor;
    const gguf::tensor* up; ///< of a gated product, whose gate is `tensor`; else null
    kq::encoding encoding;
    std::int64_t n;
    std::int64_t k;
    std::int64_t experts;                ///< 1 if slices are stacked
    bool is_merged = false;              ///< whether each expert has n rows of gate, then n of up
    const gguf::tensor* scale = nullptr; ///< f32, of all slices or of each; null if there is none
    const gguf::tensor* up_scale = nullptr; ///< of up
};

/// The f32 scales beside a weight, of each expert, or of each row if slices are stacked; none if
/// the weight has no scale.
std::vector<float> scales_of(const weight& w, const gguf::tensor* scale);

/// Which tensors to multiply, by which product.
struct selection {
    std::optional<std::string> tensor; ///< a name or a glob
    std::optional<std::string> gate;   ///< with up, instead of a tensor
    std::optional<std::string> up;
    std::optional<std::string> gate_up; ///< both in one tensor, instead
    bool experts = false;               ///< whether slices are experts

    /// Whether it names what to multiply.
    bool is_named() const { return tensor || gate || gate_up; }
};

/// A small model in memory: a tensor of every encoding with random blocks, pairs of gate and up of
/// two and of three dimensions, and one tensor that kq cannot multiply.
gguf::file synthetic_model(std::uint64_t seed);

/// Why kq cannot multiply a tensor.
struct obstacle {
    std::string kind;   ///< in a word or two, such as "f32"
    std::string reason; ///< as a sentence says it
};

/// What keeps kq from multiplying a tensor, if anything does.
std::optional<obstacle> obstacle_of(const gguf::tensor& tensor);

/// How many tensors have an obstacle of each kind, the most frequent first.
using obstacle_counts = std::vector<std::pair<std::string, std::int64_t>>;

/// The counts as text: "210 q4_1, 61 f32".
std::string text_of(const obstacle_counts& counts);

/// A tensor's dimensions, the row length last; "scalar" without any.
std::string shape_of(const gguf::tensor& tensor);

/// The tensors to multiply, which live as long as the model, and those that kq cannot.
struct choice {
    std::vector<weight> weights;
    obstacle_counts skipped;
};

/// Chooses the tensor that is named, or those that kq multiplies of what a glob matches, or of all.
/// Throws input_error if there is none, or if one does not suit its product.
choice choose_weights(const gguf::file& model, const selection& wanted);

} // namespace gguf_gemv

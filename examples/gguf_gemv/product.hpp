// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/encoding.hpp>
#include <kq/gemv/mapping/all.hpp>
#include <kq/gemv/plan/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace gguf_gemv {

/// A product to compute. Pointers are to host memory, the weights 16-byte aligned, and rows are
/// dense. Without ids every activation row meets the same weights; with ids it meets those of its
/// expert, and its output is zero if there is no such expert.
struct product {
    kq::encoding encoding;
    const void* weights;                ///< [n, k], with ids [experts, n, k]
    const void* up_weights;             ///< as weights, which are the gate then; null if not gated
    std::size_t weight_bytes;           ///< of each of the two, or of both if they are merged
    const float* activation;            ///< [m, k]
    std::int64_t n;                     ///< output columns
    std::int64_t k;                     ///< columns of the activation
    std::int64_t m;                     ///< rows of activation and output
    std::int64_t experts;               ///< 1 without ids
    std::span<const std::int32_t> ids;  ///< [m] or none
    bool is_merged = false;             ///< whether each expert has n rows of gate, then n of up
    std::span<const float> scales{};    ///< [n] of rows, with ids [experts]; or none
    std::span<const float> up_scales{}; ///< as scales, of up

    /// Rows from expert to expert.
    std::int64_t expert_rows() const { return is_merged ? 2 * n : n; }
    bool is_gated() const { return up_weights != nullptr; }
    bool has_experts() const { return !ids.empty(); }

    /// The expert of an activation row, if there is such an expert; 0 without ids.
    std::optional<std::int64_t> expert_of(std::int64_t row) const;

    /// Bytes of the weights that the product needs, each counted once.
    std::size_t bytes_read() const;
};

/// Gives arguments the scales of a product, null where there are none.
template <class Arguments>
void set_scales(Arguments& a, const float* scales, const float* up_scales) {
    if constexpr (std::is_same_v<Arguments, kq::experts_arguments>) {
        a.epilogue.matrix_scale = scales;
        a.epilogue.up_matrix_scale = up_scales;
    } else {
        a.epilogue.row_scale = scales;
        a.epilogue.up_row_scale = up_scales;
    }
}

/// A product as kq takes it, without an output yet.
template <class Arguments>
Arguments arguments_of(const product& p) {
    Arguments a;
    a.weights = p.weights;
    a.up_weights = p.up_weights;
    a.activation = p.activation;
    a.n = p.n;
    a.k = p.k;
    if constexpr (std::is_same_v<Arguments, kq::experts_arguments>) {
        a.expert_ids = p.ids.data();
        a.experts = p.experts;
        a.slots = p.m;
        a.expert_pitch = p.is_merged ? static_cast<std::int64_t>(p.weight_bytes) / p.experts : 0;
    } else {
        a.m = p.m;
    }
    set_scales(a, p.scales.data(), p.up_scales.data());
    return a;
}

/// A computed product.
struct product_result {
    std::vector<float> output; ///< [m, n]
    double seconds;            ///< a median, quantizing the activation included
    bool cold;                 ///< whether the time is that of weights outside the L2 cache
    kq::launch_plan plan = {}; ///< on the GPU
};

/// Computes with kq's host model on all cores.
product_result multiply_on_host(const product& p);

/// Computes on the current CUDA device. A policy is an index of known_policies; only the first one
/// takes products that are gated or have ids.
/// Throws kq::cuda_error, or kq::argument_error for more rows than a launch can take or if nothing
/// that is compiled suits the device.
product_result multiply_on_gpu(const product& p, std::size_t policy);

/// The middle one of an odd number of times.
double median(std::vector<double> times);

} // namespace gguf_gemv

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/all.hpp>
#include <kq/blocks/q8_0_aligned.hpp>
#include <kq/core/numeric.hpp>

#include <cuda/std/type_traits>

namespace kq::inline KQ_ABI {

/// The element type of an activation or an output at run time.
enum class element_type { f32, f16, bf16 };

/// The `element_type` of a C++ type. Specialize it for a type of the same layout.
template <class T>
struct element_type_of;
template <>
struct element_type_of<float> {
    static constexpr element_type value = element_type::f32;
};
template <>
struct element_type_of<f16> {
    static constexpr element_type value = element_type::f16;
};
template <>
struct element_type_of<bf16> {
    static constexpr element_type value = element_type::bf16;
};

constexpr int size_of(element_type type) {
    return type == element_type::f32 ? 4 : 2;
}

/// A pointer to elements that are read, with their type: converts from `const float*`,
/// `const f16*`, `const bf16*` and, in CUDA code, `const __half*` and `const __nv_bfloat16*`.
struct input_pointer {
    const void* data = nullptr;
    element_type type = element_type::f32;

    constexpr input_pointer() = default;
    KQ_API constexpr input_pointer(const void* data, element_type type) : data(data), type(type) {}
    template <class T>
        requires requires {
            element_type_of<T>::value;
        }
    KQ_API constexpr input_pointer(const T* data) : data(data), type(element_type_of<T>::value) {}
};

/// A pointer to elements that are written, with their type; converts like `input_pointer`. What is
/// written overlaps nothing else of the launch, but for a residual of the same type and stride,
/// which may be the output itself.
struct output_pointer {
    void* data = nullptr;
    element_type type = element_type::f32;

    constexpr output_pointer() = default;
    KQ_API constexpr output_pointer(void* data, element_type type) : data(data), type(type) {}
    template <class T>
        requires requires {
            element_type_of<T>::value;
        }
    KQ_API constexpr output_pointer(T* data) : data(data), type(element_type_of<T>::value) {}
};

namespace detail {

/// A number for each of kq's block types; 0 for every other type.
template <class Block>
KQ_API constexpr int block_kind() {
    int kind = cuda::std::is_same_v<Block, q8_0_aligned::block> ? 1000 : 0;
    [&]<class... Encodings>(type_list<Encodings...>) {
        ((kind += cuda::std::is_same_v<Block, typename Encodings::block>
                      ? static_cast<int>(Encodings::id)
                      : 0),
         ...);
    }(encodings{});
    return kind;
}

} // namespace detail

/// A pointer to weight blocks: converts from `const void*` and from a pointer to an encoding's
/// blocks. The latter's type is remembered, so that blocks of another encoding are refused.
struct weights_pointer {
    const void* data = nullptr;
    int kind = 0; ///< see `detail::block_kind`

    constexpr weights_pointer() = default;
    KQ_API constexpr weights_pointer(const void* data) : data(data) {}
    template <class Block>
        requires(detail::block_kind<Block>() != 0)
    KQ_API constexpr weights_pointer(const Block* blocks)
        : data(blocks), kind(detail::block_kind<Block>()) {}
};

/// Memory that the caller lends for quantized activations: 16-byte aligned, at least
/// `workspace_bytes(arguments)` long. Written and read by the stream's kernels only.
struct workspace {
    void* data = nullptr;
    size_t bytes = 0;
};

/// How gate and up products become one value.
enum class gate_function {
    silu,          ///< SwiGLU: gate * (1 / (1 + exp(-gate))) * up
    silu_clamped,  ///< as silu, with gate at most `limit` and up within +-`limit`
    silu_weighted, ///< gate * sigmoid(alpha * gate) * (up + beta), clamped as above if limit > 0
    gelu_tanh,     ///< GELU by its tanh approximation, times up
    gelu_erf,      ///< GELU by erf, times up
    relu,          ///< max(gate, 0) * up
};

/// A gate function and its constants.
struct gate_form {
    gate_function function = gate_function::silu;
    float alpha = 1;
    float beta = 0;
    float limit = 0;
};

/// What happens to finished dot products before they are stored, in this order:
///
///     term  = dot * row_scale[row] + bias[row]         (for gate, up and each expert's product)
///     value = term, the gate function of two, or the sum of term_weights[slot] * term
///     value = value * scale * unit_scale[unit] + residual
///
/// Each step rounds once, to nearest even, and a weighted sum's product and addition together once;
/// steps whose pointer is null are left out. `row` counts all weight rows of a launch, experts
/// included; `unit` is the activation row or the expert slot, of a weighted sum the token.
struct epilogue_arguments {
    float scale = 1;
    const float* row_scale = nullptr;    ///< [weight rows]
    const float* bias = nullptr;         ///< [weight rows]
    const float* up_bias = nullptr;      ///< [weight rows], gated products only
    const float* unit_scale = nullptr;   ///< [units]
    input_pointer residual = {};         ///< [units, output rows], rows `residual_stride` apart
    int64_t residual_stride = 0;         ///< in elements; 0 means the output rows
    gate_form gate = {};                 ///< gated products only
    const float* term_weights = nullptr; ///< [slots], weighted sums only
};

/// A dense product `output[j][r] = sum over i of weights[r][i] * activation[j][i]`.
struct dense_arguments {
    /// [n, k / elements] blocks, rows back to back, aligned to `block_alignment`
    weights_pointer weights = {};
    weights_pointer up_weights = {}; ///< as `weights`, gated products only
    input_pointer activation = {};   ///< [m, k], rows `activation_stride` elements apart
    output_pointer output = {};      ///< [m, n], rows `output_stride` elements apart
    int64_t n = 0;                   ///< weight rows
    int64_t k = 0;                   ///< columns, a multiple of the encoding's elements
    int64_t m = 1;                   ///< activation rows
    int64_t weight_pitch = 0;        ///< bytes between weight rows; 0 means back to back
    int64_t activation_stride = 0;   ///< in elements, at least k; 0 means k
    int64_t output_stride = 0;       ///< in elements, at least n; 0 means n
    epilogue_arguments epilogue = {};
};

/// One of several weight matrices that meet the same activation.
struct stacked_matrix {
    weights_pointer weights = {};    ///< [n, k / elements] blocks
    weights_pointer up_weights = {}; ///< as `weights`, gated products only
    output_pointer output = {};      ///< [m, n], rows `output_stride` elements apart
    int64_t n = 0;                   ///< weight rows, may be 0
    int64_t output_stride = 0;       ///< in elements, at least n; 0 means n
};

/// Several weight matrices of one encoding against one activation, outputs separate.
struct stacked_arguments {
    static constexpr int most_matrices = 8;

    stacked_matrix matrices[most_matrices] = {};
    int count = 0;                 ///< matrices, 1 to `most_matrices`
    input_pointer activation = {}; ///< [m, k], rows `activation_stride` elements apart
    int64_t k = 0;
    int64_t m = 1;
    int64_t activation_stride = 0;    ///< in elements, at least k; 0 means k
    epilogue_arguments epilogue = {}; ///< its weight rows are those of all matrices, in order
};

/// Which activation row an expert slot uses.
enum class slot_activation {
    per_slot,  ///< [slots, k]
    per_token, ///< [slots / top_k, k]: the slots of a token share its row
    broadcast, ///< [1, k]
};

/// Products with stacked experts, chosen on the device: slot s uses expert `expert_ids[s]`. Slots
/// whose id is outside `[0, experts)` store zeros, without the epilogue; a weighted sum leaves them
/// out and scales and adds to what remains.
struct grouped_arguments {
    weights_pointer weights = {};        ///< [experts, n, k / elements] blocks
    weights_pointer up_weights = {};     ///< as `weights`, gated products only
    input_pointer activation = {};       ///< see `activation_rows`
    output_pointer output = {};          ///< [slots, n]; of a weighted sum [slots / top_k, n]
    const int32_t* expert_ids = nullptr; ///< [slots] in device memory
    int64_t experts = 0;
    int64_t n = 0; ///< weight rows of an expert
    int64_t k = 0;
    int64_t slots = 0; ///< tokens * top_k
    int64_t top_k = 1; ///< slots of a token; of a weighted sum at most 64
    slot_activation activation_rows = slot_activation::per_slot;
    int64_t activation_stride = 0; ///< in elements, at least k; 0 means k
    int64_t output_stride = 0;     ///< in elements, at least n; 0 means n
    epilogue_arguments epilogue = {};
};

/// `groups` independent products: output rows `g * n / groups` and following use columns `g * k` to
/// `g * k + k - 1` of the activation.
struct block_diagonal_arguments {
    weights_pointer weights = {};    ///< [n, k / elements] blocks
    weights_pointer up_weights = {}; ///< as `weights`, gated products only
    input_pointer activation = {};   ///< [m, groups * k], rows `activation_stride` apart
    output_pointer output = {};      ///< [m, n], rows `output_stride` apart
    int64_t n = 0;                   ///< weight rows of all groups
    int64_t groups = 1;              ///< divides n
    int64_t k = 0;                   ///< columns of a group
    int64_t m = 1;
    int64_t activation_stride = 0; ///< in elements, at least groups * k; 0 means that
    int64_t output_stride = 0;     ///< in elements, at least n; 0 means n
    epilogue_arguments epilogue = {};
};

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/numeric.hpp>

#include <cuda/std/concepts>

namespace kq {

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
    constexpr input_pointer(const void* data, element_type type) : data(data), type(type) {}
    template <class T>
        requires requires {
            element_type_of<T>::value;
        }
    constexpr input_pointer(const T* data) : data(data), type(element_type_of<T>::value) {}
};

/// A pointer to elements that are written, with their type; converts like `input_pointer`.
struct output_pointer {
    void* data = nullptr;
    element_type type = element_type::f32;

    constexpr output_pointer() = default;
    constexpr output_pointer(void* data, element_type type) : data(data), type(type) {}
    template <class T>
        requires requires {
            element_type_of<T>::value;
        }
    constexpr output_pointer(T* data) : data(data), type(element_type_of<T>::value) {}
};

/// Memory that the caller lends for quantized activations: 16-byte aligned, at least
/// `workspace_bytes(arguments)` long. Written and read by the stream's kernels only.
struct workspace {
    void* data = nullptr;
    size_t bytes = 0;
};

/// A dense product `output[j][r] = sum over i of weights[r][i] * activation[j][i]`.
struct dense_arguments {
    /// [n, k / elements] blocks, rows back to back, aligned to `block_alignment`
    const void* weights = nullptr;
    input_pointer activation = {}; ///< [m, k], rows `activation_stride` elements apart
    output_pointer output = {};    ///< [m, n], rows `output_stride` elements apart
    int64_t n = 0;                 ///< weight rows
    int64_t k = 0;                 ///< columns, a multiple of the encoding's elements
    int64_t m = 1;                 ///< activation rows
    int64_t activation_stride = 0; ///< in elements, at least k; 0 means k
    int64_t output_stride = 0;     ///< in elements, at least n; 0 means n
};

} // namespace kq

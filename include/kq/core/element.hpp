// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/numeric.hpp>

// CUDA's, declared only: their headers cost a second of each compilation, and a host has none.
struct __half;
struct __nv_bfloat16;

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
template <>
struct element_type_of<__half> {
    static constexpr element_type value = element_type::f16;
};
template <>
struct element_type_of<__nv_bfloat16> {
    static constexpr element_type value = element_type::bf16;
};

/// A C++ type that has an `element_type`.
template <class T>
concept typed_element = requires {
    element_type_of<T>::value;
};

/// Bytes of an element.
KQ_API constexpr int size_of(element_type type) {
    return type == element_type::f32 ? 4 : 2;
}

/// Whether a number is one of `element_type`'s.
KQ_API constexpr bool is_valid(element_type type) {
    return type == element_type::f32 || type == element_type::f16 || type == element_type::bf16;
}

/// Calls `f.operator()<Element>()` with `float`, `f16` or `bf16`, as `type` says, and returns what
/// it returns. The one place where a type that is known at run time becomes a C++ type.
#if defined(__CUDACC__)
#    pragma nv_exec_check_disable // `f` may be for the host only, where the call is
#endif
template <class F>
KQ_API constexpr auto with_element(element_type type, F&& f) {
    switch (type) {
    case element_type::f16:
        return f.template operator()<f16>();
    case element_type::bf16:
        return f.template operator()<bf16>();
    case element_type::f32:
        break;
    }
    return f.template operator()<float>();
}

/// A pointer to elements that are read, with their type: converts from `const float*`,
/// `const f16*`, `const bf16*` and, in CUDA code, `const __half*` and `const __nv_bfloat16*`.
struct input_pointer {
    const void* data = nullptr;
    element_type type = element_type::f32;

    constexpr input_pointer() = default;
    KQ_API constexpr input_pointer(const void* first, element_type of) : data(first), type(of) {}
    template <typed_element T>
    KQ_API constexpr input_pointer(const T* first) : data(first), type(element_type_of<T>::value) {}

    /// Element number `index` as f32.
    KQ_API float load(int64_t index) const {
        return with_element(type, [&]<class Element>() {
            return to_f32(static_cast<const Element*>(data)[index]);
        });
    }
};

/// A pointer to elements that are written, with their type; converts like `input_pointer`. What is
/// written overlaps nothing else of the launch, but for a residual of the same type and stride,
/// which may be the output itself.
struct output_pointer {
    void* data = nullptr;
    element_type type = element_type::f32;

    constexpr output_pointer() = default;
    KQ_API constexpr output_pointer(void* first, element_type of) : data(first), type(of) {}
    template <typed_element T>
    KQ_API constexpr output_pointer(T* first) : data(first), type(element_type_of<T>::value) {}

    /// Stores element number `index`, rounded to nearest even. The type is a run-time value: it
    /// costs one uniform branch an output and saves two thirds of the kernels.
    KQ_API void store(int64_t index, float value) const {
        with_element(type, [&]<class Element>() {
            static_cast<Element*>(data)[index] = from_f32<Element>(value);
        });
    }
};

} // namespace kq::inline KQ_ABI

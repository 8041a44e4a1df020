// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/activation/rule.hpp>
#include <kq/blocks/encoding.hpp>

/// The definition of every product, over the blocks' element decode: no lanes, no cleverness.
/// Sums in double. Everything works in `static_assert`.
namespace kq::inline KQ_ABI::reference {

/// Weight `i` of a block, as ggml dequantizes it: all products but the last are exact in f32.
template <weight_encoding Encoding>
constexpr float weight(const typename Encoding::block& w, int i) {
    const float scaled = d_of<Encoding>(w, i) * Encoding::factor *
                         static_cast<float>(Encoding::scale(w, i)) *
                         static_cast<float>(Encoding::code(w, i));
    return scaled - Encoding::dmin(w) * static_cast<float>(Encoding::minimum(w, i));
}

/// Dequantizes a row.
/// `w`: [count] blocks. `out`: [count * Encoding::elements].
template <weight_encoding Encoding>
constexpr void dequantize(const typename Encoding::block* w, int64_t count, float* out) {
    for (int64_t b = 0; b < count; ++b) {
        for (int i = 0; i < Encoding::elements; ++i) {
            out[b * Encoding::elements + i] = weight<Encoding>(w[b], i);
        }
    }
}

/// How many activation blocks a weight block meets.
template <weight_encoding Encoding>
inline constexpr int activation_blocks = Encoding::elements / Encoding::activation::elements;

/// The integer core of a block: `sum of scale * code * activation code`, without any float scale
/// and before the encoding's constant factor (contract C2). Where sub-blocks have a float scale of
/// their own, their cores are those of `sub_elements` weights.
/// `x`: [activation_blocks] blocks. `first`, `count`: the weights that are added up.
template <weight_encoding Encoding>
constexpr int integer_dot(const typename Encoding::block& w,
                          const typename Encoding::activation::block* x, int first = 0,
                          int count = Encoding::elements) {
    using activation = typename Encoding::activation;
    int sum = 0;
    for (int i = first; i < first + count; ++i) {
        sum += Encoding::scale(w, i) * Encoding::code(w, i) *
               activation::code(x[i / activation::elements], i % activation::elements);
    }
    return sum;
}

/// The integer min term of a block: `sum of minimum * activation code`.
/// `x`: [activation_blocks] blocks. `first`, `count`: the weights that are added up.
template <weight_encoding Encoding>
constexpr int integer_min(const typename Encoding::block& w,
                          const typename Encoding::activation::block* x, int first = 0,
                          int count = Encoding::elements) {
    using activation = typename Encoding::activation;
    int sum = 0;
    for (int i = first; i < first + count; ++i) {
        sum += Encoding::minimum(w, i) *
               activation::code(x[i / activation::elements], i % activation::elements);
    }
    return sum;
}

/// A weight row times a quantized activation row.
/// `w`: [count] blocks. `x`: [count * activation_blocks] blocks.
template <weight_encoding Encoding>
constexpr double dot(const typename Encoding::block* w,
                     const typename Encoding::activation::block* x, int64_t count) {
    using activation = typename Encoding::activation;
    constexpr int same = sub_elements<Encoding> < activation::elements // with the same scales
                             ? sub_elements<Encoding>
                             : activation::elements;
    double sum = 0;
    for (int64_t b = 0; b < count; ++b) {
        const auto* meets = x + b * activation_blocks<Encoding>;
        for (int i = 0; i < Encoding::elements; i += same) {
            const double dot = static_cast<double>(d_of<Encoding>(w[b], i)) * Encoding::factor *
                               integer_dot<Encoding>(w[b], meets, i, same);
            const double min = static_cast<double>(Encoding::dmin(w[b])) *
                               integer_min<Encoding>(w[b], meets, i, same);
            sum +=
                static_cast<double>(activation::d(meets[i / activation::elements])) * (dot - min);
        }
    }
    return sum;
}

/// A weight row times an activation row that was never quantized: what the rounding of the
/// activation is measured against.
/// `w`: [count] blocks. `x`: [count * Encoding::elements].
template <weight_encoding Encoding>
constexpr double unquantized_dot(const typename Encoding::block* w, const float* x, int64_t count) {
    double sum = 0;
    for (int64_t b = 0; b < count; ++b) {
        for (int i = 0; i < Encoding::elements; ++i) {
            sum += static_cast<double>(weight<Encoding>(w[b], i)) * x[b * Encoding::elements + i];
        }
    }
    return sum;
}

/// The product of `n` weight rows and `m` quantized activation rows.
/// `w`: [n, count] blocks. `x`: [m, count * activation_blocks] blocks. `out`: [m, n].
template <weight_encoding Encoding>
constexpr void matmul(const typename Encoding::block* w,
                      const typename Encoding::activation::block* x, int64_t n, int64_t m,
                      int64_t count, double* out) {
    for (int64_t j = 0; j < m; ++j) {
        for (int64_t r = 0; r < n; ++r) {
            out[j * n + r] =
                dot<Encoding>(w + r * count, x + j * count * activation_blocks<Encoding>, count);
        }
    }
}

} // namespace kq::inline KQ_ABI::reference

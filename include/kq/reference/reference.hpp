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
    const float scaled = Encoding::d(w) * Encoding::factor *
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

/// The integer core of a block: `sum of scale * code * activation code`, without any float scale
/// and before the encoding's constant factor (contract C2).
template <weight_encoding Encoding>
constexpr int integer_dot(const typename Encoding::block& w,
                          const typename Encoding::activation::block& x) {
    int sum = 0;
    for (int i = 0; i < Encoding::elements; ++i) {
        sum += Encoding::scale(w, i) * Encoding::code(w, i) * Encoding::activation::code(x, i);
    }
    return sum;
}

/// The integer min term of a block: `sum of minimum * activation code`.
template <weight_encoding Encoding>
constexpr int integer_min(const typename Encoding::block& w,
                          const typename Encoding::activation::block& x) {
    int sum = 0;
    for (int i = 0; i < Encoding::elements; ++i) {
        sum += Encoding::minimum(w, i) * Encoding::activation::code(x, i);
    }
    return sum;
}

/// A weight row times a quantized activation row.
/// `w`, `x`: [count] blocks.
template <weight_encoding Encoding>
constexpr double dot(const typename Encoding::block* w,
                     const typename Encoding::activation::block* x, int64_t count) {
    double sum = 0;
    for (int64_t b = 0; b < count; ++b) {
        const double dot = static_cast<double>(Encoding::d(w[b])) * Encoding::factor *
                           integer_dot<Encoding>(w[b], x[b]);
        const double min =
            static_cast<double>(Encoding::dmin(w[b])) * integer_min<Encoding>(w[b], x[b]);
        sum += static_cast<double>(Encoding::activation::d(x[b])) * (dot - min);
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
/// `w`: [n, count] blocks. `x`: [m, count] blocks. `out`: [m, n].
template <weight_encoding Encoding>
constexpr void matmul(const typename Encoding::block* w,
                      const typename Encoding::activation::block* x, int64_t n, int64_t m,
                      int64_t count, double* out) {
    for (int64_t j = 0; j < m; ++j) {
        for (int64_t r = 0; r < n; ++r) {
            out[j * n + r] = dot<Encoding>(w + r * count, x + j * count, count);
        }
    }
}

} // namespace kq::inline KQ_ABI::reference

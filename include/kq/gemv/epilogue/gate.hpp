// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/intrinsics.hpp>
#include <kq/gemv/epilogue/arguments.hpp>

#if !defined(__CUDACC_RTC__)
#    include <math.h>
#endif

namespace kq::inline KQ_ABI {

namespace detail {

/// Comparisons that let a NaN through: where they are false the value stays (contract C1).
KQ_API float at_most(float x, float limit) {
    return is_less(limit, x) ? limit : x;
}
KQ_API float at_least(float x, float limit) {
    return is_less(x, limit) ? limit : x;
}
KQ_API float within(float x, float limit) {
    return at_least(at_most(x, limit), mul_rn(-1, limit)); // a plain minus may flush subnormals
}

KQ_API float sigmoid(float x) {
    return div_rn(1.0f, add_rn(1.0f, expf(-x)));
}

} // namespace detail

/// The value that a gate function makes of a gate and an up product. exp, tanh and erf are the
/// platform's; everything else rounds as written.
KQ_API float apply_gate(const gate_form& g, float x, float up) {
    switch (g.function) {
    case gate_function::silu:
        return mul_rn(mul_rn(x, detail::sigmoid(x)), up);
    case gate_function::silu_clamped:
        x = detail::at_most(x, g.limit);
        up = detail::within(up, g.limit);
        return mul_rn(mul_rn(x, detail::sigmoid(x)), up);
    case gate_function::silu_weighted:
        if (is_less(0, g.limit)) {
            x = detail::at_most(x, g.limit);
            up = detail::within(up, g.limit);
        }
        return mul_rn(mul_rn(x, detail::sigmoid(mul_rn(g.alpha, x))), add_rn(up, g.beta));
    case gate_function::gelu_tanh: {
        constexpr float root_2_over_pi = 0.79788456f;
        const float cubic = fma_rn(mul_rn(mul_rn(0.044715f, x), x), x, x);
        const float t = tanhf(mul_rn(root_2_over_pi, cubic));
        return mul_rn(mul_rn(mul_rn(0.5f, x), add_rn(1.0f, t)), up);
    }
    case gate_function::gelu_erf: {
        constexpr float root_half = 0.70710678f;
        const float e = erff(mul_rn(x, root_half));
        return mul_rn(mul_rn(mul_rn(0.5f, x), add_rn(1.0f, e)), up);
    }
    case gate_function::relu:
        return mul_rn(detail::at_least(x, 0.0f), up);
    }
    return x;
}

} // namespace kq::inline KQ_ABI

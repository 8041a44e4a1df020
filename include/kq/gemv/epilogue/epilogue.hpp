// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/arguments.hpp>
#include <kq/core/intrinsics.hpp>
#include <kq/core/numeric.hpp>

#include <cuda/std/cmath>
#include <cuda/std/concepts>

namespace kq::inline KQ_ABI {

/// Which output a value is for, as the row mapping knows it.
struct destination {
    output_pointer output;
    int64_t index; ///< of the element in `output`
    int64_t unit;  ///< activation row or expert slot, token of a weighted sum
    int64_t row;   ///< output row of the unit, over all matrices
};

/// Stores a value as f32, f16 or bf16, rounded to nearest even.
///
/// The type is a run-time value: it costs one uniform branch an output and saves two thirds of the
/// kernels.
KQ_API void store_value(const destination& to, float value) {
    switch (to.output.type) {
    case element_type::f32:
        static_cast<float*>(to.output.data)[to.index] = value;
        break;
    case element_type::f16:
        static_cast<f16*>(to.output.data)[to.index] = to_f16(value);
        break;
    case element_type::bf16:
        static_cast<bf16*>(to.output.data)[to.index] = to_bf16(value);
        break;
    }
}

KQ_API float load_value(const input_pointer& from, int64_t index) {
    switch (from.type) {
    case element_type::f16:
        return to_f32(static_cast<const f16*>(from.data)[index]);
    case element_type::bf16:
        return to_f32(static_cast<const bf16*>(from.data)[index]);
    case element_type::f32:
        break;
    }
    return static_cast<const float*>(from.data)[index];
}

namespace detail {

/// Comparisons that let a NaN through: where they are false the value stays (contract C7).
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

/// What happens to finished dot products before they are stored; see `epilogue_arguments`.
///
/// An epilogue says how many sets of weights it needs, gathers the dots of an output's terms in a
/// `state`, and makes the value.
namespace epilogues {

/// The steps that all epilogues share.
struct steps {
    epilogue_arguments a;
    int64_t residual_stride;
    bool any; ///< whether a step is not left out

    KQ_API float term(float dot, int64_t weight_row, const float* bias) const {
        if (!any) {
            return dot;
        }
        if (a.row_scale != nullptr) {
            dot = mul_rn(dot, a.row_scale[weight_row]);
        }
        return bias != nullptr ? add_rn(dot, bias[weight_row]) : dot;
    }

    KQ_API float value(float x, const destination& to) const {
        if (!any) {
            return x;
        }
        if (a.scale != 1) {
            x = mul_rn(x, a.scale);
        }
        if (a.unit_scale != nullptr) {
            x = mul_rn(x, a.unit_scale[to.unit]);
        }
        if (a.residual.data != nullptr) {
            x = add_rn(x, load_value(a.residual, to.unit * residual_stride + to.row));
        }
        return x;
    }
};

/// One product an output.
struct store : steps {
    static constexpr int weight_sets = 1;
    static constexpr bool sums_terms = false;
    using state = float;

    KQ_API void add(state& s, float dot, int, int64_t, int64_t weight_row) const {
        s = term(dot, weight_row, a.bias);
    }
    KQ_API float finish(const state& s, const destination& to) const { return value(s, to); }
};

/// Two products an output, gate and up, that never reach memory.
struct gated : steps {
    static constexpr int weight_sets = 2;
    static constexpr bool sums_terms = false;
    struct state {
        float gate;
        float up;
    };

    KQ_API void add(state& s, float dot, int set, int64_t, int64_t weight_row) const {
        (set == 0 ? s.gate : s.up) = term(dot, weight_row, set == 0 ? a.bias : a.up_bias);
    }
    KQ_API float finish(const state& s, const destination& to) const {
        return value(apply_gate(a.gate, s.gate, s.up), to);
    }
};

/// The products of a token's experts, weighted and added up in the order of its slots.
struct weighted_sum : steps {
    static constexpr int weight_sets = 1;
    static constexpr bool sums_terms = true;
    using state = float;

    KQ_API void add(state& s, float dot, int, int64_t slot, int64_t weight_row) const {
        const float weight = a.term_weights != nullptr ? a.term_weights[slot] : 1.0f;
        s = fma_rn(weight, term(dot, weight_row, a.bias), s);
    }
    KQ_API float finish(const state& s, const destination& to) const { return value(s, to); }
};

} // namespace epilogues

/// Requires: the shared steps as a base, a `state` per output, `add` for each of its terms,
/// `finish` for the value. One that sums terms has one set of weights.
template <class Epilogue>
concept epilogue = cuda::std::derived_from<Epilogue, epilogues::steps> &&
    requires(const Epilogue& e, typename Epilogue::state& s, const destination& to) {
    { Epilogue::sums_terms } -> cuda::std::convertible_to<bool>;
    requires Epilogue::weight_sets == 1 || (Epilogue::weight_sets == 2 && !Epilogue::sums_terms);
    e.add(s, 0.0f, 0, int64_t{0}, int64_t{0});
    { e.finish(s, to) } -> cuda::std::same_as<float>;
};

static_assert(epilogue<epilogues::store> && epilogue<epilogues::gated> &&
              epilogue<epilogues::weighted_sum>);

} // namespace kq::inline KQ_ABI

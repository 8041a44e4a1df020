// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/intrinsics.hpp>
#include <kq/gemv/epilogue/arguments.hpp>
#include <kq/gemv/epilogue/gate.hpp>

#include <kq/core/standard.hpp>

namespace kq::inline KQ_ABI {

/// Where an output goes, as the row mapping knows it.
struct destination {
    output_pointer output;
    int64_t index; ///< of the element in `output`
    int64_t unit;  ///< activation row or expert slot, token of a weighted sum
    int64_t row;   ///< output row of the unit, over all matrices
};

/// A finished dot product of a weight row and an activation row. An output is made of one or
/// several.
struct finished_dot {
    float dot;
    int set;            ///< 0, or 1 for the up product of a gated one
    int64_t slot;       ///< activation row or expert slot
    int64_t weight_row; ///< among all weight rows of the launch
    int64_t matrix;     ///< the expert, or the number of a stacked matrix, else 0
};

/// What happens to finished dot products before they are stored; see `epilogue_arguments`.
///
/// An epilogue says how many sets of weights it needs, gathers an output's terms in a `state`, and
/// makes the value of it. It is bound to its arguments by the host and copied into the kernel.
namespace epilogues {

/// The steps that all epilogues share, and their arguments.
struct steps {
    epilogue_arguments a;
    int64_t residual_stride;
    bool any; ///< whether a step is not left out

    /// A term: its dot, scaled by its matrix' and its row's scale, plus its row's bias.
    KQ_API float term(const finished_dot& d) const {
        float x = d.dot;
        if (!any) {
            return x;
        }
        const float* matrix_scale = d.set == 0 ? a.matrix_scale : a.up_matrix_scale;
        if (matrix_scale != nullptr) {
            x = mul_rn(x, matrix_scale[d.matrix]);
        }
        const float* row_scale = d.set == 0 ? a.row_scale : a.up_row_scale;
        if (row_scale != nullptr) {
            x = mul_rn(x, row_scale[d.weight_row]);
        }
        const float* bias = d.set == 0 ? a.bias : a.up_bias;
        return bias != nullptr ? add_rn(x, bias[d.weight_row]) : x;
    }

    /// What is stored where the terms make `x`.
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
            x = add_rn(x, a.residual.load(to.unit * residual_stride + to.row));
        }
        return x;
    }
};

/// One product an output.
struct store : steps {
    static constexpr int weight_sets = 1;
    static constexpr bool sums_terms = false;
    using state = float;

    KQ_API void add(state& s, const finished_dot& d) const { s = term(d); }
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

    KQ_API void add(state& s, const finished_dot& d) const {
        (d.set == 0 ? s.gate : s.up) = term(d);
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

    KQ_API void add(state& s, const finished_dot& d) const {
        const float weight = a.term_weights != nullptr ? a.term_weights[d.slot] : 1.0f;
        s = fma_rn(weight, term(d), s);
    }
    KQ_API float finish(const state& s, const destination& to) const { return value(s, to); }
};

} // namespace epilogues

/// What a product does with finished dots. docs/composition.md shows one of a user's own.
///
/// Requires: the shared steps as a base, a `state` per output that begins as zeros, `add` for each
/// of its terms, `finish` for the value. One that sums terms has one set of weights.
template <class Epilogue>
concept epilogue = standard::derived_from<Epilogue, epilogues::steps> &&
    requires(const Epilogue& e, typename Epilogue::state& s, const finished_dot& d,
             const destination& to) {
    { Epilogue::sums_terms } -> standard::convertible_to<bool>;
    requires Epilogue::weight_sets == 1 || (Epilogue::weight_sets == 2 && !Epilogue::sums_terms);
    e.add(s, d);
    { e.finish(s, to) } -> standard::same_as<float>;
};

static_assert(epilogue<epilogues::store> && epilogue<epilogues::gated> &&
              epilogue<epilogues::weighted_sum>);

} // namespace kq::inline KQ_ABI

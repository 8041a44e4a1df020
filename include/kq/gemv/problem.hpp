// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dot/dot.hpp>
#include <kq/gemv/arguments.hpp>
#include <kq/gemv/epilogue/epilogue.hpp>
#include <kq/gemv/mapping/mapping.hpp>
#include <kq/core/status.hpp>

#include <cuda/cmath>

#include <algorithm>
#include <limits>

/// What each row mapping makes of its arguments: the checks (contract C7), the sizes that all
/// mappings share, and the mapping itself.
namespace kq::inline KQ_ABI {

/// The arguments of a launch, reduced to what the plan needs.
struct problem {
    int64_t n = 0;           ///< output rows of a unit
    int64_t k = 0;           ///< columns of a weight row
    int64_t units = 0;       ///< see `row_mapping`
    int64_t output_rows = 0; ///< of an activation row or slot, as bias and residual count them
    int64_t most_rows = 0;   ///< weight rows that are read, at most; both sets counted
    int images_of_unit = 1;  ///< quantized activation rows that a unit meets
    input_pointer activation = {}; ///< [activation_rows, activation_k]
    int64_t activation_rows = 0;
    int64_t activation_k = 0;
    int64_t activation_stride = 0; ///< in elements
    bool adjacent_rows = true;     ///< whether a unit's weight rows follow each other without gaps
    int summed_terms = 0;          ///< products whose weighted sum is an output; 0 where none is

    /// Whether there is nothing to compute. A `k` of zero still stores.
    constexpr bool is_empty() const { return n == 0 || units == 0; }
};

namespace detail {

inline bool is_aligned(const void* address, int alignment) {
    return reinterpret_cast<uintptr_t>(address) % static_cast<uintptr_t>(alignment) == 0;
}

inline status check_count(const char* name, int64_t count) {
    return count < 0 || count > (std::numeric_limits<int>::max)()
               ? status::invalid(name, "must be between 0 and 2^31 - 1")
               : status();
}

template <class Encoding>
status check_columns(int64_t k) {
    static_assert(Encoding::elements == 32 || Encoding::elements == 256);
    if (k < 0 || k % Encoding::elements != 0) {
        return status::invalid("k", Encoding::elements == 32
                                        ? "must be a non-negative multiple of 32, the block"
                                        : "must be a non-negative multiple of 256, the block");
    }
    // Lanes count the bytes of a row in int.
    if (k / Encoding::elements > (std::numeric_limits<int>::max)() / block_bytes<Encoding>) {
        return status::invalid("k", "a weight row must stay below 2^31 bytes");
    }
    return {};
}

/// A distance between rows, in elements of at most four bytes; 0 stands for `least`.
inline status check_stride(const char* name, int64_t stride, int64_t least, int64_t rows) {
    if (stride != 0 && stride < least) {
        return status::invalid(name, "must be 0 or at least the length of a row");
    }
    constexpr int64_t most = (std::numeric_limits<int64_t>::max)();
    if ((std::max)(stride, least) > most / 4 / std::max<int64_t>(rows, 1)) {
        return status::invalid(name, "all rows must stay below 2^63 bytes");
    }
    return {};
}

constexpr int64_t stride_or(int64_t stride, int64_t length) {
    return stride != 0 ? stride : length;
}

inline status check_elements(const char* name, const void* data, element_type type) {
    if (data == nullptr) {
        return status::invalid(name, "must not be null");
    }
    if (type != element_type::f32 && type != element_type::f16 && type != element_type::bf16) {
        return status::invalid(name, "must have elements of f32, f16 or bf16");
    }
    if (!is_aligned(data, size_of(type))) {
        return status::invalid(name, "must be aligned to its element");
    }
    return {};
}

template <class Encoding>
status check_weights(const char* name, weights_pointer weights) {
    if (weights.data == nullptr) {
        return status::invalid(name, "must not be null");
    }
    if (weights.kind != 0 && weights.kind != block_kind<typename Encoding::block>()) {
        return status::invalid(name, "must hold blocks of the launch's encoding");
    }
    static_assert(block_alignment<Encoding> >= 2 && block_alignment<Encoding> != 8);
    if (!is_aligned(weights.data, block_alignment<Encoding>)) {
        return status::invalid(name, block_alignment<Encoding> == 16  ? "must be 16-byte aligned"
                                     : block_alignment<Encoding> == 4 ? "must be 4-byte aligned"
                                                                      : "must be 2-byte aligned");
    }
    return {};
}

/// Weights, and the second set where the epilogue needs one.
template <class Encoding, class Epilogue>
status check_sets(weights_pointer weights, weights_pointer up_weights, const char* name = "weights",
                  const char* up_name = "up_weights") {
    if (const status s = check_weights<Encoding>(name, weights); !s.ok()) {
        return s;
    }
    if constexpr (Epilogue::weight_sets == 2) {
        return check_weights<Encoding>(up_name, up_weights);
    }
    return up_weights.data == nullptr ? status()
                                      : status::invalid(up_name, "is for gated products only");
}

/// Bytes of a weight row.
template <class Encoding>
constexpr int64_t row_bytes(int64_t k) {
    return k / Encoding::elements * block_bytes<Encoding>;
}

/// The first of several outcomes that is an error.
template <class... Rest>
status first_error(status first, Rest... rest) {
    if constexpr (sizeof...(rest) == 0) {
        return first;
    } else {
        return first.ok() ? first_error(rest...) : first;
    }
}

template <class Epilogue>
status check_epilogue(const epilogue_arguments& e, int64_t n, int64_t units) {
    if constexpr (Epilogue::weight_sets == 2) {
        if (e.gate.function < gate_function::silu || e.gate.function > gate_function::relu) {
            return status::invalid("epilogue.gate.function", "must be one of gate_function's");
        }
        if (e.gate.function == gate_function::silu_clamped && !(e.gate.limit > 0)) {
            return status::invalid("epilogue.gate.limit", "must be above 0 where the gate clamps");
        }
    }
    return check_stride("epilogue.residual_stride", e.residual_stride, n, units);
}

inline status check_floats(const char* name, const float* data) {
    return is_aligned(data, 4) ? status() : status::invalid(name, "must be aligned to its element");
}

/// The pointers of an epilogue, null where its step is left out.
template <class Epilogue>
status check_steps(const epilogue_arguments& e) {
    if (!Epilogue::sums_terms && e.term_weights != nullptr) {
        return status::invalid("epilogue.term_weights", "is for weighted sums only");
    }
    if (Epilogue::weight_sets == 1 && e.up_bias != nullptr) {
        return status::invalid("epilogue.up_bias", "is for gated products only");
    }
    return first_error(check_floats("epilogue.row_scale", e.row_scale),
                       check_floats("epilogue.bias", e.bias),
                       check_floats("epilogue.up_bias", e.up_bias),
                       check_floats("epilogue.unit_scale", e.unit_scale),
                       check_floats("epilogue.term_weights", e.term_weights),
                       e.residual.data == nullptr
                           ? status()
                           : check_elements("epilogue.residual", e.residual.data, e.residual.type));
}

/// The pointers of arguments with one matrix (or a pair) and one output.
template <class Encoding, class Epilogue, class Arguments>
status check_single(const Arguments& a, const problem& of) {
    if (const status s = check_elements("output", a.output.data, a.output.type); !s.ok()) {
        return s;
    }
    if (of.k == 0) { // stores what the epilogue makes of zeros
        return check_steps<Epilogue>(a.epilogue);
    }
    return first_error(check_sets<Encoding, Epilogue>(a.weights, a.up_weights),
                       check_elements("activation", a.activation.data, a.activation.type),
                       check_steps<Epilogue>(a.epilogue));
}

/// A matrix as the mapping keeps it.
inline mappings::matrix matrix_of(weights_pointer weights, int64_t rows, int64_t row_bytes,
                                  int64_t pitch = 0) {
    const auto* bytes = static_cast<const unsigned char*>(weights.data);
    const int64_t step = stride_or(pitch, row_bytes);
    const int64_t size = rows == 0 ? 0 : (rows - 1) * step + row_bytes;
    const auto first = reinterpret_cast<uintptr_t>(bytes);
    const uintptr_t before = cuda::round_up(first, uintptr_t{16}) - first;
    const uintptr_t after = (first + static_cast<uintptr_t>(size)) % 16;
    return {bytes, step, bytes + before, bytes + (size - static_cast<int64_t>(after)),
            before != 0 || after != 0};
}

template <int Sets>
void bind_sets(mappings::matrix (&sets)[Sets], weights_pointer weights, weights_pointer up_weights,
               int64_t rows, int64_t row_bytes, int64_t pitch = 0) {
    sets[0] = matrix_of(weights, rows, row_bytes, pitch);
    if constexpr (Sets == 2) {
        sets[1] = matrix_of(up_weights, rows, row_bytes, pitch);
    }
}

} // namespace detail

// Dense ------------------------------------------------------------------------------------------

/// Checks sizes and strides, and reduces the arguments.
template <dottable Encoding, epilogue Epilogue>
status reduce(const dense_arguments& a, problem& of) {
    static_assert(!Epilogue::sums_terms, "kq: a weighted sum needs the grouped mapping");
    if (const status s =
            detail::first_error(detail::check_count("n", a.n), detail::check_count("m", a.m),
                                detail::check_columns<Encoding>(a.k));
        !s.ok()) {
        return s;
    }
    of = {.n = a.n,
          .k = a.k,
          .units = a.m,
          .output_rows = a.n,
          .most_rows = a.n * Epilogue::weight_sets,
          .images_of_unit = 1,
          .activation = a.activation,
          .activation_rows = a.m,
          .activation_k = a.k,
          .activation_stride = detail::stride_or(a.activation_stride, a.k)};
    const int64_t row_bytes = detail::row_bytes<Encoding>(a.k);
    of.adjacent_rows = detail::stride_or(a.weight_pitch, row_bytes) == row_bytes;
    if (const status s = detail::first_error(
            detail::check_stride("activation_stride", a.activation_stride, a.k, a.m),
            detail::check_stride("output_stride", a.output_stride, a.n, a.m),
            detail::check_epilogue<Epilogue>(a.epilogue, a.n, a.m));
        !s.ok()) {
        return s;
    }
    if (a.weight_pitch != 0 &&
        (a.weight_pitch < row_bytes || a.weight_pitch % block_alignment<Encoding> != 0)) {
        return status::invalid("weight_pitch",
                               "must be 0 or at least the bytes of a row, and keep rows aligned");
    }
    if (a.weight_pitch > (std::numeric_limits<int64_t>::max)() / std::max<int64_t>(a.n, 1)) {
        return status::invalid("weight_pitch", "all rows must stay below 2^63 bytes");
    }
    return {};
}

/// Checks the pointers of a product that is not empty (contract C7).
template <dottable Encoding, epilogue Epilogue>
status check_pointers(const dense_arguments& a, const problem& of) {
    return detail::check_single<Encoding, Epilogue>(a, of);
}

/// The mapping of checked arguments.
template <dottable Encoding, epilogue Epilogue>
mappings::dense<Epilogue::weight_sets> bind(const dense_arguments& a, image_rows images) {
    mappings::dense<Epilogue::weight_sets> map{};
    detail::bind_sets(map.weights, a.weights, a.up_weights, a.n, detail::row_bytes<Encoding>(a.k),
                      a.weight_pitch);
    map.images = images;
    map.output = a.output;
    map.output_stride = detail::stride_or(a.output_stride, a.n);
    map.n = static_cast<int>(a.n);
    return map;
}

// Stacked ----------------------------------------------------------------------------------------

template <dottable Encoding, epilogue Epilogue>
status reduce(const stacked_arguments& a, problem& of) {
    static_assert(!Epilogue::sums_terms, "kq: a weighted sum needs the grouped mapping");
    of = {.k = a.k,
          .units = a.m,
          .activation = a.activation,
          .activation_rows = a.m,
          .activation_k = a.k,
          .activation_stride = detail::stride_or(a.activation_stride, a.k)};
    of.adjacent_rows = false; // a group may have rows of two matrices
    if (a.count < 1 || a.count > stacked_arguments::most_matrices) {
        return status::invalid("count", "must be between 1 and 8");
    }
    if (const status s = detail::first_error(detail::check_count("m", a.m),
                                             detail::check_columns<Encoding>(a.k));
        !s.ok()) {
        return s;
    }
    for (int i = 0; i < a.count; ++i) {
        const stacked_matrix& each = a.matrices[i];
        if (const status s = detail::first_error(
                detail::check_count("matrices.n", each.n),
                detail::check_stride("matrices.output_stride", each.output_stride, each.n, a.m));
            !s.ok()) {
            return s;
        }
        of.n += each.n;
    }
    of.output_rows = of.n;
    of.most_rows = of.n * Epilogue::weight_sets;
    if (!detail::check_count("matrices.n", of.n).ok()) {
        return status::invalid("matrices.n", "all together must be below 2^31");
    }
    return detail::first_error(
        detail::check_stride("activation_stride", a.activation_stride, a.k, a.m),
        detail::check_epilogue<Epilogue>(a.epilogue, of.n, a.m));
}

template <dottable Encoding, epilogue Epilogue>
status check_pointers(const stacked_arguments& a, const problem& of) {
    for (int i = 0; i < a.count; ++i) {
        const stacked_matrix& each = a.matrices[i];
        if (each.n == 0) {
            continue;
        }
        const status output =
            detail::check_elements("matrices.output", each.output.data, each.output.type);
        const status weights =
            of.k == 0
                ? status()
                : detail::check_sets<Encoding, Epilogue>(each.weights, each.up_weights,
                                                         "matrices.weights", "matrices.up_weights");
        if (const status s = detail::first_error(output, weights); !s.ok()) {
            return s;
        }
    }
    return detail::first_error(
        of.k == 0 ? status()
                  : detail::check_elements("activation", a.activation.data, a.activation.type),
        detail::check_steps<Epilogue>(a.epilogue));
}

template <dottable Encoding, epilogue Epilogue>
mappings::stacked<Epilogue::weight_sets> bind(const stacked_arguments& a, image_rows images) {
    mappings::stacked<Epilogue::weight_sets> map{};
    const int64_t row_bytes = detail::row_bytes<Encoding>(a.k);
    int first = 0;
    for (int i = 0; i < stacked_arguments::most_matrices; ++i) {
        const stacked_matrix each = i < a.count ? a.matrices[i] : stacked_matrix{};
        map.weights[0][i] = detail::matrix_of(each.weights, each.n, row_bytes);
        if constexpr (Epilogue::weight_sets == 2) {
            map.weights[1][i] = detail::matrix_of(each.up_weights, each.n, row_bytes);
        }
        map.outputs[i] = each.output;
        map.output_strides[i] = detail::stride_or(each.output_stride, each.n);
        map.first_rows[i] = first;
        first += static_cast<int>(each.n);
    }
    map.first_rows[stacked_arguments::most_matrices] = first;
    map.images = images;
    map.n = first;
    return map;
}

// Grouped by expert ------------------------------------------------------------------------------

template <dottable Encoding, epilogue Epilogue>
status reduce(const grouped_arguments& a, problem& of) {
    if (a.top_k < 1) {
        return status::invalid("top_k", "must be at least 1");
    }
    if (const status s = detail::first_error(
            detail::check_count("n", a.n), detail::check_count("slots", a.slots),
            detail::check_count("experts", a.experts), detail::check_columns<Encoding>(a.k));
        !s.ok()) {
        return s;
    }
    if (a.activation_rows < slot_activation::per_slot ||
        a.activation_rows > slot_activation::broadcast) {
        return status::invalid("activation_rows", "must be one of slot_activation's");
    }
    if (a.slots % a.top_k != 0) {
        return status::invalid("top_k", "must divide slots");
    }
    if (a.top_k > 64 && Epilogue::sums_terms) {
        return status::invalid("top_k", "must be at most 64 for a weighted sum");
    }
    const int64_t tokens = a.slots / a.top_k;
    const int64_t units = Epilogue::sums_terms ? tokens : a.slots;
    const bool shared = a.activation_rows != slot_activation::per_slot;
    of = {.n = a.n,
          .k = a.k,
          .units = units,
          .output_rows = a.n,
          .most_rows = a.n * (std::min)(a.slots, a.experts) * Epilogue::weight_sets,
          .images_of_unit = Epilogue::sums_terms && !shared ? static_cast<int>(a.top_k) : 1,
          .activation = a.activation,
          .activation_rows = a.activation_rows == slot_activation::per_slot    ? a.slots
                             : a.activation_rows == slot_activation::per_token ? tokens
                                                                               : 1,
          .activation_k = a.k,
          .activation_stride = detail::stride_or(a.activation_stride, a.k)};
    of.summed_terms = Epilogue::sums_terms ? static_cast<int>(a.top_k) : 0;
    const int64_t expert_bytes = a.n * detail::row_bytes<Encoding>(a.k) * Epilogue::weight_sets;
    if (expert_bytes != 0 && a.experts > (std::numeric_limits<int64_t>::max)() / expert_bytes) {
        return status::invalid("experts", "all weights must stay below 2^63 bytes");
    }
    return detail::first_error(
        detail::check_stride("activation_stride", a.activation_stride, a.k, of.activation_rows),
        detail::check_stride("output_stride", a.output_stride, a.n, units),
        detail::check_epilogue<Epilogue>(a.epilogue, a.n, units));
}

template <dottable Encoding, epilogue Epilogue>
status check_pointers(const grouped_arguments& a, const problem& of) {
    if (const status s = detail::check_elements("output", a.output.data, a.output.type); !s.ok()) {
        return s;
    }
    if (a.expert_ids == nullptr || !detail::is_aligned(a.expert_ids, 4)) {
        return status::invalid("expert_ids", "must be a 4-byte aligned device pointer");
    }
    if (of.k == 0) {
        return detail::check_steps<Epilogue>(a.epilogue);
    }
    return detail::first_error(
        a.experts == 0 ? status() : detail::check_sets<Encoding, Epilogue>(a.weights, a.up_weights),
        detail::check_elements("activation", a.activation.data, a.activation.type),
        detail::check_steps<Epilogue>(a.epilogue));
}

template <dottable Encoding, epilogue Epilogue>
mappings::grouped<Epilogue::weight_sets> bind(const grouped_arguments& a, image_rows images) {
    mappings::grouped<Epilogue::weight_sets> map{};
    detail::bind_sets(map.weights, a.weights, a.up_weights, a.experts * a.n,
                      detail::row_bytes<Encoding>(a.k));
    map.ids = a.expert_ids;
    map.experts = a.experts;
    map.images = images;
    map.activation = a.activation_rows;
    map.top_k = a.top_k;
    map.slots_of_unit = Epilogue::sums_terms ? static_cast<int>(a.top_k) : 1;
    map.output = a.output;
    map.output_stride = detail::stride_or(a.output_stride, a.n);
    map.n = static_cast<int>(a.n);
    return map;
}

// Block-diagonal ---------------------------------------------------------------------------------

template <dottable Encoding, epilogue Epilogue>
status reduce(const block_diagonal_arguments& a, problem& of) {
    static_assert(!Epilogue::sums_terms, "kq: a weighted sum needs the grouped mapping");
    if (a.groups < 1) {
        return status::invalid("groups", "must be at least 1");
    }
    if (const status s = detail::first_error(
            detail::check_count("n", a.n), detail::check_count("m", a.m),
            detail::check_count("groups", a.groups), detail::check_columns<Encoding>(a.k));
        !s.ok()) {
        return s;
    }
    if (a.n % a.groups != 0) {
        return status::invalid("groups", "must divide n");
    }
    if (a.k > (std::numeric_limits<int>::max)() / a.groups) {
        return status::invalid("k", "groups * k must stay below 2^31");
    }
    const int64_t columns = a.groups * a.k;
    of = {.n = a.n / a.groups,
          .k = a.k,
          .units = a.m * a.groups,
          .output_rows = a.n,
          .most_rows = a.n * Epilogue::weight_sets,
          .images_of_unit = 1,
          .activation = a.activation,
          .activation_rows = a.m,
          .activation_k = columns,
          .activation_stride = detail::stride_or(a.activation_stride, columns)};
    return detail::first_error(
        detail::check_stride("activation_stride", a.activation_stride, columns, a.m),
        detail::check_stride("output_stride", a.output_stride, a.n, a.m),
        detail::check_epilogue<Epilogue>(a.epilogue, a.n, a.m));
}

template <dottable Encoding, epilogue Epilogue>
status check_pointers(const block_diagonal_arguments& a, const problem& of) {
    return detail::check_single<Encoding, Epilogue>(a, of);
}

template <dottable Encoding, epilogue Epilogue>
mappings::block_diagonal<Epilogue::weight_sets> bind(const block_diagonal_arguments& a,
                                                     image_rows images) {
    mappings::block_diagonal<Epilogue::weight_sets> map{};
    detail::bind_sets(map.weights, a.weights, a.up_weights, a.n, detail::row_bytes<Encoding>(a.k));
    map.images = images;
    map.groups = a.groups;
    map.group_blocks = a.k / Encoding::elements;
    map.output = a.output;
    map.output_stride = detail::stride_or(a.output_stride, a.n);
    map.n = static_cast<int>(a.n / a.groups);
    return map;
}

/// The epilogue of checked arguments.
template <epilogue Epilogue>
Epilogue bind_epilogue(const epilogue_arguments& a, const problem& of) {
    Epilogue e{};
    e.a = a;
    e.residual_stride = detail::stride_or(a.residual_stride, of.output_rows);
    e.any = a.scale != 1 || a.row_scale != nullptr || a.bias != nullptr || a.up_bias != nullptr ||
            a.unit_scale != nullptr || a.residual.data != nullptr;
    return e;
}

} // namespace kq::inline KQ_ABI

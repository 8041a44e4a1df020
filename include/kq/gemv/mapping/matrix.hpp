// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/weights_pointer.hpp>
#include <kq/core/rules.hpp>
#include <kq/gemv/mapping/facts.hpp>

namespace kq::inline KQ_ABI {

/// A weight row, and what may be read around it: its matrix from the first to the last multiple of
/// 16 bytes.
struct weight_row {
    const unsigned char* bytes;         ///< [blocks] blocks
    const unsigned char* aligned_begin; ///< of the matrix, a multiple of 16
    const unsigned char* aligned_end;   ///< likewise
    int64_t index;                      ///< among all weight rows of the launch
    int64_t matrix;                     ///< the expert, or the number of a stacked matrix, else 0
};

namespace detail {

/// Bytes from the first of `count` things to the end of the last, each of `size` bytes and `step`
/// bytes apart.
constexpr int64_t extent(int64_t count, int64_t step, int64_t size) {
    return count == 0 ? 0 : (count - 1) * step + size;
}

} // namespace detail

/// The weights of one matrix, row after row.
struct weight_matrix {
    const unsigned char* bytes;         ///< [rows, pitch]
    int64_t pitch;                      ///< bytes between rows
    const unsigned char* aligned_begin; ///< see `weight_row`
    const unsigned char* aligned_end;
    bool ragged; ///< whether bytes lie outside of these

    KQ_API weight_row row(int64_t r, int64_t index, int64_t matrix = 0) const {
        return row_at(r * pitch, index, matrix);
    }
    /// The row that begins `offset` bytes behind the first one.
    KQ_API weight_row row_at(int64_t offset, int64_t index, int64_t matrix) const {
        return {bytes + offset, aligned_begin, aligned_end, index, matrix};
    }

    /// A matrix of `rows` rows of `row_bytes` bytes, `pitch` bytes apart; 0 means back to back.
    static weight_matrix bind(weights_pointer weights, int64_t rows, int64_t row_bytes,
                              int64_t pitch = 0) {
        const int64_t step = detail::stride_or(pitch, row_bytes);
        return bind_range(weights, detail::extent(rows, step, row_bytes), step);
    }
    /// Rows within `size` bytes, all of which may be read.
    static weight_matrix bind_range(weights_pointer weights, int64_t size, int64_t pitch) {
        const auto* bytes = static_cast<const unsigned char*>(weights.data);
        const auto first = reinterpret_cast<uintptr_t>(bytes);
        const uintptr_t before = (16 - first % 16) % 16;
        const uintptr_t after = (first + static_cast<uintptr_t>(size)) % 16;
        return {bytes, pitch, bytes + before, bytes + (size - static_cast<int64_t>(after)),
                before != 0 || after != 0};
    }
};

/// The quantized activation rows of a launch.
struct image_rows {
    const unsigned char* first; ///< [rows, row_bytes]
    int64_t row_bytes;
};

namespace detail {

/// Bytes of a weight row.
constexpr int64_t row_bytes(const encoding_facts& weights, int64_t k) {
    return k / weights.elements * weights.block_bytes;
}

constexpr status check_columns(const encoding_facts& weights, int64_t k) {
    if (k < 0 || k % weights.elements != 0) {
        return status::invalid("k", weights.columns_rule);
    }
    // Lanes count the bytes of a row in int.
    return k / weights.elements > most_int / weights.block_bytes
               ? status::invalid("k", "a weight row must stay below 2^31 bytes")
               : status();
}

/// Bytes between `count` rows, or experts, of `least` bytes each; 0 means back to back. `rule`:
/// what a pitch breaks that lets them overlap or does not keep rows aligned.
constexpr status check_pitch(const encoding_facts& weights, const char* name, int64_t pitch,
                             int64_t least, int64_t count, const char* rule) {
    if (pitch != 0 && (pitch < least || pitch % weights.alignment != 0)) {
        return status::invalid(name, rule);
    }
    return pitch > most_int64 / (count > 1 ? count : 1)
               ? status::invalid(name, "all rows must stay below 2^63 bytes")
               : status();
}

/// Bytes between weight rows; 0 stands for those of a row.
constexpr status check_weight_pitch(const encoding_facts& weights, int64_t pitch, int64_t row_bytes,
                                    int64_t rows, const char* name = "weight_pitch") {
    return check_pitch(weights, name, pitch, row_bytes, rows,
                       "must be 0 or at least the bytes of a row, and keep rows aligned");
}

inline status check_weights(const encoding_facts& facts, const char* name,
                            weights_pointer weights) {
    if (weights.data == nullptr) {
        return status::invalid(name, "must not be null");
    }
    if (weights.block_bytes != 0 &&
        (weights.id != facts.id || weights.block_bytes != facts.block_bytes)) {
        return status::invalid(name, "must hold blocks of the launch's encoding");
    }
    return is_aligned(weights.data, facts.alignment) ? status()
                                                     : status::invalid(name, facts.alignment_rule);
}

/// Weights, and the second set where the product needs one.
inline status check_sets(const product_facts& facts, weights_pointer weights,
                         weights_pointer up_weights, const char* name = "weights",
                         const char* up_name = "up_weights") {
    if (const status s = check_weights(facts.weights, name, weights); !s.ok()) {
        return s;
    }
    if (facts.weight_sets == 2) {
        return check_weights(facts.weights, up_name, up_weights);
    }
    return up_weights.data == nullptr ? status()
                                      : status::invalid(up_name, "is for gated products only");
}

/// One or two sets of the same matrix.
template <size_t Sets>
void bind_sets(weight_matrix (&sets)[Sets], weights_pointer weights, weights_pointer up_weights,
               int64_t rows, int64_t row_bytes, int64_t pitch = 0) {
    sets[0] = weight_matrix::bind(weights, rows, row_bytes, pitch);
    if constexpr (Sets == 2) {
        sets[1] = weight_matrix::bind(up_weights, rows, row_bytes, pitch);
    }
}

/// Whether a matrix of any set does not begin and end at multiples of 16 bytes.
template <size_t Sets>
KQ_API bool any_ragged(const weight_matrix (&sets)[Sets]) {
    return sets[0].ragged || sets[Sets - 1].ragged;
}

} // namespace detail

} // namespace kq::inline KQ_ABI

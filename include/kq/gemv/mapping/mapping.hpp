// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>
#include <kq/gemv/arguments.hpp>
#include <kq/gemv/epilogue/epilogue.hpp>

#include <cuda/std/concepts>

namespace kq::inline KQ_ABI {

/// A weight row, and what may be read around it: its matrix from the first to the last multiple of
/// 16 bytes.
struct weight_row {
    const unsigned char* bytes;         ///< [blocks] blocks
    const unsigned char* aligned_begin; ///< of the matrix, a multiple of 16
    const unsigned char* aligned_end;   ///< likewise
    int64_t index;                      ///< among all weight rows of the launch
};

/// The quantized activation rows of a launch.
struct image_rows {
    const unsigned char* first; ///< [rows, row_bytes]
    int64_t row_bytes;
};

/// A row mapping says which weight rows and which activation row an output needs. Work comes in
/// units: a unit is an activation row (or what takes its place), and every unit has `n` output
/// rows. An output is made of `terms` terms, each a weight row times an activation row. The
/// activation rows of a batch of units follow each other, those of terms do too or are all one. For
/// a row past the last it gives some address, which nobody reads. It is `ragged` where a matrix
/// does not begin and end at multiples of 16 bytes.
///
/// `Sets`: 2 where every weight matrix comes twice, as gate and up.
namespace mappings {

/// The weights of one matrix, row after row.
struct matrix {
    const unsigned char* bytes;         ///< [rows, pitch]
    int64_t pitch;                      ///< bytes between rows
    const unsigned char* aligned_begin; ///< see `weight_row`
    const unsigned char* aligned_end;
    bool ragged; ///< whether bytes lie outside of these

    KQ_API weight_row row(int64_t r, int64_t index) const {
        return {bytes + r * pitch, aligned_begin, aligned_end, index};
    }
};

/// Every weight row meets every activation row. A unit is an activation row.
template <int Sets>
struct dense {
    using arguments = dense_arguments;
    static constexpr bool batchable = true;
    static constexpr bool chosen_on_device = false;

    int n;
    matrix weights[Sets];
    image_rows images;
    output_pointer output;
    int64_t output_stride;

    KQ_API bool ragged() const { return weights[0].ragged || weights[Sets - 1].ragged; }
    KQ_API int terms() const { return Sets; }
    KQ_API bool has_term(int64_t, int) const { return true; }
    KQ_API weight_row row(int64_t, int term, int r) const { return weights[term % Sets].row(r, r); }
    KQ_API int64_t image_row(int64_t unit, int) const { return unit; }
    KQ_API int64_t first_block(int64_t) const { return 0; }
    KQ_API int64_t slot(int64_t unit, int) const { return unit; }
    KQ_API destination to(int64_t unit, int r) const {
        return {output, unit * output_stride + r, unit, r};
    }
};

/// Several matrices meet every activation row, as if their rows followed each other; outputs are
/// separate. A unit is an activation row.
template <int Sets>
struct stacked {
    using arguments = stacked_arguments;
    static constexpr bool batchable = true;
    static constexpr bool chosen_on_device = false;
    static constexpr int most = stacked_arguments::most_matrices;

    int n;
    matrix weights[Sets][most];
    output_pointer outputs[most];
    int64_t output_strides[most];
    int first_rows[most + 1]; ///< the first row of each matrix, then the end of all
    image_rows images;

    KQ_API bool ragged() const {
        bool any = false;
        for (int i = 0; i < most; ++i) {
            any = any || weights[0][i].ragged || weights[Sets - 1][i].ragged;
        }
        return any;
    }
    /// The matrix of a row; the last one for rows past the end.
    KQ_API int matrix_of(int r) const {
        int i = 0;
        while (i + 1 < most && r >= first_rows[i + 1]) {
            ++i;
        }
        return i;
    }
    KQ_API int terms() const { return Sets; }
    KQ_API bool has_term(int64_t, int) const { return true; }
    KQ_API weight_row row(int64_t, int term, int r) const {
        const int i = matrix_of(r);
        return weights[term % Sets][i].row(r - first_rows[i], r);
    }
    KQ_API int64_t image_row(int64_t unit, int) const { return unit; }
    KQ_API int64_t first_block(int64_t) const { return 0; }
    KQ_API int64_t slot(int64_t unit, int) const { return unit; }
    KQ_API destination to(int64_t unit, int r) const {
        const int i = matrix_of(r);
        return {outputs[i], unit * output_strides[i] + r - first_rows[i], unit, r};
    }
};

/// Each slot meets the expert that its id chooses. A unit is a slot or, where an output sums the
/// terms of a token's slots, a token.
template <int Sets>
struct grouped {
    using arguments = grouped_arguments;
    static constexpr bool batchable = false;
    static constexpr bool chosen_on_device = true;

    int n;
    matrix weights[Sets]; ///< the rows of all experts
    const int32_t* ids;   ///< [slots]
    int64_t experts;
    image_rows images;
    slot_activation activation;
    int64_t top_k;
    int slots_of_unit; ///< 1, or top_k where an output sums its terms
    output_pointer output;
    int64_t output_stride;

    KQ_API bool ragged() const { return weights[0].ragged || weights[Sets - 1].ragged; }
    KQ_API int terms() const { return Sets * slots_of_unit; }
    KQ_API int64_t slot(int64_t unit, int term) const {
        return unit * slots_of_unit + (slots_of_unit > 1 ? term : 0);
    }
    KQ_API bool has_term(int64_t unit, int term) const {
        const int32_t id = ids[slot(unit, term)];
        return id >= 0 && id < experts;
    }
    KQ_API weight_row row(int64_t unit, int term, int r) const {
        const int64_t index = ids[slot(unit, term)] * int64_t{n} + r;
        return weights[term % Sets].row(index, index);
    }
    KQ_API int64_t image_row(int64_t unit, int term) const {
        const int64_t s = slot(unit, term);
        return activation == slot_activation::per_slot    ? s
               : activation == slot_activation::per_token ? s / top_k
                                                          : 0;
    }
    KQ_API int64_t first_block(int64_t) const { return 0; }
    KQ_API destination to(int64_t unit, int r) const {
        return {output, unit * output_stride + r, unit, r};
    }
};

/// Groups of output rows meet their own columns of the activation. A unit is a group of an
/// activation row.
template <int Sets>
struct block_diagonal {
    using arguments = block_diagonal_arguments;
    static constexpr bool batchable = false;
    static constexpr bool chosen_on_device = false;

    int n; ///< output rows of a group
    matrix weights[Sets];
    image_rows images;
    int64_t groups;
    int64_t group_blocks; ///< weight blocks of a group's columns
    output_pointer output;
    int64_t output_stride;

    KQ_API bool ragged() const { return weights[0].ragged || weights[Sets - 1].ragged; }
    KQ_API int terms() const { return Sets; }
    KQ_API bool has_term(int64_t, int) const { return true; }
    KQ_API weight_row row(int64_t unit, int term, int r) const {
        const int64_t index = unit % groups * n + r;
        return weights[term % Sets].row(index, index);
    }
    KQ_API int64_t image_row(int64_t unit, int) const { return unit / groups; }
    KQ_API int64_t first_block(int64_t unit) const { return unit % groups * group_blocks; }
    KQ_API int64_t slot(int64_t unit, int) const { return unit; }
    KQ_API destination to(int64_t unit, int r) const {
        const int64_t row = unit % groups * n + r;
        return {output, unit / groups * output_stride + row, unit / groups, row};
    }
};

} // namespace mappings

/// Requires: what the mainloop asks of a mapping, see `mappings`.
template <class Mapping>
concept row_mapping = requires(const Mapping& m, int64_t unit, int term, int r) {
    typename Mapping::arguments;
    { Mapping::batchable } -> cuda::std::convertible_to<bool>;
    { Mapping::chosen_on_device } -> cuda::std::convertible_to<bool>;
    { m.ragged() } -> cuda::std::same_as<bool>;
    { m.terms() } -> cuda::std::same_as<int>;
    { m.has_term(unit, term) } -> cuda::std::same_as<bool>;
    { m.row(unit, term, r) } -> cuda::std::same_as<weight_row>;
    { m.image_row(unit, term) } -> cuda::std::same_as<int64_t>;
    { m.first_block(unit) } -> cuda::std::same_as<int64_t>;
    { m.slot(unit, term) } -> cuda::std::same_as<int64_t>;
    { m.to(unit, r) } -> cuda::std::same_as<destination>;
    { m.n } -> cuda::std::convertible_to<int>;
};

static_assert(row_mapping<mappings::dense<1>> && row_mapping<mappings::stacked<2>> &&
              row_mapping<mappings::grouped<1>> && row_mapping<mappings::block_diagonal<1>>);

} // namespace kq::inline KQ_ABI

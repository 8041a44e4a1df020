// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/mapping/mapping.hpp>

namespace kq::inline KQ_ABI {

/// One of several weight matrices that meet the same activation.
struct stacked_matrix {
    weights_pointer weights = {};    ///< [n, k / elements] blocks, rows `weight_pitch` bytes apart
    weights_pointer up_weights = {}; ///< as `weights`, gated products only
    output_pointer output = {};      ///< [m, n], rows `output_stride` elements apart
    int64_t n = 0;                   ///< weight rows, may be 0
    int64_t weight_pitch = 0;        ///< bytes between weight rows; 0 means back to back
    int64_t output_stride = 0;       ///< in elements, at least n; 0 means n
};

/// Several weight matrices of one encoding against one activation, outputs separate.
struct stacked_arguments {
    static constexpr int most_matrices = 8;

    stacked_matrix matrices[most_matrices] = {};
    int count = 0;                 ///< matrices, 1 to `most_matrices`
    input_pointer activation = {}; ///< [m, k], rows `activation_stride` elements apart
    int64_t k = 0;
    int64_t m = 1;
    int64_t activation_stride = 0;    ///< in elements, at least k; 0 means k
    epilogue_arguments epilogue = {}; ///< its weight rows are those of all matrices, in order
};

namespace mappings {

/// Several matrices meet every activation row, as if their rows followed each other; outputs are
/// separate. A unit is an activation row.
///
/// `Sets`: 2 where every weight matrix comes twice, as gate and up.
template <int Sets>
struct stacked {
    using arguments = stacked_arguments;
    static constexpr bool batchable = true;
    static constexpr bool chosen_on_device = false;
    static constexpr int most = stacked_arguments::most_matrices;

    int n;
    weight_matrix weights[static_cast<size_t>(Sets)][most];
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
        return weights[term % Sets][i].row(r - first_rows[i], r, i);
    }
    KQ_API int64_t image_row(int64_t unit, int) const { return unit; }
    KQ_API int64_t first_block(int64_t) const { return 0; }
    KQ_API int64_t slot(int64_t unit, int) const { return unit; }
    KQ_API destination to(int64_t unit, int r) const {
        const int i = matrix_of(r);
        return {outputs[i], unit * output_strides[i] + r - first_rows[i], unit, r};
    }

    static status measure(const arguments& a, const product_facts& facts, product_sizes& out) {
        if (a.count < 1 || a.count > most) {
            return status::invalid("count", "must be between 1 and 8");
        }
        if (const status s = detail::first_error(detail::check_count("m", a.m),
                                                 detail::check_columns(facts.weights, a.k));
            !s.ok()) {
            return s;
        }
        out.k = a.k;
        out.units = a.m;
        out.adjacent_rows = false; // a group may have rows of two matrices
        out.activation = {a.activation, a.k, a.m, detail::stride_or(a.activation_stride, a.k)};
        const int64_t row_bytes = detail::row_bytes(facts.weights, a.k);
        for (int i = 0; i < a.count; ++i) {
            const stacked_matrix& each = a.matrices[i];
            if (const status s = detail::first_error(
                    detail::check_count("matrices.n", each.n),
                    detail::check_stride("matrices.output_stride", each.output_stride, each.n, a.m),
                    detail::check_weight_pitch(facts.weights, each.weight_pitch, row_bytes, each.n,
                                               "matrices.weight_pitch"));
                !s.ok()) {
                return s;
            }
            out.n += each.n;
        }
        out.output_rows = out.n;
        out.most_rows = out.n * Sets;
        if (!detail::check_count("matrices.n", out.n).ok()) {
            return status::invalid("matrices.n", "all together must be below 2^31");
        }
        return detail::first_error(
            detail::check_stride("activation_stride", a.activation_stride, a.k, a.m),
            detail::check_epilogue(a.epilogue, Sets, out.n, a.m));
    }

    static status check(const arguments& a, const product_facts& facts,
                        const product_sizes& sizes) {
        for (int i = 0; i < a.count; ++i) {
            const stacked_matrix& each = a.matrices[i];
            if (each.n == 0) {
                continue;
            }
            const status output =
                detail::check_elements("matrices.output", each.output.data, each.output.type);
            const status weights =
                sizes.k == 0 ? status()
                             : detail::check_sets(facts, each.weights, each.up_weights,
                                                  "matrices.weights", "matrices.up_weights");
            if (const status s = detail::first_error(output, weights); !s.ok()) {
                return s;
            }
        }
        return detail::first_error(
            sizes.k == 0
                ? status()
                : detail::check_elements("activation", a.activation.data, a.activation.type),
            detail::check_steps(a.epilogue, Sets, facts.sums_terms));
    }

    static stacked bind(const arguments& a, const product_facts&, const product_sizes& sizes,
                        image_rows images) {
        stacked map{};
        int first = 0;
        for (int i = 0; i < most; ++i) {
            const stacked_matrix each = i < a.count ? a.matrices[i] : stacked_matrix{};
            map.weights[0][i] =
                weight_matrix::bind(each.weights, each.n, sizes.row_bytes, each.weight_pitch);
            if constexpr (Sets == 2) {
                map.weights[1][i] = weight_matrix::bind(each.up_weights, each.n, sizes.row_bytes,
                                                        each.weight_pitch);
            }
            map.outputs[i] = each.output;
            map.output_strides[i] = detail::stride_or(each.output_stride, each.n);
            map.first_rows[i] = first;
            first += static_cast<int>(each.n);
        }
        map.first_rows[most] = first;
        map.images = images;
        map.n = first;
        return map;
    }
};

static_assert(row_mapping<stacked<1>> && row_mapping<stacked<2>>);

} // namespace mappings

} // namespace kq::inline KQ_ABI

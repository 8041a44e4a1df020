// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/mapping/mapping.hpp>

namespace kq::inline KQ_ABI {

/// A dense product `output[j][r] = sum over i of weights[r][i] * activation[j][i]`.
struct dense_arguments {
    /// [n, k / elements] blocks, rows `weight_pitch` bytes apart, aligned to `block_alignment`
    weights_pointer weights = {};
    weights_pointer up_weights = {}; ///< as `weights`, gated products only
    input_pointer activation = {};   ///< [m, k], rows `activation_stride` elements apart
    output_pointer output = {};      ///< [m, n], rows `output_stride` elements apart
    int64_t n = 0;                   ///< weight rows
    int64_t k = 0;                   ///< columns, a multiple of the encoding's elements
    int64_t m = 1;                   ///< activation rows
    int64_t weight_pitch = 0;        ///< bytes between weight rows; 0 means back to back
    int64_t activation_stride = 0;   ///< in elements, at least k; 0 means k
    int64_t output_stride = 0;       ///< in elements, at least n; 0 means n
    epilogue_arguments epilogue = {};
};

namespace mappings {

/// Every weight row meets every activation row. A unit is an activation row.
///
/// `Sets`: 2 where every weight matrix comes twice, as gate and up.
template <int Sets>
struct dense {
    using arguments = dense_arguments;
    static constexpr bool batchable = true;
    static constexpr bool chosen_on_device = false;

    int n;
    weight_matrix weights[static_cast<size_t>(Sets)];
    image_rows images;
    output_pointer output;
    int64_t output_stride;

    KQ_API bool ragged() const { return detail::any_ragged(weights); }
    KQ_API int terms() const { return Sets; }
    KQ_API bool has_term(int64_t, int) const { return true; }
    KQ_API weight_row row(int64_t, int term, int r) const { return weights[term % Sets].row(r, r); }
    KQ_API int64_t image_row(int64_t unit, int) const { return unit; }
    KQ_API int64_t first_block(int64_t) const { return 0; }
    KQ_API int64_t slot(int64_t unit, int) const { return unit; }
    KQ_API destination to(int64_t unit, int r) const {
        return {output, unit * output_stride + r, unit, r};
    }

    static status measure(const arguments& a, const product_facts& facts, product_sizes& out) {
        if (const status s =
                detail::first_error(detail::check_count("n", a.n), detail::check_count("m", a.m),
                                    detail::check_columns(facts.weights, a.k));
            !s.ok()) {
            return s;
        }
        const int64_t row_bytes = detail::row_bytes(facts.weights, a.k);
        out.n = a.n;
        out.k = a.k;
        out.units = a.m;
        out.output_rows = a.n;
        out.most_rows = a.n * Sets;
        out.adjacent_rows = detail::stride_or(a.weight_pitch, row_bytes) == row_bytes;
        out.activation = {a.activation, a.k, a.m, detail::stride_or(a.activation_stride, a.k)};
        return detail::first_error(
            detail::check_stride("activation_stride", a.activation_stride, a.k, a.m),
            detail::check_stride("output_stride", a.output_stride, a.n, a.m),
            detail::check_epilogue(a.epilogue, Sets, a.n, a.m),
            detail::check_weight_pitch(facts.weights, a.weight_pitch, row_bytes, a.n));
    }

    static status check(const arguments& a, const product_facts& facts,
                        const product_sizes& sizes) {
        return detail::check_single(a, facts, sizes);
    }

    static dense bind(const arguments& a, const product_facts&, const product_sizes& sizes,
                      image_rows images) {
        dense map{};
        detail::bind_sets(map.weights, a.weights, a.up_weights, a.n, sizes.row_bytes,
                          a.weight_pitch);
        map.images = images;
        map.output = a.output;
        map.output_stride = detail::stride_or(a.output_stride, a.n);
        map.n = static_cast<int>(a.n);
        return map;
    }
};

static_assert(row_mapping<dense<1>> && row_mapping<dense<2>>);

} // namespace mappings

} // namespace kq::inline KQ_ABI

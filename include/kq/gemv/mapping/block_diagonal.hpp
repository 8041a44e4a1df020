// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/mapping/mapping.hpp>

namespace kq::inline KQ_ABI {

/// `groups` independent products: output rows `g * n / groups` and following use columns `g * k` to
/// `g * k + k - 1` of the activation.
struct block_diagonal_arguments {
    weights_pointer weights = {};    ///< [n, k / elements] blocks, rows `weight_pitch` bytes apart
    weights_pointer up_weights = {}; ///< as `weights`, gated products only
    input_pointer activation = {};   ///< [m, groups * k], rows `activation_stride` apart
    output_pointer output = {};      ///< [m, n], rows `output_stride` apart
    int64_t n = 0;                   ///< weight rows of all groups
    int64_t groups = 1;              ///< divides n
    int64_t k = 0;                   ///< columns of a group
    int64_t m = 1;
    int64_t weight_pitch = 0;      ///< bytes between weight rows; 0 means back to back
    int64_t activation_stride = 0; ///< in elements, at least groups * k; 0 means that
    int64_t output_stride = 0;     ///< in elements, at least n; 0 means n
    epilogue_arguments epilogue = {};
};

namespace mappings {

/// Groups of output rows meet their own columns of the activation. A unit is a group of an
/// activation row.
///
/// `Sets`: 2 where every weight matrix comes twice, as gate and up.
template <int Sets>
struct block_diagonal {
    using arguments = block_diagonal_arguments;
    static constexpr bool batchable = false;
    static constexpr bool chosen_on_device = false;

    int n; ///< output rows of a group
    weight_matrix weights[static_cast<size_t>(Sets)];
    image_rows images;
    int64_t groups;
    int64_t group_blocks; ///< weight blocks of a group's columns
    output_pointer output;
    int64_t output_stride;

    KQ_API bool ragged() const { return detail::any_ragged(weights); }
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

    static status measure(const arguments& a, const product_facts& facts, product_sizes& out) {
        if (a.groups < 1) {
            return status::invalid("groups", "must be at least 1");
        }
        if (const status s = detail::first_error(
                detail::check_count("n", a.n), detail::check_count("m", a.m),
                detail::check_count("groups", a.groups), detail::check_columns(facts.weights, a.k));
            !s.ok()) {
            return s;
        }
        if (a.n % a.groups != 0) {
            return status::invalid("groups", "must divide n");
        }
        if (a.k > detail::most_int / a.groups) {
            return status::invalid("k", "groups * k must stay below 2^31");
        }
        const int64_t columns = a.groups * a.k;
        const int64_t row_bytes = detail::row_bytes(facts.weights, a.k);
        out.n = a.n / a.groups;
        out.k = a.k;
        out.units = a.m * a.groups;
        out.output_rows = a.n;
        out.most_rows = a.n * Sets;
        out.adjacent_rows = detail::stride_or(a.weight_pitch, row_bytes) == row_bytes;
        out.activation = {a.activation, columns, a.m,
                          detail::stride_or(a.activation_stride, columns)};
        return detail::first_error(
            detail::check_stride("activation_stride", a.activation_stride, columns, a.m),
            detail::check_stride("output_stride", a.output_stride, a.n, a.m),
            detail::check_epilogue(a.epilogue, Sets, a.n, a.m),
            detail::check_weight_pitch(facts.weights, a.weight_pitch, row_bytes, a.n));
    }

    static status check(const arguments& a, const product_facts& facts,
                        const product_sizes& sizes) {
        return detail::check_single(a, facts, sizes);
    }

    static block_diagonal bind(const arguments& a, const product_facts&, const product_sizes& sizes,
                               image_rows images) {
        block_diagonal map{};
        detail::bind_sets(map.weights, a.weights, a.up_weights, a.n, sizes.row_bytes,
                          a.weight_pitch);
        map.images = images;
        map.groups = a.groups;
        map.group_blocks = sizes.row_blocks;
        map.output = a.output;
        map.output_stride = detail::stride_or(a.output_stride, a.n);
        map.n = static_cast<int>(sizes.n);
        return map;
    }
};

static_assert(row_mapping<block_diagonal<1>> && row_mapping<block_diagonal<2>>);

} // namespace mappings

} // namespace kq::inline KQ_ABI

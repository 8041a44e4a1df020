// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/arithmetic.hpp>
#include <kq/dot/lane_loop.hpp>
#include <kq/gemv/epilogue/bind.hpp>
#include <kq/gemv/plan/product.hpp>

#include <vector>

namespace kq::inline KQ_ABI {

/// The kernels' arithmetic on the CPU: the same loop, lane by lane, the same order of additions,
/// the same mapping and epilogue, so the same bits (contract C4; a gate's exp, tanh and erf are the
/// platform's). Every pointer is host memory.
///
/// `Order`: of float additions, that of the policy to compare with. The other parameters are those
/// of `gemv`.
template <dottable Encoding, order Order = order{}, template <int> class Mapping = mappings::dense,
          epilogue Epilogue = epilogues::store>
    requires row_mapping<Mapping<Epilogue::weight_sets>>
class host_model {
    using loop = lane_loop<Encoding, Order, 1, 1, 1>;
    using dot = decoder<Encoding>;
    using image = typename dot::image;
    using activation = typename Encoding::activation;

public:
    using product = kq::product<Encoding, Mapping, Epilogue>;
    using mapping = typename product::mapping;
    using arguments = typename product::arguments;

    /// Quantizes one activation row and lays it out.
    /// `x`: [k]. Returns [image::row_bytes(k / elements)] bytes.
    template <activation_element Element>
    static std::vector<unsigned char> quantize_row(const Element* x, int64_t k) {
        std::vector<typename activation::block> blocks(
            static_cast<size_t>(k / activation::elements));
        for (size_t b = 0; b < blocks.size(); ++b) {
            blocks[b] = quantize_block<activation>(x + b * activation::elements);
        }
        const auto count = static_cast<int64_t>(blocks.size());
        std::vector<unsigned char> row(static_cast<size_t>(image::row_bytes(count)));
        image::pack(blocks.data(), count, row.data());
        return row;
    }

    /// The whole product. Arguments and errors as `gemv::launch`, without a workspace.
    static status launch(const arguments& a) { return launch(a, 0, detail::most_int64); }

    /// Output rows `first` to `last`, exclusive, of every unit only, so that threads can share a
    /// product. Rows past the last one are left out.
    static status launch(const arguments& a, int64_t first, int64_t last) {
        product_sizes sizes;
        if (const status s = measure<product>(a, sizes); !s.ok() || sizes.is_empty()) {
            return s;
        }
        if (const status s = mapping::check(a, product::facts, sizes); !s.ok()) {
            return s;
        }
        const std::vector<unsigned char> images = quantize(sizes);
        const mapping map = mapping::bind(a, product::facts, sizes,
                                          image_rows{images.data(), sizes.image_row_bytes});
        const auto epilogue = detail::bind_epilogue<Epilogue>(a.epilogue, sizes.output_rows);
        for (int64_t unit = 0; unit < sizes.units; ++unit) {
            for (int64_t r = detail::greater(first, 0); r < detail::lesser(last, sizes.n); ++r) {
                const int row = static_cast<int>(r);
                const destination to = map.to(unit, row);
                const bool missing = !Epilogue::sums_terms && !map.has_term(unit, 0);
                to.output.store(to.index,
                                missing ? 0.0f
                                        : output(map, epilogue, sizes.row_blocks, unit, row, to));
            }
        }
        return {};
    }

private:
    static float output(const mapping& map, const Epilogue& epilogue, int blocks, int64_t unit,
                        int row, const destination& to) {
        typename Epilogue::state state{};
        for (int t = 0; t < map.terms(); ++t) {
            if (Epilogue::sums_terms && !map.has_term(unit, t)) {
                continue;
            }
            const weight_row weights = map.row(unit, t, row);
            const unsigned char* image_row =
                map.images.first + map.image_row(unit, t) * map.images.row_bytes;
            const int64_t slot = map.first_block(unit) * dot::slices;
            epilogue.add(state,
                         finished_dot{.dot = dot_rows(weights.bytes,
                                                      image_row + slot / 32 * image::panel_bytes,
                                                      static_cast<int>(slot % 32), blocks),
                                      .set = t % Epilogue::weight_sets,
                                      .slot = map.slot(unit, t),
                                      .weight_row = weights.index,
                                      .matrix = weights.matrix});
        }
        return epilogue.finish(state, to);
    }

    /// A weight row times a quantized activation row.
    /// `weights`: [blocks] blocks. `panels`: the image from the panel of its first block on.
    static float dot_rows(const unsigned char* weights, const unsigned char* panels, int first_slot,
                          int blocks) {
        if (blocks == 0) {
            return 0; // and there may be no weights to point at
        }
        static const std::vector<uint32_t> table = make_table();
        const auto* bytes = reinterpret_cast<const unsigned char*>(table.data());
        float sums[static_cast<size_t>(Order.lanes)];
        for (int l = 0; l < Order.lanes; ++l) {
            float sum[1][1] = {};
            loop::template accumulate<cached_memory>(sum, {weights}, {panels}, first_slot, blocks,
                                                     loop::lane_at(l, bytes));
            sums[l] = sum[0][0];
        }
        return Order.meet(sums);
    }

    static std::vector<unsigned char> quantize(const product_sizes& sizes) {
        const activation_rows& rows = sizes.activation;
        std::vector<unsigned char> images;
        for (int64_t j = 0; j < rows.m && sizes.k != 0; ++j) {
            const auto row = with_element(rows.activation.type, [&]<class Element>() {
                return quantize_row(static_cast<const Element*>(rows.activation.data) +
                                        j * rows.activation_stride,
                                    rows.k);
            });
            images.insert(images.end(), row.begin(), row.end());
        }
        return images;
    }

    static std::vector<uint32_t> make_table() {
        constexpr size_t columns = dot::table_columns;
        std::vector<uint32_t> table(static_cast<size_t>(dot::table_rows) * columns);
        for (size_t i = 0; i < table.size(); ++i) {
            table[i] = dot::table_row(static_cast<int>(i / columns));
        }
        return table;
    }
};

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/arguments.hpp>
#include <kq/gemv/epilogue.hpp>
#include <kq/gemv/mainloop.hpp>
#include <kq/gemv/plan.hpp>

#include <algorithm>
#include <vector>

namespace kq {

/// The kernels' arithmetic on the CPU: the same mainloop, lane by lane, and the same order of
/// additions, so the same bits (contract C4). Every pointer is host memory.
template <dottable Encoding>
class host_model {
    using dot = sliced_dot<Encoding>;
    using image = typename dot::image;
    using activation = typename Encoding::activation;

public:
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

    /// One output: a weight row times a quantized activation row.
    /// `weights`: [blocks] blocks. `tiles`: [image::row_bytes(blocks)] bytes.
    static float output(const unsigned char* weights, const unsigned char* tiles, int blocks) {
        static const std::vector<uint32_t> table = make_table();
        float lanes[32];
        for (int l = 0; l < 32; ++l) {
            const auto* bytes = reinterpret_cast<const unsigned char*>(table.data());
            float sum[1] = {0};
            mainloop<Encoding>::template accumulate<cached_memory>(
                sum, {weights}, tiles, blocks, mainloop<Encoding>::lane_at(l, bytes));
            lanes[l] = sum[0];
        }
        for (int distance = 16; distance >= 1; distance /= 2) {
            float met[32];
            for (int l = 0; l < 32; ++l) {
                met[l] = add_rn(lanes[l], lanes[l ^ distance]);
            }
            std::copy(met, met + 32, lanes);
        }
        return lanes[0];
    }

    /// The whole product. Arguments and errors as `gemv::launch`, without a workspace.
    static status launch(const dense_arguments& a) { return launch(a, 0, a.n); }

    /// Output rows `first` to `last` of the product only, so that threads can share it.
    static status launch(const dense_arguments& a, int64_t first, int64_t last) {
        gemv_plan plan;
        if (const status sizes = plan_sizes<Encoding>(a, plan); !sizes.ok()) {
            return sizes;
        }
        if (is_empty(a)) {
            return {};
        }
        if (const status pointers = check_pointers<Encoding>(a); !pointers.ok()) {
            return pointers;
        }
        const epilogues::store store{a.output, a.output_stride != 0 ? a.output_stride : a.n};
        const auto* weights = static_cast<const unsigned char*>(a.weights);
        for (int64_t j = 0; j < a.m; ++j) {
            const std::vector<unsigned char> tiles = quantize(a, j);
            for (int64_t r = first; r < last; ++r) {
                store(j, r, output(weights + r * plan.row_bytes, tiles.data(), plan.row_blocks));
            }
        }
        return {};
    }

private:
    static std::vector<unsigned char> quantize(const dense_arguments& a, int64_t batch) {
        const int64_t at = batch * (a.activation_stride != 0 ? a.activation_stride : a.k);
        switch (a.activation.type) {
        case element_type::f16:
            return quantize_row(static_cast<const f16*>(a.activation.data) + at, a.k);
        case element_type::bf16:
            return quantize_row(static_cast<const bf16*>(a.activation.data) + at, a.k);
        case element_type::f32:
            break;
        }
        return quantize_row(static_cast<const float*>(a.activation.data) + at, a.k);
    }

    static std::vector<uint32_t> make_table() {
        std::vector<uint32_t> table(static_cast<size_t>(dot::table_rows) * 32);
        for (size_t i = 0; i < table.size(); ++i) {
            table[i] = dot::table_row(static_cast<int>(i / 32));
        }
        return table;
    }
};

} // namespace kq

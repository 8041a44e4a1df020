// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/arguments.hpp>
#include <kq/gemv/epilogue/epilogue.hpp>
#include <kq/dot/lane_loop.hpp>
#include <kq/gemv/mapping/mapping.hpp>
#include <kq/gemv/plan/plan.hpp>
#include <kq/gemv/problem.hpp>

#include <algorithm>
#include <limits>
#include <vector>

namespace kq::inline KQ_ABI {

/// The kernels' arithmetic on the CPU: the same mainloop, lane by lane, the same order of
/// additions, the same mapping and epilogue, so the same bits (contract C4; a gate's exp, tanh and
/// erf are the platform's). Every pointer is host memory. The parameters are those of `gemv`; of
/// the policy only the lanes matter.
template <dottable Encoding, policy Policy = policies::warp,
          template <int> class Mapping = mappings::dense, epilogue Epilogue = epilogues::store>
    requires row_mapping<Mapping<Epilogue::weight_sets>>
class host_model {
    static_assert(is_valid(Policy), "kq: the policy's fields are out of range");
    static_assert(Policy.batch == 1 || Mapping<Epilogue::weight_sets>::batchable,
                  "kq: a batch of activation rows needs the dense or the stacked mapping");

    using loop = mainloop<Encoding, Policy.lanes, 1, 1, 1>;
    using dot = sliced_dot<Encoding>;
    using image = typename dot::image;
    using activation = typename Encoding::activation;
    static constexpr int lanes = Policy.lanes;

public:
    using mapping = Mapping<Epilogue::weight_sets>;
    using arguments = typename mapping::arguments;

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
    static status launch(const arguments& a) {
        return launch(a, 0, (std::numeric_limits<int64_t>::max)());
    }

    /// Output rows `first` to `last`, exclusive, of every unit only, so that threads can share a
    /// product. Rows past the last one are left out.
    static status launch(const arguments& a, int64_t first, int64_t last) {
        gemv_plan plan;
        if (const status s = plan_sizes<Encoding, Epilogue>(a, plan);
            !s.ok() || plan.of.is_empty()) {
            return s;
        }
        if (const status s = check_pointers<Encoding, Epilogue>(a, plan.of); !s.ok()) {
            return s;
        }
        const std::vector<unsigned char> images = quantize(plan);
        const auto map = bind<Encoding, Epilogue>(a, image_rows{images.data(), plan.image_bytes});
        const auto epilogue = bind_epilogue<Epilogue>(a.epilogue, plan.of);
        for (int64_t unit = 0; unit < plan.of.units; ++unit) {
            for (int64_t r = std::max<int64_t>(first, 0); r < (std::min)(last, plan.of.n); ++r) {
                const int row = static_cast<int>(r);
                const destination to = map.to(unit, row);
                const bool missing = !Epilogue::sums_terms && !map.has_term(unit, 0);
                store_value(to, missing ? 0.0f : output(map, epilogue, plan, unit, row, to));
            }
        }
        return {};
    }

private:
    static float output(const mapping& map, const Epilogue& epilogue, const gemv_plan& plan,
                        int64_t unit, int row, const destination& to) {
        typename Epilogue::state state{};
        for (int term = 0; term < map.terms(); ++term) {
            if (Epilogue::sums_terms && !map.has_term(unit, term)) {
                continue;
            }
            const weight_row weights = map.row(unit, term, row);
            const unsigned char* image_row =
                map.images.first + map.image_row(unit, term) * map.images.row_bytes;
            const int64_t slot = map.first_block(unit) * dot::slices;
            epilogue.add(state,
                         dot_rows(weights.bytes, image_row + slot / 32 * image::tile_bytes,
                                  static_cast<int>(slot % 32), plan.row_blocks),
                         term % Epilogue::weight_sets, map.slot(unit, term), weights.index);
        }
        return epilogue.finish(state, to);
    }

    /// A weight row times a quantized activation row.
    /// `weights`: [blocks] blocks. `tiles`: the image from the tile of its first block on.
    static float dot_rows(const unsigned char* weights, const unsigned char* tiles, int first_slot,
                          int blocks) {
        if (blocks == 0) {
            return 0; // and there may be no weights to point at
        }
        static const std::vector<uint32_t> table = make_table();
        float sums[lanes];
        for (int l = 0; l < lanes; ++l) {
            const auto* bytes = reinterpret_cast<const unsigned char*>(table.data());
            float sum[1][1] = {};
            loop::template accumulate<cached_memory>(sum, {weights}, {tiles}, first_slot, blocks,
                                                     loop::lane_at(l, bytes));
            sums[l] = sum[0][0];
        }
        for (int distance = lanes / 2; distance >= 1; distance /= 2) {
            float met[lanes];
            for (int l = 0; l < lanes; ++l) {
                met[l] = add_rn(sums[l], sums[l ^ distance]);
            }
            std::copy(met, met + lanes, sums);
        }
        return sums[0];
    }

    static std::vector<unsigned char> quantize(const gemv_plan& plan) {
        const problem& of = plan.of;
        std::vector<unsigned char> images;
        for (int64_t j = 0; j < of.activation_rows && of.k != 0; ++j) {
            const auto row = quantize_row_of(of, j);
            images.insert(images.end(), row.begin(), row.end());
        }
        return images;
    }

    static std::vector<unsigned char> quantize_row_of(const problem& of, int64_t j) {
        const int64_t at = j * of.activation_stride;
        switch (of.activation.type) {
        case element_type::f16:
            return quantize_row(static_cast<const f16*>(of.activation.data) + at, of.activation_k);
        case element_type::bf16:
            return quantize_row(static_cast<const bf16*>(of.activation.data) + at, of.activation_k);
        case element_type::f32:
            break;
        }
        return quantize_row(static_cast<const float*>(of.activation.data) + at, of.activation_k);
    }

    static std::vector<uint32_t> make_table() {
        std::vector<uint32_t> table(static_cast<size_t>(dot::table_rows) * 32);
        for (size_t i = 0; i < table.size(); ++i) {
            table[i] = dot::table_row(static_cast<int>(i / 32));
        }
        return table;
    }
};

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "families.hpp"
#include "merged.hpp"

#include <kq/core/check.hpp>
#include <kq/dot/all.hpp>
#include <kq/gemv/host_model.hpp>
#include <kq/gemv/mapping/all.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

// Gate and up rows of one matrix, multiplied in place. What is expected is made of plain products
// of all of the matrix' rows.

namespace {

using kq::epilogues::gated;
using kq::epilogues::store;
using kq::epilogues::weighted_sum;
using samples::layouts;
using samples::merged;
constexpr kq::order warp{32};

template <class E, template <int> class Mapping, class Epilogue = store>
using model = kq::host_model<E, warp, Mapping, Epilogue>;

/// The plain product of all rows of a matrix with activation row `j`.
template <class E>
std::vector<float> plain(const merged<E>& w, const std::vector<float>& x, int64_t j) {
    std::vector<float> y(static_cast<size_t>(w.rows()));
    kq::check(kq::host_model<E>::launch({.weights = w.blocks.data(),
                                         .activation = x.data() + j * w.k,
                                         .output = y.data(),
                                         .n = w.rows(),
                                         .k = w.k}));
    return y;
}

template <class E>
constexpr int64_t short_k = E::elements == 32 ? 96 : 256;

const std::vector<int32_t> ids = {2, 2, 0, -1, 3, 1, 2147483647, 0};

} // namespace

TEST_CASE("gate and up rows of experts in one matrix give the bits of two products and the gate") {
    samples::for_each_family<5>([]<class E>() {
        const auto slots = static_cast<int64_t>(ids.size());
        for (const auto layout : layouts) {
            const merged<E> w(layout, 3, 5, short_k<E>, 1);
            const auto x = samples::gaussian(slots * w.k, 2);
            std::vector<float> y(static_cast<size_t>(slots * w.n), 7.0f);
            kq::check(model<E, kq::mappings::experts, gated>::launch(
                {.weights = w.gate(),
                 .up_weights = w.up(),
                 .activation = x.data(),
                 .output = y.data(),
                 .expert_ids = ids.data(),
                 .experts = w.experts,
                 .n = w.n,
                 .k = w.k,
                 .slots = slots,
                 .weight_pitch = w.weight_pitch(),
                 .expert_pitch = w.expert_pitch(),
                 .epilogue = {.gate = {.function = kq::gate_function::relu}}}));
            for (int64_t s = 0; s < slots; ++s) {
                const int32_t id = ids[static_cast<size_t>(s)];
                const bool known = id >= 0 && id < w.experts;
                const auto dots = plain(w, x, s);
                for (int64_t r = 0; r < w.n; ++r) {
                    const auto dot = [&](int set) {
                        return dots[static_cast<size_t>(w.row(id, set, r))];
                    };
                    CHECK(y[static_cast<size_t>(s * w.n + r)] ==
                          (known ? std::max(dot(0), 0.0f) * dot(1) : 0.0f));
                }
            }
        }
    });
}

TEST_CASE("one half of a merged matrix is a product of experts, or a weighted sum of them") {
    using E = kq::q4_k;
    const int64_t top_k = 4, slots = 8, tokens = 2;
    const auto term_weights = samples::gaussian(slots, 3);
    for (const auto layout : layouts) {
        const merged<E> w(layout, 3, 5, 512, 4);
        const auto x = samples::gaussian(slots * w.k, 5);
        kq::experts_arguments a{.weights = w.up(),
                                .activation = x.data(),
                                .expert_ids = ids.data(),
                                .experts = w.experts,
                                .n = w.n,
                                .k = w.k,
                                .slots = slots,
                                .top_k = top_k,
                                .weight_pitch = w.weight_pitch(),
                                .expert_pitch = w.expert_pitch()};
        std::vector<float> stored(static_cast<size_t>(slots * w.n));
        a.output = stored.data();
        kq::check(model<E, kq::mappings::experts>::launch(a));
        std::vector<float> sums(static_cast<size_t>(tokens * w.n));
        a.output = sums.data();
        a.epilogue.term_weights = term_weights.data();
        kq::check(model<E, kq::mappings::experts, weighted_sum>::launch(a));
        std::vector<float> expected(sums.size(), 0.0f);
        for (int64_t s = 0; s < slots; ++s) {
            const int32_t id = ids[static_cast<size_t>(s)];
            const bool known = id >= 0 && id < w.experts;
            const auto dots = plain(w, x, s);
            for (int64_t r = 0; r < w.n; ++r) {
                const float dot = known ? dots[static_cast<size_t>(w.row(id, 1, r))] : 0;
                CHECK(stored[static_cast<size_t>(s * w.n + r)] == dot);
                float& sum = expected[static_cast<size_t>(s / top_k * w.n + r)];
                sum = known ? std::fma(term_weights[static_cast<size_t>(s)], dot, sum) : sum;
            }
        }
        CHECK(sums == expected);
    }
}

TEST_CASE("gate and up rows of one matrix are multiplied in place by every other mapping") {
    samples::for_each_family<6>([]<class E>() {
        const int64_t m = 2;
        for (const auto layout : layouts) {
            const merged<E> w(layout, 1, 6, short_k<E>, 6);
            const auto x = samples::gaussian(m * w.k, 7);
            const auto expected = [&](int64_t r, int64_t row_of_x) {
                const auto dots = plain(w, x, row_of_x);
                return std::max(dots[static_cast<size_t>(w.row(0, 0, r))], 0.0f) *
                       dots[static_cast<size_t>(w.row(0, 1, r))];
            };
            const kq::epilogue_arguments relu{.gate = {.function = kq::gate_function::relu}};
            std::vector<float> dense(static_cast<size_t>(m * w.n)), stacked(dense.size());
            kq::check(
                model<E, kq::mappings::dense, gated>::launch({.weights = w.gate(),
                                                              .up_weights = w.up(),
                                                              .activation = x.data(),
                                                              .output = dense.data(),
                                                              .n = w.n,
                                                              .k = w.k,
                                                              .m = m,
                                                              .weight_pitch = w.weight_pitch(),
                                                              .epilogue = relu}));
            kq::stacked_arguments stack{
                .count = 1, .activation = x.data(), .k = w.k, .m = m, .epilogue = relu};
            stack.matrices[0] = {.weights = w.gate(),
                                 .up_weights = w.up(),
                                 .output = stacked.data(),
                                 .n = w.n,
                                 .weight_pitch = w.weight_pitch()};
            kq::check(model<E, kq::mappings::stacked, gated>::launch(stack));
            // Two groups, each with an activation row of its own.
            std::vector<float> diagonal(static_cast<size_t>(w.n));
            kq::check(model<E, kq::mappings::block_diagonal, gated>::launch(
                {.weights = w.gate(),
                 .up_weights = w.up(),
                 .activation = x.data(),
                 .output = diagonal.data(),
                 .n = w.n,
                 .groups = 2,
                 .k = w.k,
                 .weight_pitch = w.weight_pitch(),
                 .epilogue = relu}));
            for (int64_t r = 0; r < w.n; ++r) {
                CHECK(diagonal[static_cast<size_t>(r)] == expected(r, r / 3));
                for (int64_t j = 0; j < m; ++j) {
                    const auto at = static_cast<size_t>(j * w.n + r);
                    CHECK(dense[at] == expected(r, j));
                    CHECK(stacked[at] == expected(r, j));
                }
            }
        }
    });
}

TEST_CASE("merged experts meet f16 and bf16 activations and store f16 and bf16") {
    using E = kq::q8_0;
    const auto compare = []<class Element>(auto round) {
        for (const auto layout : layouts) {
            const merged<E> w(layout, 4, 3, 64, 8);
            std::vector<Element> x;
            std::vector<float> same; // as f32
            for (const float v : samples::gaussian(2 * w.k, 9)) {
                x.push_back(round(v));
                same.push_back(kq::to_f32(x.back()));
            }
            const std::vector<int32_t> last = {3, 1};
            std::vector<Element> y(static_cast<size_t>(2 * w.n));
            kq::check(model<E, kq::mappings::experts, gated>::launch(
                {.weights = w.gate(),
                 .up_weights = w.up(),
                 .activation = x.data(),
                 .output = y.data(),
                 .expert_ids = last.data(),
                 .experts = w.experts,
                 .n = w.n,
                 .k = w.k,
                 .slots = 2,
                 .weight_pitch = w.weight_pitch(),
                 .expert_pitch = w.expert_pitch(),
                 .epilogue = {.gate = {.function = kq::gate_function::relu}}}));
            for (size_t i = 0; i < y.size(); ++i) {
                const auto s = static_cast<int64_t>(i) / w.n, r = static_cast<int64_t>(i) % w.n;
                const auto dots = plain(w, same, s);
                const auto dot = [&](int set) {
                    return dots[static_cast<size_t>(w.row(last[static_cast<size_t>(s)], set, r))];
                };
                CHECK(kq::to_f32(y[i]) == kq::to_f32(round(std::max(dot(0), 0.0f) * dot(1))));
            }
        }
    };
    compare.template operator()<kq::f16>([](float v) { return kq::to_f16(v); });
    compare.template operator()<kq::bf16>([](float v) { return kq::to_bf16(v); });
}

// Contract C5: up to 15 bytes around a row may be read, but never outside of its matrix.
TEST_CASE("what may be read around a row ends with the last row of its own set") {
    using E = kq::q8_0; // a row of one block has 34 bytes
    for (const auto layout : layouts) {
        const merged<E> w(layout, 3, 2, 32, 10);
        const kq::experts_arguments a{.weights = w.gate(),
                                      .up_weights = w.up(),
                                      .experts = w.experts,
                                      .n = w.n,
                                      .k = w.k,
                                      .weight_pitch = w.weight_pitch(),
                                      .expert_pitch = w.expert_pitch()};
        using product = kq::product<E, kq::mappings::experts, gated>;
        kq::product_sizes sizes;
        kq::check(kq::measure<product>(a, sizes));
        CHECK(sizes.adjacent_rows == (layout == samples::layout::halves));
        const auto map = product::mapping::bind(a, product::facts, sizes, {});
        const auto* first = reinterpret_cast<const unsigned char*>(w.blocks.data());
        for (int set = 0; set < 2; ++set) {
            const auto begin = reinterpret_cast<uintptr_t>(first + w.row(0, set, 0) * 34);
            const auto end = reinterpret_cast<uintptr_t>(first + w.row(2, set, 1) * 34 + 34);
            CHECK(reinterpret_cast<uintptr_t>(map.weights[set].aligned_begin) ==
                  (begin + 15) / 16 * 16);
            CHECK(reinterpret_cast<uintptr_t>(map.weights[set].aligned_end) == end / 16 * 16);
        }
        CHECK(map.ragged());
    }
}

TEST_CASE("rows of a group follow each other only without a pitch, or with that of a row") {
    const auto adjacent = [](int64_t weight_pitch, int64_t expert_pitch) {
        kq::product_sizes grouped, diagonal, dense;
        kq::check(kq::measure<kq::product<kq::q4_k, kq::mappings::experts>>(
            {.experts = 2,
             .n = 4,
             .k = 256,
             .slots = 1,
             .weight_pitch = weight_pitch,
             .expert_pitch = expert_pitch},
            grouped));
        kq::check(kq::measure<kq::product<kq::q4_k, kq::mappings::block_diagonal>>(
            {.n = 4, .groups = 2, .k = 256, .weight_pitch = weight_pitch}, diagonal));
        kq::check(kq::measure<kq::product<kq::q4_k>>(
            {.n = 4, .k = 256, .weight_pitch = weight_pitch}, dense));
        CHECK(grouped.adjacent_rows == diagonal.adjacent_rows);
        CHECK(grouped.adjacent_rows == dense.adjacent_rows);
        return grouped.adjacent_rows;
    };
    CHECK(adjacent(0, 0));
    CHECK(adjacent(144, 0));
    CHECK(adjacent(0, 8 * 144));
    CHECK_FALSE(adjacent(160, 0));
    CHECK_FALSE(adjacent(288, 8 * 144));
}

TEST_CASE("pitches that let rows overlap, misalign them or reach too far are refused by name") {
    using E = kq::q4_k; // 144 bytes a block, aligned to 16
    const auto refused = [](int64_t weight_pitch, int64_t expert_pitch, int64_t experts = 2) {
        kq::product_sizes sizes;
        return kq::message(
            kq::measure<kq::product<E, kq::mappings::experts>>({.experts = experts,
                                                                .n = 3,
                                                                .k = 256,
                                                                .slots = 1,
                                                                .weight_pitch = weight_pitch,
                                                                .expert_pitch = expert_pitch},
                                                               sizes));
    };
    const std::string row =
        "weight_pitch: must be 0 or at least the bytes of a row, and keep rows aligned";
    const std::string expert =
        "expert_pitch: must be 0 or at least the bytes of an expert's rows, and keep rows aligned";
    const int64_t far = (std::numeric_limits<int64_t>::max() - 15) / 16 * 16;
    CHECK(refused(128, 0) == row);
    CHECK(refused(146, 0) == row);
    CHECK(refused(-144, 0) == row);
    CHECK(refused(far, 0) == "weight_pitch: all rows must stay below 2^63 bytes");
    CHECK(refused(0, 2 * 144) == expert);
    CHECK(refused(0, 3 * 144 + 2) == expert);
    CHECK(refused(0, -3 * 144) == expert);
    CHECK(refused(288, 4 * 144) == expert); // the third row ends later
    CHECK(refused(0, far) == "expert_pitch: all rows must stay below 2^63 bytes");
    const int64_t quarter = int64_t{1} << 60;
    CHECK(refused(quarter, 0, 3) == "experts: all weights must stay below 2^63 bytes");
    CHECK(refused(0, 3 * 144) == "ok");
    CHECK(refused(288, 5 * 144) == "ok");
    CHECK(refused(quarter, 0) == "ok");

    kq::product_sizes sizes;
    CHECK(kq::message(kq::measure<kq::product<E, kq::mappings::block_diagonal>>(
              {.n = 4, .groups = 2, .k = 256, .weight_pitch = 128}, sizes)) == row);
    kq::stacked_arguments stack{.count = 1, .k = 256};
    stack.matrices[0] = {.n = 4, .weight_pitch = 128};
    CHECK(kq::message(kq::measure<kq::product<E, kq::mappings::stacked>>(stack, sizes)) ==
          "matrices." + row);
}

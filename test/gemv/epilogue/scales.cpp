// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "samples.hpp"

#include <kq/core/check.hpp>
#include <kq/gemv/host_model.hpp>
#include <kq/gemv/mapping/all.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace {

using E = kq::q8_0;
using kq::epilogues::gated;
using kq::epilogues::store;
using kq::epilogues::weighted_sum;
constexpr kq::order warp{32};
constexpr int64_t k = 64, row_blocks = k / E::elements;

template <template <int> class Mapping, class Epilogue = store>
using model = kq::host_model<E, warp, Mapping, Epilogue>;

float plain(const std::vector<E::block>& w, int64_t row, const std::vector<float>& x, int64_t j) {
    float y = 0;
    kq::check(kq::host_model<E>::launch({.weights = w.data() + row * row_blocks,
                                         .activation = x.data() + j * k,
                                         .output = &y,
                                         .n = 1,
                                         .k = k}));
    return y;
}

/// The scales and the bias of a set.
struct steps {
    std::vector<float> matrix, row, bias;

    steps(int64_t matrices, int64_t rows, uint64_t seed)
        : matrix(samples::gaussian(matrices, seed)),
          row(samples::gaussian(rows, seed + 1)),
          bias(samples::gaussian(rows, seed + 2)) {}

    float term(float dot, int64_t m, int64_t r) const {
        volatile float v = dot * matrix[static_cast<size_t>(m)]; // volatile: no contraction
        v = v * row[static_cast<size_t>(r)];
        return v + bias[static_cast<size_t>(r)];
    }
};

kq::epilogue_arguments both(const steps& gate, const steps& up) {
    return {.matrix_scale = gate.matrix.data(),
            .up_matrix_scale = up.matrix.data(),
            .row_scale = gate.row.data(),
            .up_row_scale = up.row.data(),
            .bias = gate.bias.data(),
            .up_bias = up.bias.data(),
            .gate = {.function = kq::gate_function::relu}};
}

float relu(float gate, float up) {
    return std::max(gate, 0.0f) * up;
}

} // namespace

TEST_CASE("gate and up each have scales of their matrix and of their rows, rounded in this order") {
    const int64_t n = 5, m = 2;
    const auto gate = samples::random_weights<E>(n, k, 1), up = samples::random_weights<E>(n, k, 2);
    const auto x = samples::gaussian(m * k, 3);
    const steps of_gate(1, n, 10), of_up(1, n, 20);
    std::vector<float> y(static_cast<size_t>(m * n));
    kq::check(model<kq::mappings::dense, gated>::launch({.weights = gate.data(),
                                                         .up_weights = up.data(),
                                                         .activation = x.data(),
                                                         .output = y.data(),
                                                         .n = n,
                                                         .k = k,
                                                         .m = m,
                                                         .epilogue = both(of_gate, of_up)}));
    for (int64_t i = 0; i < m * n; ++i) {
        const int64_t r = i % n, j = i / n;
        CHECK(y[static_cast<size_t>(i)] ==
              relu(of_gate.term(plain(gate, r, x, j), 0, r), of_up.term(plain(up, r, x, j), 0, r)));
    }
}

TEST_CASE("each expert has its own scale, of gate and of up; unknown experts give zeros") {
    const int64_t n = 3, experts = 4, slots = 6;
    const auto gate = samples::random_weights<E>(experts * n, k, 4);
    const auto up = samples::random_weights<E>(experts * n, k, 5);
    const auto x = samples::gaussian(slots * k, 6);
    const steps of_gate(experts, experts * n, 30), of_up(experts, experts * n, 40);
    const std::vector<int32_t> ids = {3, 0, -1, 4, 1, 3};
    const auto term_weights = samples::gaussian(slots, 7);
    kq::experts_arguments a{.weights = gate.data(),
                            .up_weights = up.data(),
                            .activation = x.data(),
                            .expert_ids = ids.data(),
                            .experts = experts,
                            .n = n,
                            .k = k,
                            .slots = slots,
                            .top_k = 3,
                            .epilogue = both(of_gate, of_up)};
    std::vector<float> y(static_cast<size_t>(slots * n)), sums(static_cast<size_t>(2 * n));
    a.output = y.data();
    kq::check(model<kq::mappings::experts, gated>::launch(a));
    a.up_weights = {};
    a.output = sums.data();
    a.epilogue = {.matrix_scale = of_gate.matrix.data(),
                  .row_scale = of_gate.row.data(),
                  .bias = of_gate.bias.data(),
                  .term_weights = term_weights.data()};
    kq::check(model<kq::mappings::experts, weighted_sum>::launch(a));
    std::vector<float> expected_sums(sums.size(), 0.0f);
    for (int64_t s = 0; s < slots; ++s) {
        const int32_t id = ids[static_cast<size_t>(s)];
        for (int64_t r = 0; r < n; ++r) {
            const auto at = static_cast<size_t>(s * n + r);
            if (id < 0 || id >= experts) {
                CHECK(y[at] == 0);
                continue;
            }
            const int64_t row = id * n + r;
            const float term = of_gate.term(plain(gate, row, x, s), id, row);
            CHECK(y[at] == relu(term, of_up.term(plain(up, row, x, s), id, row)));
            float& sum = expected_sums[static_cast<size_t>(s / 3 * n + r)];
            sum = std::fma(term_weights[static_cast<size_t>(s)], term, sum);
        }
    }
    CHECK(sums == expected_sums);
}

TEST_CASE("each stacked matrix has its own scale") {
    const int64_t n = 3;
    const auto w = samples::random_weights<E>(2 * n, k, 8);
    const auto x = samples::gaussian(k, 9);
    const steps all(2, 2 * n, 50);
    std::vector<float> y(static_cast<size_t>(2 * n));
    kq::stacked_arguments a{.count = 2,
                            .activation = x.data(),
                            .k = k,
                            .epilogue = {.matrix_scale = all.matrix.data(),
                                         .row_scale = all.row.data(),
                                         .bias = all.bias.data()}};
    a.matrices[0] = {.weights = w.data(), .output = y.data(), .n = n};
    a.matrices[1] = {.weights = w.data() + n * row_blocks, .output = y.data() + n, .n = n};
    kq::check(model<kq::mappings::stacked>::launch(a));
    for (int64_t r = 0; r < 2 * n; ++r) {
        CHECK(y[static_cast<size_t>(r)] == all.term(plain(w, r, x, 0), r / n, r));
    }
}

TEST_CASE("scales that are not aligned, or of up where there is none, are refused by name") {
    const auto w = samples::random_weights<E>(1, k, 10);
    const auto x = samples::gaussian(k, 11);
    const float one = 1;
    const auto* odd = reinterpret_cast<const float*>(reinterpret_cast<const char*>(&one) + 2);
    float y = 0;
    kq::dense_arguments a{
        .weights = w.data(), .activation = x.data(), .output = &y, .n = 1, .k = k};
    const auto refused = [&](const kq::epilogue_arguments& e, bool is_gated) {
        a.epilogue = e;
        a.up_weights = is_gated ? kq::weights_pointer(w.data()) : kq::weights_pointer();
        return is_gated ? kq::message(model<kq::mappings::dense, gated>::launch(a))
                        : kq::message(model<kq::mappings::dense>::launch(a));
    };
    const std::string misaligned = ": must be aligned to its element";
    const std::string no_up = ": is for gated products only";
    CHECK(refused({.matrix_scale = odd}, false) == "epilogue.matrix_scale" + misaligned);
    CHECK(refused({.up_matrix_scale = odd}, true) == "epilogue.up_matrix_scale" + misaligned);
    CHECK(refused({.up_row_scale = odd}, true) == "epilogue.up_row_scale" + misaligned);
    CHECK(refused({.up_matrix_scale = &one}, false) == "epilogue.up_matrix_scale" + no_up);
    CHECK(refused({.up_row_scale = &one}, false) == "epilogue.up_row_scale" + no_up);
    CHECK(refused({.up_matrix_scale = &one, .up_row_scale = &one}, true) == "ok");
}

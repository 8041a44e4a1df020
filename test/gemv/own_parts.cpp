// SPDX-License-Identifier: Apache-2.0
#include "gemv/own_parts.hpp"
#include "catch.hpp"
#include "samples.hpp"

#include <kq/core/check.hpp>
#include <kq/gemv/host_model.hpp>
#include <kq/reference/reference.hpp>

#include <cmath>
#include <limits>
#include <string>

namespace {

using E = kq::q4_k;
constexpr int64_t n = 9, k = 768, m = 2;

/// Dense arguments and all that they point at, and the plain product of them.
struct product {
    std::vector<E::block> w = samples::random_weights<E>(n, k, 1);
    std::vector<float> x = samples::gaussian(m * k, 2);
    std::vector<float> dots = std::vector<float>(m * n);
    std::vector<float> y = std::vector<float>(m * n, 7.0f);

    kq::dense_arguments arguments(float* output) const {
        return {
            .weights = w.data(), .activation = x.data(), .output = output, .n = n, .k = k, .m = m};
    }
    product() {
        kq::check(kq::host_model<E>::launch(arguments(dots.data())));
        std::vector<kq::q8_k::block> blocks;
        for (size_t at = 0; at < x.size(); at += E::elements) {
            blocks.push_back(kq::quantize_block<kq::q8_k>(x.data() + at));
        }
        std::vector<double> expected(m * n);
        kq::reference::matmul<E>(w.data(), blocks.data(), n, m, k / E::elements, expected.data());
        REQUIRE(samples::nmse(dots, expected) <= 1e-6);
    }
};

constexpr int32_t places[n] = {3, 0, 8, 1, 7, 2, 6, 5, 4};

} // namespace

TEST_CASE("an epilogue of one's own squares what is above zero, and the shared steps follow") {
    product p;
    using model = kq::host_model<E, kq::order{}, kq::mappings::dense, own::squared_relu>;
    kq::check(model::launch(p.arguments(p.y.data())));
    int above = 0;
    for (size_t i = 0; i < p.y.size(); ++i) {
        above += p.dots[i] > 0;
        const float x = std::max(p.dots[i], 0.0f);
        CHECK(p.y[i] == x * x);
    }
    CHECK((above > 0 && above < m * n));

    const auto bias = samples::gaussian(n, 3), residual = samples::gaussian(m * n, 4);
    kq::dense_arguments a = p.arguments(p.y.data());
    a.epilogue = {.scale = 0.5f, .bias = bias.data(), .residual = residual.data()};
    kq::check(model::launch(a));
    for (size_t i = 0; i < p.y.size(); ++i) {
        volatile float v = p.dots[i] + bias[i % n]; // volatile: no contraction
        v = std::max(float{v}, 0.0f);
        v = v * v;
        v = v * 0.5f;
        v = v + residual[i];
        CHECK(p.y[i] == v);
    }
}

TEST_CASE("an epilogue of one's own lets a NaN through") {
    product p;
    p.x[0] = std::numeric_limits<float>::quiet_NaN();
    kq::check(kq::host_model<E, kq::order{}, kq::mappings::dense, own::squared_relu>::launch(
        p.arguments(p.y.data())));
    CHECK(std::isnan(p.y[0]));
}

TEST_CASE("a mapping of one's own stores a dense product's rows at their places") {
    product p;
    kq::check(
        kq::host_model<E, kq::order{}, own::permuted>::launch({p.arguments(p.y.data()), places}));
    for (int64_t j = 0; j < m; ++j) {
        for (int64_t r = 0; r < n; ++r) {
            CHECK(p.y[static_cast<size_t>(j * n + places[r])] ==
                  p.dots[static_cast<size_t>(j * n + r)]);
        }
    }
}

TEST_CASE(
    "a mapping and an epilogue of one's own go together, and the residual lies as outputs do") {
    product p;
    const auto residual = samples::gaussian(m * n, 5);
    own::permuted_arguments a{p.arguments(p.y.data()), places};
    a.epilogue.residual = residual.data();
    kq::check(kq::host_model<E, kq::order{}, own::permuted, own::squared_relu>::launch(a));
    for (int64_t j = 0; j < m; ++j) {
        for (int64_t r = 0; r < n; ++r) {
            const auto at = static_cast<size_t>(j * n + places[r]);
            const float x = std::max(p.dots[static_cast<size_t>(j * n + r)], 0.0f);
            volatile float square = x * x; // volatile: no contraction
            CHECK(p.y[at] == square + residual[at]);
        }
    }
}

TEST_CASE("a mapping of one's own refuses its argument and those of the dense product by name") {
    product p;
    using model = kq::host_model<E, kq::order{}, own::permuted>;
    own::permuted_arguments a{p.arguments(p.y.data()), nullptr};
    CHECK(kq::message(model::launch(a)) == "places: must not be null");
    a.places = places;
    a.k = 100;
    CHECK(model::launch(a).subject() == std::string("k"));
    a.k = k;
    a.activation = {};
    CHECK(model::launch(a).subject() == std::string("activation"));
}

// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "golden.hpp"
#include "samples.hpp"

#include <kq/reference/reference.hpp>

using samples::for_each_encoding;

TEST_CASE("the reference dequantizes every golden block to ggml's bits") {
    for_each_encoding([]<class E>() {
        const std::vector<golden::test_case> cases = golden::load(kq::name_of(E::id));
        REQUIRE(cases.size() >= 5);
        for (const golden::test_case& c : cases) {
            INFO(c.name);
            const auto blocks = c.as<typename E::block>("weight");
            const auto expected = c.as<float>("dequantized_f32");
            REQUIRE(static_cast<int64_t>(expected.size()) == c.n * c.k);
            std::vector<float> weights(expected.size());
            kq::reference::dequantize<E>(blocks.data(), static_cast<int64_t>(blocks.size()),
                                         weights.data());
            CHECK(std::memcmp(weights.data(), expected.data(), expected.size() * 4) == 0);
        }
    });
}

TEST_CASE("the reference's integer cores and min terms equal ggml's") {
    for_each_encoding([]<class E>() {
        for (const golden::test_case& c : golden::load(kq::name_of(E::id))) {
            if (!c.has("integer_dot_i32")) {
                continue; // the products are compared below
            }
            INFO(c.name);
            const auto w = c.as<typename E::block>("weight");
            const auto x = golden::activation_blocks<typename E::activation>(c);
            const auto dots = c.as<int32_t>("integer_dot_i32");
            const int64_t count = c.k / E::elements;
            std::vector<int32_t> own_dots;
            std::vector<int32_t> own_mins;
            for (int64_t j = 0; j < c.m; ++j) {
                for (int64_t r = 0; r < c.n; ++r) {
                    for (int64_t b = 0; b < count; ++b) {
                        const auto& block = w[static_cast<size_t>(r * count + b)];
                        const auto& codes = x[static_cast<size_t>(j * count + b)];
                        own_dots.push_back(kq::reference::integer_dot<E>(block, codes));
                        own_mins.push_back(kq::reference::integer_min<E>(block, codes));
                    }
                }
            }
            CHECK(own_dots == dots);
            if (c.has("integer_min_i32")) {
                CHECK(own_mins == c.as<int32_t>("integer_min_i32"));
            } else {
                CHECK(own_mins == std::vector<int32_t>(own_mins.size(), 0));
            }
        }
    });
}

TEST_CASE("the reference's products agree with ggml's within NMSE 1e-6") {
    for_each_encoding([]<class E>() {
        for (const golden::test_case& c : golden::load(kq::name_of(E::id))) {
            INFO(c.name);
            const auto w = c.as<typename E::block>("weight");
            const auto x = golden::activation_blocks<typename E::activation>(c);
            std::vector<double> products(static_cast<size_t>(c.m * c.n));
            kq::reference::matmul<E>(w.data(), x.data(), c.n, c.m, c.k / E::elements,
                                     products.data());
            CHECK(samples::nmse(products, c.as<float>("dot_f32")) <= 1e-6);
        }
    });
}

TEST_CASE("the unquantized product equals ggml's f64 product of dequantized weights") {
    for_each_encoding([]<class E>() {
        for (const golden::test_case& c : golden::load(kq::name_of(E::id))) {
            INFO(c.name);
            const auto w = c.as<typename E::block>("weight");
            const auto x = c.as<float>("activation_f32");
            const int64_t count = c.k / E::elements;
            std::vector<double> products;
            for (int64_t j = 0; j < c.m; ++j) {
                for (int64_t r = 0; r < c.n; ++r) {
                    products.push_back(kq::reference::unquantized_dot<E>(
                        w.data() + r * count, x.data() + j * c.k, count));
                }
            }
            CHECK(samples::nmse(products, c.as<double>("dot_f64")) <= 1e-24);
        }
    });
}

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
                        const auto* codes =
                            x.data() + (j * count + b) * kq::reference::activation_blocks<E>;
                        own_dots.push_back(kq::reference::integer_dot<E>(block, codes));
                        own_mins.push_back(kq::reference::integer_min<E>(block, codes));
                    }
                }
            }
            CHECK(own_dots == dots);
            if (c.has("integer_min_i32")) {
                CHECK(own_mins == c.as<int32_t>("integer_min_i32"));
            } else if (c.activation == "q8_1") { // which adds m to each weight
                CHECK(own_mins == golden::minus_sums_of_codes(c));
            } else {
                CHECK(own_mins == std::vector<int32_t>(own_mins.size(), 0));
            }
        }
    });
}

TEST_CASE(
    "the reference's products agree with ggml's, had it not rounded sums of q8_1 to f16, within "
    "NMSE 1e-6") {
    for_each_encoding([]<class E>() {
        for (const golden::test_case& c : golden::load(kq::name_of(E::id))) {
            INFO(c.name);
            const auto w = c.as<typename E::block>("weight");
            const auto x = golden::activation_blocks<typename E::activation>(c);
            std::vector<double> products(static_cast<size_t>(c.m * c.n));
            kq::reference::matmul<E>(w.data(), x.data(), c.n, c.m, c.k / E::elements,
                                     products.data());
            CHECK(samples::nmse(products, golden::products_by_exact_sums<E>(c)) <= 1e-6);
        }
    });
}

TEST_CASE(
    "with the sums that q8_1 rounds to f16 the products of q4_1 and q5_1 are ggml's within NMSE "
    "1e-12: that rounding is the whole difference") {
    const auto check = []<class E>() {
        const std::vector<golden::test_case> cases = golden::load(kq::name_of(E::id));
        REQUIRE(cases.size() >= 5);
        bool differs = false; // without the rounding
        for (const golden::test_case& c : cases) {
            INFO(kq::name_of(E::id) << ", " << c.name);
            REQUIRE(c.activation == "q8_1");
            const auto w = c.as<typename E::block>("weight");
            const auto values = c.as<float>("activation_f32");
            const auto x = golden::activation_blocks<kq::q8_32>(c);
            const int64_t count = c.k / 32;
            std::vector<double> products;
            for (int64_t j = 0; j < c.m; ++j) {
                for (int64_t r = 0; r < c.n; ++r) {
                    double sum = 0;
                    for (int64_t b = 0; b < count; ++b) {
                        const auto& block = w[static_cast<size_t>(r * count + b)];
                        const auto& codes = x[static_cast<size_t>(j * count + b)];
                        // ggml multiplies by the scale that is not rounded, and rounds the product.
                        const auto own = kq::quantize_block<kq::q8_32>(values.data() + j * c.k +
                                                                       b * E::elements);
                        const auto of_codes = static_cast<float>(golden::sum_of_codes(codes.q));
                        const float rounded = kq::to_f32(kq::to_f16(of_codes * own.d));
                        int dot = 0;
                        for (int i = 0; i < E::elements; ++i) {
                            dot += E::code(block, i) * codes.q[i];
                        }
                        sum += static_cast<double>(kq::to_f32(block.d)) * codes.d * dot +
                               static_cast<double>(kq::to_f32(block.m)) * rounded;
                    }
                    products.push_back(sum);
                }
            }
            const auto dots = c.as<float>("dot_f32");
            CHECK(samples::nmse(products, dots) <= 1e-12);
            differs |= samples::nmse(golden::products_by_exact_sums<E>(c), dots) > 1e-12;
        }
        CHECK(differs);
    };
    check.operator()<kq::q4_1>();
    check.operator()<kq::q5_1>();
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

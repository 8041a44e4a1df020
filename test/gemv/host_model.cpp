// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "families.hpp"
#include "golden.hpp"
#include "shapes.hpp"

#include <kq/core/check.hpp>
#include <kq/dot/all.hpp>
#include <kq/gemv/host_model.hpp>
#include <kq/reference/reference.hpp>

#include <cmath>
#include <limits>
#include <type_traits>

namespace {

template <class E>
std::vector<typename E::activation::block> quantize(const std::vector<float>& x) {
    std::vector<typename E::activation::block> blocks;
    for (size_t at = 0; at < x.size(); at += E::activation::elements) {
        blocks.push_back(kq::quantize_block<typename E::activation>(x.data() + at));
    }
    return blocks;
}

template <class E, class Element>
std::vector<float> multiply(const std::vector<typename E::block>& w, const std::vector<Element>& x,
                            samples::shape s) {
    std::vector<float> y(static_cast<size_t>(s.m * s.n), -1.0f);
    kq::check(kq::host_model<E>::launch({.weights = w.data(),
                                         .activation = x.data(),
                                         .output = y.data(),
                                         .n = s.n,
                                         .k = s.k,
                                         .m = s.m}));
    return y;
}

/// As `multiply`, with an activation that is quantized already, by the image and the lanes' loop.
template <class E>
std::vector<float> multiply_blocks(const std::vector<typename E::block>& w,
                                   const std::vector<typename E::activation::block>& x,
                                   samples::shape s) {
    using loop = kq::lane_loop<E, kq::order{}, 1, 1, 1>;
    using image = typename loop::image;
    const int64_t count = s.k / E::elements;
    const int64_t met = s.k / E::activation::elements; // activation blocks
    std::vector<unsigned char> row(static_cast<size_t>(image::row_bytes(met)));
    std::vector<float> y;
    for (int64_t j = 0; j < s.m; ++j) {
        image::pack(x.data() + j * met, met, row.data());
        for (int64_t r = 0; r < s.n; ++r) {
            const auto* weights = reinterpret_cast<const unsigned char*>(w.data() + r * count);
            float lanes[32];
            for (int l = 0; l < 32; ++l) {
                float sum[1][1] = {};
                loop::template accumulate<kq::cached_memory>(
                    sum, {weights}, {row.data()}, 0, static_cast<int>(count),
                    loop::lane_at(l, samples::lookup_table<E>()));
                lanes[l] = sum[0][0];
            }
            y.push_back(kq::order{}.meet(lanes));
        }
    }
    return y;
}

/// The NMSE of `multiply` against dequantized weights times the unquantized `x`, in double.
/// `x`: [k].
template <class E, class Element>
double error_of_quantization(const std::vector<typename E::block>& w, const std::vector<Element>& x,
                             int64_t n) {
    const auto k = static_cast<int64_t>(x.size());
    std::vector<float> exact_x;
    for (const Element v : x) {
        exact_x.push_back(kq::to_f32(v));
    }
    std::vector<double> expected;
    for (int64_t r = 0; r < n; ++r) {
        const int64_t count = k / E::elements;
        expected.push_back(
            kq::reference::unquantized_dot<E>(w.data() + r * count, exact_x.data(), count));
    }
    return samples::nmse(multiply<E>(w, x, {1, n, k}), expected);
}

/// `x` times ten to `power`, as elements of another type.
template <class Element>
std::vector<Element> scaled(const std::vector<float>& x, int power) {
    std::vector<Element> y;
    for (const float v : x) {
        const auto product = static_cast<float>(static_cast<double>(v) * std::pow(10.0, power));
        if constexpr (std::is_same_v<Element, kq::f16>) {
            y.push_back(kq::to_f16(product));
        } else if constexpr (std::is_same_v<Element, kq::bf16>) {
            y.push_back(kq::to_bf16(product));
        } else {
            y.push_back(product);
        }
    }
    return y;
}

/// The slice that weight `i` of a block belongs to.
template <class E>
int slice_of(int i) {
    using image = typename kq::decoder<E>::image;
    const int block = i / E::activation::elements; // of the activation
    return block * image::slices +
           image::place_of(image::group_of(i % E::activation::elements)).slice;
}

/// The integers of slice `slice` of a block, of the weights that share d with weight `first`, by
/// the reference's element decode. `x`: the activation blocks that the weight block meets.
template <class E>
kq::integers slice_integers(const typename E::block& w, const typename E::activation::block* x,
                            int slice, int first) {
    kq::integers sum{0, 0};
    for (int i = first; i < first + kq::sub_elements<E>; ++i) {
        if (slice_of<E>(i) == slice) {
            const int code = x[i / E::activation::elements].q[i % E::activation::elements];
            sum.dot += E::scale(w, i) * E::code(w, i) * code;
            sum.min += E::minimum(w, i) * code;
        }
    }
    return sum;
}

/// An output in the order of additions that contract C3 states, written out here.
template <class E>
float ordered_dot(const typename E::block* w, const typename E::activation::block* x, int count) {
    constexpr int slices = kq::decoder<E>::slices;
    float lanes[32] = {};
    for (int l = 0; l < 32; ++l) {
        for (int b = l / slices; b < count; b += 32 / slices) {
            const int slice = l % slices;
            const auto* meets = x + b * kq::reference::activation_blocks<E>;
            const float d_x = E::activation::d(meets[slice / kq::decoder<E>::image::slices]);
            for (int i = 0; i < E::elements; i += kq::sub_elements<E>) {
                const kq::integers sum = slice_integers<E>(w[b], meets, slice, i);
                const float d = kq::d_of<E>(w[b], i);
                volatile float scale = d * (E::factor * d_x); // volatile: no contraction
                volatile float min_scale = E::dmin(w[b]) * d_x;
                lanes[l] = std::fma(scale, static_cast<float>(sum.dot), lanes[l]);
                lanes[l] = std::fma(-min_scale, static_cast<float>(sum.min), lanes[l]);
            }
        }
    }
    for (int distance = 16; distance >= 1; distance /= 2) {
        for (int l = 0; l < distance; ++l) {
            lanes[l] += lanes[l + distance];
        }
    }
    return lanes[0];
}

} // namespace

TEST_CASE(
    "the host model agrees with ggml's products of the golden files, had they not rounded sums "
    "of q8_1, within NMSE 1e-6, where ggml rounds the activation's scales to f16 within 1e-5") {
    samples::for_each_encoding([]<class E>() {
        const bool rounds = std::is_same_v<typename E::activation, kq::q8_32>;
        for (const golden::test_case& c : golden::load(kq::name_of(E::id))) {
            INFO(c.name);
            const auto y = multiply<E>(c.as<typename E::block>("weight"),
                                       c.as<float>("activation_f32"), {c.m, c.n, c.k});
            CHECK(samples::nmse(y, golden::products_by_exact_sums<E>(c)) <= (rounds ? 1e-5 : 1e-6));
        }
    });
}

TEST_CASE(
    "images made from ggml's own activation blocks give ggml's products, had they not rounded "
    "sums of q8_1, within NMSE 1e-10, which leaves room for another order of additions") {
    samples::for_each_encoding([]<class E>() {
        for (const golden::test_case& c : golden::load(kq::name_of(E::id))) {
            INFO(c.name);
            const auto y = multiply_blocks<E>(c.as<typename E::block>("weight"),
                                              golden::activation_blocks<typename E::activation>(c),
                                              {c.m, c.n, c.k});
            CHECK(samples::nmse(y, golden::products_by_exact_sums<E>(c)) <= 1e-10);
        }
    });
}

namespace {

/// Whether the products of shapes are the reference's within NMSE 1e-6.
template <class E>
void compare_with_reference(const std::vector<samples::shape>& shapes) {
    for (const samples::shape s : shapes) {
        INFO("m " << s.m << ", n " << s.n << ", k " << s.k);
        const auto w = samples::random_weights<E>(s.n, s.k, 1);
        const auto x = samples::gaussian(s.m * s.k, 2);
        const auto blocks = quantize<E>(x);
        std::vector<double> expected(static_cast<size_t>(s.m * s.n));
        kq::reference::matmul<E>(w.data(), blocks.data(), s.n, s.m, s.k / E::elements,
                                 expected.data());
        REQUIRE(samples::nmse(multiply<E>(w, x, s), expected) <= 1e-6);
    }
}

} // namespace

// Sanitizers take ten times as long.
#if defined(KQ_SANITIZED)
TEST_CASE("the host model agrees with the reference within NMSE 1e-6, for small m and n") {
    samples::for_each_family<12>(
        []<class E>() { compare_with_reference<E>(samples::shapes<E>(40, 65)); });
}
#else
TEST_CASE("the host model agrees with the reference within NMSE 1e-6, for small m and n") {
    samples::for_each_encoding(
        []<class E>() { compare_with_reference<E>(samples::shapes<E>(40, 65)); });
}

TEST_CASE("the host model agrees with the reference within NMSE 1e-6, for every m, n and k") {
    samples::for_each_family<12>(
        []<class E>() { compare_with_reference<E>(samples::shapes<E>()); });
}
#endif

TEST_CASE("the host model agrees with the unquantized f64 product within NMSE 5e-4") {
    samples::for_each_encoding([]<class E>() {
        const samples::shape s{2, 256, 2048};
        const auto w = samples::random_weights<E>(s.n, s.k, 3);
        const auto x = samples::gaussian(s.m * s.k, 4);
        std::vector<double> expected;
        for (int64_t j = 0; j < s.m; ++j) {
            for (int64_t r = 0; r < s.n; ++r) {
                const int64_t count = s.k / E::elements;
                expected.push_back(kq::reference::unquantized_dot<E>(w.data() + r * count,
                                                                     x.data() + j * s.k, count));
            }
        }
        CHECK(samples::nmse(multiply<E>(w, x, s), expected) <= 5e-4);
    });
}

TEST_CASE("the error of quantization is the same, within 0.1%, for activations scaled by 1e-30 to "
          "1e30") {
    // Of ggml's scales of 32 activations, f16, those of small activations lose digits, those of
    // large ones are infinite. It is the activation's, whatever the weights.
    samples::for_each_family<11>([]<class E>() {
        const int64_t n = 64, k = 512;
        const auto w = samples::random_weights<E>(n, k, 14);
        const auto x = samples::gaussian(k, 15);
        const double unscaled = error_of_quantization<E>(w, x, n);
        for (int power = -30; power <= 30; ++power) {
            INFO("1e" << power);
            const double error = error_of_quantization<E>(w, scaled<float>(x, power), n);
            CHECK(std::fabs(error / unscaled - 1) <= 1e-3);
        }
    });
}

TEST_CASE("the error of quantization at most doubles for f16 and bf16 activations in blocks of 32 "
          "over the whole range of their types") {
    const auto check = []<class E>() {
        const int64_t n = 256, k = 512;
        const auto w = samples::random_weights<E>(n, k, 14);
        const auto x = samples::gaussian(k, 15);
        const double unscaled = error_of_quantization<E>(w, x, n);
        for (int power = -30; power <= 30; ++power) {
            INFO(kq::name_of(E::id) << ", 1e" << power);
            CHECK(error_of_quantization<E>(w, scaled<kq::bf16>(x, power), n) <= 2 * unscaled);
            if (power >= -7 && power <= 4) { // from a few subnormal steps to almost infinite
                CHECK(error_of_quantization<E>(w, scaled<kq::f16>(x, power), n) <= 2 * unscaled);
            }
        }
    };
    check.template operator()<kq::q4_0>();
    check.template operator()<kq::q5_0>();
    check.template operator()<kq::q8_0>();
    check.template operator()<kq::nvfp4>();
    check.template operator()<kq::q1_0>();
    check.template operator()<kq::q2_0>();
}

TEST_CASE("the host model's bits follow from the stated order of additions") {
    samples::for_each_encoding([]<class E>() {
        for (const int count : {1, 5, 32, 67}) {
            INFO(count << " blocks");
            const int64_t k = int64_t{count} * E::elements;
            const auto w = samples::random_weights<E>(8, k, 5);
            const auto x = samples::gaussian(k, 6);
            const auto blocks = quantize<E>(x);
            const auto y = multiply<E>(w, x, {1, 8, k});
            for (size_t r = 0; r < 8; ++r) {
                REQUIRE(y[r] == ordered_dot<E>(w.data() + r * static_cast<size_t>(count),
                                               blocks.data(), count));
            }
        }
    });
}

TEST_CASE("the host model rounds outputs to nearest and honours strides and row ranges") {
    using E = kq::q4_k;
    const int64_t n = 5, k = 512, m = 3;
    const auto w = samples::random_weights<E>(n, k, 8);
    const auto x = samples::gaussian(m * k, 9);
    const auto exact = multiply<E>(w, x, {m, n, k});

    std::vector<float> strided_x(static_cast<size_t>(m * (k + 7)), 1e30f);
    for (int64_t j = 0; j < m; ++j) {
        std::copy_n(x.begin() + j * k, k, strided_x.begin() + j * (k + 7));
    }
    const kq::f16 guard16{0x1234};
    std::vector<kq::f16> y16(static_cast<size_t>(m * (n + 2)), guard16);
    std::vector<kq::bf16> yb(static_cast<size_t>(m * (n + 2)), kq::bf16{0x1234});
    kq::dense_arguments a{.weights = w.data(),
                          .activation = strided_x.data(),
                          .output = y16.data(),
                          .n = n,
                          .k = k,
                          .m = m,
                          .activation_stride = k + 7,
                          .output_stride = n + 2};
    REQUIRE(kq::host_model<E>::launch(a, 0, 2).ok());
    REQUIRE(kq::host_model<E>::launch(a, 2, n).ok());
    a.output = yb.data();
    REQUIRE(kq::host_model<E>::launch(a).ok());
    for (int64_t j = 0; j < m; ++j) {
        for (int64_t r = 0; r < n + 2; ++r) {
            const auto at = static_cast<size_t>(j * (n + 2) + r);
            const float expected = r < n ? exact[static_cast<size_t>(j * n + r)] : 0;
            CHECK(y16[at].bits == (r < n ? kq::to_f16(expected).bits : 0x1234));
            CHECK(yb[at].bits == (r < n ? kq::to_bf16(expected).bits : 0x1234));
        }
    }
}

TEST_CASE("f16 and bf16 activations multiply like the f32 values that they stand for") {
    using E = kq::q5_0;
    const int64_t n = 3, k = 96;
    const auto w = samples::random_weights<E>(n, k, 10);
    std::vector<kq::f16> x16;
    std::vector<kq::bf16> xb;
    std::vector<float> from16, fromb;
    for (const float v : samples::gaussian(k, 11)) {
        x16.push_back(kq::to_f16(v));
        xb.push_back(kq::to_bf16(v));
        from16.push_back(kq::to_f32(x16.back()));
        fromb.push_back(kq::to_f32(xb.back()));
    }
    std::vector<float> y(static_cast<size_t>(n));
    kq::dense_arguments a{
        .weights = w.data(), .activation = x16.data(), .output = y.data(), .n = n, .k = k};
    REQUIRE(kq::host_model<E>::launch(a).ok());
    CHECK(y == multiply<E>(w, from16, {1, n, k}));
    a.activation = xb.data();
    REQUIRE(kq::host_model<E>::launch(a).ok());
    CHECK(y == multiply<E>(w, fromb, {1, n, k}));
}

TEST_CASE(
    "a NaN or an infinity in the activation makes every output of its row NaN, and no other") {
    samples::for_each_encoding([]<class E>() {
        for (const float bad :
             {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
            const samples::shape s{2, 3, 512};
            const auto w = samples::random_weights<E>(s.n, s.k, 12);
            auto x = samples::gaussian(s.m * s.k, 13);
            const auto good = multiply<E>(w, x, s);
            x[100] = bad;
            const auto y = multiply<E>(w, x, s);
            for (size_t r = 0; r < 3; ++r) {
                CHECK(std::isnan(y[r]));
                CHECK(y[3 + r] == good[3 + r]);
            }
        }
    });
}

TEST_CASE("k of zero stores zeros, n or m of zero stores nothing") {
    std::vector<float> y(4, 7.0f);
    kq::dense_arguments a{.output = y.data(), .n = 2, .k = 0, .m = 1};
    REQUIRE(kq::host_model<kq::q8_0>::launch(a).ok());
    CHECK(y == std::vector<float>{0, 0, 7, 7});
    a.n = 0;
    a.k = 32;
    CHECK(kq::host_model<kq::q8_0>::launch(a).ok());
    a.n = 2;
    a.m = 0;
    CHECK(kq::host_model<kq::q8_0>::launch(a).ok());
    CHECK(y == std::vector<float>{0, 0, 7, 7});
    a.k = 33;
    const kq::status refused = kq::host_model<kq::q8_0>::launch(a);
    CHECK(refused.subject() == std::string("k"));
}

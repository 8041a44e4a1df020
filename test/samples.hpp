// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "catch.hpp"

#include <kq/blocks/all.hpp>
#include <kq/blocks/q8_k.hpp>
#include <kq/dot/all.hpp>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

/// Blocks, activations and measures that the tests share.
namespace samples {

using generator = std::mt19937_64;

/// A block of random bytes with finite scales.
template <class Encoding>
typename Encoding::block random_block(generator& random) {
    typename Encoding::block b;
    auto* bytes = reinterpret_cast<unsigned char*>(&b);
    for (size_t i = 0; i < sizeof(b); ++i) {
        bytes[i] = static_cast<unsigned char>(random());
    }
    const auto scale = [&] {
        return kq::to_f16(std::ldexp(static_cast<float>(random() % 2047) - 1023, -16));
    };
    if constexpr (requires { b.d = scale(); }) {
        b.d = scale();
    }
    if constexpr (requires { b.set_d(scale()); }) {
        b.set_d(scale());
    }
    if constexpr (requires { b.dmin; }) {
        b.dmin = scale();
    }
    if constexpr (requires { b.m; }) {
        b.m = scale();
    }
    if constexpr (requires { b.e; }) {
        b.e = static_cast<uint8_t>(112 + random() % 10); // 2^-16 to 2^-7
    }
    return b;
}

/// `n` rows of `k` weights.
template <class Encoding>
std::vector<typename Encoding::block> random_weights(int64_t n, int64_t k, uint64_t seed) {
    generator random(seed);
    std::vector<typename Encoding::block> blocks(static_cast<size_t>(n * (k / Encoding::elements)));
    for (auto& b : blocks) {
        b = random_block<Encoding>(random);
    }
    return blocks;
}

/// A block whose bytes all are `byte`, with finite scales: with 0x00 and 0xff every field is at an
/// extreme.
template <class Encoding>
typename Encoding::block uniform_block(unsigned char byte) {
    typename Encoding::block b;
    std::memset(static_cast<void*>(&b), byte, sizeof(b));
    if constexpr (requires { b.d = kq::f16{}; }) {
        b.d = kq::to_f16(0.5f);
    }
    if constexpr (requires { b.set_d(kq::f16{}); }) {
        b.set_d(kq::to_f16(0.5f));
    }
    if constexpr (requires { b.dmin; }) {
        b.dmin = kq::to_f16(-0.25f);
    }
    if constexpr (requires { b.m; }) {
        b.m = kq::to_f16(-0.25f);
    }
    if constexpr (requires { b.e; }) {
        b.e = 127; // 0.5
    }
    return b;
}

/// A quantized block with random codes, sums included.
template <class Activation>
typename Activation::block random_activation(generator& random) {
    typename Activation::block b{};
    for (int i = 0; i < Activation::elements; ++i) {
        b.q[i] = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
        if constexpr (requires { b.sums; }) {
            b.sums[i / 16] = static_cast<int16_t>(b.sums[i / 16] + b.q[i]);
        }
    }
    b.d = 0.01f;
    return b;
}

/// Standard normal values.
inline std::vector<float> gaussian(int64_t count, uint64_t seed) {
    generator random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> x(static_cast<size_t>(count));
    for (float& v : x) {
        v = normal(random);
    }
    return x;
}

/// Normalized mean squared error of `x` against `expected`; infinite where `expected` is all zero
/// and `x` is not, NaN where a value is.
template <class T, class U>
double nmse(const std::vector<T>& x, const std::vector<U>& expected) {
    double error = 0;
    double norm = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        const double difference = static_cast<double>(x[i]) - static_cast<double>(expected[i]);
        error += difference * difference;
        norm += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
    }
    return error == 0 ? 0 : error / norm;
}

/// The lookup table of `Encoding`'s dot, as lanes read it: [table_rows, table_columns] words.
template <class Encoding>
const unsigned char* lookup_table() {
    static const std::vector<uint32_t> words = [] {
        constexpr size_t columns = kq::decoder<Encoding>::table_columns;
        std::vector<uint32_t> t(static_cast<size_t>(kq::decoder<Encoding>::table_rows) * columns);
        for (size_t i = 0; i < t.size(); ++i) {
            t[i] = kq::decoder<Encoding>::table_row(static_cast<int>(i / columns));
        }
        return t;
    }();
    return reinterpret_cast<const unsigned char*>(words.data());
}

/// Runs `test` for every encoding of the list, each in a section of its name.
template <class Test>
void for_each_encoding(Test&& test) {
    const auto run = [&]<class Encoding>() {
        DYNAMIC_SECTION(kq::name_of(Encoding::id)) {
            test.template operator()<Encoding>();
        }
    };
    [&]<class... Encodings>(kq::type_list<Encodings...>) {
        (run.template operator()<Encodings>(), ...);
    }(kq::encodings{});
}

} // namespace samples

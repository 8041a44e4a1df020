// SPDX-License-Identifier: Apache-2.0

// What docs/adding-an-encoding.md walks through: an encoding that is not in kq's list.

#include "toy_encoding/blocks/toy4.hpp"
#include "catch.hpp"
#include "samples.hpp"
#include "toy_encoding/dot/toy4.hpp"

#include <kq/core/check.hpp>
#include <kq/gemv/host_model.hpp>
#include <kq/reference/reference.hpp>

#include <fstream>
#include <sstream>
#include <string>

using toy::toy4;

namespace {

/// Dequantizes and adds up, exactly where all numbers are small multiples of powers of two.
/// `w`: [n, k / 32] blocks. `x`: [k].
std::vector<float> multiply_naively(const std::vector<toy4::block>& w, const std::vector<float>& x,
                                    size_t n) {
    const size_t k = x.size();
    std::vector<float> y(n);
    for (size_t r = 0; r < n; ++r) {
        double sum = 0;
        for (size_t i = 0; i < k; ++i) {
            const toy4::block& b = w[r * (k / 32) + i / 32];
            const int byte = b.qs[i % 32 / 2];
            const int nibble = i % 2 == 0 ? byte % 16 : byte / 16;
            sum += double{kq::to_f32(b.d)} * (nibble - 8) * x[i];
        }
        y[r] = static_cast<float>(sum);
    }
    return y;
}

/// Memory that holds a block, and sees every load.
struct watched_memory {
    static inline const unsigned char* first = nullptr; ///< of the block

    template <class T>
    static T load(const unsigned char* address) {
        REQUIRE(reinterpret_cast<uintptr_t>(address) % alignof(T) == 0);
        REQUIRE(address >= first);
        REQUIRE(address + sizeof(T) <= first + sizeof(toy4::block));
        return kq::cached_memory::load<T>(address);
    }
};

std::string text_of(const std::string& path) {
    std::ifstream file(path);
    REQUIRE(file);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

} // namespace

TEST_CASE("a toy4 block decodes to the weights worked out by hand, at compile time") {
    constexpr toy4::block b{{0x2f, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x91}, {0x3800}};
    STATIC_REQUIRE(kq::reference::weight<toy4>(b, 0) == 3.5f);   // 0.5 * (15 - 8)
    STATIC_REQUIRE(kq::reference::weight<toy4>(b, 1) == -3.0f);  // 0.5 * (2 - 8)
    STATIC_REQUIRE(kq::reference::weight<toy4>(b, 2) == -4.0f);  // 0.5 * (0 - 8)
    STATIC_REQUIRE(kq::reference::weight<toy4>(b, 3) == 0.0f);   // 0.5 * (8 - 8)
    STATIC_REQUIRE(kq::reference::weight<toy4>(b, 30) == -3.5f); // 0.5 * (1 - 8)
    STATIC_REQUIRE(kq::reference::weight<toy4>(b, 31) == 0.5f);  // 0.5 * (9 - 8)
}

TEST_CASE("the lane's integers of 4096 random toy4 blocks are the reference's at every alignment, "
          "and every load is aligned and inside the block") {
    using dot = kq::dp4a_dot<toy4>;
    samples::generator random(1);
    for (size_t round = 0; round < 4096; ++round) {
        const auto w = samples::random_block<toy4>(random);
        const auto x = samples::random_activation<kq::q8_32>(random);
        unsigned char panel[dot::image::panel_bytes];
        dot::image::pack(&x, 1, panel);

        alignas(16) unsigned char memory[14 + sizeof(w)];
        unsigned char* block = memory + round % 8 * 2;
        std::memcpy(block, &w, sizeof(w));
        watched_memory::first = block;
        const auto fragment = dot::load<watched_memory>(dot::locate(block, 0), 0);
        const auto activation = dot::image::load<kq::cached_memory>(panel, 0);
        const kq::integers sums = dot::dot(fragment, activation, {0, 0, nullptr, 0});
        REQUIRE(sums.dot == kq::reference::integer_dot<toy4>(w, &x));
        REQUIRE(sums.min == kq::reference::integer_min<toy4>(w, &x));
    }
}

TEST_CASE("the host model gives the bits of dequantized weights times the activation, where "
          "nothing rounds") {
    const int64_t n = 5, k = 9 * 32;
    samples::generator random(2);
    auto w = samples::random_weights<toy4>(n, k, 3);
    for (toy4::block& b : w) {
        b.d = kq::to_f16(std::ldexp(1.0f, static_cast<int>(random() % 4) - 3));
    }
    std::vector<float> x(k);
    for (size_t i = 0; i < k; ++i) { // codes up to 127 times a power of two: quantized exactly
        const int code = i % 32 == 5 ? -127 : static_cast<int>(random() % 255) - 127;
        x[i] = std::ldexp(static_cast<float>(code), static_cast<int>(i / 32 % 3));
    }
    std::vector<float> y(n);
    kq::check(kq::host_model<toy4>::launch(
        {.weights = w.data(), .activation = x.data(), .output = y.data(), .n = n, .k = k}));
    CHECK(y == multiply_naively(w, x, n));
}

TEST_CASE("the host model of toy4 agrees with the reference within NMSE 1e-6, in every order of "
          "additions") {
    const int64_t n = 64, k = 67 * 32;
    const auto w = samples::random_weights<toy4>(n, k, 4);
    const auto x = samples::gaussian(k, 5);
    std::vector<kq::q8_32::block> blocks;
    for (int64_t i = 0; i < k; i += 32) {
        blocks.push_back(kq::quantize_block<kq::q8_32>(x.data() + i));
    }
    std::vector<double> expected(n);
    kq::reference::matmul<toy4>(w.data(), blocks.data(), n, 1, k / 32, expected.data());
    std::vector<float> y(n);
    const kq::dense_arguments a{
        .weights = w.data(), .activation = x.data(), .output = y.data(), .n = n, .k = k};
    kq::check(kq::host_model<toy4>::launch(a));
    CHECK(samples::nmse(y, expected) <= 1e-6);
    kq::check(kq::host_model<toy4, kq::order{16}>::launch(a));
    CHECK(samples::nmse(y, expected) <= 1e-6);
    kq::check(kq::host_model<toy4, kq::order{8}>::launch(a));
    CHECK(samples::nmse(y, expected) <= 1e-6);
}

TEST_CASE("the walk-through shows the code that is tested here") {
    const std::string folder = "test/toy_encoding/";
    const std::string code = text_of(folder + "blocks/toy4.hpp") +
                             text_of(folder + "dot/toy4.hpp") + text_of(folder + "toy4.cpp");
    const std::string document = text_of("docs/adding-an-encoding.md");
    const std::string begin = "```cpp\n";
    int blocks = 0;
    for (size_t at = document.find(begin); at != std::string::npos; at = document.find(begin, at)) {
        at += begin.size();
        const size_t end = document.find("```", at);
        INFO(document.substr(at, end - at));
        CHECK(code.find(document.substr(at, end - at)) != std::string::npos);
        ++blocks;
    }
    CHECK(blocks == 6);
}

// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <kq/core/intrinsics.hpp>

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

// The build compiles this file a second time for the host's own processor with contraction on:
// nothing here may depend on that.

namespace {

using generator = std::mt19937;

uint32_t bits_of(float x) {
    return std::bit_cast<uint32_t>(x);
}

float float_of(uint32_t bits) {
    return std::bit_cast<float>(bits);
}

/// The elements of `T` in a word, the lowest first.
template <class T>
struct elements {
    T at[4 / sizeof(T)];

    explicit elements(uint32_t word) { std::memcpy(at, &word, sizeof(word)); }
};

/// The dot of `count` elements of `a` and of `b`, those of `b` from `first` on, without rounding or
/// wrapping.
template <class A, class B>
int64_t wide_dot(uint32_t a, uint32_t b, int count, int first = 0) {
    const elements<A> x(a);
    const elements<B> y(b);
    int64_t sum = 0;
    for (int i = 0; i < count; ++i) {
        sum += int64_t{x.at[i]} * int64_t{y.at[first + i]};
    }
    return sum;
}

uint32_t modulo_2_32(int64_t x) {
    return static_cast<uint32_t>(static_cast<uint64_t>(x));
}

int as_int(uint32_t x) {
    return std::bit_cast<int>(x);
}

/// Words at which every element is extreme, and random ones.
std::vector<uint32_t> sample_words(unsigned seed) {
    std::vector<uint32_t> words = {0x00000000u, 0xffffffffu, 0x7f7f7f7fu, 0x80808080u,
                                   0x80007fffu, 0x7fff8000u, 0x01010101u, 0x80000000u,
                                   0x000000ffu, 0x00ff00ffu, 0xff00ff00u, 0x7fffffffu};
    generator random(seed);
    for (int i = 0; i < 40; ++i) {
        words.push_back(random());
    }
    return words;
}

struct dot_errors {
    int ss = 0;
    int us = 0;
    int uu = 0;
    int lo_ss = 0;
    int hi_ss = 0;
    int lo_uu = 0;
};

dot_errors errors_of(uint32_t a, uint32_t b, uint32_t sum) {
    const int s = as_int(sum);
    const int64_t u = sum;
    const auto differs = [](auto x, int64_t expected) {
        return static_cast<uint32_t>(x) != modulo_2_32(expected);
    };
    dot_errors e;
    e.ss = differs(kq::dp4a_ss(a, b, s), s + wide_dot<int8_t, int8_t>(a, b, 4));
    e.us = differs(kq::dp4a_us(a, b, s), s + wide_dot<uint8_t, int8_t>(a, b, 4));
    e.uu = differs(kq::dp4a_uu(a, b, sum), u + wide_dot<uint8_t, uint8_t>(a, b, 4));
    e.lo_ss = differs(kq::dp2a_lo_ss(a, b, s), s + wide_dot<int16_t, int8_t>(a, b, 2));
    e.hi_ss = differs(kq::dp2a_hi_ss(a, b, s), s + wide_dot<int16_t, int8_t>(a, b, 2, 2));
    e.lo_uu = differs(kq::dp2a_lo_uu(a, b, sum), u + wide_dot<uint16_t, uint8_t>(a, b, 2));
    return e;
}

/// A random f32 whose exponent lies in `[low, high)`, as powers of two.
float random_float(generator& random, int low, int high) {
    const auto span = static_cast<uint32_t>(high - low);
    const uint32_t exponent = static_cast<uint32_t>(low + 127) + random() % span;
    return float_of((random() & 0x807fffffu) | exponent << 23);
}

/// Rounds to f32 and forgets what was lost, whatever the compiler is allowed.
float rounded(double x) {
    const volatile float y = static_cast<float>(x);
    return y;
}

/// `a * b + c` in two roundings.
float twice_rounded(float a, float b, float c) {
    const volatile float product = a * b;
    const volatile float sum = product + c;
    return sum;
}

/// Loops that a compiler with contraction and vectors likes to fuse.
void multiply_add(const float* a, const float* b, const float* c, int count, float* out) {
    for (int i = 0; i < count; ++i) {
        out[i] = kq::add_rn(kq::mul_rn(a[i], b[i]), c[i]);
    }
}
void multiply_plus(const float* a, const float* b, const float* c, int count, float* out) {
    for (int i = 0; i < count; ++i) {
        out[i] = kq::mul_rn(a[i], b[i]) + c[i];
    }
}

} // namespace

TEST_CASE("byte and half dots equal wide-integer arithmetic modulo 2^32") {
    dot_errors total;
    const std::vector<uint32_t> sums = {0x00000000u, 0x00000001u, 0xffffffffu,
                                        0x7fffffffu, 0x80000000u, 0x12345678u};
    for (const uint32_t a : sample_words(1)) {
        for (const uint32_t b : sample_words(2)) {
            for (const uint32_t sum : sums) {
                const dot_errors e = errors_of(a, b, sum);
                total.ss += e.ss;
                total.us += e.us;
                total.uu += e.uu;
                total.lo_ss += e.lo_ss;
                total.hi_ss += e.hi_ss;
                total.lo_uu += e.lo_uu;
            }
        }
    }
    CHECK(total.ss == 0);
    CHECK(total.us == 0);
    CHECK(total.uu == 0);
    CHECK(total.lo_ss == 0);
    CHECK(total.hi_ss == 0);
    CHECK(total.lo_uu == 0);
}

TEST_CASE("byte and half dots have the extreme values that their signs allow") {
    CHECK(kq::dp4a_ss(0x80808080u, 0x80808080u, 0) == 4 * 128 * 128);
    CHECK(kq::dp4a_ss(0x80808080u, 0x7f7f7f7fu, 0) == -4 * 128 * 127);
    CHECK(kq::dp4a_us(0xffffffffu, 0x80808080u, 0) == -4 * 255 * 128);
    CHECK(kq::dp4a_uu(0xffffffffu, 0xffffffffu, 0) == 4u * 255 * 255);
    CHECK(kq::dp2a_lo_ss(0x80008000u, 0x00008080u, 0) == 2 * 32768 * 128);
    CHECK(kq::dp2a_hi_ss(0x7fff7fffu, 0x80800000u, 0) == -2 * 32767 * 128);
    CHECK(kq::dp2a_lo_uu(0xffffffffu, 0x0000ffffu, 0) == 2u * 65535 * 255);
}

TEST_CASE("byte and half dots wrap around at 2^32") {
    constexpr int most = std::numeric_limits<int>::max();
    constexpr int least = std::numeric_limits<int>::min();
    CHECK(kq::dp4a_ss(0x00000001u, 0x00000001u, most) == least);
    CHECK(kq::dp4a_ss(0x00000001u, 0x000000ffu, least) == most);
    CHECK(kq::dp4a_us(0x000000ffu, 0x00000001u, most) == least + 254);
    CHECK(kq::dp4a_uu(0x00000001u, 0x00000002u, 0xffffffffu) == 1u);
    CHECK(kq::dp2a_lo_ss(0x0000ffffu, 0x00000001u, least) == most);
    CHECK(kq::dp2a_hi_ss(0x00000001u, 0x00010000u, most) == least);
    CHECK(kq::dp2a_lo_uu(0x0000ffffu, 0x00000001u, 1u) == 0x00010000u);
}

TEST_CASE("byte_permute picks the bytes that every selector numbers, or repeats their signs, the "
          "selector's high half ignored") {
    generator random(3);
    int differences = 0;
    for (uint32_t choice = 0; choice < 65536; ++choice) {
        const uint32_t words[2] = {static_cast<uint32_t>(random()),
                                   static_cast<uint32_t>(random())};
        signed char bytes[8];
        std::memcpy(bytes, words, sizeof(bytes));
        const uint32_t selector = static_cast<uint32_t>(random()) << 16 | choice;
        signed char picked[4];
        for (int i = 0; i < 4; ++i) {
            const uint32_t nibble = (choice >> (4 * i)) & 0xfu;
            const signed char byte = bytes[nibble % 8];
            picked[i] = nibble < 8 ? byte : static_cast<signed char>(byte < 0 ? -1 : 0);
        }
        uint32_t expected = 0;
        std::memcpy(&expected, picked, sizeof(expected));
        differences += kq::byte_permute(words[0], words[1], selector) != expected;
    }
    CHECK(differences == 0);
}

TEST_CASE("mul_rn rounds the exact product once, subnormal results included") {
    generator random(4);
    int differences = 0;
    for (int i = 0; i < 200'000; ++i) {
        // 48 bits of product fit a double, and so do these exponents.
        const float a = random_float(random, -126, 127);
        const float b = random_float(random, -126, 127);
        const double product = static_cast<double>(a) * static_cast<double>(b);
        differences += bits_of(kq::mul_rn(a, b)) != bits_of(rounded(product));
    }
    for (int i = 0; i < 200'000; ++i) {
        const float a = random_float(random, -70, -60);
        const float b = random_float(random, -75, -66);
        const double product = static_cast<double>(a) * static_cast<double>(b);
        differences += bits_of(kq::mul_rn(a, b)) != bits_of(rounded(product));
    }
    CHECK(differences == 0);
}

TEST_CASE("add_rn rounds the exact sum once, subnormal results included") {
    generator random(5);
    int differences = 0;
    for (const int low : {-126, -10}) {
        for (int i = 0; i < 200'000; ++i) {
            // Exponents less than 28 apart: the double sum is exact.
            const float a = random_float(random, low, low + 28);
            const float b = random_float(random, low, low + 28);
            const double sum = static_cast<double>(a) + static_cast<double>(b);
            differences += bits_of(kq::add_rn(a, b)) != bits_of(rounded(sum));
        }
    }
    CHECK(differences == 0);
    const float least = std::numeric_limits<float>::denorm_min();
    CHECK(kq::add_rn(FLT_MIN, -least) == std::nextafter(FLT_MIN, 0.0f));
}

TEST_CASE("fma_rn rounds once where the double arithmetic is exact") {
    generator random(6);
    int differences = 0;
    int unlike_two_roundings = 0;
    for (int i = 0; i < 200'000; ++i) {
        // Integers: a product below 2^48 and a sum below 2^53 are exact doubles.
        const auto a = static_cast<float>(static_cast<int>(random() % 0x2000000u) - 0x1000000);
        const auto b = static_cast<float>(static_cast<int>(random() % 0x2000000u) - 0x1000000);
        const float c = std::trunc(random_float(random, 20, 50));
        const double sum = static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c);
        const float result = kq::fma_rn(a, b, c);
        differences += bits_of(result) != bits_of(rounded(sum));
        unlike_two_roundings += result != twice_rounded(a, b, c);
    }
    CHECK(differences == 0);
    CHECK(unlike_two_roundings > 1000); // so the samples do tell one rounding from two
}

TEST_CASE("fma_rn keeps what a rounded product would lose, and subnormal results") {
    const float x = 1 + 0x1p-12f;
    CHECK(kq::fma_rn(x, x, -(1 + 0x1p-11f)) == 0x1p-24f);
    CHECK(kq::fma_rn(0x1p-74f, 0x1p-75f, 0.0f) == 0x1p-149f);
}

TEST_CASE("div_rn rounds the quotient once") {
    generator random(7);
    int differences = 0;
    for (int i = 0; i < 200'000; ++i) {
        // A double quotient has more than twice the bits of a float, so rounding it again is
        // harmless where the result is normal.
        const float a = random_float(random, -60, 60);
        const float b = random_float(random, -60, 60);
        const double quotient = static_cast<double>(a) / static_cast<double>(b);
        differences += bits_of(kq::div_rn(a, b)) != bits_of(rounded(quotient));
    }
    CHECK(differences == 0);
}

TEST_CASE("div_rn keeps subnormals, overflows to infinity and divides by zero as IEEE 754 says") {
    const float least = std::numeric_limits<float>::denorm_min();
    const float infinity = std::numeric_limits<float>::infinity();
    CHECK(kq::div_rn(8 * least, 2.0f) == 4 * least);
    CHECK(kq::div_rn(3 * least, 2.0f) == 2 * least); // a tie, to the even one
    CHECK(kq::div_rn(least, 2.0f) == 0);
    CHECK(kq::div_rn(4 * least, 2 * least) == 2);
    CHECK(kq::div_rn(-127.0f, FLT_MIN) == -infinity);
    CHECK(kq::div_rn(1.0f, 0.0f) == infinity);
    CHECK(kq::div_rn(1.0f, -0.0f) == -infinity);
    CHECK(bits_of(kq::div_rn(1.0f, -infinity)) == 0x80000000u);
}

TEST_CASE("is_less tells subnormals apart and is false for NaN") {
    const float least = std::numeric_limits<float>::denorm_min();
    CHECK(kq::is_less(0, least));
    CHECK(kq::is_less(-least, 0));
    CHECK(kq::is_less(least, 2 * least));
    CHECK_FALSE(kq::is_less(least, least));
    CHECK_FALSE(kq::is_less(-0.0f, 0.0f));
    CHECK_FALSE(kq::is_less(std::numeric_limits<float>::quiet_NaN(), 1));
    CHECK_FALSE(kq::is_less(1, std::numeric_limits<float>::quiet_NaN()));
}

TEST_CASE("contraction never fuses a mul_rn into the sum that follows") {
    generator random(8);
    constexpr int count = 10'000;
    std::vector<float> a;
    std::vector<float> b;
    std::vector<float> c;
    std::vector<float> expected;
    for (int i = 0; i < count; ++i) {
        // The sum cancels the rounded product, so one rounding leaves what two lose.
        const float x = random_float(random, -5, 5);
        const float y = random_float(random, -5, 5);
        const volatile float product = x * y;
        a.push_back(x);
        b.push_back(y);
        c.push_back(-product);
        expected.push_back(twice_rounded(x, y, -product));
    }
    std::vector<float> sums(count);
    std::vector<float> pluses(count);
    multiply_add(a.data(), b.data(), c.data(), count, sums.data());
    multiply_plus(a.data(), b.data(), c.data(), count, pluses.data());
    int fused_sums = 0;
    int fused_pluses = 0;
    int would_differ = 0;
    for (size_t i = 0; i < count; ++i) {
        fused_sums += bits_of(sums[i]) != bits_of(expected[i]);
        fused_pluses += bits_of(pluses[i]) != bits_of(expected[i]);
        would_differ += kq::fma_rn(a[i], b[i], c[i]) != expected[i];
    }
    CHECK(fused_sums == 0);
    CHECK(fused_pluses == 0);
    CHECK(would_differ > count / 2);
}

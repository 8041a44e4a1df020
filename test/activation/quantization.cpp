// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "golden.hpp"

#include <kq/activation/rule.hpp>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

using block_k = kq::q8_k::block;
using block_32 = kq::q8_32::block;
using generator = std::mt19937;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float quiet_nan = std::numeric_limits<float>::quiet_NaN();
constexpr float least = std::numeric_limits<float>::denorm_min();

/// 127 / 2^128, the largest element whose quotient 127 / x overflows.
constexpr float largest_overflowing = 0x1.fcp-122f;

float float_of(uint32_t bits) {
    return std::bit_cast<float>(bits);
}

uint32_t bits_of(float x) {
    return std::bit_cast<uint32_t>(x);
}

/// Rounds a double to f32 once. A double quotient or product of two f32 that is rounded so is the
/// f32 quotient or product.
float rounded(double x) {
    const volatile float y = static_cast<float>(x);
    return y;
}

/// The f32 of a half, from the definition of the format.
float value_of_half(unsigned bits) {
    const unsigned exponent = (bits >> 10) & 31;
    const auto mantissa = static_cast<float>(bits & 1023);
    const float magnitude = exponent == 31  ? (mantissa == 0 ? infinity : quiet_nan)
                            : exponent == 0 ? std::ldexp(mantissa, -24)
                                            : std::ldexp(mantissa + 1024, int(exponent) - 25);
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/// A block of zeros with `values` at its start.
template <class Activation>
std::vector<float> block_of(const std::vector<float>& values) {
    std::vector<float> x(Activation::elements, 0.0f);
    std::copy(values.begin(), values.end(), x.begin());
    return x;
}

block_k quantized_k(const std::vector<float>& x) {
    return kq::quantize_block<kq::q8_k>(x.data());
}

block_32 quantized_32(const std::vector<float>& x) {
    return kq::quantize_block<kq::q8_32>(x.data());
}

template <class Block>
bool all_codes_are_zero(const Block& b) {
    int zeros = 0;
    for (const int8_t q : b.q) {
        zeros += q == 0;
    }
    return zeros == static_cast<int>(sizeof(b.q));
}

bool all_sums_are_zero(const block_k& b) {
    int zeros = 0;
    for (const int16_t sum : b.sums) {
        zeros += sum == 0;
    }
    return zeros == 16;
}

/// Whether every sum is that of its 16 codes.
bool sums_are_right(const block_k& b) {
    int right = 0;
    for (int j = 0; j < 16; ++j) {
        int sum = 0;
        for (int i = 16 * j; i < 16 * j + 16; ++i) {
            sum += b.q[i];
        }
        right += b.sums[j] == sum;
    }
    return right == 16;
}

/// How many codes of a finite block differ from contract C1's rule for q8_k, given the element of
/// largest magnitude.
int wrong_codes_k(const std::vector<float>& x, float extreme, const block_k& b) {
    const float inverse = rounded(-127.0 / static_cast<double>(extreme));
    int wrong = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        const float scaled = rounded(static_cast<double>(inverse) * static_cast<double>(x[i]));
        wrong += b.q[i] != std::min(static_cast<int>(std::nearbyint(scaled)), 127);
    }
    return wrong;
}

/// As `wrong_codes_k`, for q8_32.
int wrong_codes_32(const std::vector<float>& x, float extreme, const block_32& b) {
    const float d = rounded(std::fabs(static_cast<double>(extreme)) / 127);
    const float inverse = rounded(1 / static_cast<double>(d));
    int wrong = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        const float scaled = rounded(static_cast<double>(inverse) * static_cast<double>(x[i]));
        wrong += b.q[i] != static_cast<int>(std::round(scaled));
    }
    return wrong;
}

/// Random bits of a finite value of magnitude `[2^low, 2^high)`.
float random_float(generator& random, int low, int high) {
    const uint32_t exponent =
        static_cast<uint32_t>(low + 127) + random() % static_cast<uint32_t>(high - low);
    return float_of((random() & 0x807fffffu) | exponent << 23);
}

/// The first element of largest magnitude.
float extreme_of(const std::vector<float>& x) {
    float extreme = x[0];
    for (const float v : x) {
        if (std::fabs(v) > std::fabs(extreme)) {
            extreme = v;
        }
    }
    return extreme;
}

template <class Activation>
std::vector<float> random_values(generator& random, int low, int high) {
    std::vector<float> x;
    for (int i = 0; i < Activation::elements; ++i) {
        x.push_back(random_float(random, low, high));
    }
    return x;
}

/// Values that no finite scale fits: infinities and NaNs, quiet and signaling, of both signs.
const float not_finite[] = {infinity,
                            -infinity,
                            quiet_nan,
                            -quiet_nan,
                            float_of(0x7f800001u),
                            float_of(0xff800001u),
                            float_of(0x7fffffffu)};

/// How many blocks of `x`, stored by `store`, differ from ggml's bytes, or -1 where there are none
/// to compare.
template <class Activation, class Stored, class Store>
int differing_blocks(const std::vector<float>& x, const std::vector<Stored>& expected,
                     Store&& store) {
    if (expected.empty() || expected.size() * Activation::elements != x.size()) {
        return -1;
    }
    int differing = 0;
    for (size_t b = 0; b < expected.size(); ++b) {
        const Stored block =
            store(kq::quantize_block<Activation>(x.data() + b * Activation::elements));
        differing += std::memcmp(&block, &expected[b], sizeof(block)) != 0;
    }
    return differing;
}

/// How many activation blocks of the golden file differ from ggml's bytes, once their scale is
/// stored as ggml stores it, or -1 where there are none to compare.
template <class Activation>
int differing_golden_blocks(const golden::test_case& c) {
    const auto x = c.as<float>("activation_f32");
    const auto expected = c.as<golden::stored_block<Activation>>("activation_q8");
    return differing_blocks<Activation>(x, expected,
                                        [](const auto& b) { return golden::ggml_block(b); });
}

} // namespace

TEST_CASE("q8_k's scale takes its sign from the first element of largest magnitude") {
    const block_k plus_first = quantized_k(block_of<kq::q8_k>({1, 254, -254}));
    CHECK(plus_first.d == -2.0f);
    CHECK(int{plus_first.q[1]} == -127);
    CHECK(int{plus_first.q[2]} == 127);
    const block_k minus_first = quantized_k(block_of<kq::q8_k>({1, -254, 254}));
    CHECK(minus_first.d == 2.0f);
    CHECK(int{minus_first.q[1]} == -127);
    CHECK(int{minus_first.q[2]} == 127);
}

TEST_CASE("q8_k's tie is broken by position wherever the two elements lie") {
    int wrong = 0;
    for (const size_t first : {0u, 1u, 7u, 8u, 31u, 32u, 127u, 128u, 200u, 254u}) {
        for (size_t second = first + 1; second < 256; ++second) {
            std::vector<float> x(256, 1.0f);
            x[first] = -127;
            x[second] = 127;
            wrong += quantized_k(x).d != 1.0f;
            x[first] = 127;
            x[second] = -127;
            wrong += quantized_k(x).d != -1.0f;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("q8_32's scale is positive whichever sign the largest magnitude has") {
    for (const float extreme : {254.0f, -254.0f}) {
        const block_32 b = quantized_32(block_of<kq::q8_32>({extreme, -extreme, 1}));
        CHECK(b.d == 2.0f);
        CHECK(int{b.q[0]} == (extreme > 0 ? 127 : -127));
        CHECK(int{b.q[1]} == (extreme > 0 ? -127 : 127));
        CHECK(int{b.q[2]} == 1); // 0.5, away from zero
    }
}

TEST_CASE("a block of zeros of any sign has a zero scale, zero codes and zero sums") {
    for (const float zero : {0.0f, -0.0f}) {
        std::vector<float> x(256, 0.0f);
        x[0] = zero;
        x[100] = -zero;
        const block_k k = quantized_k(x);
        CHECK(bits_of(k.d) == 0);
        CHECK(all_codes_are_zero(k));
        CHECK(all_sums_are_zero(k));
        const block_32 q = quantized_32({x.begin(), x.begin() + 32});
        CHECK(bits_of(q.d) == 0);
        CHECK(all_codes_are_zero(q));
    }
}

TEST_CASE("q8_k rounds codes on the boundary to the even one, for scales of both signs") {
    for (const float extreme : {-127.0f, 127.0f}) { // the inverse is exactly 1 or -1
        const float sign = extreme < 0 ? 1.0f : -1.0f;
        std::vector<float> x = {extreme};
        for (int j = -127; j < 127; ++j) {
            x.push_back(sign * (static_cast<float>(j) + 0.5f));
        }
        x.push_back(0);
        const block_k b = quantized_k(x);
        CHECK(b.d == sign);
        int wrong = 0;
        for (int j = -127; j < 127; ++j) {
            const int even = j % 2 == 0 ? j : j + 1;
            wrong += b.q[j + 128] != even;
        }
        CHECK(wrong == 0);
        CHECK(sums_are_right(b));
    }
}

TEST_CASE("q8_k rounds codes beside the boundary to the nearer one") {
    for (const float j : {-126.0f, -3.0f, -1.0f, 0.0f, 1.0f, 2.0f, 63.0f, 125.0f}) {
        const float boundary = j + 0.5f;
        const block_k b = quantized_k(block_of<kq::q8_k>(
            {-127, std::nextafter(boundary, -infinity), std::nextafter(boundary, infinity)}));
        CHECK(int{b.q[1]} == static_cast<int>(j));
        CHECK(int{b.q[2]} == static_cast<int>(j) + 1);
    }
}

TEST_CASE("q8_32 rounds codes on the boundary away from zero") {
    for (int start = 0; start < 127; start += 15) {
        std::vector<float> x = {127}; // the scale and its reciprocal are exactly 1
        for (int j = start; j < std::min(start + 15, 127); ++j) {
            x.push_back(static_cast<float>(j) + 0.5f);
            x.push_back(-static_cast<float>(j) - 0.5f);
        }
        const block_32 b = quantized_32(block_of<kq::q8_32>(x));
        CHECK(b.d == 1.0f);
        for (size_t i = 1; i < x.size(); i += 2) {
            CHECK(float{static_cast<float>(b.q[i])} == x[i] + 0.5f);
            CHECK(float{static_cast<float>(b.q[i + 1])} == x[i + 1] - 0.5f);
        }
    }
}

TEST_CASE("the largest f32 below a half has code zero by both rules") {
    const float trap = 0.49999997f;
    const block_k k = quantized_k(block_of<kq::q8_k>({-127, trap, -trap}));
    CHECK(int{k.q[1]} == 0);
    CHECK(int{k.q[2]} == 0);
    const block_32 q = quantized_32(block_of<kq::q8_32>({127, trap, -trap}));
    CHECK(int{q.q[1]} == 0);
    CHECK(int{q.q[2]} == 0);
}

TEST_CASE("q8_k clamps codes at 127") {
    using rule = kq::quantization<kq::q8_k>;
    CHECK(rule::code_of(1.0f, 127.25f) == 127);
    CHECK(rule::code_of(1.0f, 127.75f) == 127);
    CHECK(rule::code_of(-1.0f, -1000.0f) == 127);
    CHECK(rule::code_of(-1.0f, 127.0f) == -127);
}

TEST_CASE("q8_k codes and scales follow the rule for random values of any size") {
    generator random(1);
    int wrong_codes = 0;
    int wrong_scales = 0;
    int wrong_sums = 0;
    for (int round = 0; round < 400; ++round) {
        const int low = static_cast<int>(random() % 240) - 120;
        const std::vector<float> x = random_values<kq::q8_k>(random, low, std::min(low + 9, 128));
        const float extreme = extreme_of(x);
        const block_k b = quantized_k(x);
        wrong_codes += wrong_codes_k(x, extreme, b);
        const float inverse = rounded(-127.0 / static_cast<double>(extreme));
        wrong_scales += bits_of(b.d) != bits_of(rounded(1 / static_cast<double>(inverse)));
        wrong_sums += !sums_are_right(b);
    }
    CHECK(wrong_codes == 0);
    CHECK(wrong_scales == 0);
    CHECK(wrong_sums == 0);
}

TEST_CASE("q8_32 codes follow the rule for random values of any size") {
    generator random(2);
    int wrong = 0;
    for (int round = 0; round < 2000; ++round) {
        const int low = static_cast<int>(random() % 230) - 110;
        const std::vector<float> x = random_values<kq::q8_32>(random, low, std::min(low + 9, 128));
        wrong += wrong_codes_32(x, extreme_of(x), quantized_32(x));
    }
    CHECK(wrong == 0);
}

TEST_CASE("q8_32 keeps the f32 scale that it rounds by") {
    // ggml stores the scale 1 + 2^-12 as 1, but rounds by it too: 64.51 divided by it is 64.494.
    const float amax = 127 * (1 + 0x1p-12f);
    const block_32 b = quantized_32(block_of<kq::q8_32>({amax, 64.51f}));
    CHECK(b.d == 1 + 0x1p-12f);
    CHECK(golden::ggml_block(b).d.bits == 0x3c00);
    CHECK(int{b.q[0]} == 127);
    CHECK(int{b.q[1]} == 64);
}

TEST_CASE("q8_32's scale is the largest magnitude divided by 127, rounded to f32 once") {
    generator random(5);
    int wrong = 0;
    for (int round = 0; round < 2000; ++round) {
        const float extreme = random_float(random, -126, 128);
        const block_32 b = quantized_32(block_of<kq::q8_32>({extreme / 3, extreme}));
        wrong += bits_of(b.d) != bits_of(rounded(std::fabs(static_cast<double>(extreme)) / 127));
    }
    CHECK(wrong == 0);
}

TEST_CASE("tiny blocks whose reciprocal overflows have zero codes and sums") {
    for (const float tiny : {least, 100 * least, 1e-40f, FLT_MIN, 1e-37f, largest_overflowing}) {
        for (const float extreme : {tiny, -tiny}) {
            INFO("extreme element " << extreme);
            const block_k k = quantized_k(block_of<kq::q8_k>({tiny / 2, extreme, 0, least}));
            CHECK(k.d == 0);
            CHECK(all_codes_are_zero(k));
            CHECK(all_sums_are_zero(k));
            const block_32 q = quantized_32(block_of<kq::q8_32>({tiny / 2, extreme, 0, least}));
            CHECK(q.d == std::fabs(extreme) / 127);
            CHECK(golden::ggml_block(q).d.bits == 0);
            CHECK(all_codes_are_zero(q));
        }
    }
}

TEST_CASE("the smallest blocks whose reciprocal does not overflow have codes") {
    for (const float extreme : {0x1.fep-122f, 4e-37f, -4e-37f}) {
        INFO("extreme element " << extreme);
        const std::vector<float> values = {extreme, extreme / 2, -extreme / 127, extreme / 3};
        const auto k_values = block_of<kq::q8_k>(values);
        const block_k k = quantized_k(k_values);
        CHECK(int{k.q[0]} == -127);
        CHECK(wrong_codes_k(k_values, extreme, k) == 0);
        CHECK(k.d != 0);
        CHECK(sums_are_right(k));
        const auto values_32 = block_of<kq::q8_32>(values);
        const block_32 q = quantized_32(values_32);
        CHECK(int{q.q[0]} == (extreme > 0 ? 127 : -127));
        CHECK(wrong_codes_32(values_32, extreme, q) == 0);
        CHECK(q.d == std::fabs(extreme) / 127); // 3e-39, a zero as a half
    }
}

TEST_CASE("codes begin at the very element at which the reciprocal becomes finite") {
    int wrong = 0;
    int with_codes = 0;
    for (int step = -30; step <= 30; ++step) {
        const float extreme = float_of(bits_of(largest_overflowing) + static_cast<uint32_t>(step));
        const double wide = static_cast<double>(extreme);
        const bool finite_k = std::isfinite(rounded(127 / wide));
        wrong += all_codes_are_zero(quantized_k(block_of<kq::q8_k>({extreme}))) == finite_k;
        const float d = rounded(wide / 127);
        const bool finite_32 = std::isfinite(rounded(1 / static_cast<double>(d)));
        wrong += all_codes_are_zero(quantized_32(block_of<kq::q8_32>({extreme}))) == finite_32;
        CHECK(finite_k == (step > 0));
        with_codes += finite_32;
    }
    CHECK(wrong == 0);
    CHECK(with_codes > 0);
    CHECK(with_codes < 30); // q8_32's scale is subnormal there, so its edge lies a few steps higher
}

TEST_CASE("subnormal elements are not flushed to zero") {
    const float subnormal = 1.1e-38f;
    CHECK(subnormal < FLT_MIN);
    const std::vector<float> values = {-4e-37f, subnormal, -subnormal, subnormal / 2};
    const block_k k = quantized_k(block_of<kq::q8_k>(values));
    CHECK(int{k.q[1]} == 3); // 1.1e-38 / 4e-37 * 127 = 3.49
    CHECK(int{k.q[2]} == -3);
    CHECK(int{k.q[3]} == 2);
    const block_32 q = quantized_32(block_of<kq::q8_32>(values));
    CHECK(int{q.q[1]} == 3);
    CHECK(int{q.q[2]} == -3);
    CHECK(int{q.q[3]} == 2);
}

TEST_CASE("an infinity or a NaN at any place of a q8_k block gives a NaN scale and zeros") {
    int wrong = 0;
    for (const float bad : not_finite) {
        for (size_t at = 0; at < 256; ++at) {
            for (const float rest : {0.0f, 1.0f, -FLT_MAX, least}) {
                std::vector<float> x(256, rest);
                x[at] = bad;
                const block_k b = quantized_k(x);
                wrong += !(std::isnan(b.d) && all_codes_are_zero(b) && all_sums_are_zero(b));
            }
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("an infinity or a NaN at any place of a q8_32 block gives a NaN scale and zeros") {
    int wrong = 0;
    for (const float bad : not_finite) {
        for (size_t at = 0; at < 32; ++at) {
            for (const float rest : {0.0f, 1.0f, -FLT_MAX, least}) {
                std::vector<float> x(32, rest);
                x[at] = bad;
                const block_32 b = quantized_32(x);
                wrong += !(std::isnan(b.d) && all_codes_are_zero(b));
            }
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("infinities and NaNs together give a NaN scale and zeros") {
    const std::vector<float> values = {infinity, -infinity, quiet_nan, 3, -infinity};
    const block_k k = quantized_k(block_of<kq::q8_k>(values));
    CHECK(std::isnan(k.d));
    CHECK(all_codes_are_zero(k));
    CHECK(all_sums_are_zero(k));
    const block_32 q = quantized_32(block_of<kq::q8_32>(values));
    CHECK(std::isnan(q.d));
    CHECK(all_codes_are_zero(q));
}

TEST_CASE("a q8_32 scale beyond the halves' range is finite and its codes are right") {
    // A scale of 65520 is halfway between the largest half and 65536: ggml's is infinite.
    for (const float amax : {127.0f * 65520, 1e10f, -1e30f, FLT_MAX, -FLT_MAX}) {
        INFO("extreme element " << amax);
        const auto x = block_of<kq::q8_32>({amax, -amax, amax / 2, amax / 3, -amax / 127});
        const block_32 b = quantized_32(x);
        CHECK(b.d == std::fabs(amax) / 127);
        CHECK(golden::ggml_block(b).d.bits == 0x7c00);
        CHECK(int{b.q[0]} == (amax > 0 ? 127 : -127));
        CHECK(wrong_codes_32(x, amax, b) == 0);
    }
}

TEST_CASE("q8_k holds the largest f32 without overflow") {
    for (const float extreme : {FLT_MAX, -FLT_MAX}) {
        const auto x = block_of<kq::q8_k>({extreme, -extreme, extreme / 2, 1.0f});
        const block_k b = quantized_k(x);
        CHECK(int{b.q[0]} == -127);
        CHECK(int{b.q[1]} == 127);
        CHECK(int{b.q[3]} == 0);
        CHECK(wrong_codes_k(x, extreme, b) == 0);
        CHECK(std::isfinite(b.d));
        CHECK(std::signbit(b.d) == (extreme > 0));
    }
}

TEST_CASE("sums are those of 16 codes each and reach their extremes") {
    std::vector<float> x(256, 127.0f);
    for (size_t i = 0; i < 256; ++i) {
        x[i] = i / 16 % 2 == 0 ? -127.0f : 127.0f;
    }
    x[255] = 5;
    const block_k b = quantized_k(x);
    for (int j = 0; j < 15; ++j) {
        CHECK(int{b.sums[j]} == (j % 2 == 0 ? -16 * 127 : 16 * 127));
    }
    CHECK(int{b.sums[15]} == 15 * 127 + 5);
}

TEST_CASE("halves quantize as the same values in f32 do") {
    int different = 0;
    generator random(3);
    for (int round = 0; round < 600; ++round) {
        const bool finite = round % 3 != 0;
        std::vector<kq::f16> x;
        std::vector<float> same;
        for (int i = 0; i < 256; ++i) {
            auto bits = static_cast<uint16_t>(random());
            if (finite && (bits & 0x7c00) == 0x7c00) {
                bits &= 0x83ff; // a subnormal
            }
            x.push_back({bits});
            same.push_back(value_of_half(bits));
        }
        const block_k k = kq::quantize_block<kq::q8_k>(x.data());
        const block_k expected_k = quantized_k(same);
        different += std::memcmp(&k, &expected_k, sizeof(k)) != 0;
        const block_32 q = kq::quantize_block<kq::q8_32>(x.data());
        const block_32 expected_q = quantized_32({same.begin(), same.begin() + 32});
        different += std::memcmp(&q, &expected_q, sizeof(q)) != 0;
    }
    CHECK(different == 0);
}

TEST_CASE("bfloat16s quantize as the same values in f32 do") {
    int different = 0;
    generator random(4);
    for (int round = 0; round < 600; ++round) {
        const bool finite = round % 3 != 0;
        std::vector<kq::bf16> x;
        std::vector<float> same;
        for (int i = 0; i < 256; ++i) {
            auto bits = static_cast<uint16_t>(random());
            if (finite && (bits & 0x7f80) == 0x7f80) {
                bits &= 0x807f;
            }
            x.push_back({bits});
            same.push_back(float_of(uint32_t{bits} << 16));
        }
        const block_k k = kq::quantize_block<kq::q8_k>(x.data());
        const block_k expected_k = quantized_k(same);
        different += std::memcmp(&k, &expected_k, sizeof(k)) != 0;
        const block_32 q = kq::quantize_block<kq::q8_32>(x.data());
        const block_32 expected_q = quantized_32({same.begin(), same.begin() + 32});
        different += std::memcmp(&q, &expected_q, sizeof(q)) != 0;
    }
    CHECK(different == 0);
}

TEST_CASE("ggml's q8_K activations of the golden files are reproduced bit for bit") {
    for (const std::string name : {"q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq2_xxs", "iq3_xxs"}) {
        const auto cases = golden::load(name);
        CHECK_FALSE(cases.empty());
        for (const auto& c : cases) {
            INFO(name << ", " << c.name);
            CHECK(differing_golden_blocks<kq::q8_k>(c) == 0);
        }
    }
}

TEST_CASE(
    "ggml's q8_0 activations of the golden files are reproduced: equal codes, and scales that are "
    "equal once they are rounded to f16") {
    for (const std::string name : {"q4_0", "q5_0", "q8_0", "iq4_nl", "mxfp4", "nvfp4", "q1_0", "q2_0"}) {
        const auto cases = golden::load(name);
        CHECK_FALSE(cases.empty());
        for (const auto& c : cases) {
            INFO(name << ", " << c.name);
            CHECK(differing_golden_blocks<kq::q8_32>(c) == 0);
        }
    }
}

TEST_CASE(
    "ggml's q8_1 activations of the golden files are reproduced: equal codes, and scales and sums "
    "that are equal once they are rounded to f16") {
    for (const std::string name : {"q4_1", "q5_1"}) {
        const auto cases = golden::load(name);
        CHECK_FALSE(cases.empty());
        for (const auto& c : cases) {
            INFO(name << ", " << c.name);
            CHECK(differing_blocks<kq::q8_32>(c.as<float>("activation_f32"),
                                              c.as<golden::q8_1_block>("activation_q8"),
                                              golden::ggml_q8_1_block) == 0);
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <kq/core/numeric.hpp>

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>

#if defined(__x86_64__)
#    include <cpuid.h>
#    include <immintrin.h>
#endif

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

float float_of(uint32_t bits) {
    return std::bit_cast<float>(bits);
}

uint32_t bits_of(float x) {
    return std::bit_cast<uint32_t>(x);
}

uint16_t f16_bits(float x) {
    return kq::to_f16(x).bits;
}

uint16_t bf16_bits(float x) {
    return kq::to_bf16(x).bits;
}

/// A 16-bit format with `mantissa_bits`, for the independent computation of values.
struct format {
    int mantissa_bits;
    int exponent_bits;

    int bias() const { return (1 << (exponent_bits - 1)) - 1; }
    unsigned infinity_bits() const { return ((1u << exponent_bits) - 1) << mantissa_bits; }
    bool is_nan(unsigned bits) const { return (bits & 0x7fff) > infinity_bits(); }
    bool is_quiet(unsigned bits) const { return ((bits >> (mantissa_bits - 1)) & 1) != 0; }

    /// The value of a magnitude by the definition of the format. The bits of infinity stand for
    /// the power of two that follows the largest finite value, where rounding sees it.
    double magnitude(unsigned bits) const {
        const int exponent = static_cast<int>(bits >> mantissa_bits);
        const auto mantissa = static_cast<double>(bits & ((1u << mantissa_bits) - 1));
        const int unit = 1 - bias() - mantissa_bits;
        if (exponent == 0) {
            return std::ldexp(mantissa, unit);
        }
        return std::ldexp(mantissa + std::ldexp(1.0, mantissa_bits), unit + exponent - 1);
    }
};

constexpr format binary16{10, 5};
constexpr format bfloat16{7, 8};

/// How many of all 65,536 values `to_f32` gets wrong; NaNs need only stay NaN.
template <class T>
int wrong_values(const format& f) {
    int wrong = 0;
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
        const float x = kq::to_f32(T{static_cast<uint16_t>(bits)});
        if (f.is_nan(bits)) {
            wrong += !std::isnan(x);
            continue;
        }
        const unsigned magnitude_bits = bits & 0x7fff;
        const double magnitude = magnitude_bits == f.infinity_bits()
                                     ? std::numeric_limits<double>::infinity()
                                     : f.magnitude(magnitude_bits);
        wrong += std::fabs(static_cast<double>(x)) != magnitude;
        wrong += std::signbit(x) != (bits >= 0x8000);
    }
    return wrong;
}

/// How many of all 65,536 values do not come back from f32; NaNs need only stay quiet NaNs.
template <class T, class Round>
int lost_values(const format& f, Round round) {
    int lost = 0;
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
        const unsigned back = round(kq::to_f32(T{static_cast<uint16_t>(bits)}));
        lost += f.is_nan(bits) ? !(f.is_nan(back) && f.is_quiet(back)) : back != bits;
    }
    return lost;
}

struct rounding_errors {
    int at_midpoint = 0;
    int below_midpoint = 0;
    int above_midpoint = 0;
};

/// Rounds every midpoint of neighbours, and the f32 just below and above it, of both signs.
template <class Round>
rounding_errors errors_at_midpoints(const format& f, Round round) {
    rounding_errors errors;
    for (unsigned low = 0; low < f.infinity_bits(); ++low) {
        const auto midpoint = static_cast<float>((f.magnitude(low) + f.magnitude(low + 1)) / 2);
        const unsigned even = low % 2 == 0 ? low : low + 1;
        for (const unsigned sign : {0u, 0x8000u}) {
            const auto with_sign = [&](float x) { return sign != 0 ? -x : x; };
            errors.at_midpoint += round(with_sign(midpoint)) != (sign | even);
            errors.below_midpoint +=
                round(with_sign(std::nextafter(midpoint, 0.0f))) != (sign | low);
            errors.above_midpoint +=
                round(with_sign(std::nextafter(midpoint, infinity))) != (sign | (low + 1));
        }
    }
    return errors;
}

#if defined(__x86_64__)

/// The processor's own conversions.
bool has_hardware_conversion() {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    constexpr unsigned f16c = 1u << 29;
    return __builtin_cpu_supports("avx") && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & f16c) != 0;
}

__attribute__((target("f16c"))) float hardware_to_f32(uint16_t bits) {
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
}

__attribute__((target("f16c"))) uint16_t hardware_to_f16(float x) {
    const __m128i y = _mm_cvtps_ph(_mm_set_ss(x), _MM_FROUND_TO_NEAREST_INT);
    return static_cast<uint16_t>(_mm_cvtsi128_si32(y));
}

#else

bool has_hardware_conversion() {
    return false;
}
float hardware_to_f32(uint16_t) {
    return 0;
}
uint16_t hardware_to_f16(float) {
    return 0;
}

#endif

/// Whether two halves are equal, any NaN to any NaN.
bool same_half(unsigned a, unsigned b) {
    return binary16.is_nan(a) ? binary16.is_nan(b) : a == b;
}

/// How many of `x`, its neighbours and their negations a rounding gets wrong.
template <class Round, class Expected>
int wrong_roundings(float x, Round round, Expected expected) {
    int wrong = 0;
    for (const float y : {x, std::nextafter(x, -infinity), std::nextafter(x, infinity)}) {
        wrong += round(y) != static_cast<int>(expected(y));
        wrong += round(-y) != static_cast<int>(expected(-y));
    }
    return wrong;
}

int half_even(float x) {
    return kq::round_half_even(x);
}

int half_away(float x) {
    return kq::round_half_away(x);
}

float nearbyint_of(float x) {
    return std::nearbyint(x);
}

float round_of(float x) {
    return std::round(x);
}

} // namespace

static_assert(kq::to_f32(kq::f16{0x3c00}) == 1.0f);
static_assert(kq::to_f32(kq::f16{0x0001}) == 0x1p-24f);
static_assert(kq::to_f32(kq::f16{0xfbff}) == -65504.0f);
static_assert(kq::to_f32(kq::bf16{0xbf80}) == -1.0f);
static_assert(kq::to_f32(kq::ue4m3{0x38}) == 1.0f);
static_assert(kq::to_f32(kq::ue4m3{0x01}) == 0x1p-9f);
static_assert(kq::to_f32(2.5f) == 2.5f);
static_assert(kq::to_f16(65520.0f).bits == 0x7c00);
static_assert(kq::to_f16(-0x1p-24f).bits == 0x8001);
static_assert(kq::to_bf16(1.0f + 0x1p-8f).bits == 0x3f80);
static_assert(kq::to_bf16(1.0f + 0x3p-8f).bits == 0x3f82);
static_assert(kq::round_half_even(2.5f) == 2 && kq::round_half_even(-3.5f) == -4);
static_assert(kq::round_half_away(2.5f) == 3 && kq::round_half_away(-2.5f) == -3);
static_assert(kq::is_finite(FLT_MAX) && kq::magnitude_bits(-1.0f) == 0x3f800000u);

TEST_CASE("every half converts to the f32 that its definition gives") {
    CHECK(wrong_values<kq::f16>(binary16) == 0);
}

TEST_CASE("every bfloat16 converts to the f32 that its definition gives") {
    CHECK(wrong_values<kq::bf16>(bfloat16) == 0);
}

TEST_CASE("every unsigned E4M3 converts to the f32 that its definition gives") {
    int wrong = 0;
    for (int bits = 0; bits < 256; ++bits) {
        const int exponent = bits / 8 % 16, mantissa = bits % 8; // bit 7 means nothing
        const double value =
            exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
        const float expected = bits == 0x7f ? 0.0f : static_cast<float>(value);
        wrong += bits_of(kq::to_f32(kq::ue4m3{static_cast<uint8_t>(bits)})) != bits_of(expected);
    }
    CHECK(wrong == 0);
}

TEST_CASE("every half survives f32 and back, NaNs as quiet NaNs") {
    CHECK(lost_values<kq::f16>(binary16, f16_bits) == 0);
}

TEST_CASE("every bfloat16 survives f32 and back, NaNs as quiet NaNs") {
    CHECK(lost_values<kq::bf16>(bfloat16, bf16_bits) == 0);
}

TEST_CASE("f32 rounds to the nearest half, midpoints to the even one") {
    const rounding_errors errors = errors_at_midpoints(binary16, f16_bits);
    CHECK(errors.at_midpoint == 0);
    CHECK(errors.below_midpoint == 0);
    CHECK(errors.above_midpoint == 0);
}

TEST_CASE("f32 rounds to the nearest bfloat16, midpoints to the even one") {
    const rounding_errors errors = errors_at_midpoints(bfloat16, bf16_bits);
    CHECK(errors.at_midpoint == 0);
    CHECK(errors.below_midpoint == 0);
    CHECK(errors.above_midpoint == 0);
}

TEST_CASE("f32 overflows to a half's infinity from halfway past the largest half on") {
    CHECK(f16_bits(65504.0f) == 0x7bff);
    CHECK(f16_bits(std::nextafter(65520.0f, 0.0f)) == 0x7bff);
    CHECK(f16_bits(65520.0f) == 0x7c00);
    CHECK(f16_bits(65536.0f) == 0x7c00);
    CHECK(f16_bits(FLT_MAX) == 0x7c00);
    CHECK(f16_bits(-65520.0f) == 0xfc00);
    CHECK(f16_bits(-FLT_MAX) == 0xfc00);
    CHECK(f16_bits(infinity) == 0x7c00);
    CHECK(f16_bits(-infinity) == 0xfc00);
}

TEST_CASE("f32 too small for a half becomes a zero of its sign") {
    CHECK(f16_bits(0.0f) == 0x0000);
    CHECK(f16_bits(-0.0f) == 0x8000);
    CHECK(f16_bits(0x1p-25f) == 0x0000);
    CHECK(f16_bits(-0x1p-25f) == 0x8000);
    CHECK(f16_bits(std::nextafter(0x1p-25f, 1.0f)) == 0x0001);
    CHECK(f16_bits(FLT_MIN) == 0x0000);
    CHECK(f16_bits(std::numeric_limits<float>::denorm_min()) == 0x0000);
    CHECK(f16_bits(-std::numeric_limits<float>::denorm_min()) == 0x8000);
}

TEST_CASE("the largest subnormal and the smallest normal half meet without a gap") {
    CHECK(f16_bits(1023 * 0x1p-24f) == 0x03ff);
    CHECK(f16_bits(1023.5f * 0x1p-24f) == 0x0400);
    CHECK(f16_bits(std::nextafter(1023.5f * 0x1p-24f, 0.0f)) == 0x03ff);
    CHECK(f16_bits(0x1p-14f) == 0x0400);
}

TEST_CASE("bfloat16 overflows as nearest even demands and keeps infinities and zeros") {
    CHECK(bf16_bits(FLT_MAX) == 0x7f80);
    CHECK(bf16_bits(-FLT_MAX) == 0xff80);
    CHECK(bf16_bits(float_of(0x7f7f7fff)) == 0x7f7f);
    CHECK(bf16_bits(float_of(0x7f7f8000)) == 0x7f80);
    CHECK(bf16_bits(infinity) == 0x7f80);
    CHECK(bf16_bits(-infinity) == 0xff80);
    CHECK(bf16_bits(0.0f) == 0x0000);
    CHECK(bf16_bits(-0.0f) == 0x8000);
}

TEST_CASE("a NaN becomes a quiet NaN wherever its payload lies") {
    int wrong_f16 = 0;
    int wrong_bf16 = 0;
    int changed_signs = 0;
    for (int bit = 0; bit < 23; ++bit) {
        for (const uint32_t sign : {0u, 0x80000000u}) {
            for (const uint32_t payload : {1u << bit, (2u << bit) - 1}) {
                const float x = float_of(sign | 0x7f800000u | payload);
                wrong_f16 += !(binary16.is_nan(f16_bits(x)) && binary16.is_quiet(f16_bits(x)));
                wrong_bf16 += !(bfloat16.is_nan(bf16_bits(x)) && bfloat16.is_quiet(bf16_bits(x)));
                changed_signs += (bf16_bits(x) >> 15) != (sign >> 31);
            }
        }
    }
    CHECK(wrong_f16 == 0);
    CHECK(wrong_bf16 == 0);
    CHECK(changed_signs == 0);
}

TEST_CASE("the processor's own conversions between half and f32 agree") {
    if (!has_hardware_conversion()) {
        WARN("skipped: this processor has no F16C");
        return;
    }
    SECTION("from every half") {
        int differences = 0;
        for (unsigned bits = 0; bits < 0x10000; ++bits) {
            const float x = kq::to_f32(kq::f16{static_cast<uint16_t>(bits)});
            const float expected = hardware_to_f32(static_cast<uint16_t>(bits));
            differences += binary16.is_nan(bits) ? !(std::isnan(x) && std::isnan(expected))
                                                 : bits_of(x) != bits_of(expected);
        }
        CHECK(differences == 0);
    }
    SECTION("from random f32 bits") {
        std::mt19937 random(1);
        int differences = 0;
        for (int i = 0; i < 4'000'000; ++i) {
            const float x = float_of(random());
            differences += !same_half(f16_bits(x), hardware_to_f16(x));
        }
        CHECK(differences == 0);
    }
    SECTION("from random f32 of a half's magnitude") {
        std::mt19937 random(2);
        int differences = 0;
        for (int i = 0; i < 4'000'000; ++i) {
            const uint32_t sign = random() & 0x80000000u;
            const float x = float_of(sign | (0x32000000u + random() % 0x16000000u));
            differences += !same_half(f16_bits(x), hardware_to_f16(x));
        }
        CHECK(differences == 0);
    }
}

TEST_CASE("round_half_even is nearbyint at and beside every half and integer to 300") {
    int wrong = 0;
    for (int doubled = 0; doubled <= 600; ++doubled) {
        wrong += wrong_roundings(static_cast<float>(doubled) / 2, half_even, nearbyint_of);
    }
    CHECK(wrong == 0);
}

TEST_CASE("round_half_away is std::round at and beside every half and integer to 300") {
    int wrong = 0;
    for (int doubled = 0; doubled <= 600; ++doubled) {
        wrong += wrong_roundings(static_cast<float>(doubled) / 2, half_away, round_of);
    }
    CHECK(wrong == 0);
}

TEST_CASE("the largest f32 below a half rounds to zero by both rules") {
    CHECK(kq::round_half_even(0.49999997f) == 0);
    CHECK(kq::round_half_away(0.49999997f) == 0);
    CHECK(kq::round_half_even(-0.49999997f) == 0);
    CHECK(kq::round_half_away(-0.49999997f) == 0);
    CHECK(kq::round_half_even(0.5f) == 0);
    CHECK(kq::round_half_away(0.5f) == 1);
    CHECK(kq::round_half_away(-0.5f) == -1);
}

TEST_CASE("both roundings hold up to 2^22, where they promise to") {
    for (const float x : {4194303.5f, 4194302.5f, 4194304.0f, -4194303.5f, -4194304.0f}) {
        CHECK(kq::round_half_even(x) == static_cast<int>(std::nearbyint(x)));
        CHECK(kq::round_half_away(x) == static_cast<int>(std::round(x)));
    }
    std::mt19937 random(3);
    int wrong = 0;
    for (int i = 0; i < 1'000'000; ++i) {
        const float x = float_of((random() & 0x80000000u) | random() % 0x4a800000u);
        wrong += kq::round_half_even(x) != static_cast<int>(std::nearbyint(x));
        wrong += kq::round_half_away(x) != static_cast<int>(std::round(x));
    }
    CHECK(wrong == 0);
}

TEST_CASE("is_finite is false for infinities and NaNs only") {
    for (const uint32_t sign : {0u, 0x80000000u}) {
        CHECK(kq::is_finite(float_of(sign | 0x00000000u)));
        CHECK(kq::is_finite(float_of(sign | 0x00000001u)));
        CHECK(kq::is_finite(float_of(sign | 0x7f7fffffu)));
        CHECK_FALSE(kq::is_finite(float_of(sign | 0x7f800000u)));
        CHECK_FALSE(kq::is_finite(float_of(sign | 0x7f800001u)));
        CHECK_FALSE(kq::is_finite(float_of(sign | 0x7fc00000u)));
        CHECK_FALSE(kq::is_finite(float_of(sign | 0x7fffffffu)));
    }
}

TEST_CASE("magnitude_bits orders values by magnitude, infinities and NaNs last") {
    const float ascending[] = {0.0f,     float_of(1),          FLT_MIN, 1.0f, FLT_MAX,
                               infinity, float_of(0x7f800001u)};
    for (size_t i = 0; i + 1 < std::size(ascending); ++i) {
        CHECK(kq::magnitude_bits(ascending[i]) < kq::magnitude_bits(ascending[i + 1]));
        CHECK(kq::magnitude_bits(-ascending[i]) == kq::magnitude_bits(ascending[i]));
    }
    CHECK(kq::magnitude_bits(-0.0f) == 0);
}

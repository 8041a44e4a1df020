// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>
#include <kq/core/standard.hpp>

#include <nv/target>

namespace kq::inline KQ_ABI {

/// An IEEE 754 binary16 value as its bits; same layout as `__half`.
struct f16 {
    uint16_t bits;
};

/// A bfloat16 value as its bits; same layout as `__nv_bfloat16`.
struct bf16 {
    uint16_t bits;
};

/// An unsigned E4M3 value as its bits: 4 of exponent, 3 of mantissa, and one that means nothing.
struct ue4m3 {
    uint8_t bits;
};

/// The value whose bytes are those of `x`, as `std::bit_cast`, which no kernel may call.
template <class To, class From>
KQ_API constexpr To bit_cast(const From& x) {
    return __builtin_bit_cast(To, x);
}

/// The bits of an f32 without its sign.
KQ_API constexpr uint32_t magnitude_bits(float x) {
    return kq::bit_cast<uint32_t>(x) & 0x7fffffffu;
}

/// Whether `x` is neither infinite nor NaN. Works on bits, so no fast-math flag can assume it true.
KQ_API constexpr bool is_finite(float x) {
    return magnitude_bits(x) < 0x7f800000u;
}

/// The f32 that equals the binary16 `x`. Exact; a NaN stays a NaN.
KQ_API constexpr float to_f32(f16 x) {
    if (!__builtin_is_constant_evaluated()) {
        NV_IF_TARGET(NV_IS_DEVICE, (float y; asm("cvt.f32.f16 %0, %1;"
                                                 : "=f"(y)
                                                 : "h"(x.bits));
                                    return y;))
    }
    const uint32_t sign = (x.bits & 0x8000u) << 16;
    const uint32_t exponent = (x.bits >> 10) & 0x1fu;
    const uint32_t mantissa = x.bits & 0x3ffu;
    if (exponent == 0x1fu) {
        return kq::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
    }
    if (exponent != 0) {
        return kq::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
    }
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f; // exact: zero or a subnormal
    return kq::bit_cast<float>(sign | kq::bit_cast<uint32_t>(magnitude));
}

/// The f32 that equals the bfloat16 `x`. Exact.
KQ_API constexpr float to_f32(bf16 x) {
    return kq::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16);
}

/// The f32 that equals the unsigned E4M3 `x`, read as ggml's CPU code reads it: 0x7f is 0, but 0xff
/// is 480. Exact.
KQ_API constexpr float to_f32(ue4m3 x) {
    const uint32_t magnitude = x.bits == 0x7f ? 0 : x.bits & 0x7fu;
    if (!__builtin_is_constant_evaluated()) { // subnormal before the product, which keeps it
        NV_IF_TARGET(NV_IS_DEVICE,
                     (float y; asm("mul.rn.f32 %0, %1, %2;"
                                   : "=f"(y)
                                   : "f"(kq::bit_cast<float>(magnitude << 20)), "f"(0x1p120f));
                      return y;))
    }
    if (magnitude < 8) {
        return static_cast<float>(magnitude) * 0x1p-9f;
    }
    return kq::bit_cast<float>((magnitude << 20) + (120u << 23));
}

KQ_API constexpr float to_f32(float x) {
    return x;
}

/// Rounds an f32 to binary16, to nearest even; overflow gives infinity, a NaN a quiet NaN.
KQ_API constexpr f16 to_f16(float x) {
    if (!__builtin_is_constant_evaluated()) {
        NV_IF_TARGET(NV_IS_DEVICE, (uint16_t y; asm("cvt.rn.f16.f32 %0, %1;"
                                                    : "=h"(y)
                                                    : "f"(x));
                                    return {y};))
    }
    const uint32_t sign = (kq::bit_cast<uint32_t>(x) >> 16) & 0x8000u;
    const uint32_t magnitude = magnitude_bits(x);
    uint32_t rounded = 0;
    if (magnitude > 0x7f800000u) {
        rounded = 0x7e00u;
    } else if (magnitude >= 0x477ff000u) { // halfway between 65504 and 65536, and up
        rounded = 0x7c00u;
    } else if (magnitude >= 0x38800000u) { // normal halves: drop 13 bits, ties to even
        rounded = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    } else if (magnitude >= 0x33000000u) { // subnormal halves: units of 2^-24
        const uint32_t shift = 126 - (magnitude >> 23);
        const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
        const uint32_t half = 1u << (shift - 1);
        rounded = (mantissa + half - 1 + ((mantissa >> shift) & 1u)) >> shift;
    }
    return {static_cast<uint16_t>(sign | rounded)};
}

/// Rounds an f32 to bfloat16, to nearest even; a NaN keeps its sign and becomes quiet.
KQ_API constexpr bf16 to_bf16(float x) {
    const uint32_t bits = kq::bit_cast<uint32_t>(x);
    if (magnitude_bits(x) > 0x7f800000u) {
        return {static_cast<uint16_t>(bits >> 16 | 0x40u)};
    }
    return {static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

/// Rounds an f32 to an element type, to nearest even.
template <class Element>
KQ_API constexpr Element from_f32(float x) {
    if constexpr (standard::is_same_v<Element, f16>) {
        return to_f16(x);
    } else if constexpr (standard::is_same_v<Element, bf16>) {
        return to_bf16(x);
    } else {
        return x;
    }
}

/// Rounds to the nearest integer, halves to the even one. Requires: `|x| <= 2^22`.
KQ_API constexpr int round_half_even(float x) {
    if (!__builtin_is_constant_evaluated()) {
        NV_IF_TARGET(NV_IS_DEVICE, (int y; asm("cvt.rni.s32.f32 %0, %1;"
                                               : "=r"(y)
                                               : "f"(x));
                                    return y;))
    }
    const int truncated = static_cast<int>(x);
    const float rest = x - static_cast<float>(truncated); // exact, and of the sign of x
    const float distance = rest < 0 ? -rest : rest;
    const bool away = distance > 0.5f || (distance == 0.5f && (truncated & 1) != 0);
    return away ? truncated + (x < 0 ? -1 : 1) : truncated;
}

/// Rounds to the nearest integer, halves away from zero. Requires: `|x| <= 2^22`.
KQ_API constexpr int round_half_away(float x) {
    const int truncated = static_cast<int>(x);
    const float rest = x - static_cast<float>(truncated); // exact, and of the sign of x
    const float distance = rest < 0 ? -rest : rest;
    return distance >= 0.5f ? truncated + (x < 0 ? -1 : 1) : truncated;
}

} // namespace kq::inline KQ_ABI

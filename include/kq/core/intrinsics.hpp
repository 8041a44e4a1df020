// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

#include <nv/target>

#if !defined(__CUDACC_RTC__)
#    include <math.h>
#endif

/// Single instructions that the dots are made of: PTX on the device, the same function in plain
/// C++ on the host. The float ones name their rounding, so that neither `-use_fast_math` nor a
/// host compiler's contraction changes a bit (contract C4).
namespace kq::inline KQ_ABI {

namespace detail {

/// `sum` plus the products of the bytes of `a` (read as `A`) and of `b` (read as `B`).
template <class A, class B, class Sum>
constexpr Sum dot_bytes(uint32_t a, uint32_t b, Sum sum) {
    auto bits = static_cast<uint32_t>(sum);
    for (int i = 0; i < 32; i += 8) {
        bits += static_cast<uint32_t>(static_cast<A>(a >> i) * static_cast<B>(b >> i));
    }
    return static_cast<Sum>(bits);
}

/// `sum` plus the products of the halves of `a` (read as `A`) and the two low bytes of `b` (read as
/// `B`).
template <class A, class B, class Sum>
constexpr Sum dot_halves(uint32_t a, uint32_t b, Sum sum) {
    auto bits = static_cast<uint32_t>(sum);
    for (int i = 0; i < 2; ++i) {
        bits += static_cast<uint32_t>(static_cast<A>(a >> (16 * i)) * static_cast<B>(b >> (8 * i)));
    }
    return static_cast<Sum>(bits);
}

constexpr uint32_t permute_bytes(uint32_t low, uint32_t high, uint32_t selector) {
    const uint64_t bytes = static_cast<uint64_t>(high) << 32 | low;
    uint32_t result = 0;
    for (int i = 0; i < 4; ++i) {
        const uint32_t nibble = selector >> (4 * i);
        auto byte = static_cast<uint8_t>(bytes >> (8 * (nibble & 7u)));
        if ((nibble & 8u) != 0) {
            byte = (byte & 0x80u) != 0 ? 0xff : 0;
        }
        result |= static_cast<uint32_t>(byte) << (8 * i);
    }
    return result;
}

} // namespace detail

/// `sum + a[0] * b[0] + ... + a[3] * b[3]` over signed bytes of `a` and of `b`, modulo 2^32.
KQ_API int dp4a_ss(uint32_t a, uint32_t b, int sum) {
    NV_IF_TARGET(NV_IS_DEVICE,
                 (asm("dp4a.s32.s32 %0, %1, %2, %0;"
                      : "+r"(sum)
                      : "r"(a), "r"(b));),
                 (sum = detail::dot_bytes<int8_t, int8_t>(a, b, sum);))
    return sum;
}

/// As `dp4a_ss`, over unsigned bytes of `a` and signed bytes of `b`.
KQ_API int dp4a_us(uint32_t a, uint32_t b, int sum) {
    NV_IF_TARGET(NV_IS_DEVICE,
                 (asm("dp4a.u32.s32 %0, %1, %2, %0;"
                      : "+r"(sum)
                      : "r"(a), "r"(b));),
                 (sum = detail::dot_bytes<uint8_t, int8_t>(a, b, sum);))
    return sum;
}

/// As `dp4a_ss`, over unsigned bytes of both.
KQ_API uint32_t dp4a_uu(uint32_t a, uint32_t b, uint32_t sum) {
    NV_IF_TARGET(NV_IS_DEVICE,
                 (asm("dp4a.u32.u32 %0, %1, %2, %0;"
                      : "+r"(sum)
                      : "r"(a), "r"(b));),
                 (sum = detail::dot_bytes<uint8_t, uint8_t>(a, b, sum);))
    return sum;
}

/// `sum + a[0] * b[0] + a[1] * b[1]` over signed halves of `a` and the two low signed bytes of
/// `b`, modulo 2^32.
KQ_API int dp2a_lo_ss(uint32_t a, uint32_t b, int sum) {
    NV_IF_TARGET(NV_IS_DEVICE,
                 (asm("dp2a.lo.s32.s32 %0, %1, %2, %0;"
                      : "+r"(sum)
                      : "r"(a), "r"(b));),
                 (sum = detail::dot_halves<int16_t, int8_t>(a, b, sum);))
    return sum;
}

/// As `dp2a_lo_ss`, over the two high bytes of `b`.
KQ_API int dp2a_hi_ss(uint32_t a, uint32_t b, int sum) {
    NV_IF_TARGET(NV_IS_DEVICE,
                 (asm("dp2a.hi.s32.s32 %0, %1, %2, %0;"
                      : "+r"(sum)
                      : "r"(a), "r"(b));),
                 (sum = detail::dot_halves<int16_t, int8_t>(a, b >> 16, sum);))
    return sum;
}

/// As `dp2a_lo_ss`, over unsigned halves and bytes: with a power of two in `b` it shifts, and
/// leaves the integer ALU free.
KQ_API uint32_t dp2a_lo_uu(uint32_t a, uint32_t b, uint32_t sum) {
    NV_IF_TARGET(NV_IS_DEVICE,
                 (asm("dp2a.lo.u32.u32 %0, %1, %2, %0;"
                      : "+r"(sum)
                      : "r"(a), "r"(b));),
                 (sum = detail::dot_halves<uint16_t, uint8_t>(a, b, sum);))
    return sum;
}

/// Picks four of the eight bytes of `high:low`: byte i of the result is the byte that nibble i of
/// `selector` numbers, 0 to 7 from the lowest byte of `low`; with bit 3 of the nibble set, eight
/// copies of that byte's sign. The high half of `selector` is ignored.
KQ_API uint32_t byte_permute(uint32_t low, uint32_t high, uint32_t selector) {
    uint32_t result = 0;
    NV_IF_TARGET(NV_IS_DEVICE,
                 (asm("prmt.b32 %0, %1, %2, %3;"
                      : "=r"(result)
                      : "r"(low), "r"(high), "r"(selector));),
                 (result = detail::permute_bytes(low, high, selector);))
    return result;
}

/// `x`, rotated right by `count` bits, 0 to 31.
KQ_API uint32_t rotate_right(uint32_t x, int count) {
    NV_IF_ELSE_TARGET(NV_IS_DEVICE, (return __funnelshift_r(x, x, static_cast<uint32_t>(count));),
                      (return x >> count | x << (-count & 31);))
}

/// `a * b`, rounded to nearest even, subnormals kept.
KQ_API float mul_rn(float a, float b) {
    // On the host volatile keeps the product from being contracted into a later sum.
    NV_IF_TARGET(NV_IS_DEVICE,
                 (asm("mul.rn.f32 %0, %0, %1;"
                      : "+f"(a)
                      : "f"(b));
                  return a;),
                 (volatile float product = a * b; return product;))
}

/// `a * b + c`, rounded once, to nearest even, subnormals kept.
KQ_API float fma_rn(float a, float b, float c) {
    NV_IF_TARGET(NV_IS_DEVICE,
                 (asm("fma.rn.f32 %0, %1, %2, %0;"
                      : "+f"(c)
                      : "f"(a), "f"(b));
                  return c;),
                 (return ::fmaf(a, b, c);))
}

/// `a + b`, rounded to nearest even, subnormals kept.
KQ_API float add_rn(float a, float b) {
    NV_IF_TARGET(NV_IS_DEVICE,
                 (asm("add.rn.f32 %0, %0, %1;"
                      : "+f"(a)
                      : "f"(b));
                  return a;),
                 (return a + b;))
}

/// `a / b`, rounded to nearest even, subnormals kept.
KQ_API float div_rn(float a, float b) {
    NV_IF_TARGET(NV_IS_DEVICE,
                 (asm("div.rn.f32 %0, %0, %1;"
                      : "+f"(a)
                      : "f"(b));
                  return a;),
                 (return a / b;))
}

/// `a < b`, subnormals kept; false where either is a NaN.
KQ_API bool is_less(float a, float b) {
    NV_IF_TARGET(NV_IS_DEVICE,
                 (uint32_t result;
                  asm("{ .reg .pred p; setp.lt.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }"
                      : "=r"(result)
                      : "f"(a), "f"(b));
                  return result != 0;),
                 (return a < b;))
}

/// `x`, as a value that the device compiler does not know and so keeps instead of making it anew
/// before each use.
KQ_API uint32_t in_register(uint32_t x) {
    NV_IF_TARGET(NV_IS_DEVICE, (uint32_t lane = 0; asm("mov.u32 %0, %%laneid;"
                                                       : "=r"(lane));
                                x += lane >> 5;)) // nothing
    return x;
}

} // namespace kq::inline KQ_ABI

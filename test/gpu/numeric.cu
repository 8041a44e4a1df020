// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "gpu/memory.hpp"

#include <kq/core/intrinsics.hpp>
#include <kq/core/numeric.hpp>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace {

using gpu::buffer;
using gpu::placement;

struct word_pair {
    uint32_t a;
    uint32_t b;
};

/// Every function of numeric.hpp and intrinsics.hpp on one pair of words.
struct results {
    uint32_t f16_to_f32, bf16_to_f32, ue4m3_to_f32, f32_to_f16, f32_to_bf16;
    int half_even, half_away;
    int ss, us;
    uint32_t uu;
    int lo_ss, hi_ss;
    uint32_t lo_uu, permuted;
    uint32_t product, fused, sum, quotient;
};

__host__ __device__ uint32_t bits(float x) {
    const uint32_t b = kq::bit_cast<uint32_t>(x);
    return (b & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : b; // any NaN equals any NaN
}

__host__ __device__ uint32_t half_bits(kq::f16 x) {
    return (x.bits & 0x7fffu) > 0x7c00u ? 0x7e00u : x.bits;
}

__host__ __device__ results compute(word_pair w) {
    using namespace kq;
    const float x = kq::bit_cast<float>(w.a);
    const float y = kq::bit_cast<float>(w.b);
    // Rounding takes numbers up to 2^22: scale the words into that range.
    const float roundable = static_cast<float>(static_cast<int>(w.a) >> 9) * 0.5f;
    results r{};
    r.f16_to_f32 = bits(to_f32(f16{static_cast<uint16_t>(w.a)}));
    r.bf16_to_f32 = bits(to_f32(bf16{static_cast<uint16_t>(w.a)}));
    r.ue4m3_to_f32 = bits(to_f32(ue4m3{static_cast<uint8_t>(w.a)}));
    r.f32_to_f16 = half_bits(to_f16(x));
    r.f32_to_bf16 = to_bf16(x).bits;
    r.half_even = round_half_even(roundable);
    r.half_away = round_half_away(roundable);
    r.ss = dp4a_ss(w.a, w.b, 5);
    r.us = dp4a_us(w.a, w.b, 5);
    r.uu = dp4a_uu(w.a, w.b, 5);
    r.lo_ss = dp2a_lo_ss(w.a, w.b, 5);
    r.hi_ss = dp2a_hi_ss(w.a, w.b, 5);
    r.lo_uu = dp2a_lo_uu(w.a, w.b, 5);
    r.permuted = byte_permute(w.a, w.b, w.a ^ w.b);
    r.product = bits(mul_rn(x, y));
    r.fused = bits(fma_rn(x, y, 1.5f));
    r.sum = bits(add_rn(x, y));
    r.quotient = bits(div_rn(x, y));
    return r;
}

__global__ void compute_all(const word_pair* words, results* out, int count) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count) {
        out[i] = compute(words[i]);
    }
}

int count_differences(const std::vector<word_pair>& words) {
    const buffer in(words, placement::exact);
    const buffer out(words.size() * sizeof(results), placement::exact);
    const int count = static_cast<int>(words.size());
    compute_all<<<(count + 255) / 256, 256>>>(in.as<const word_pair>(), out.as<results>(), count);
    gpu::check(cudaGetLastError(), "compute_all");
    const auto device = out.download<results>();
    int differences = 0;
    for (size_t i = 0; i < words.size(); ++i) {
        const results host = compute(words[i]);
        differences += std::memcmp(&host, &device[i], sizeof(host)) != 0;
    }
    return differences;
}

} // namespace

TEST_CASE("all halves and bfloats convert on the device as on the host") {
    std::vector<word_pair> words;
    for (uint32_t i = 0; i < 65536; ++i) {
        words.push_back({i, i << 16}); // b: the bfloat i as f32, or a half's bits at the top
    }
    CHECK(count_differences(words) == 0);
    for (word_pair& w : words) { // midpoints between adjacent halves, and their neighbours
        const float half = kq::to_f32(kq::f16{static_cast<uint16_t>(w.a)});
        const uint32_t at = kq::bit_cast<uint32_t>(half);
        w = {at + 0x1000u, at};
    }
    CHECK(count_differences(words) == 0);
    for (word_pair& w : words) {
        w.a += 1;
    }
    CHECK(count_differences(words) == 0);
}

TEST_CASE("numeric and intrinsics give the host's bits on random words") {
    std::mt19937_64 random(3);
    std::vector<word_pair> words;
    for (int i = 0; i < 1 << 20; ++i) {
        words.push_back({static_cast<uint32_t>(random()), static_cast<uint32_t>(random())});
    }
    CHECK(count_differences(words) == 0);
    for (word_pair& w : words) { // subnormals
        w.a &= 0x807fffffu;
        w.b &= 0x817fffffu;
    }
    CHECK(count_differences(words) == 0);
}

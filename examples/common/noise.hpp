// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/all.hpp>
#include <kq/core/intrinsics.hpp>
#include <kq/core/numeric.hpp>
#include <kq/reference/reference.hpp>

#include <cuda/std/cstring>

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

/// Synthetic weights: blocks of hashed noise, the same on the host and on the device, whichever
/// part of a matrix is asked for.
namespace common {

/// A part of a matrix of noise, all of its own rows and columns: [rows, blocks] blocks.
struct noise_part {
    kq::uint64_t seed = 0;
    float scale = 1; ///< block scales are between this and twice this, powers of two about this
    kq::int64_t row_blocks = 0;  ///< blocks of a row of the whole matrix
    kq::int64_t first_row = 0;   ///< of the part
    kq::int64_t rows = 0;        ///< of the part
    kq::int64_t first_block = 0; ///< of the part, in a row
    kq::int64_t blocks = 0;      ///< of the part, in a row
};

/// The noise word of an index (the output function of SplitMix64).
KQ_API kq::uint64_t noise_word(kq::uint64_t i) {
    kq::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/// The exponent byte of a scale that is a power of two: that below `scale` or that above, so that
/// the mean square is that of `scale`. `chance`: 16 random bits.
KQ_API kq::uint8_t noise_exponent(float scale, kq::uint32_t chance) {
    const auto bits = kq::bit_cast<kq::uint32_t>(scale);
    const kq::uint32_t mantissa = (bits & 0x7fffffu) >> 8 | 1u << 15;         // 1 is 2^15
    const bool above = 3 * (chance << 14) < mantissa * mantissa - (1u << 30); // squares: 1 is 2^30
    return static_cast<kq::uint8_t>((bits >> 23) + (above ? 2 : 1));
}

/// The unsigned E4M3 nearest to `x`. Requires: `x` is not negative.
KQ_API kq::ue4m3 to_ue4m3(float x) {
    const auto bits =
        kq::bit_cast<kq::uint32_t>(kq::mul_rn(x, 0x1p-120f)); // of the exponent's bias
    const kq::uint32_t rounded = (bits + (1u << 19)) >> 20;
    return {static_cast<kq::uint8_t>(rounded < 0x7e ? rounded : 0x7e)};
}

/// Block `i` of a part. Every byte means something in every encoding but for the scales.
template <class Encoding>
KQ_API typename Encoding::block noise_block(const noise_part& part, kq::int64_t i) {
    constexpr int bytes = kq::block_bytes<Encoding>;
    constexpr int words = (bytes + 7) / 8;
    const auto index = static_cast<kq::uint64_t>(
        (part.first_row + i / part.blocks) * part.row_blocks + part.first_block + i % part.blocks);
    const kq::uint64_t first = noise_word(part.seed) + index * (words + 1);
    typename Encoding::block block;
    auto* to = reinterpret_cast<unsigned char*>(&block);
    for (int w = 0; w < words; ++w) {
        const kq::uint64_t word = noise_word(first + static_cast<kq::uint64_t>(w));
        const int left = bytes - 8 * w;
        cuda::std::memcpy(to + 8 * w, &word, static_cast<size_t>(left < 8 ? left : 8));
    }
    const auto word = static_cast<kq::uint32_t>(noise_word(first + words));
    const auto scale = [&](kq::uint32_t bits) {
        return part.scale * (1 + static_cast<float>(bits) * 0x1p-16f);
    };
    if constexpr (requires { block.d = kq::f16{}; }) {
        block.d = kq::to_f16(scale(word & 0xffff));
    } else if constexpr (requires { block.e; }) {
        block.e = noise_exponent(part.scale, word & 0xffff);
    } else {
        for (int s = 0; s < Encoding::elements / kq::sub_elements<Encoding>; ++s) {
            block.d[s] = to_ue4m3(scale((word >> (4 * s)) & 0xffff));
        }
    }
    if constexpr (requires { block.dmin; }) {
        block.dmin = kq::to_f16(scale(word >> 16));
    }
    if constexpr (requires { block.m; }) {
        block.m = kq::to_f16(scale(word >> 16));
    }
    return block;
}

/// The scale of noise whose weights are about 1 / sqrt(k) large, so that products are about as
/// large as their activation.
template <class Encoding>
float noise_scale(kq::int64_t k) {
    constexpr int blocks = 64;
    const noise_part sample{.row_blocks = blocks, .rows = 1, .blocks = blocks};
    double squares = 0;
    for (int b = 0; b < blocks; ++b) {
        const auto block = noise_block<Encoding>(sample, b);
        for (int i = 0; i < Encoding::elements; ++i) {
            const double weight = kq::reference::weight<Encoding>(block, i);
            squares += weight * weight;
        }
    }
    const double mean = squares / (blocks * Encoding::elements);
    return static_cast<float>(1 / std::sqrt(mean * static_cast<double>(k)));
}

/// The blocks of a part.
template <class Encoding>
std::vector<typename Encoding::block> noise_blocks(const noise_part& part) {
    std::vector<typename Encoding::block> blocks(static_cast<size_t>(part.rows * part.blocks));
    for (size_t i = 0; i < blocks.size(); ++i) {
        blocks[i] = noise_block<Encoding>(part, static_cast<kq::int64_t>(i));
    }
    return blocks;
}

/// Standard normal numbers.
inline std::vector<float> gaussian(kq::int64_t count, kq::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> numbers(static_cast<size_t>(count));
    for (float& number : numbers) {
        number = normal(random);
    }
    return numbers;
}

} // namespace common

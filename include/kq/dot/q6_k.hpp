// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q6_k.hpp>
#include <kq/dot/dot.hpp>
#include <kq/dot/planes.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// Q6_K: four lanes share a block; slice 2h + p takes 16 bytes each of the first and the second
/// low nibbles and of the high bits of half h. The offset of 32 is taken from the activation's
/// sums.
template <>
struct sliced_dot<q6_k> : without_table {
    static constexpr int slices = 4;
    static constexpr bool has_minimum = false;
    using image = kq::image<q8_k, slices, element_order::planar>;

    struct anchor {
        half_aligned block;
        int slice;
    };

    struct fragment {
        word_run<4> first;  ///< low nibbles of planes 0 and 2
        word_run<4> second; ///< low nibbles of planes 1 and 3
        word_run<4> high;   ///< high bits of all planes
        word_run<2> scales; ///< the half's scales
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int slice) {
        return {half_aligned::at(block), slice};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        const int half = from.slice / 2;
        const int part = from.slice % 2 * 16;
        const int high_at = offsetof(q6_k::block, qh) + 32 * half + part;
        const int scales_at = offsetof(q6_k::block, scales) + 8 * half;
        constexpr int d_at = offsetof(q6_k::block, d);
        return {load_before_trailer<4, Memory>(from.block, offset + 64 * half + part),
                load_before_trailer<4, Memory>(from.block, offset + 64 * half + part + 32),
                load_before_trailer<4, Memory>(from.block, offset + high_at),
                load_before_trailer<2, Memory>(from.block, offset + scales_at),
                load_f16<Memory>(from.block.start + offset + d_at)};
    }

    KQ_API static integers dot(const fragment& w, const image::fragment& x, const lane& where) {
        int sums[4] = {0, 0, 0, 0};
        KQ_UNROLL
        for (int i = 0; i < 4; ++i) {
            const uint32_t first = w.first.word(i);
            const uint32_t second = w.second.word(i);
            const uint32_t high = w.high.word(i);
            const uint32_t codes[4] = {
                (first & 0x0f0f0f0fu) | ((high << 4) & 0x30303030u),
                (second & 0x0f0f0f0fu) | ((high << 2) & 0x30303030u),
                ((first >> 4) & 0x0f0f0f0fu) | (high & 0x30303030u),
                ((second >> 4) & 0x0f0f0f0fu) | ((high >> 2) & 0x30303030u),
            };
            KQ_UNROLL
            for (int plane = 0; plane < 4; ++plane) {
                sums[plane] = dp4a_us(codes[plane], x.q[4 * plane + i], sums[plane]);
            }
        }
        const uint32_t scales = byte_permute(w.scales.word(0), w.scales.word(1),
                                             detail::every_second_byte(where.slice % 2));
        int dot = 0;
        KQ_UNROLL
        for (int plane = 0; plane < 4; ++plane) {
            const int sum = sums[plane] - 32 * detail::plane_sum(x.sums, plane);
            dot += sum * static_cast<int8_t>(scales >> (8 * plane));
        }
        return {dot, 0};
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }
};

static_assert(dottable<q6_k>);

} // namespace kq::inline KQ_ABI

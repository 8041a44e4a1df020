// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q3_k.hpp>
#include <kq/dot/dot.hpp>
#include <kq/dot/planes.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// Q3_K: four lanes share a block, as in Q2_K; the third bits are put in place above the others,
/// and the offset of 4 is taken from the activation's sums.
template <>
struct sliced_dot<q3_k> : without_table {
    static constexpr int slices = 4;
    static constexpr bool has_minimum = false;
    using image = kq::image<q8_k, slices, element_order::planar>;

    struct anchor {
        half_aligned block;
        int slice;
    };

    struct fragment {
        word_run<4> high;
        word_run<4> q;
        word_run<3> scales;
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int slice) {
        return {half_aligned::at(block), slice};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        constexpr int q_at = offsetof(q3_k::block, qs);
        constexpr int scales_at = offsetof(q3_k::block, scales);
        constexpr int d_at = offsetof(q3_k::block, d);
        return {load_before_trailer<4, Memory>(from.block, offset + from.slice % 2 * 16),
                load_before_trailer<4, Memory>(from.block, offset + q_at + from.slice * 16),
                load_before_trailer<3, Memory>(from.block, offset + scales_at),
                load_f16<Memory>(from.block.start + offset + d_at)};
    }

    KQ_API static integers dot(const fragment& w, const image::fragment& x, const lane& where) {
        const int half = where.slice / 2;
        const uint32_t scales = scales_of(w.scales, half, where.slice % 2);
        // A weight is its two low bits plus 4 times its high bit, minus 4. Plane i's stand at bit
        // 2i of each byte, but plane 3's too at bit 4, so that there is room for the high bit.
        uint32_t codes[4][4]; // [plane][word]
        KQ_UNROLL
        for (int i = 0; i < 4; ++i) {
            const uint32_t low = w.q.word(i);
            const uint32_t high = w.high.word(i) >> (4 * half);
            codes[0][i] = (low & 0x03030303u) | ((high << 2) & 0x04040404u);
            codes[1][i] = (low & 0x0c0c0c0cu) | ((high << 3) & 0x10101010u);
            codes[2][i] = (low & 0x30303030u) | ((high << 4) & 0x40404040u);
            codes[3][i] = ((low >> 2) & 0x30303030u) | ((high << 3) & 0x40404040u);
        }
        int dot = 0;
        KQ_UNROLL
        for (int plane = 0; plane < 4; ++plane) {
            const int stands_at = plane < 3 ? plane : 2;
            int sum = detail::plane_sum(x.sums, plane) * -(4 << (2 * stands_at));
            KQ_UNROLL
            for (int i = 0; i < 4; ++i) {
                sum = dp4a_us(codes[plane][i], x.q[4 * plane + i], sum);
            }
            const int factor = static_cast<int>(detail::plane_factor(stands_at));
            dot +=
                sum * dp4a_us(scales, static_cast<uint32_t>(factor) << (8 * plane), -32 * factor);
        }
        return {dot >> 6, 0};
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }

private:
    /// The 6-bit scales of a slice, plane i's in byte i.
    KQ_API static uint32_t scales_of(const word_run<3>& packed, int half, int parity) {
        const uint32_t pick = detail::every_second_byte(parity);
        const uint32_t last = packed.word(2);
        const uint32_t low = byte_permute(packed.word(0), packed.word(1), pick) >> (4 * half);
        const uint32_t high = byte_permute(last, last >> 2, pick) >> (4 * half);
        return (low & 0x0f0f0f0fu) | (high & 0x03030303u) << 4;
    }
};

static_assert(dottable<q3_k>);

} // namespace kq::inline KQ_ABI

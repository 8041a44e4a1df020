// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q4_k.hpp>
#include <kq/dot/dot.hpp>

namespace kq::inline KQ_ABI {

namespace detail {

/// The header of a Q4_K or Q5_K block: d, dmin and the packed scales.
struct scales_header {
    words<4> w;

    KQ_API f16 d() const { return {static_cast<uint16_t>(w.word[0])}; }
    KQ_API f16 dmin() const { return {static_cast<uint16_t>(w.word[0] >> 16)}; }
    KQ_API scales scale(float d_activation) const {
        return {mul_rn(to_f32(d()), d_activation), mul_rn(to_f32(dmin()), d_activation)};
    }

    /// Scales (bytes 0, 1) and minimums (bytes 2, 3) of sub-blocks 2 * slice and 2 * slice + 1.
    KQ_API uint32_t of_slice(int slice) const {
        const uint32_t pair = slice % 2 != 0 ? 0x7632u : 0x5410u;
        const uint32_t six = byte_permute(w.word[1], w.word[2], pair);
        const uint32_t four = byte_permute(w.word[3], w.word[3] >> 4, pair);
        return slice < 2 ? six & 0x3f3f3f3fu : (four & 0x0f0f0f0fu) | ((six >> 2) & 0x30303030u);
    }
};

/// The integers of a slice of two sub-blocks of 32, given their unscaled dots.
template <class ImageFragment>
KQ_API integers scale_pair(uint32_t scales, int first, int second, const ImageFragment& x) {
    const int dot =
        first * static_cast<int>(scales & 0xffu) + second * static_cast<int>((scales >> 8) & 0xffu);
    const uint32_t minimums = byte_permute(scales, 0, 0x3322u);
    return {dot, dp2a_hi_su(x.sums[1], minimums, dp2a_lo_su(x.sums[0], minimums, 0))};
}

} // namespace detail

/// Q4_K: four lanes share a block, 64 weights each, two sub-blocks. High nibbles stay in place and
/// weigh 16.
template <>
struct sliced_dot<q4_k> : without_table {
    static constexpr int slices = 4;
    static constexpr bool has_minimum = true;
    using image = kq::image<q8_k, slices, element_order::sequential>;

    struct anchor {
        const unsigned char* block;
        const unsigned char* q; ///< the slice's codes
    };

    struct fragment {
        detail::scales_header header;
        words<4> q[2];
    };

    KQ_API static anchor locate(const unsigned char* block, int slice) {
        return {block, block + offsetof(q4_k::block, qs) + 32 * slice};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        return {{Memory::template load<words<4>>(from.block + offset)},
                {Memory::template load<words<4>>(from.q + offset),
                 Memory::template load<words<4>>(from.q + offset + 16)}};
    }

    KQ_API static integers dot(const fragment& w, const image::fragment& x, const lane& where) {
        int low = 0;
        int high = 0;
        KQ_UNROLL
        for (int i = 0; i < 8; ++i) {
            const uint32_t q = w.q[i / 4].word[i % 4];
            low = dp4a_us(q & 0x0f0f0f0fu, x.q[i], low);
            high = dp4a_us(q & 0xf0f0f0f0u, x.q[i + 8], high);
        }
        return detail::scale_pair(w.header.of_slice(where.slice), low, high >> 4, x);
    }

    KQ_API static scales scale(const fragment& w, float d) { return w.header.scale(d); }
};

static_assert(dottable<q4_k>);

} // namespace kq::inline KQ_ABI

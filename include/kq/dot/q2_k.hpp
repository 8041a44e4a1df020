// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q2_k.hpp>
#include <kq/dot/dot.hpp>
#include <kq/dot/planes.hpp>

namespace kq::inline KQ_ABI {

/// Q2_K: four lanes share a block; a lane takes 16 code bytes, whose four bit planes are dotted in
/// place and shifted once as sums.
template <>
struct sliced_dot<q2_k> : without_table {
    static constexpr int slices = 4;
    static constexpr bool has_minimum = true;
    using image = kq::image<q8_k, slices, element_order::planar>;

    struct anchor {
        const unsigned char* block;
        const unsigned char* q;      ///< the slice's 16 code bytes
        const unsigned char* scales; ///< the 8 scale bytes of the slice's half
        uint32_t selector;           ///< picks the slice's 4 of these 8
    };

    struct fragment {
        uint32_t q[4];
        uint32_t scales; ///< plane i in byte i
        uint32_t d_dmin;
    };

    KQ_API static anchor locate(const unsigned char* block, int slice) {
        return {block, block + offsetof(q2_k::block, qs) + 16 * slice, block + slice / 2 * 8,
                detail::every_second_byte(slice % 2)};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        fragment f;
        KQ_UNROLL
        for (int i = 0; i < 4; ++i) {
            f.q[i] = Memory::template load<uint32_t>(from.q + offset + 4 * i);
        }
        f.scales =
            byte_permute(Memory::template load<uint32_t>(from.scales + offset),
                         Memory::template load<uint32_t>(from.scales + offset + 4), from.selector);
        f.d_dmin = Memory::template load<uint32_t>(from.block + offset + offsetof(q2_k::block, d));
        return f;
    }

    KQ_API static integers dot(const fragment& w, const image::fragment& x, const lane&) {
        const uint32_t scales = w.scales & 0x0f0f0f0fu;
        const uint32_t minimums = (w.scales >> 4) & 0x0f0f0f0fu;
        int dot = 0;
        KQ_UNROLL
        for (int plane = 0; plane < 4; ++plane) {
            const int sum = detail::dot_plane(w.q, 0x03030303u << (2 * plane), x.q + 4 * plane, 0);
            // Picks the plane's scale and multiplies it, by the multiply pipe.
            dot += sum *
                   static_cast<int>(dp4a_uu(scales, detail::plane_factor(plane) << (8 * plane), 0));
        }
        return {dot >> 6, dp2a_hi_su(x.sums[1], minimums, dp2a_lo_su(x.sums[0], minimums, 0))};
    }

    KQ_API static scales scale(const fragment& w, float d) {
        const f16 d_w{static_cast<uint16_t>(w.d_dmin)};
        const f16 dmin_w{static_cast<uint16_t>(w.d_dmin >> 16)};
        return {mul_rn(to_f32(d_w), d), mul_rn(to_f32(dmin_w), d)};
    }
};

static_assert(dottable<q2_k>);

} // namespace kq::inline KQ_ABI

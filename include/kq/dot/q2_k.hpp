// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q2_k.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/planes.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// Q2_K: four lanes share a block; a slice is 16 code bytes, its runs their bit planes.
template <int Parts>
struct decoder<q2_k, Parts> : plain_decoder {
    static constexpr int slices = 4;
    static constexpr int runs = 4;
    static constexpr bool has_scales = true;
    static constexpr bool has_minimum = true;
    using image = kq::image<q8_k, slices, element_order::planar>;

    struct anchor {
        const unsigned char* block;
        const unsigned char* q;      ///< the part's code bytes
        const unsigned char* scales; ///< the 8 scale bytes of the slice's half
        uint32_t selector;           ///< picks the slice's 4 of these 8
    };

    struct fragment {
        aligned_run<4 / Parts> q;
        uint32_t scales; ///< of plane i in byte i, above them its minimum
        uint32_t d_dmin;
    };

    KQ_API static constexpr int shift(int run) { return 2 * run; }

    KQ_API static anchor locate(const unsigned char* block, int slice, int part = 0) {
        return {block, block + offsetof(q2_k::block, qs) + 16 * slice + 16 / Parts * part,
                block + slice / 2 * 8, detail::every_second_byte(slice % 2)};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        return {load_aligned<4 / Parts, 1, Memory>(from.q + offset),
                byte_permute(Memory::template load<uint32_t>(from.scales + offset),
                             Memory::template load<uint32_t>(from.scales + offset + 4),
                             from.selector),
                Memory::template load<uint32_t>(from.block + offset + offsetof(q2_k::block, d))};
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context&) {
        return w.q.word(i) & 0x03030303u << (2 * run);
    }

    KQ_API static uint32_t integer_scales(const fragment& w, const lane_context&) {
        return w.scales;
    }
    KQ_API static int run_scale(uint32_t scales, int run, int factor) {
        // Picks the plane's scale and multiplies it, by the multiply pipe.
        const uint32_t pick = static_cast<uint32_t>(factor) << (8 * run);
        return static_cast<int>(dp4a_uu(scales & 0x0f0f0f0fu, pick, 0));
    }
    KQ_API static uint32_t minimums(uint32_t scales) { return (scales >> 4) & 0x0f0f0f0fu; }

    KQ_API static scales scale(const fragment& w, float d) {
        const f16 d_w{static_cast<uint16_t>(w.d_dmin)};
        const f16 dmin_w{static_cast<uint16_t>(w.d_dmin >> 16)};
        return {mul_rn(to_f32(d_w), d), mul_rn(to_f32(dmin_w), d)};
    }
};

static_assert(dottable<q2_k> && decodable<q2_k, 4>);

} // namespace kq::inline KQ_ABI

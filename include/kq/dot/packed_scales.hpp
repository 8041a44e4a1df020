// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/packed_scales.hpp>
#include <kq/dot/decoder.hpp>

namespace kq::inline KQ_ABI::detail {

/// The part of a fragment that Q4_K and Q5_K share: d, dmin and the packed scales of a block.
struct with_header {
    words<4> header;
};

/// What decoders of Q4_K and Q5_K share: two sub-blocks a slice, and what their header says.
struct packed_scales_decoder : plain_decoder {
    static constexpr int slices = 4;
    static constexpr int runs = 2;
    static constexpr bool has_scales = true;
    static constexpr bool has_minimum = true;
    using image = kq::image<q8_k, slices, element_order::sequential>;

    template <memory Memory>
    KQ_API static with_header load_header(const unsigned char* block) {
        with_header w; // and no braces: nvcc takes them for those of the header
        w.header = Memory::template load<words<4>>(block);
        return w;
    }

    /// Scales (bytes 0, 1) and minimums (bytes 2, 3) of the slice's sub-blocks.
    KQ_API static uint32_t integer_scales(const with_header& w, const lane_context& where) {
        const words<4>& h = w.header;
        const uint32_t pair = where.slice % 2 != 0 ? 0x7632u : 0x5410u;
        const uint32_t six = byte_permute(h.word[1], h.word[2], pair);
        const uint32_t four = byte_permute(h.word[3], h.word[3] >> 4, pair);
        return where.slice < 2 ? six & 0x3f3f3f3fu
                               : (four & 0x0f0f0f0fu) | ((six >> 2) & 0x30303030u);
    }
    KQ_API static int run_scale(uint32_t scales, int run, int factor) {
        return static_cast<int>(scales >> (8 * run) & 0xffu) * factor;
    }
    KQ_API static uint32_t minimums(uint32_t scales) { return byte_permute(scales, 0, 0x3322u); }

    KQ_API static scales scale(const with_header& w, float d) {
        const f16 d_w{static_cast<uint16_t>(w.header.word[0])};
        const f16 dmin_w{static_cast<uint16_t>(w.header.word[0] >> 16)};
        return {mul_rn(to_f32(d_w), d), mul_rn(to_f32(dmin_w), d)};
    }
};

} // namespace kq::inline KQ_ABI::detail

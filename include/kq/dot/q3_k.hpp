// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q3_k.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/planes.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// Q3_K: as Q2_K, but the third bits are put in place above the others. Plane 3 stands where plane
/// 2 does, so that there is room for them.
template <int Parts>
struct decoder<q3_k, Parts> : plain_decoder {
    static constexpr int slices = 4;
    static constexpr int runs = 4;
    static constexpr int offset = 4;
    static constexpr bool has_scales = true;
    using image = kq::image<q8_k, slices, element_order::planar>;

    struct anchor {
        half_aligned block;
        int high_at; ///< from the block to the part's third bits
        int q_at;    ///< and to its low bits
    };

    struct fragment {
        word_run<4 / Parts> high;
        word_run<4 / Parts> q;
        word_run<3> scales;
        f16 d;
    };

    KQ_API static constexpr int shift(int run) { return run < 3 ? 2 * run : 4; }

    KQ_API static anchor locate(const unsigned char* block, int slice, int part = 0) {
        constexpr int q_at = offsetof(q3_k::block, qs);
        const int part_at = 16 / Parts * part;
        return {half_aligned::at(block), slice % 2 * 16 + part_at, q_at + slice * 16 + part_at};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int ahead) {
        constexpr int scales_at = offsetof(q3_k::block, scales);
        constexpr int d_at = offsetof(q3_k::block, d);
        return {load_before_trailer<4 / Parts, Memory>(from.block, ahead + from.high_at),
                load_before_trailer<4 / Parts, Memory>(from.block, ahead + from.q_at),
                load_before_trailer<3, Memory>(from.block, ahead + scales_at),
                load_f16<Memory>(from.block.start + ahead + d_at)};
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context& where) {
        const uint32_t low = w.q.word(i) >> (2 * run - shift(run));
        const uint32_t high = w.high.word(i) >> (4 * (where.slice / 2)); // bit `run` of each byte
        return (low & 0x03030303u << shift(run)) |
               (high << (shift(run) + 2 - run) & 0x04040404u << shift(run));
    }

    /// The 6-bit scales, plane i's in byte i.
    KQ_API static uint32_t integer_scales(const fragment& w, const lane_context& where) {
        const uint32_t pick = detail::every_second_byte(where.slice % 2);
        const int half = where.slice / 2;
        const uint32_t last = w.scales.word(2);
        const uint32_t low = byte_permute(w.scales.word(0), w.scales.word(1), pick) >> (4 * half);
        const uint32_t high = byte_permute(last, last >> 2, pick) >> (4 * half);
        return (low & 0x0f0f0f0fu) | (high & 0x03030303u) << 4;
    }
    KQ_API static int run_scale(uint32_t scales, int run, int factor) {
        // Picks the plane's scale, takes its offset off and multiplies it.
        return dp4a_us(scales, static_cast<uint32_t>(factor) << (8 * run), -32 * factor);
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }
};

static_assert(dottable<q3_k> && decodable<q3_k, 4>);

} // namespace kq::inline KQ_ABI

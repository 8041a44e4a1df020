// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q6_k.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/planes.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// Q6_K: four lanes share a block; slice 2h + p takes 16 bytes each of the first and the second
/// low nibbles and of the high bits of half h. Its runs are the planes of the high bits.
template <int Parts>
struct decoder<q6_k, Parts> : plain_decoder {
    static constexpr int slices = 4;
    static constexpr int runs = 4;
    static constexpr int offset = 32;
    static constexpr bool has_scales = true;
    using image = kq::image<q8_k, slices, element_order::planar>;

    struct anchor {
        half_aligned block;
        int slice;
        int part;
    };

    struct fragment {
        word_run<4 / Parts> first;  ///< low nibbles of planes 0 and 2
        word_run<4 / Parts> second; ///< low nibbles of planes 1 and 3
        word_run<4 / Parts> high;   ///< high bits of all planes
        word_run<2> scales;         ///< the half's scales
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int slice, int part = 0) {
        return {half_aligned::at(block), slice, part};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int ahead) {
        constexpr int n = 4 / Parts;
        const int half = from.slice / 2;
        const int within = from.slice % 2 * 16 + 16 / Parts * from.part;
        constexpr int first_high = offsetof(q6_k::block, qh);
        constexpr int first_scale = offsetof(q6_k::block, scales);
        const int high_at = first_high + 32 * half + within;
        const int scales_at = first_scale + 8 * half;
        constexpr int d_at = offsetof(q6_k::block, d);
        return {load_before_trailer<n, Memory>(from.block, ahead + 64 * half + within),
                load_before_trailer<n, Memory>(from.block, ahead + 64 * half + within + 32),
                load_before_trailer<n, Memory>(from.block, ahead + high_at),
                load_before_trailer<2, Memory>(from.block, ahead + scales_at),
                load_f16<Memory>(from.block.start + ahead + d_at)};
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context&) {
        const uint32_t nibbles = (run % 2 == 0 ? w.first : w.second).word(i) >> (run / 2 * 4);
        const uint32_t high = w.high.word(i);
        const uint32_t in_place = run < 2 ? high << (4 - 2 * run) : high >> (2 * run - 4);
        return (nibbles & 0x0f0f0f0fu) | (in_place & 0x30303030u);
    }

    KQ_API static uint32_t integer_scales(const fragment& w, const lane_context& where) {
        return byte_permute(w.scales.word(0), w.scales.word(1),
                            detail::every_second_byte(where.slice % 2));
    }
    KQ_API static int run_scale(uint32_t scales, int run, int factor) {
        return static_cast<int8_t>(scales >> (8 * run)) * factor;
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }
};

static_assert(dottable<q6_k> && decodable<q6_k, 4>);

} // namespace kq::inline KQ_ABI

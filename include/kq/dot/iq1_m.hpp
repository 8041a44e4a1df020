// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/iq1_m.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/iq1.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// IQ1_M: four lanes share a block, 64 weights each; runs are the 16 weights of a scale. Codes as
/// in IQ1_S, but with a delta for each 8.
template <int Parts>
struct decoder<iq1_m, Parts> : plain_decoder {
    static constexpr int slices = 4;
    static constexpr int runs = 4;
    static constexpr bool signed_codes = true;
    static constexpr bool has_scales = true;
    using image = kq::image<q8_k, slices, element_order::sequential>;

    static constexpr int table_columns = detail::iq1_table::columns;
    static constexpr int table_rows = detail::iq1_table::rows;
    static constexpr uint32_t constant = detail::iq1_minus;

    KQ_API static constexpr uint32_t table_row(int row) { return detail::iq1_table::row(row); }

    struct anchor {
        const unsigned char* block;
        const unsigned char* q; ///< the slice's indices
        const unsigned char* h; ///< their high bits
        uint32_t selector;      ///< picks the slice's half of the words of scales
    };

    /// All of a slice, whatever the part, which would load a byte of the indices and all else.
    struct fragment {
        aligned_run<2> q;
        uint32_t h;
        uint32_t scales; ///< four of 3 bits
        uint32_t d;      ///< the nibbles of d, in their order from bit 4 on
    };

    KQ_API static anchor locate(const unsigned char* block, int slice, int = 0) {
        return {block, block + offsetof(iq1_m::block, qs) + 8 * slice,
                block + offsetof(iq1_m::block, qh) + 4 * slice,
                0x10u + 0x22u * static_cast<uint32_t>(slice)};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        fragment f;
        f.q = load_aligned<2, 2, Memory>(from.q + offset);
        f.h = Memory::template load<uint32_t>(from.h + offset);
        const auto scales =
            load_aligned<2, 2, Memory>(from.block + offset + offsetof(iq1_m::block, scales));
        f.scales = byte_permute(scales.word(0), scales.word(1), from.selector);
        f.d = nibbles_of_d(scales.word(0), scales.word(1));
        return f;
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context& where) {
        const int word = Parts == 1 ? i : where.part; // of the run's four
        const int entry = 2 * run + word / 2;         // of the slice's eight
        const uint32_t nibbles =
            detail::iq1_table::look_up(where, w.q.word(run / 2), entry % 4, w.h, 4 * entry);
        const bool negative = (w.h & 8u << (4 * entry)) != 0;
        return detail::iq1_codes(nibbles, word % 2, negative, where.constant);
    }

    KQ_API static int run_scale(const fragment& w, int run, int factor) {
        const uint32_t twice = ((w.scales << 1) >> (3 * run)) & 0xeu;
        return static_cast<int>(twice | 1u) * factor;
    }

    KQ_API static scales scale(const fragment& w, float d) {
        const f16 d_w{static_cast<uint16_t>(w.d >> 4)};
        return {mul_rn(to_f32(d_w), mul_rn(iq1_m::factor, d)), 0};
    }

private:
    /// The top nibbles of the four halves, in order. They are paired, 0 with 2 and 1 with 3, and
    /// the second pair is moved between the first by the multiply pipe.
    KQ_API static uint32_t nibbles_of_d(uint32_t low, uint32_t high) {
        const uint32_t pairs = ((low >> 8) & 0x00f000f0u) | (high & 0xf000f000u);
        return dp2a_lo_uu(pairs, 0x1001u, 0);
    }
};

static_assert(dottable<iq1_m> && decodable<iq1_m, 4>);

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/iq3_s.hpp>
#include <kq/core/standard.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/signs.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// IQ3_S: four lanes share a block, 64 weights each; runs are groups of 32. 4 magnitudes are looked
/// up as bytes that are 15 too large. These are even, 16 to 30, and so -m + 15 has the bits of
/// m + 15 but for bits 1 to 4, which are the other way round: signs need no table and no
/// subtraction.
template <int Parts>
struct decoder<iq3_s, Parts> : plain_decoder {
    static_assert(Parts == 1 || Parts == 4, "kq: iq3_s is decoded by slices or quarters");

    static constexpr int slices = 4;
    static constexpr int runs = 2;
    static constexpr int offset = 15;
    static constexpr bool has_scales = true;
    using image = kq::image<q8_k, slices, element_order::sequential>;

    static constexpr int table_columns = 32;
    static constexpr int table_rows = 512;

    static constexpr uint32_t table_row(int row) {
        const uint32_t levels = codebooks::iq3_s.entries[row];
        uint32_t codes = 0x10101010u;
        for (int i = 0; i < 4; ++i) {
            codes |= (levels >> (3 * i) & 7u) << (8 * i + 1);
        }
        return codes;
    }

    struct anchor {
        half_aligned q; ///< the low bits of the slice's indices
        const unsigned char* block;
        int slice;
        int part;
    };

    struct fragment {
        standard::conditional_t<Parts == 1, word_run<4>, half_run<2>> q;
        word_run<2> signs;
        uint32_t high;   ///< a bit an index
        uint32_t scales; ///< two nibbles
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int slice, int part = 0) {
        return {half_aligned::at(block + offsetof(iq3_s::block, qs) + 16 * slice), block, slice,
                part};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int ahead) {
        constexpr int signs_at = offsetof(iq3_s::block, signs) - offsetof(iq3_s::block, qs);
        const unsigned char* block = from.block + ahead;
        fragment f;
        if constexpr (Parts == 1) {
            f.q = load_after_header<4, Memory>(from.q, ahead);
        } else { // 2 of the 8 indices of each group
            f.q = load_halves<2, 8, Memory>(from.q.start + ahead + 2 * from.part);
        }
        f.signs = load_after_header<2, Memory>(from.q, ahead + signs_at - 8 * from.slice);
        f.high =
            Memory::template load<uint16_t>(block + offsetof(iq3_s::block, qh) + 2 * from.slice);
        f.scales =
            Memory::template load<uint8_t>(block + offsetof(iq3_s::block, scales) + from.slice);
        f.d = load_f16<Memory>(block);
        return f;
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context& where) {
        constexpr int words = Parts == 1 ? 2 : 1;                  // of low bits, of a run
        const int first = Parts == 1 ? i / 4 * 4 : 2 * where.part; // index of that word
        const uint32_t ninth = bytes_of_bits(w.high >> (8 * run + first));
        // Two indices of nine bits, then the row of one.
        const uint32_t indices =
            byte_permute(w.q.word(words * run + i / 4), ninth, i % 4 < 2 ? 0x5140u : 0x7362u);
        const uint32_t row =
            dp2a_lo_uu(indices, i % 2 == 0 ? 0x0080u : 0x8000u, detail::column(where));
        const int byte = Parts == 1 ? i / 2 : where.part;
        return detail::look_up(where, row) ^
               (negative_bytes(w.signs.word(run), byte, i % 2) & 0x1e1e1e1eu);
    }

    KQ_API static int run_scale(const fragment& w, int run, int factor) {
        return detail::odd_scale(w.scales, run) * factor;
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }

private:
    /// Bits 0 to 3 of `bits`, a byte each. The multiplier's copies do not overlap.
    KQ_API static uint32_t bytes_of_bits(uint32_t bits) {
        return ((bits & 0xfu) * 0x00204081u) & 0x01010101u;
    }

    /// A byte of 0xff for each bit of nibble `half` of byte `byte` of `signs` that is set.
    KQ_API static uint32_t negative_bytes(uint32_t signs, int byte, int half) {
        const uint32_t nibble = half == 0 ? dp4a_uu(signs & 0x0f0f0f0fu, 0x80u << (8 * byte), 0)
                                          : dp4a_uu(signs & 0xf0f0f0f0u, 0x08u << (8 * byte), 0);
        // The nibble stands at bit 7; its copies bring a bit of it to the top of each byte.
        const uint32_t tops = nibble * 0x00204081u;
        return byte_permute(tops, tops, 0xba98u);
    }
};

static_assert(dottable<iq3_s> && decodable<iq3_s, 4>);

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/tq1_0.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// TQ1_0: four lanes share a block. Slice s has bytes 8 s to 8 s + 7 and 32 + 4 s to 35 + 4 s, all
/// five digits, and digit s of the last four bytes; a word of codes is one digit of four bytes.
template <int Parts>
struct decoder<tq1_0, Parts> : plain_decoder {
    static_assert(Parts == 1 || Parts == 4, "kq: tq1_0 is decoded by slices or quarters");
    static constexpr int slices = 4;
    static constexpr int runs = 1;
    static constexpr int offset = 1;
    using image = kq::image<q8_k, slices, element_order::columns>;

    struct anchor {
        half_aligned block;
        int slice;
    };

    /// All of a slice, whatever the part: each byte is in several.
    struct fragment {
        word_run<2> first;
        word_run<1> second;
        uint32_t last; ///< the bytes that slices share
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int slice, int = 0) {
        return {half_aligned::at(block), slice};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int ahead) {
        constexpr int last_at = offsetof(tq1_0::block, qh);
        // The last six bytes: the aligned word among them, and the half before or after it.
        const int odd = static_cast<int>(from.block.odd);
        const unsigned char* tail = from.block.start + ahead + last_at;
        const auto word = Memory::template load<uint32_t>(tail + odd);
        const uint32_t half = Memory::template load<uint16_t>(tail + 4 - 2 * odd);
        return {load_before_trailer<2, Memory>(from.block, ahead + 8 * from.slice),
                load_before_trailer<1, Memory>(from.block, ahead + 32 + 4 * from.slice),
                byte_permute(word, half, odd != 0 ? 0x1054u : 0x3210u),
                f16{static_cast<uint16_t>(odd != 0 ? word >> 16 : half)}};
    }

    KQ_API static uint32_t codes(const fragment& w, int, int i, const lane_context& where) {
        const int word = Parts == 1 ? i : 4 * where.part + i; // of the slice
        if (word < 10) {
            return digits(i % 2 == 0 ? w.first.word(0) : w.first.word(1), word / 2);
        }
        return word < 15 ? digits(w.second.word(0), word - 10) : digits(w.last, where.slice);
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }

private:
    /// Digit `n` of each byte: the number that its first n + 1 digits are, less 3 times the one
    /// that the first n are. No byte borrows.
    KQ_API static uint32_t digits(uint32_t bytes, int n) {
        const uint32_t power = n < 4 ? (0x1b090301u >> (8 * n)) & 0xffu : 81u; // 3^n
        const uint32_t through = leading_digits(bytes, 3 * power);
        return n == 0 ? through : through - 3 * leading_digits(bytes, power);
    }

    /// Of each byte the number that its first digits are, as many as 3 has been multiplied by
    /// itself to give `power`, 243 at most: the product's high byte.
    KQ_API static uint32_t leading_digits(uint32_t bytes, uint32_t power) {
        const uint32_t even = (bytes & 0x00ff00ffu) * power;
        const uint32_t odd = byte_permute(bytes, 0, 0x4341u) * power;
        return byte_permute(even, odd, 0x7351u);
    }
};

static_assert(dottable<tq1_0> && decodable<tq1_0, 4>);

} // namespace kq::inline KQ_ABI

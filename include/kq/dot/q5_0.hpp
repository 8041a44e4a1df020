// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q5_0.hpp>
#include <kq/dot/dot.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// Q5_0: a lane takes a whole block. The fifth bits join the nibbles before the dot; the offset of
/// 16 is taken from the activation's sums.
template <>
struct sliced_dot<q5_0> : without_table {
    static constexpr int slices = 1;
    static constexpr bool has_minimum = false;
    using image = kq::image<q8_0, slices, element_order::sequential>;

    using anchor = half_aligned; ///< of the fifth bits

    struct fragment {
        word_run<5> q; ///< the word of fifth bits, then the nibbles
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int) {
        return half_aligned::at(block + offsetof(q5_0::block, qh));
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        constexpr int q_at = offsetof(q5_0::block, qh);
        return {load_after_header<5, Memory>(from, offset),
                load_f16<Memory>(from.start - q_at + offset)};
    }

    KQ_API static integers dot(const fragment& w, const image::fragment& x, const lane&) {
        const uint32_t bits = w.q.word(0);
        int sum = 0;
        KQ_UNROLL
        for (int i = 0; i < 4; ++i) {
            const uint32_t q = w.q.word(i + 1);
            const uint32_t low = (q & 0x0f0f0f0fu) | fifth_bits(bits >> (4 * i));
            const uint32_t high = ((q >> 4) & 0x0f0f0f0fu) | fifth_bits(bits >> (4 * i + 16));
            sum = dp4a_us(low, x.q[i], sum);
            sum = dp4a_us(high, x.q[i + 4], sum);
        }
        return {sum - dp2a_lo_su(x.sums[0], 0x1010u, 0), 0};
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }

private:
    /// Bits 0 to 3 of `bits`, each as bit 4 of a byte. The multiplier's copies do not overlap.
    KQ_API static uint32_t fifth_bits(uint32_t bits) {
        return ((bits & 0xfu) * 0x02040810u) & 0x10101010u;
    }
};

static_assert(dottable<q5_0>);

} // namespace kq::inline KQ_ABI

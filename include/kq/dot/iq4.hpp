// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/codebooks/iq4_nl.hpp>
#include <kq/dot/nibbles.hpp>

/// The lookup that iq4_nl and iq4_xs share: 16 signed codes, in four registers.
namespace kq::inline KQ_ABI::detail {

/// What the decoders of both have in common.
struct iq4_decoder : plain_decoder {
    static constexpr bool signed_codes = true;
    static constexpr bool codes_in_two = true;
    static constexpr uint32_t constant = codebooks::iq4_nl_word<0>;

    /// The codes that nibbles number as sums: the lower eight codes, all negative, or -1, and 0 or
    /// the upper eight plus 1. Where bit 3 of a selector's nibble is set, a permute repeats a
    /// byte's sign.
    KQ_API static two_words apart(nibbles q, const lane_context& where) {
        return {lower(q.selector, where),
                byte_permute(upper_constant(where) + 0x01010101u,
                             codebooks::iq4_nl_word<3> + 0x01010101u, q.flipped())};
    }

    /// The codes themselves.
    KQ_API static uint32_t together(nibbles q, const lane_context& where) {
        const uint32_t in_eight = q.selector & 0x7777u;
        const uint32_t pick = ((q.selector & 0x8888u) >> 1) | 0x3210u;
        return byte_permute(
            lower(in_eight, where),
            byte_permute(upper_constant(where), codebooks::iq4_nl_word<3>, in_eight), pick);
    }

private:
    KQ_API static uint32_t lower(uint32_t selector, const lane_context& where) {
        return byte_permute(where.constant, codebooks::iq4_nl_word<1>, selector);
    }
    /// Codes 8 to 11. A permute takes one constant, so this one is in a register, too.
    KQ_API static uint32_t upper_constant(const lane_context& where) {
        return where.constant ^ codebooks::iq4_nl_word<0> ^ codebooks::iq4_nl_word<2>;
    }
};

} // namespace kq::inline KQ_ABI::detail

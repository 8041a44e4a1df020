// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/codebooks/iq4_nl.hpp>
#include <kq/dot/decoder.hpp>

/// The lookup that iq4_nl and iq4_xs share: 16 signed codes, in four registers.
namespace kq::inline KQ_ABI::detail {

/// The `constant` of decoders that call `iq4_codes`: the first four codes.
inline constexpr uint32_t iq4_constant = codebooks::iq4_nl_word<0>;

/// The codes that the four nibbles of the low half of `q` number. `in_eight`: the nibbles without
/// their bit 3; `pick`: nibble i is i, and 4 more where that bit is set.
KQ_API uint32_t iq4_four_codes(uint32_t in_eight, uint32_t pick, const lane_context& where) {
    // A permute takes one constant, so words 0 and 2 are in registers.
    constexpr uint32_t difference = codebooks::iq4_nl_word<0> ^ codebooks::iq4_nl_word<2>;
    const uint32_t lower = byte_permute(where.constant, codebooks::iq4_nl_word<1>, in_eight);
    const uint32_t upper =
        byte_permute(where.constant ^ difference, codebooks::iq4_nl_word<3>, in_eight);
    return byte_permute(lower, upper, pick);
}

/// The codes that the nibbles of `q` number, four a word: those of the low nibbles (`run` 0) or
/// those of the high nibbles (`run` 1).
KQ_API uint32_t iq4_codes(uint32_t q, int run, const lane_context& where) {
    const uint32_t in_eight = q & 0x77777777u;
    const uint32_t pick = ((q & 0x88888888u) >> 1) | 0x32103210u;
    // High halves by the multiply pipe: the integer ALU, which permutes, has less room.
    constexpr uint32_t high_half = 0x0100u;
    // The codes of bytes 0 and 1, and of bytes 2 and 3; of each byte the low nibble's first.
    const uint32_t first = iq4_four_codes(in_eight, pick, where);
    const uint32_t second =
        iq4_four_codes(dp2a_lo_uu(in_eight, high_half, 0), dp2a_lo_uu(pick, high_half, 0), where);
    return byte_permute(first, second, run == 0 ? 0x6420u : 0x7531u);
}

} // namespace kq::inline KQ_ABI::detail

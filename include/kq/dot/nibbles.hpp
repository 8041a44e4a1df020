// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dot/decoder.hpp>

/// What the encodings share whose nibbles number codes: a byte permute looks four of them up, in
/// the order in which they lie. So their image has that order, and none is moved.
namespace kq::inline KQ_ABI::detail {

/// Four nibbles, as a permute's selector: the low half of a word.
struct nibbles {
    uint32_t selector; ///< the high half means nothing

    /// Half `half` of `word`.
    KQ_API static nibbles of(uint32_t word, int half) {
        // The high half by the multiply pipe: the integer ALU, which permutes, has less room.
        return {half == 0 ? word : dp2a_lo_uu(word, 0x0100u, 0)};
    }
    /// The same with bit 3 of each nibble the other way round.
    KQ_API uint32_t flipped() const { return selector ^ 0x8888u; }
};

} // namespace kq::inline KQ_ABI::detail

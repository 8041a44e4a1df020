// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dot/nibbles.hpp>

/// The lookup that mxfp4 and nvfp4 share: codes are FP4 values.
namespace kq::inline KQ_ABI::detail {

/// What the decoders of both have in common. A table of magnitudes alone fits a byte permute: where
/// bit 3 of a selector's nibble is set, the permute repeats the sign of a byte, which all bytes of
/// a word have in common here. So one permute finds the positive values, one the negative.
struct fp4_decoder : plain_decoder {
    static constexpr int offset = -1;
    static constexpr bool signed_codes = true;
    static constexpr bool codes_in_two = true;
    static constexpr uint32_t constant = 0x03020100u; ///< the magnitudes of nibbles 0 to 3

    /// Codes less 1, as sums: m or 0, and -1 or -m - 1.
    KQ_API static two_words apart(nibbles q, const lane_context& where) {
        return {byte_permute(where.constant, above, q.selector),
                byte_permute(~where.constant, ~above, q.flipped())};
    }

    /// Codes less 1.
    KQ_API static uint32_t together(nibbles q, const lane_context& where) {
        const uint32_t positive = byte_permute(where.constant, above, q.selector);
        const uint32_t negative = byte_permute(where.constant, above, q.flipped());
        return (positive - negative + 0x7f7f7f7fu) ^ 0x80808080u; // no borrows, no carries
    }

private:
    static constexpr uint32_t above = 0x0c080604u; ///< the magnitudes of nibbles 4 to 7
};

} // namespace kq::inline KQ_ABI::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>
#include <kq/core/intrinsics.hpp>

/// What the encodings share whose codes are FP4 values.
namespace kq::inline KQ_ABI::detail {

/// Taken off what `fp4_of` gives.
inline constexpr int fp4_offset = 12;

/// The magnitudes of nibbles 0 to 3, for `decoder::constant`: what permutes take beside another
/// constant.
inline constexpr uint32_t fp4_constant = 0x03020100u;

/// Codes of eight nibbles, four a word.
struct fp4_codes {
    uint32_t low;  ///< of the low nibble of each byte
    uint32_t high; ///< of the high nibble of each byte
};

/// `codebooks::fp4` of the eight nibbles of `q`, each plus 12, as uint8. A table of magnitudes
/// alone fits a byte permute: where bit 3 of a selector's nibble is set, the permute repeats the
/// sign of a magnitude, which is 0. So one permute finds the positive values, one the negative.
/// `below_4`: `fp4_constant`, in a register.
KQ_API fp4_codes fp4_of(uint32_t q, uint32_t below_4 = fp4_constant) {
    constexpr uint32_t from_4_on = 0x0c080604u;
    const uint32_t negated = q ^ 0x88888888u;
    const uint32_t first = byte_permute(below_4, from_4_on, q) -
                           byte_permute(below_4, from_4_on, negated) + 0x0c0c0c0cu; // no borrows
    const uint32_t second = byte_permute(below_4, from_4_on, q >> 16) -
                            byte_permute(below_4, from_4_on, negated >> 16) + 0x0c0c0c0cu;
    return {byte_permute(first, second, 0x6420u), byte_permute(first, second, 0x7531u)};
}

} // namespace kq::inline KQ_ABI::detail

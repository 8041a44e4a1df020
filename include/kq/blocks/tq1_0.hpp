// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_k.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// TQ1_0: 256 ternary digits, five or four a byte, and one scale.
///
/// Weights 0 to 159 are digits 0 to 4 of the first 32 bytes, 160 to 239 those of the next 16, and
/// 240 to 255 digits 0 to 3 of the last four: digit n of all bytes of a field, then digit n + 1.
/// Weight i is `d * (digit - 1)`. A byte is a fraction of 256 whose ternary digits are the digits.
struct tq1_0 {
    struct block {
        using weights = tq1_0;

        uint8_t qs[48]; ///< five digits a byte, of the first 32 bytes and then of the next 16
        uint8_t qh[4];  ///< four digits a byte
        f16 d;          ///< scale
    };

    static constexpr encoding id = encoding::tq1_0;
    static constexpr int elements = 256;
    static constexpr float factor = 1;
    using activation = q8_k;

    static constexpr int code(const block& b, int i) {
        return i < 160   ? digit(b.qs[i % 32], i / 32) - 1
               : i < 240 ? digit(b.qs[32 + i % 16], i / 16 - 10) - 1
                         : digit(b.qh[i % 4], i / 4 - 60) - 1;
    }
    static constexpr int scale(const block&, int) { return 1; }
    static constexpr int minimum(const block&, int) { return 0; }
    static constexpr float d(const block& b) { return to_f32(b.d); }
    static constexpr float dmin(const block&) { return 0; }

    /// Digit `n` of a byte: shifts the digits before it out, then this one.
    KQ_API static constexpr int digit(int byte, int n) {
        for (int i = 0; i < n; ++i) {
            byte = byte * 3 % 256;
        }
        return byte * 3 / 256;
    }
};

static_assert(sizeof(tq1_0::block) == 54 && offsetof(tq1_0::block, qh) == 48 &&
              offsetof(tq1_0::block, d) == 52);
static_assert(weight_encoding<tq1_0>);

} // namespace kq::inline KQ_ABI

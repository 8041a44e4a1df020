// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q8_0_aligned.hpp>
#include <kq/dot/q8_0.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// Aligned Q8_0: a slice is what was a block of `q8_0`, so a lane dots the same weights in the same
/// order as with `q8_0`, and the bits are the same.
template <int Parts>
struct decoder<q8_0_aligned, Parts> : plain_decoder {
    static constexpr int slices = q8_0_aligned::q8_0_blocks;
    static constexpr int runs = 1;
    static constexpr bool signed_codes = true;
    using image = decoder<q8_0>::image;

    struct anchor {
        const unsigned char* q; ///< the part's codes
        const unsigned char* d; ///< the slice's scale
    };

    struct fragment {
        aligned_run<8 / Parts> q;
        f16 d;
    };

    KQ_API static anchor locate(const unsigned char* block, int slice, int part = 0) {
        return {block + offsetof(q8_0_aligned::block, q) + 32 * slice + 32 / Parts * part,
                block + offsetof(q8_0_aligned::block, d) + 2 * slice};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        return {load_aligned<8 / Parts, 4, Memory>(from.q + offset),
                load_f16<Memory>(from.d + offset)};
    }

    KQ_API static uint32_t codes(const fragment& w, int, int i, const lane_context&) {
        return w.q.word(i);
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }
};

static_assert(dottable<q8_0_aligned> && decodable<q8_0_aligned, 4>);

} // namespace kq::inline KQ_ABI

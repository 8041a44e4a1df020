// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/tq2_0.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// TQ2_0: four lanes share a block; a slice is 16 code bytes, its runs their bit planes, as in
/// Q2_K.
template <int Parts>
struct decoder<tq2_0, Parts> : plain_decoder {
    static constexpr int slices = 4;
    static constexpr int runs = 4;
    static constexpr int offset = 1;
    using image = kq::image<q8_k, slices, element_order::planar>;

    struct anchor {
        half_aligned q; ///< the part's code bytes
        int d_at;       ///< from them to the scale
    };

    struct fragment {
        word_run<4 / Parts> q;
        f16 d;
    };

    KQ_API static constexpr int shift(int run) { return 2 * run; }

    KQ_API static anchor locate(const unsigned char* block, int slice, int part = 0) {
        constexpr int d_at = offsetof(tq2_0::block, d);
        const int q_at = 16 * slice + 16 / Parts * part;
        return {half_aligned::at(block + q_at), d_at - q_at};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int ahead) {
        return {load_before_trailer<4 / Parts, Memory>(from.q, ahead),
                load_f16<Memory>(from.q.start + (ahead + from.d_at))};
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context&) {
        return w.q.word(i) & 0x03030303u << (2 * run);
    }

    KQ_API static scales scale(const fragment& w, float d) { return {mul_rn(to_f32(w.d), d), 0}; }
};

static_assert(dottable<tq2_0> && decodable<tq2_0, 4>);

} // namespace kq::inline KQ_ABI

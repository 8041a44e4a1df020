// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q4_k.hpp>
#include <kq/dot/packed_scales.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// Q4_K: four lanes share a block, 64 weights each. The runs of a slice are low and high nibbles,
/// a sub-block each.
template <int Parts>
struct decoder<q4_k, Parts> : detail::packed_scales_decoder {
    struct anchor {
        const unsigned char* block;
        const unsigned char* q; ///< the part's codes
    };

    struct fragment : detail::with_header {
        aligned_run<8 / Parts> q;
    };

    KQ_API static constexpr int shift(int run) { return 4 * run; }

    KQ_API static anchor locate(const unsigned char* block, int slice, int part = 0) {
        return {block, block + offsetof(q4_k::block, qs) + 32 * slice + 32 / Parts * part};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int offset) {
        return {load_header<Memory>(from.block + offset),
                load_aligned<8 / Parts, 4, Memory>(from.q + offset)};
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context&) {
        return w.q.word(i) & (run == 0 ? 0x0f0f0f0fu : 0xf0f0f0f0u);
    }
};

static_assert(dottable<q4_k> && decodable<q4_k, 4>);

} // namespace kq::inline KQ_ABI

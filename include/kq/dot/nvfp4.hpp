// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/nvfp4.hpp>
#include <kq/dot/decoder.hpp>
#include <kq/dot/fp4.hpp>
#include <kq/dot/words.hpp>

namespace kq::inline KQ_ABI {

/// NVFP4: two lanes share a block, 32 weights each; runs are the two sub-blocks of a slice, each
/// with its own float scale.
template <int Parts>
struct decoder<nvfp4, Parts> : detail::fp4_decoder {
    static constexpr int slices = 2;
    static constexpr int runs = 2;
    static constexpr bool has_minimum = true; // the second run
    static constexpr bool has_two_scales = true;
    using image = kq::image<q8_32, slices / 2, element_order::nibbles_8>;

    struct anchor {
        const unsigned char* q; ///< the part's nibbles
        int d_at;               ///< from them to the slice's scales
    };

    static constexpr int run_nibbles = Parts == 1 ? 2 : 1; ///< words of nibbles of a run's part

    struct fragment {
        aligned_run<run_nibbles> q[2]; ///< of each run
        uint32_t d;                    ///< two scales
    };

    KQ_API static anchor locate(const unsigned char* block, int slice, int part = 0) {
        const int q_at = static_cast<int>(offsetof(nvfp4::block, qs)) + 16 * slice + part / 2 * 4;
        return {block + q_at, 2 * slice - q_at};
    }

    template <memory Memory>
    KQ_API static fragment load(const anchor& from, int ahead) {
        return {{load_aligned<run_nibbles, 1, Memory>(from.q + ahead),
                 load_aligned<run_nibbles, 1, Memory>(from.q + (ahead + 8))},
                Memory::template load<uint16_t>(from.q + (ahead + from.d_at))};
    }

    KQ_API static uint32_t codes(const fragment& w, int run, int i, const lane_context& where) {
        return decoder::together(nibbles_of(w, run, i, where), where);
    }
    KQ_API static two_words codes_apart(const fragment& w, int run, int i,
                                        const lane_context& where) {
        return decoder::apart(nibbles_of(w, run, i, where), where);
    }

    KQ_API static scales scale(const fragment& w, float d) {
        const float half = mul_rn(nvfp4::factor, d);
        return {mul_rn(to_f32(ue4m3{static_cast<uint8_t>(w.d)}), half),
                mul_rn(to_f32(ue4m3{static_cast<uint8_t>(w.d >> 8)}), half)};
    }

private:
    KQ_API static detail::nibbles nibbles_of(const fragment& w, int run, int i,
                                             const lane_context& where) {
        const int word = Parts == 1 ? i : where.part; // of the run's four
        return detail::nibbles::of(w.q[run].word(Parts == 1 ? word / 2 : 0), word % 2);
    }
};

static_assert(dottable<nvfp4> && decodable<nvfp4, 4>);

} // namespace kq::inline KQ_ABI

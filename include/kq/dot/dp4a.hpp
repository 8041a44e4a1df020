// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dot/decoder.hpp>

namespace kq::inline KQ_ABI {

/// The exact integers of one slice. Over the slices of a block they add up to the integer core and
/// to the min term of the block (contract C2).
struct integers {
    int dot; ///< sum of scale * code * activation code
    /// Sum of minimum * activation code, or minus the second run's dot where that has a float scale
    /// of its own; else 0.
    int min;
};

/// How a lane dots a slice with a quantized activation: its decoder, and the one way to multiply
/// what that decodes by `dp4a`.
///
/// `Batch`: activation rows that are dotted with the same codes. It changes no integer.
template <class Encoding, int Batch = 1>
struct dp4a_dot : decoder<Encoding> {
    using typename decoder<Encoding>::fragment;
    using typename decoder<Encoding>::image;

    /// Exact, in int32.
    KQ_API static integers dot(const fragment& w, const typename image::fragment& x,
                               const lane_context& where) {
        if constexpr (decode::has_two_scales) {
            return {run_dot(w, 0, x, where), -run_dot(w, 1, x, where)};
        } else if constexpr (decode::has_scales) {
            return scaled(w, x, where);
        } else {
            const int dot = folds_shifts() ? folded(w, x, where) : unscaled(w, x, where);
            return {dot, minimum(decode::integer_scales(w, where), x)};
        }
    }

private:
    using decode = decoder<Encoding>;
    using activation = typename image::fragment;
    static constexpr int run_length = run_words<Encoding>;
    /// Two words take fewer instructions to find and twice as many to dot.
    static constexpr bool apart = decode::codes_in_two && Batch < 4;

    /// Whether shifts are folded into the scales: shifting every sum would cost more than shifting
    /// the total once.
    KQ_API static constexpr bool folds_shifts() {
        int shifted = 0;
        for (int run = 0; run < decode::runs; ++run) {
            shifted += decode::shift(run) != 0 ? 1 : 0;
        }
        return shifted > 1;
    }
    KQ_API static constexpr int largest_shift() {
        int largest = 0;
        for (int run = 0; run < decode::runs; ++run) {
            largest = decode::shift(run) > largest ? decode::shift(run) : largest;
        }
        return largest;
    }

    /// `sum` plus the dot of word i of a run, as it stands.
    KQ_API static int add(const fragment& w, int run, int i, const activation& x,
                          const lane_context& where, int sum) {
        const uint32_t with = x.q[run_length * run + i];
        if constexpr (apart) {
            const two_words codes = decode::codes_apart(w, run, i, where);
            return dp4a_ss(codes.second, with, dp4a_ss(codes.first, with, sum));
        } else {
            const uint32_t codes = decode::codes(w, run, i, where);
            return decode::signed_codes ? dp4a_ss(codes, with, sum) : dp4a_us(codes, with, sum);
        }
    }

    /// The dot of a run alone.
    KQ_API static int run_dot(const fragment& w, int run, const activation& x,
                              const lane_context& where) {
        int sum = offset_of_run(x, run);
        KQ_UNROLL
        for (int i = 0; i < run_length; ++i) {
            sum = add(w, run, i, x, where, sum);
        }
        return sum >> decode::shift(run);
    }

    KQ_API static integers scaled(const fragment& w, const activation& x,
                                  const lane_context& where) {
        static_assert((decode::offset << largest_shift()) <= 128, "kq: -offset must fit an int8");
        int sums[decode::runs];
        KQ_UNROLL
        for (int run = 0; run < decode::runs; ++run) {
            sums[run] = offset_of_run(x, run);
        }
        // Word by word: runs may share bytes, which are then done with sooner.
        KQ_UNROLL
        for (int i = 0; i < run_length; ++i) {
            KQ_UNROLL
            for (int run = 0; run < decode::runs; ++run) {
                sums[run] = add(w, run, i, x, where, sums[run]);
            }
        }
        const auto& scales = decode::integer_scales(w, where);
        constexpr bool folds = folds_shifts();
        constexpr int common = folds ? largest_shift() : 0; // folded, sums are 2^common too large
        int dot = 0;
        KQ_UNROLL
        for (int run = 0; run < decode::runs; ++run) {
            const int factor = folds ? 1 << (common - decode::shift(run)) : 1;
            const int shift = folds ? 0 : decode::shift(run);
            dot += (sums[run] >> shift) * decode::run_scale(scales, run, factor);
        }
        return {dot >> common, minimum(scales, x)};
    }

    KQ_API static int unscaled(const fragment& w, const activation& x, const lane_context& where) {
        int dot = decode::offset != 0 ? dot_sums(x, 0x01010101u * byte(-decode::offset)) : 0;
        KQ_UNROLL
        for (int run = 0; run < decode::runs; ++run) {
            int sum = decode::shift(run) == 0 ? dot : 0;
            KQ_UNROLL
            for (int i = 0; i < run_length; ++i) {
                sum = add(w, run, i, x, where, sum);
            }
            dot = decode::shift(run) == 0 ? sum : dot + (sum >> decode::shift(run));
        }
        return dot;
    }

    /// As `unscaled`, for several shifts: one sum for each, multiplied up to the largest.
    KQ_API static int folded(const fragment& w, const activation& x, const lane_context& where) {
        int sums[static_cast<size_t>(largest_shift() + 1)] =
            {}; // those of shifts that no run has stay 0
        sums[0] = decode::offset != 0 ? dot_sums(x, 0x01010101u * byte(-decode::offset)) : 0;
        KQ_UNROLL
        for (int run = 0; run < decode::runs; ++run) {
            int& sum = sums[decode::shift(run)];
            KQ_UNROLL
            for (int i = 0; i < run_length; ++i) {
                sum = add(w, run, i, x, where, sum);
            }
        }
        int dot = 0;
        KQ_UNROLL
        for (int shift = largest_shift(); shift >= 0; --shift) {
            dot += sums[shift] * (1 << (largest_shift() - shift));
        }
        return dot >> largest_shift();
    }

    template <class Scales>
    KQ_API static int minimum(const Scales& scales, const activation& x) {
        return decode::has_minimum ? dot_sums(x, decode::minimums(scales)) : 0;
    }

    KQ_API static constexpr uint32_t byte(int x) { return static_cast<uint8_t>(x); }

    /// The sum of each vector's activations times an int8 of `factors`.
    KQ_API static int dot_sums(const activation& x, uint32_t factors) {
        const int sum = dp2a_lo_ss(x.sums[0], factors, 0);
        if constexpr (image::vectors == 2) {
            return sum;
        } else {
            static_assert(image::vectors == 4);
            return dp2a_hi_ss(x.sums[1], factors, sum);
        }
    }

    /// What takes the offset off a run's codes, as they stand: where their dot begins.
    KQ_API static int offset_of_run(const activation& x, int run) {
        int sum = 0;
        if constexpr (decode::offset != 0) {
            static_assert(run_length % 4 == 0,
                          "kq: an offset of a run must come off whole vectors");
            constexpr int vectors = run_length / 4; // of a run
            const uint32_t factor = byte(-(decode::offset << decode::shift(run)));
            KQ_UNROLL
            for (int v = vectors * run; v < vectors * (run + 1); ++v) {
                sum = dp2a_lo_ss(x.sums[v / 2], factor << (8 * (v % 2)), sum);
            }
        }
        return sum;
    }
};

} // namespace kq::inline KQ_ABI

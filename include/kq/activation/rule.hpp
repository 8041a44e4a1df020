// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q8_32.hpp>
#include <kq/blocks/q8_k.hpp>
#include <kq/core/intrinsics.hpp>
#include <kq/core/numeric.hpp>
#include <kq/core/standard.hpp>

/// The rules by which a block of activations becomes int8 codes and a scale: ggml's codes, and
/// scales that round to ggml's (contract C1). The host's loop and the device's quantizers share
/// them.
namespace kq::inline KQ_ABI {

/// An element type that activations may have.
template <class T>
concept activation_element =
    standard::same_as<T, float> || standard::same_as<T, f16> || standard::same_as<T, bf16>;

/// How the device's quantizer spreads blocks over threads. Never changes a bit.
enum class quantizer_policy {
    warp_per_block,   ///< 32 lanes share a block: many threads even for few blocks
    thread_per_block, ///< no exchange between lanes: needs many blocks to fill the device
};

/// A block's scale and what its elements are multiplied with before rounding.
struct block_scale {
    float d;       ///< the scale as the product uses it
    float inverse; ///< 0 where every code is 0
};

/// The rule of one activation encoding.
///
/// `scale_of(extreme)` takes the block's element of largest magnitude, the first one on ties, and
/// any NaN or infinity as larger than every finite value. `code_of` rounds one element.
template <class Activation>
struct quantization {
    static_assert(sizeof(Activation) == 0, "kq: no quantization rule for this activation encoding");
};

namespace detail {

inline constexpr float nan = standard::numeric_limits<float>::quiet_NaN();

/// The element of larger magnitude, `first` on ties.
KQ_API float larger_magnitude(float first, float second) {
    return magnitude_bits(second) > magnitude_bits(first) ? second : first;
}

/// A reciprocal that overflowed quantizes everything to zero.
KQ_API float zero_unless_finite(float inverse) {
    return is_finite(inverse) ? inverse : 0.0f;
}

} // namespace detail

/// q8_k: the extreme element becomes -127, the rest round half to even; d is f32.
template <>
struct quantization<q8_k> {
    KQ_API static block_scale scale_of(float extreme) {
        if (!is_finite(extreme)) {
            return {detail::nan, 0.0f};
        }
        if (magnitude_bits(extreme) == 0) {
            return {0.0f, 0.0f};
        }
        const float inverse = div_rn(-127.0f, extreme);
        return {div_rn(1.0f, inverse), detail::zero_unless_finite(inverse)};
    }

    KQ_API static int code_of(float x, float inverse) {
        if (inverse == 0) {
            return 0;
        }
        const int rounded = round_half_even(mul_rn(inverse, x));
        return rounded < 127 ? rounded : 127;
    }
};

/// q8_32: d = amax / 127; codes round x / d half away from zero. These are the codes of ggml's
/// q8_0, which rounds by this d too and stores it as f16 afterwards; here it stays f32.
template <>
struct quantization<q8_32> {
    KQ_API static block_scale scale_of(float extreme) {
        if (!is_finite(extreme)) {
            return {detail::nan, 0.0f};
        }
        const float amax = kq::bit_cast<float>(magnitude_bits(extreme));
        const float d = div_rn(amax, 127.0f);
        const float inverse = magnitude_bits(d) == 0 ? 0.0f : div_rn(1.0f, d);
        return {d, detail::zero_unless_finite(inverse)};
    }

    KQ_API static int code_of(float x, float inverse) {
        return inverse == 0 ? 0 : round_half_away(mul_rn(x, inverse));
    }
};

namespace detail {

inline void finish(q8_k::block& b, float d) {
    b.d = d;
    for (int j = 0; j < 16; ++j) {
        int sum = 0;
        for (int i = 0; i < 16; ++i) {
            sum += b.q[16 * j + i];
        }
        b.sums[j] = static_cast<int16_t>(sum);
    }
}

inline void finish(q8_32::block& b, float d) {
    b.d = d;
}

} // namespace detail

/// Quantizes one block on the host.
/// `x`: [Activation::elements] finite or not.
template <class Activation, activation_element Element>
typename Activation::block quantize_block(const Element* x) {
    using rule = quantization<Activation>;
    float extreme = to_f32(x[0]);
    for (int i = 1; i < Activation::elements; ++i) {
        extreme = detail::larger_magnitude(extreme, to_f32(x[i]));
    }
    const block_scale scale = rule::scale_of(extreme);
    typename Activation::block b{};
    for (int i = 0; i < Activation::elements; ++i) {
        b.q[i] = static_cast<int8_t>(rule::code_of(to_f32(x[i]), scale.inverse));
    }
    detail::finish(b, scale.d);
    return b;
}

} // namespace kq::inline KQ_ABI

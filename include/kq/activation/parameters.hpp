// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/activation/rule.hpp>
#include <kq/core/arithmetic.hpp>
#include <kq/launch/shape.hpp>

namespace kq::inline KQ_ABI {

/// The argument of the quantizer for one image.
template <class Element>
struct quantize_parameters {
    const Element* x;      ///< [m, k], rows `stride` elements apart
    int64_t stride;        ///< in elements
    int blocks;            ///< blocks of a row
    int padded_blocks;     ///< blocks of a row's panels, those past its end included
    int64_t total;         ///< m * padded_blocks
    unsigned char* images; ///< [m, image_bytes]
    int64_t image_bytes;   ///< bytes of a quantized row
    bool vectorized;       ///< whether what a thread loads at once is aligned; see `plan_quantizer`
};

/// The arguments of a quantizer of `Images` image types.
template <class Element, int Images>
struct quantizations {
    quantize_parameters<Element> of[static_cast<size_t>(Images)];
};

namespace detail {

inline constexpr int quantizer_warps = 4;

} // namespace detail

/// How `quantize_kernel` is launched: by no thread block where there is nothing to quantize.
/// Decides `vectorized` of each parameter. For the host.
template <quantizer_policy Policy, class... Images, activation_element Element>
launch_shape plan_quantizer(quantizations<Element, sizeof...(Images)>& p) {
    constexpr bool by_warp = Policy == quantizer_policy::warp_per_block;
    constexpr int warps = detail::quantizer_warps;
    // Of a thread.
    constexpr size_t loaded[] = {by_warp ? Images::activation::elements / 32 : 16 ...};
    int64_t total = 0;
    for (size_t i = 0; i < sizeof...(Images); ++i) {
        quantize_parameters<Element>& one = p.of[i];
        const size_t loaded_bytes = loaded[i] * sizeof(Element);
        const uintptr_t alignment = loaded_bytes < 16 ? loaded_bytes : 16;
        const auto stride_bytes = static_cast<uintptr_t>(one.stride) * sizeof(Element);
        one.vectorized = (reinterpret_cast<uintptr_t>(one.x) | stride_bytes) % alignment == 0;
        total += one.total;
    }
    constexpr int64_t most_thread_blocks = 1 << 30;
    constexpr int at_once = by_warp ? warps : 32 * warps;
    const int64_t thread_blocks = detail::ceil_div(total, int64_t{at_once});
    return {.grid = thread_blocks < most_thread_blocks ? thread_blocks : most_thread_blocks,
            .threads = 32 * warps};
}

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/activation/kernel.cuh>
#include <kq/launch/kernel.cuh>

namespace kq::inline KQ_ABI::detail {

/// Launches `quantize_kernel`; does nothing where there is no block. Decides `vectorized` itself.
/// `dependent`: see `launch_options`.
///
/// Errors: the CUDA error of the launch.
template <quantizer_policy Policy, class... Images, activation_element Element>
status launch_quantizer(quantizations<Element, sizeof...(Images)> p, cudaStream_t stream,
                        bool dependent = false) {
    launch_shape shape = plan_quantizer<Policy, Images...>(p);
    if (shape.grid == 0) {
        return {};
    }
    shape.dependent = dependent;
    return launch_kernel(quantize_kernel<Element, quantizer_warps, Policy, Images...>,
                         "quantize_kernel", shape, stream, p);
}

} // namespace kq::inline KQ_ABI::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/activation/launch.cuh>
#include <kq/activation/plan.hpp>
#include <kq/launch/device.hpp>
#include <kq/launch/options.hpp>

namespace kq::inline KQ_ABI {

/// Quantizes an activation into one or several types of image in one launch, so that weights of
/// several encodings can meet it: each `gemv::multiply` gets the workspace of its `image_of`.
///
///     using both = kq::quantizer<kq::image_of<kq::q4_k>, kq::image_of<kq::q6_k>>;
///
/// `Images`: the types, each once.
template <class... Images>
struct quantizer : quantizer_plan<Images...> {
    using plan = quantizer_plan<Images...>;
    using workspaces = typename plan::workspaces;

    /// Quantizes all rows into every image.
    ///
    /// Errors: names the argument and the rule it breaks; or the CUDA error of the launch. Nothing
    /// is launched then.
    template <quantizer_policy Policy = quantizer_policy::warp_per_block>
    static status launch(const activation_rows& a, const workspaces& to, cudaStream_t stream,
                         const device_facts& device, launch_options options = {}) {
        const status s = plan::check(a, to);
        options.dependent = options.dependent && device.compute_capability >= 90;
        return s.ok() ? launch_checked<Policy>(a, to, stream, options) : s;
    }

    /// As `launch`, for arguments and options that a plan has checked.
    ///
    /// Errors: the CUDA error of the launch.
    template <quantizer_policy Policy = quantizer_policy::warp_per_block>
    static status launch_checked(const activation_rows& a, const workspaces& to,
                                 cudaStream_t stream, launch_options options) {
        return with_element(a.activation.type, [&]<class Element>() {
            return detail::launch_quantizer<Policy, Images...>(
                plan::template parameters<Element>(a, to), stream, options.dependent);
        });
    }
};

} // namespace kq::inline KQ_ABI

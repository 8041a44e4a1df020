// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/standard.hpp>
#include <kq/gemv/kernel/kernel.cuh>
#include <kq/gemv/plan/plan.hpp>
#include <kq/gemv/plan/product.hpp>
#include <kq/gemv/policy/selector.hpp>
#include <kq/gemv/quantizer.cuh>
#include <kq/launch/device.cuh>
#include <kq/launch/kernel.cuh>

namespace kq::inline KQ_ABI {

/// Products of weights of `Encoding` with activations, composed at compile time.
///
/// All pointers are device memory. Calls are asynchronous on the stream, can be captured in a CUDA
/// graph, allocate nothing and keep no state (contract C6). Equal arguments give equal bits, in
/// every run and in `host_model` (contracts C3, C4; tried on an H200); a gate's exp, tanh and erf
/// are the platform's. Every part goes with every other (contract C8), unless a static_assert says
/// why not.
///
/// `Encoding`: the weights' encoding. `Choice`: a `policy`, which lane does what when, or a way to
/// choose one at each launch, such as `tuned`; only a policy's order changes a bit. `Mapping`:
/// which rows meet, one of `mappings`; it names the type of the arguments. `Epilogue`: what happens
/// to finished products, one of `epilogues`.
template <dottable Encoding, auto Choice = policies::warp,
          template <int> class Mapping = mappings::dense, epilogue Epilogue = epilogues::store>
    requires row_mapping<Mapping<Epilogue::weight_sets>>
class gemv {
public:
    using product = kq::product<Encoding, Mapping, Epilogue>;
    using mapping = typename product::mapping;
    using arguments = typename product::arguments;
    using image = typename product::image;
    static_assert(policy_choice<standard::remove_cvref_t<decltype(Choice)>, product>,
                  "kq: the second argument of gemv is a policy or a policy_selector");

    /// Bytes of workspace that `launch` needs; 0 for arguments that it refuses.
    static size_t workspace_bytes(const arguments& a) {
        product_sizes sizes;
        return measure<product>(a, sizes).ok() ? static_cast<size_t>(sizes.workspace_bytes) : 0;
    }

    /// The policy of a launch with these arguments on this device. Arguments that `launch` refuses
    /// have one too.
    static policy choose(const arguments& a, const device_facts& device,
                         launch_options options = {}) {
        product_sizes sizes;
        launch_plan plan;
        int chosen = 0;
        if (measure<product>(a, sizes).ok()) {
            (void)plan_chosen(sizes, device, options, plan, chosen);
        }
        return list.of[chosen];
    }

    /// What `launch` would do with these arguments on this device.
    ///
    /// Errors: as `can_implement`, but pointers and workspace are not looked at.
    static status describe(const arguments& a, const device_facts& device, launch_plan& plan,
                           launch_options options = {}) {
        product_sizes sizes;
        int chosen = 0;
        const status s = measure<product>(a, sizes);
        return s.ok() ? plan_chosen(sizes, device, options, plan, chosen) : s;
    }

    /// Whether `launch` would accept these arguments on this device, and if not, why.
    static status can_implement(const arguments& a, workspace space, const device_facts& device,
                                launch_options options = {}) {
        launch_plan plan;
        int chosen = 0;
        return plan_with(a, space, device, options, plan, chosen);
    }

    /// Quantizes the activation into the workspace. What it leaves there serves every product with
    /// the same activation whose encoding names the same `image`. Looks at sizes, activation and
    /// workspace only; without outputs there is nothing to quantize.
    ///
    /// Errors: names the argument and the rule it breaks; or the CUDA error of the launch. Nothing
    /// is launched then.
    template <quantizer_policy Quantizer = quantizer_policy::warp_per_block>
    static status quantize(const arguments& a, workspace space, cudaStream_t stream,
                           const device_facts& device, launch_options options = {}) {
        product_sizes sizes;
        if (const status s = measure<product>(a, sizes); !s.ok() || sizes.is_empty()) {
            return s;
        }
        return quantizer<image>::template launch<Quantizer>(sizes.activation, {{space}}, stream,
                                                            device, options);
    }

    /// Multiplies the weights with the activation that `quantize` left in the workspace.
    ///
    /// Errors, which look at the activation's pointer too, although nothing reads it: as
    /// `can_implement`; or the CUDA error of the launch. Nothing is launched then.
    static status multiply(const arguments& a, workspace space, cudaStream_t stream,
                           const device_facts& device, launch_options options = {}) {
        launch_plan plan;
        int chosen = 0;
        const status s = plan_with(a, space, device, options, plan, chosen);
        return s.ok() ? multiply_planned(a, plan, chosen, space, stream) : s;
    }

    /// Quantizes and multiplies. With `options.dependent` both kernels are dependent launches.
    ///
    /// Errors: as `can_implement`, with nothing launched then; or the CUDA error of a launch, where
    /// that of the product leaves the quantizer's launched.
    static status launch(const arguments& a, workspace space, cudaStream_t stream,
                         const device_facts& device, launch_options options = {}) {
        launch_plan plan;
        int chosen = 0;
        if (const status s = plan_with(a, space, device, options, plan, chosen);
            !s.ok() || plan.sizes.is_empty()) {
            return s;
        }
        if (const status s = quantizer<image>::launch_checked(plan.sizes.activation, {{space}},
                                                              stream, plan.options);
            !s.ok()) {
            return s;
        }
        return multiply_planned(a, plan, chosen, space, stream);
    }

    /// Quantizes and multiplies on the current device.
    static status launch(const arguments& a, workspace space, cudaStream_t stream) {
        device_facts device;
        const status s = query_device(device);
        return s.ok() ? launch(a, space, stream, device) : s;
    }

    /// For arguments of another mapping: one line instead of a list of what does not match.
    template <class Other>
        requires(!standard::convertible_to<Other, arguments>)
    static status launch(const Other&, workspace, cudaStream_t, const device_facts& = {},
                         launch_options = {}) {
        static_assert(standard::same_as<Other, arguments>,
                      "kq: the arguments are not those of this product's mapping, gemv::arguments");
        return {};
    }

private:
    using selector = typename detail::selector_of<Choice>::type;
    static constexpr auto list = selector::template policies<product>();
    static_assert(list.has_one_order(), "kq: policies to choose from have one order of additions");
    static_assert([]<int... Index>(standard::integer_sequence<int, Index...>) {
        return (detail::composable<product, list.of[Index]>::value && ...);
    }(standard::make_integer_sequence<int, list.count>{}));

    /// Plans a measured product by the chosen policy, or by the list's first where that is refused.
    static status plan_chosen(const product_sizes& sizes, const device_facts& device,
                              launch_options options, launch_plan& plan, int& chosen) {
        options.dependent = options.dependent && device.compute_capability >= 90;
        chosen = selector::template choose<product>(sizes, device, options);
        status s = plan_launch(product::facts, list.of[chosen], sizes, device, options, plan);
        if (!s.ok() && chosen != 0) {
            chosen = 0;
            s = plan_launch(product::facts, list.of[0], sizes, device, options, plan);
        }
        return s;
    }

    /// Checks all arguments and plans the launch.
    static status plan_with(const arguments& a, workspace space, const device_facts& device,
                            launch_options options, launch_plan& plan, int& chosen) {
        product_sizes sizes;
        if (const status s = measure<product>(a, sizes); !s.ok()) {
            return s;
        }
        if (const status s = check_pointers<product>(a, sizes, space); !s.ok()) {
            return s;
        }
        return plan_chosen(sizes, device, options, plan, chosen);
    }

    static status multiply_planned(const arguments& a, const launch_plan& plan, int chosen,
                                   workspace space, cudaStream_t stream) {
        if (plan.sizes.is_empty()) {
            return {};
        }
        const auto parameters = bind<product>(a, plan, space);
        status result;
        [&]<int... Index>(standard::integer_sequence<int, Index...>) {
            (void)((Index == chosen &&
                    (result = launch_policy<list.of[Index]>(plan, parameters, stream), true)) ||
                   ...);
        }
        (standard::make_integer_sequence<int, list.count>{});
        return result;
    }

    template <policy Policy>
    static status launch_policy(const launch_plan& plan, const parameters_of<product>& parameters,
                                cudaStream_t stream) {
        if constexpr (allows(Policy, method::bulk)) {
            if (plan.method == method::bulk) {
                return launch_kernel<with_method(Policy, method::bulk)>(plan, parameters, stream);
            }
        }
        if constexpr (allows(Policy, method::direct)) {
            return launch_kernel<with_method(Policy, method::direct)>(plan, parameters, stream);
        }
        return {};
    }

    template <policy Policy>
    static status launch_kernel(const launch_plan& plan, const parameters_of<product>& parameters,
                                cudaStream_t stream) {
        using composed = config<product, compiled_part(Policy)>;
        return detail::launch_kernel(gemv_kernel<composed>, "gemv_kernel", plan.shape, stream,
                                     parameters);
    }
};

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/launch/failure.cuh>
#include <kq/gemv/arguments.hpp>
#include <kq/gemv/describe.hpp>
#include <kq/gemv/epilogue/epilogue.hpp>
#include <kq/gemv/kernel/kernel.cuh>
#include <kq/gemv/mapping/mapping.hpp>
#include <kq/gemv/plan/plan.hpp>
#include <kq/gemv/problem.hpp>
#include <kq/gemv/quantizer.cuh>
#include <kq/launch/kernel.cuh>
#include <kq/launch/options.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

namespace kq::inline KQ_ABI {

template <>
struct element_type_of<__half> {
    static constexpr element_type value = element_type::f16;
};
template <>
struct element_type_of<__nv_bfloat16> {
    static constexpr element_type value = element_type::bf16;
};

/// Asks the CUDA runtime about the current device.
inline status query_device(device_facts& facts) {
    int device = 0;
    if (const cudaError_t e = cudaGetDevice(&device); e != cudaSuccess) {
        return detail::cuda_failure("cudaGetDevice", e);
    }
    int major = 0;
    int minor = 0;
    const struct {
        cudaDeviceAttr attribute;
        int* value;
    } queries[] = {
        {cudaDevAttrComputeCapabilityMajor, &major},
        {cudaDevAttrComputeCapabilityMinor, &minor},
        {cudaDevAttrMultiProcessorCount, &facts.multiprocessors},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, &facts.shared_bytes_per_block},
    };
    for (const auto& query : queries) {
        const cudaError_t e = cudaDeviceGetAttribute(query.value, query.attribute, device);
        if (e != cudaSuccess) {
            return detail::cuda_failure("cudaDeviceGetAttribute", e);
        }
    }
    facts.compute_capability = 10 * major + minor;
    return {};
}

/// Products of weights of `Encoding` with activations, composed at compile time.
///
/// All pointers are device memory. Calls are asynchronous on the stream, can be captured in a CUDA
/// graph, allocate nothing and keep no state (contract C6). Equal arguments give equal bits, in
/// every run and in `host_model` (contracts C3, C4; tried on an H200); a gate's exp, tanh and erf
/// are the platform's. Every part goes with every other (contract C8), unless a static_assert says
/// why not.
///
/// `Encoding`: the weights' encoding. `Policy`: which lane does what when; only its lanes change a
/// bit. `Mapping`: which rows meet, one of `mappings`; it names the type of the arguments.
/// `Epilogue`: what happens to finished products, one of `epilogues`.
template <dottable Encoding, policy Policy = policies::warp,
          template <int> class Mapping = mappings::dense, epilogue Epilogue = epilogues::store>
    requires row_mapping<Mapping<Epilogue::weight_sets>>
struct gemv {
    static_assert(is_valid(Policy), "kq: the policy's fields are out of range");
    static_assert(allows(Policy, transport::direct) || allows(Policy, transport::bulk),
                  "kq: register prefetch does not go with the bulk transport");

    static_assert(Policy.batch == 1 || Mapping<Epilogue::weight_sets>::batchable,
                  "kq: a batch of activation rows needs the dense or the stacked mapping");

    using mapping = Mapping<Epilogue::weight_sets>;
    using arguments = typename mapping::arguments;
    using image = image_of<Encoding>;

    /// Bytes of workspace that `launch` needs; 0 for arguments that it refuses.
    static size_t workspace_bytes(const arguments& a) {
        gemv_plan plan;
        const status s = plan_sizes<Encoding, Epilogue>(a, plan);
        return s.ok() ? static_cast<size_t>(plan.workspace_bytes) : 0;
    }

    /// Whether `launch` would accept these arguments on this device, and if not, why.
    static status can_implement(const arguments& a, workspace space, const device_facts& device) {
        gemv_plan plan;
        return plan_launch<Encoding, Epilogue>(Policy, a, space, device, plan);
    }

    /// What `launch` would do with these arguments on this device.
    ///
    /// Errors: as `can_implement`, but pointers and workspace are not looked at.
    static status describe(const arguments& a, const device_facts& device, description& out,
                           launch_options options = {}) {
        return describe_launch<Encoding, Epilogue>(Policy, a, device, out, options);
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
        gemv_plan plan;
        if (const status s = plan_sizes<Encoding, Epilogue>(a, plan);
            !s.ok() || plan.of.is_empty()) {
            return s;
        }
        return quantizer<image>::template launch<Quantizer>(activation_rows_of(plan.of), {{space}},
                                                            stream, device, options);
    }

    /// Multiplies the weights with the activation that `quantize` left in the workspace.
    ///
    /// Errors, which look at the activation's pointer too, although nothing reads it: as
    /// `can_implement`; or the CUDA error of the launch. Nothing is launched then.
    static status multiply(const arguments& a, workspace space, cudaStream_t stream,
                           const device_facts& device, launch_options options = {}) {
        gemv_plan plan;
        if (const status s = plan_with(a, space, device, options, plan); !s.ok()) {
            return s;
        }
        return multiply_planned(a, plan, space, stream, options);
    }

    /// Quantizes and multiplies. With `options.dependent` both kernels are dependent launches.
    ///
    /// Errors: as `can_implement`, with nothing launched then; or the CUDA error of a launch, where
    /// that of the product leaves the quantizer's launched.
    static status launch(const arguments& a, workspace space, cudaStream_t stream,
                         const device_facts& device, launch_options options = {}) {
        gemv_plan plan;
        if (const status s = plan_with(a, space, device, options, plan); !s.ok()) {
            return s;
        }
        if (const status s = quantize(a, space, stream, device, options); !s.ok()) {
            return s;
        }
        return multiply_planned(a, plan, space, stream, options);
    }

    /// Quantizes and multiplies on the current device.
    static status launch(const arguments& a, workspace space, cudaStream_t stream) {
        device_facts device;
        if (const status s = query_device(device); !s.ok()) {
            return s;
        }
        return launch(a, space, stream, device);
    }

private:
    /// Plans a launch; afterwards `options` are those that the device knows.
    static status plan_with(const arguments& a, workspace space, const device_facts& device,
                            launch_options& options, gemv_plan& plan) {
        if (const status s = check_options<mapping>(device, options); !s.ok()) {
            return s;
        }
        return plan_launch<Encoding, Epilogue>(Policy, a, space, device, plan);
    }

    static status multiply_planned(const arguments& a, const gemv_plan& plan, workspace space,
                                   cudaStream_t stream, launch_options options) {
        if (plan.of.is_empty()) {
            return {};
        }
        if constexpr (!allows(Policy, transport::direct)) {
            return multiply_by<transport::bulk>(a, plan, space, stream, options);
        } else {
            if constexpr (allows(Policy, transport::bulk)) {
                if (plan.via == transport::bulk) {
                    return multiply_by<transport::bulk>(a, plan, space, stream, options);
                }
            }
            return multiply_by<transport::direct>(a, plan, space, stream, options);
        }
    }

    template <transport Via>
    static status multiply_by(const arguments& a, const gemv_plan& plan, workspace space,
                              cudaStream_t stream, launch_options options) {
        using composed = config<Encoding, compiled_part(by(Policy, Via)), mapping, Epilogue>;
        return detail::launch_kernel(gemv_kernel<composed>, "gemv_kernel", shape_of(plan, options),
                                     stream,
                                     parameters_of<Encoding, Epilogue>(a, plan, space, options));
    }
};

} // namespace kq::inline KQ_ABI

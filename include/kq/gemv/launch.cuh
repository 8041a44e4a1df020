// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/activation/quantize.cuh>
#include <kq/gemv/arguments.hpp>
#include <kq/gemv/describe.hpp>
#include <kq/gemv/epilogue.hpp>
#include <kq/gemv/kernel.cuh>
#include <kq/gemv/mapping.hpp>
#include <kq/gemv/plan.hpp>
#include <kq/gemv/problem.hpp>
#include <kq/launch_kernel.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

namespace kq {

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
        return status::cuda_failure("cudaGetDevice", cudaGetErrorName(e));
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
            return status::cuda_failure("cudaDeviceGetAttribute", cudaGetErrorName(e));
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
    using image = typename sliced_dot<Encoding>::image;

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
    static status describe(const arguments& a, const device_facts& device, description& out) {
        return describe_launch<Encoding, Epilogue>(Policy, a, device, out);
    }

    /// Quantizes the activation into the workspace. What it leaves there serves every product with
    /// the same activation whose encoding names the same `image`.
    ///
    /// Errors: as `can_implement`; or the CUDA error of the launch. Nothing is launched then.
    template <quantizer_policy Quantizer = quantizer_policy::warp_per_block>
    static status quantize(const arguments& a, workspace space, cudaStream_t stream,
                           const device_facts& device) {
        gemv_plan plan;
        if (const status s = plan_launch<Encoding, Epilogue>(Policy, a, space, device, plan);
            !s.ok()) {
            return s;
        }
        return quantize_planned<Quantizer>(plan, space, stream);
    }

    /// Multiplies the weights with the activation that `quantize` left in the workspace.
    ///
    /// Errors: as `can_implement`; or the CUDA error of the launch. Nothing is launched then.
    static status multiply(const arguments& a, workspace space, cudaStream_t stream,
                           const device_facts& device) {
        gemv_plan plan;
        if (const status s = plan_launch<Encoding, Epilogue>(Policy, a, space, device, plan);
            !s.ok()) {
            return s;
        }
        return multiply_planned(a, plan, space, stream);
    }

    /// Quantizes and multiplies.
    static status launch(const arguments& a, workspace space, cudaStream_t stream,
                         const device_facts& device) {
        gemv_plan plan;
        if (const status s = plan_launch<Encoding, Epilogue>(Policy, a, space, device, plan);
            !s.ok()) {
            return s;
        }
        constexpr auto quantizer = quantizer_policy::warp_per_block;
        if (const status s = quantize_planned<quantizer>(plan, space, stream); !s.ok()) {
            return s;
        }
        return multiply_planned(a, plan, space, stream);
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
    template <quantizer_policy Quantizer>
    static status quantize_planned(const gemv_plan& plan, workspace space, cudaStream_t stream) {
        switch (plan.of.activation.type) {
        case element_type::f16:
            return quantize_as<f16, Quantizer>(plan, space, stream);
        case element_type::bf16:
            return quantize_as<bf16, Quantizer>(plan, space, stream);
        case element_type::f32:
            break;
        }
        return quantize_as<float, Quantizer>(plan, space, stream);
    }

    template <class Element, quantizer_policy Quantizer>
    static status quantize_as(const gemv_plan& plan, workspace space, cudaStream_t stream) {
        const problem& of = plan.of;
        if (of.is_empty() || plan.quantizer_blocks == 0) {
            return {};
        }
        const quantize_parameters<Element> p{
            .x = static_cast<const Element*>(of.activation.data),
            .stride = of.activation_stride,
            .blocks = static_cast<int>(of.activation_k / image::activation::elements),
            .padded_blocks = static_cast<int>(plan.quantizer_blocks / of.activation_rows),
            .total = plan.quantizer_blocks,
            .images = static_cast<unsigned char*>(space.data),
            .image_bytes = plan.image_bytes,
            .vectorized = false};
        return launch_quantizer<image, Element, Quantizer>(p, stream);
    }

    static status multiply_planned(const arguments& a, const gemv_plan& plan, workspace space,
                                   cudaStream_t stream) {
        if (plan.of.is_empty()) {
            return {};
        }
        if constexpr (!allows(Policy, transport::direct)) {
            return multiply_by<transport::bulk>(a, plan, space, stream);
        } else {
            if constexpr (allows(Policy, transport::bulk)) {
                if (plan.via == transport::bulk) {
                    return multiply_by<transport::bulk>(a, plan, space, stream);
                }
            }
            return multiply_by<transport::direct>(a, plan, space, stream);
        }
    }

    template <transport Via>
    static status multiply_by(const arguments& a, const gemv_plan& plan, workspace space,
                              cudaStream_t stream) {
        using composed = config<Encoding, by(Policy, Via), mapping, Epilogue>;
        const image_rows images{static_cast<const unsigned char*>(space.data), plan.image_bytes};
        const kernel_parameters<composed> p{.mapping = bind<Encoding, Epilogue>(a, images),
                                            .epilogue =
                                                bind_epilogue<Epilogue>(a.epilogue, plan.of),
                                            .units = plan.of.units,
                                            .blocks = plan.row_blocks,
                                            .blocks_per_unit = plan.blocks_per_unit,
                                            .bulk = plan.bulk};
        return detail::launch_kernel(gemv_kernel<composed>, "gemv_kernel",
                                     {.grid = plan.grid,
                                      .threads = plan.threads,
                                      .shared_bytes = plan.shared_bytes,
                                      .most_shared_bytes = plan.most_shared_bytes},
                                     stream, p);
    }
};

} // namespace kq

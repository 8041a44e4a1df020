// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/activation/quantize.cuh>
#include <kq/gemv/arguments.hpp>
#include <kq/gemv/epilogue.hpp>
#include <kq/gemv/kernel.cuh>
#include <kq/gemv/mapping.hpp>
#include <kq/gemv/plan.hpp>

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

namespace detail {

/// Launches `kernel` with `shared_bytes` of dynamic shared memory, opting in above the default.
template <class Parameters>
status launch_kernel(void (*kernel)(Parameters), const char* name, int64_t grid, int threads,
                     int shared_bytes, cudaStream_t stream, const Parameters& parameters) {
    constexpr int default_shared_bytes = 48 * 1024;
    if (shared_bytes > default_shared_bytes) {
        const cudaError_t e =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
        if (e != cudaSuccess) {
            return status::cuda_failure("cudaFuncSetAttribute", cudaGetErrorName(e));
        }
    }
    cudaLaunchConfig_t launch{};
    launch.gridDim = dim3(static_cast<unsigned>(grid));
    launch.blockDim = dim3(static_cast<unsigned>(threads));
    launch.dynamicSmemBytes = static_cast<size_t>(shared_bytes);
    launch.stream = stream;
    if (const cudaError_t e = cudaLaunchKernelEx(&launch, kernel, parameters); e != cudaSuccess) {
        return status::cuda_failure(name, cudaGetErrorName(e));
    }
    return {};
}

} // namespace detail

/// Products of weights of `Encoding` with activations, composed at compile time.
///
/// All pointers are device memory. Calls are asynchronous on the stream, can be captured in a CUDA
/// graph, allocate nothing and keep no state (contract C6). Equal arguments give equal bits, on
/// every GPU and in `host_model` (contracts C3, C4).
///
/// `Encoding`: the weights' encoding. `Policy`: which lane does what when; never changes a bit.
template <dottable Encoding, policy Policy = policies::warp>
struct gemv {
    static_assert(is_valid(Policy), "kq: the policy's fields are out of range");

    using arguments = dense_arguments;
    using image = typename sliced_dot<Encoding>::image;

    /// Bytes of workspace that `launch` needs; 0 for arguments that it refuses.
    static size_t workspace_bytes(const arguments& a) {
        gemv_plan plan;
        return plan_sizes<Encoding>(a, plan).ok() ? static_cast<size_t>(plan.workspace_bytes) : 0;
    }

    /// Whether `launch` would accept these arguments on this device, and if not, why.
    static status can_implement(const arguments& a, workspace space, const device_facts& device) {
        gemv_plan plan;
        return plan_launch<Encoding>(Policy, a, space, device, plan);
    }

    /// Quantizes the activation into the workspace.
    ///
    /// Errors: as `plan_launch`; or the CUDA error of the launch. Nothing is launched then.
    static status quantize(const arguments& a, workspace space, cudaStream_t stream,
                           const device_facts& device) {
        gemv_plan plan;
        if (const status s = plan_launch<Encoding>(Policy, a, space, device, plan); !s.ok()) {
            return s;
        }
        switch (a.activation.type) {
        case element_type::f16:
            return quantize_as<f16>(a, plan, space, stream);
        case element_type::bf16:
            return quantize_as<bf16>(a, plan, space, stream);
        case element_type::f32:
            break;
        }
        return quantize_as<float>(a, plan, space, stream);
    }

    /// Multiplies the weights with the activation that `quantize` left in the workspace.
    ///
    /// Errors: as `plan_launch`; or the CUDA error of the launch. Nothing is launched then.
    static status multiply(const arguments& a, workspace space, cudaStream_t stream,
                           const device_facts& device) {
        gemv_plan plan;
        if (const status s = plan_launch<Encoding>(Policy, a, space, device, plan); !s.ok()) {
            return s;
        }
        if (is_empty(a)) {
            return {};
        }
        if constexpr (Policy.via != transport::direct) {
            if (plan.via == transport::bulk) {
                return multiply_by<transport::bulk>(a, plan, space, stream);
            }
        }
        if constexpr (Policy.via != transport::bulk) {
            return multiply_by<transport::direct>(a, plan, space, stream);
        }
        return {};
    }

    /// Quantizes and multiplies.
    static status launch(const arguments& a, workspace space, cudaStream_t stream,
                         const device_facts& device) {
        if (const status s = quantize(a, space, stream, device); !s.ok()) {
            return s;
        }
        return multiply(a, space, stream, device);
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
    template <class Element>
    static status quantize_as(const arguments& a, const gemv_plan& plan, workspace space,
                              cudaStream_t stream) {
        if (plan.quantizer_blocks == 0 || is_empty(a)) {
            return {};
        }
        constexpr int warps = 4;
        constexpr int lane_bytes = image::activation::elements / 32 * sizeof(Element);
        constexpr int alignment = lane_bytes < 16 ? lane_bytes : 16;
        const int64_t stride = a.activation_stride != 0 ? a.activation_stride : a.k;
        const quantize_parameters<Element> p{
            .x = static_cast<const Element*>(a.activation.data),
            .stride = stride,
            .blocks = plan.row_blocks,
            .padded_blocks = static_cast<int>(plan.quantizer_blocks / a.m),
            .total = plan.quantizer_blocks,
            .images = static_cast<unsigned char*>(space.data),
            .image_bytes = plan.image_bytes,
            .vectorized = detail::is_aligned(a.activation.data, alignment) &&
                          stride * static_cast<int64_t>(sizeof(Element)) % alignment == 0};
        constexpr int64_t most_thread_blocks = 1 << 30;
        const int64_t grid = cuda::ceil_div(plan.quantizer_blocks, int64_t{warps});
        return detail::launch_kernel(quantize_kernel<image, Element, warps>, "quantize_kernel",
                                     std::min(grid, most_thread_blocks), 32 * warps, 0, stream, p);
    }

    template <transport Via>
    static status multiply_by(const arguments& a, const gemv_plan& plan, workspace space,
                              cudaStream_t stream) {
        using composed = config<Encoding, by(Policy, Via), mappings::dense, epilogues::store>;
        const kernel_parameters<composed> p{
            .mapping = {.weights = static_cast<const unsigned char*>(a.weights),
                        .row_bytes = plan.row_bytes,
                        .images = static_cast<const unsigned char*>(space.data),
                        .image_bytes = plan.image_bytes,
                        .n = static_cast<int>(a.n),
                        .blocks = plan.row_blocks},
            .epilogue = {.output = a.output,
                         .stride = a.output_stride != 0 ? a.output_stride : a.n},
            .blocks_per_activation = plan.blocks_per_activation,
            .bulk = plan.bulk};
        return detail::launch_kernel(gemv_kernel<composed>, "gemv_kernel", plan.grid, plan.threads,
                                     plan.shared_bytes, stream, p);
    }
};

} // namespace kq

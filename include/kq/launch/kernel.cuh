// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/status.hpp>
#include <kq/launch/failure.cuh>
#include <kq/launch/shape.hpp>

#include <cuda_runtime_api.h>

namespace kq::inline KQ_ABI::detail {

/// Whether the code that runs as `kernel` waits for the kernels before it: code for compute
/// capabilities below 9.0 does not, also where it runs on a device above.
template <class Parameters>
status find_whether_it_waits(void (*kernel)(Parameters), bool& waits) {
    cudaFuncAttributes code{};
    if (const cudaError_t e = cudaFuncGetAttributes(&code, kernel); e != cudaSuccess) {
        return cuda_failure("cudaFuncGetAttributes", e);
    }
    waits = code.ptxVersion >= 90;
    return {};
}

/// Launches `kernel`, opting in to shared memory above the default. `name` is the kernel's, for the
/// status.
template <class Parameters>
status launch_kernel(void (*kernel)(Parameters), const char* name, const launch_shape& shape,
                     cudaStream_t stream, const Parameters& parameters) {
    constexpr int default_shared_bytes = 48 * 1024;
    if (shape.shared_bytes > default_shared_bytes) {
        const cudaError_t e = cudaFuncSetAttribute(
            kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shape.most_shared_bytes);
        if (e != cudaSuccess) {
            return cuda_failure("cudaFuncSetAttribute", e);
        }
    }
    bool dependent = false;
    if (shape.dependent) {
        if (const status s = find_whether_it_waits(kernel, dependent); !s.ok()) {
            return s;
        }
    }
    cudaLaunchConfig_t launch{};
    launch.gridDim = dim3(static_cast<unsigned>(shape.grid), static_cast<unsigned>(shape.grid_y));
    launch.blockDim = dim3(static_cast<unsigned>(shape.threads));
    launch.dynamicSmemBytes = static_cast<size_t>(shape.shared_bytes);
    launch.stream = stream;
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    launch.attrs = &attribute;
    launch.numAttrs = dependent ? 1 : 0;
    if (const cudaError_t e = cudaLaunchKernelEx(&launch, kernel, parameters); e != cudaSuccess) {
        return cuda_failure(name, e);
    }
    return {};
}

} // namespace kq::inline KQ_ABI::detail

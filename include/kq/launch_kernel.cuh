// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/launch_shape.hpp>
#include <kq/status.hpp>

#include <cuda_runtime_api.h>

namespace kq::inline KQ_ABI::detail {

/// Launches `kernel`, opting in to shared memory above the default. `name` is the kernel's, for the
/// status. A failure is taken out of the runtime's last error: the status carries it.
template <class Parameters>
status launch_kernel(void (*kernel)(Parameters), const char* name, const launch_shape& shape,
                     cudaStream_t stream, const Parameters& parameters) {
    constexpr int default_shared_bytes = 48 * 1024;
    if (shape.shared_bytes > default_shared_bytes) {
        const cudaError_t e = cudaFuncSetAttribute(
            kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shape.most_shared_bytes);
        if (e != cudaSuccess) {
            (void)cudaGetLastError();
            return status::cuda_failure("cudaFuncSetAttribute", cudaGetErrorName(e));
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
    launch.numAttrs = shape.dependent ? 1 : 0;
    if (const cudaError_t e = cudaLaunchKernelEx(&launch, kernel, parameters); e != cudaSuccess) {
        (void)cudaGetLastError();
        return status::cuda_failure(name, cudaGetErrorName(e));
    }
    return {};
}

} // namespace kq::inline KQ_ABI::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/launch/device.hpp>
#include <kq/launch/failure.cuh>

#include <cuda_runtime_api.h>

namespace kq::inline KQ_ABI {

/// Asks the CUDA runtime about the current device.
///
/// Errors: the CUDA error.
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

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#include "instances/instances.hpp"

#include <kq/gemv/gemv.cuh>

namespace {

/// Stands for all kernels: each is compiled for the same GPUs.
__global__ void any_kernel() {}

} // namespace

kq::status instances::query_device(kq::device_facts& facts) {
    cudaFuncAttributes ignored{};
    if (const cudaError_t code = cudaFuncGetAttributes(&ignored, any_kernel); code != cudaSuccess) {
        cudaGetLastError(); // else the next launch would seem to fail
        return kq::status::cuda_failure("cudaFuncGetAttributes", cudaGetErrorName(code));
    }
    return kq::query_device(facts);
}

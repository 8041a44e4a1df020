// SPDX-License-Identifier: Apache-2.0
#include "gpu/late_producer.hpp"

#include <kq/launch/dependent.cuh>

namespace {

constexpr unsigned late = 100000; ///< nanoseconds

__global__ void produce(float* x, const float* source, int count) {
    kq::detail::let_dependents_start();
    __nanosleep(late);
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
        x[i] = source[i];
    }
}

} // namespace

void gpu::produce_late(float* x, const float* source, int count, cudaStream_t stream) {
    produce<<<1, 256, 0, stream>>>(x, source, count);
}

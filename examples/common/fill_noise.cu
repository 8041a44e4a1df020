// SPDX-License-Identifier: Apache-2.0
#include "common/fill_noise.hpp"

#include "common/cuda.hpp"

#include <kq/gemv/dispatch.hpp>

namespace common {
namespace {

template <class Encoding>
__global__ void fill(typename Encoding::block* blocks, noise_part part) {
    const kq::int64_t step = kq::int64_t{gridDim.x} * blockDim.x;
    for (kq::int64_t i = kq::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
         i < part.rows * part.blocks; i += step) {
        blocks[i] = noise_block<Encoding>(part, i);
    }
}

} // namespace

void fill_noise(kq::encoding e, const noise_part& part, void* blocks, cudaStream_t stream) {
    kq::check(kq::dispatch(e, [&]<class Encoding>() {
        fill<Encoding>
            <<<1024, 256, 0, stream>>>(static_cast<typename Encoding::block*>(blocks), part);
        require(cudaGetLastError(), "fill_noise");
    }));
}

} // namespace common

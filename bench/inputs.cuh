// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "timing.cuh"

#include <kq/blocks/all.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

/// Weights and activations of hashed noise, made on the device.
namespace bench {

/// The noise word of an index.
__device__ inline uint32_t noise(size_t i) {
    uint64_t x = i * 0x9e3779b97f4a7c15u + 1;
    x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 29) * 0x94d049bb133111ebu;
    return static_cast<uint32_t>(x >> 32);
}

static __global__ void fill_noise(uint32_t* words, size_t count) {
    const size_t step = size_t{gridDim.x} * blockDim.x;
    for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
        words[i] = noise(i);
    }
}

static __global__ void fill_activation(float* x, size_t count) {
    const size_t step = size_t{gridDim.x} * blockDim.x;
    for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
        x[i] = static_cast<int>(noise(i)) * 0x1p-31f;
    }
}

/// Makes the f16 at `offset` of every block of `size` bytes finite and small.
static __global__ void fix_scales(unsigned char* blocks, size_t count, int size, int offset) {
    const size_t step = size_t{gridDim.x} * blockDim.x;
    for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
        auto& bits = *reinterpret_cast<uint16_t*>(blocks + i * size + offset);
        bits = static_cast<uint16_t>(0x1400 + bits % 0x800);
    }
}

/// 0, 1, 2 and so on.
inline std::vector<int32_t> first_numbers(int64_t count) {
    std::vector<int32_t> numbers(static_cast<size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

inline size_t second_level_cache_bytes() {
    int bytes = 0;
    check(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, 0), "cudaDeviceGetAttribute");
    return static_cast<size_t>(bytes);
}

/// Room for any weights of the benchmarks and for enough copies of small ones that each launch
/// finds its copy outside the second-level cache.
class weight_pool {
public:
    static constexpr size_t bytes = size_t{2304} << 20;

    template <class Encoding>
    void fill() {
        using block = typename Encoding::block;
        const size_t count = bytes / sizeof(block);
        fill_noise<<<1024, 256, 0, stream()>>>(reinterpret_cast<uint32_t*>(memory_.get()),
                                               bytes / 4);
        fix_scales<<<1024, 256, 0, stream()>>>(memory_.get(), count, sizeof(block),
                                               offsetof(block, d));
        if constexpr (requires(block b) { b.dmin; }) {
            fix_scales<<<1024, 256, 0, stream()>>>(memory_.get(), count, sizeof(block),
                                                   offsetof(block, dmin));
        }
        check(cudaStreamSynchronize(stream()), "fill");
    }

    unsigned char* get() const { return memory_.get(); }

private:
    device_buffer memory_{bytes};
};

/// How a series of launches rotates over copies of weights of `bytes` bytes.
struct rotation {
    size_t pitch; ///< from copy to copy, every copy as aligned as an allocation
    int copies;   ///< together at least three times the second-level cache, as far as there is room
    int launches; ///< in a graph, so many that its own launch counts little

    explicit rotation(size_t bytes) {
        pitch = (bytes + 255) / 256 * 256;
        const size_t cold = 3 * second_level_cache_bytes();
        copies = static_cast<int>(
            std::max<size_t>(1, std::min(weight_pool::bytes / pitch, cold / pitch + 1)));
        launches =
            std::max(copies, static_cast<int>(std::min<size_t>(80, (size_t{600} << 20) / bytes)));
    }
    size_t at(int launch) const { return static_cast<size_t>(launch % copies) * pitch; }
};

} // namespace bench

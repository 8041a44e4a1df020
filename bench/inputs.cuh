// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rotation.hpp"
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

/// As `fix_scales`, for a byte that is a power of two.
static __global__ void fix_exponents(unsigned char* blocks, size_t count, int size, int offset) {
    const size_t step = size_t{gridDim.x} * blockDim.x;
    for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
        unsigned char& e = blocks[i * size + offset];
        e = static_cast<unsigned char>(118 + e % 2); // 2^-10 or 2^-9
    }
}

/// As `fix_scales`, for the scale of blocks that have no field of it.
template <class Block>
static __global__ void fix_spread_scales(Block* blocks, size_t count) {
    const size_t step = size_t{gridDim.x} * blockDim.x;
    for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
        blocks[i].set_d({static_cast<uint16_t>(0x1400 + blocks[i].d().bits % 0x800)});
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

/// Room for as many copies of any weights of the benchmarks as a rotation has places: four of
/// 129280x7168 in q8_0.
class weight_pool {
public:
    static constexpr size_t bytes = size_t{3840} << 20;

    template <class Encoding>
    void fill() const {
        using block = typename Encoding::block;
        const size_t count = bytes / sizeof(block);
        fill_noise<<<1024, 256, 0, stream()>>>(reinterpret_cast<uint32_t*>(memory_.get()),
                                               bytes / 4);
        if constexpr (requires(block b) { b.d = kq::f16{}; }) {
            fix_scales<<<1024, 256, 0, stream()>>>(memory_.get(), count, sizeof(block),
                                                   offsetof(block, d));
        }
        if constexpr (requires(block b) { b.set_d(kq::f16{}); }) {
            fix_spread_scales<<<1024, 256, 0, stream()>>>(reinterpret_cast<block*>(memory_.get()),
                                                          count);
        }
        if constexpr (requires(block b) { b.dmin; }) {
            fix_scales<<<1024, 256, 0, stream()>>>(memory_.get(), count, sizeof(block),
                                                   offsetof(block, dmin));
        }
        if constexpr (requires(block b) { b.m; }) {
            fix_scales<<<1024, 256, 0, stream()>>>(memory_.get(), count, sizeof(block),
                                                   offsetof(block, m));
        }
        if constexpr (requires(block b) { b.e; }) {
            fix_exponents<<<1024, 256, 0, stream()>>>(memory_.get(), count, sizeof(block),
                                                      offsetof(block, e));
        }
        check(cudaStreamSynchronize(stream()), "fill");
    }

    unsigned char* get() const { return memory_.get(); }

private:
    device_buffer memory_{bytes};
};

/// Copies of weights in the pool, one for each place of a rotation.
class copies {
public:
    /// `bytes`: of the weights, all of which a launch reads.
    explicit copies(size_t bytes)
        : pitch_((bytes + 255) / 256 * 256), over_(bytes, second_level_cache_bytes()) {
        if (over_.places * pitch_ > weight_pool::bytes) {
            throw std::runtime_error(std::to_string(over_.places) + " copies of " +
                                     std::to_string(bytes) + " bytes do not fit into the pool");
        }
    }

    int launches() const { return over_.launches; }
    /// Where in the pool the weights of a launch are, as aligned as an allocation.
    size_t at(int launch) const { return static_cast<size_t>(over_.place(launch)) * pitch_; }

private:
    size_t pitch_;
    rotation over_;
};

/// Stacks of experts in the pool; each launch meets others, and then those of the next stack.
class expert_stacks {
public:
    /// `matrix_bytes`: of one expert. `sets`: 2 for gate and up. `top_k`: experts of a launch.
    expert_stacks(size_t matrix_bytes, int sets, int experts, int top_k)
        : top_k_(top_k),
          turns_(experts / top_k),
          set_bytes_((matrix_bytes * experts + 255) / 256 * 256),
          stack_bytes_(set_bytes_ * sets),
          over_(matrix_bytes * sets * top_k, second_level_cache_bytes(), turns_) {
        if (over_.places / turns_ * stack_bytes_ > weight_pool::bytes) {
            throw std::runtime_error(std::to_string(over_.places / turns_) + " stacks of " +
                                     std::to_string(stack_bytes_) +
                                     " bytes do not fit into the pool");
        }
    }

    int launches() const { return over_.launches; }
    /// Where in the pool the stack of a launch is.
    size_t at(int launch) const { return over_.place(launch) / turns_ * stack_bytes_; }
    /// From the first set of a stack to the second.
    size_t set_bytes() const { return set_bytes_; }
    /// The first of the experts of a launch, which follow each other.
    int first_expert(int launch) const { return over_.place(launch) % turns_ * top_k_; }

private:
    int top_k_;
    int turns_;
    size_t set_bytes_;
    size_t stack_bytes_;
    rotation over_;
};

} // namespace bench

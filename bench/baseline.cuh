// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/intrinsics.hpp>
#include <kq/dot/all.hpp>
#include <kq/gemv/kernel/table.cuh>
#include <kq/gemv/plan/product.hpp>

/// What kq is measured against beside other libraries: the kernel that one writes first. It lives
/// here only. One warp an output row; each lane takes whole blocks, with loads of 2 and 4 bytes,
/// and reads the activation where it lies.
namespace bench {

/// Loads of at most four bytes.
struct narrow_memory {
    template <class T>
    __device__ __forceinline__ static T load(const unsigned char* address) {
        if constexpr (sizeof(T) <= 4) {
            return *reinterpret_cast<const T*>(address);
        } else {
            T wide;
#pragma unroll
            for (size_t i = 0; i < sizeof(T) / 4; ++i) {
                wide.word[i] = *reinterpret_cast<const uint32_t*>(address + 4 * i);
            }
            return wide;
        }
    }
};

/// `y[row] = weights[row] . image` in an order of additions of its own.
/// `weights`: [n, blocks] blocks. `image`: one quantized activation row.
template <class Encoding>
__global__ void __launch_bounds__(128)
    baseline_kernel(const unsigned char* weights, const unsigned char* image, float* y, int n,
                    int blocks) {
    using dot = kq::dp4a_dot<Encoding>;
    using image_type = kq::image_of<Encoding>;
    extern __shared__ __align__(128) unsigned char table[];
    kq::detail::table_copy<dot, 4>(static_cast<int>(threadIdx.x % 32),
                                   static_cast<int>(threadIdx.x / 32))
        .store(table);
    __syncthreads();
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int row = static_cast<int>(blockIdx.x * 4 + threadIdx.x / 32);
    if (row >= n) {
        return;
    }
    float sum = 0;
    for (int b = lane; b < blocks; b += 32) {
        const unsigned char* block =
            weights + (int64_t{row} * blocks + b) * int64_t{kq::block_bytes<Encoding>};
        for (int slice = 0; slice < dot::slices; ++slice) {
            const auto w = dot::template load<narrow_memory>(dot::locate(block, slice), 0);
            const int slot = b * dot::slices + slice;
            const auto x = image_type::template load<narrow_memory>(
                image + slot / 32 * image_type::panel_bytes, slot % 32);
            sum = kq::accumulate<dot>(sum, dot::scale(w, x.d),
                                      dot::dot(w, x, {lane, slice, table, dot::constant}));
        }
    }
    for (int distance = 16; distance >= 1; distance /= 2) {
        sum += __shfl_xor_sync(~0u, sum, distance);
    }
    if (lane == 0) {
        y[row] = sum;
    }
}

} // namespace bench

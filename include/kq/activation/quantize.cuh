// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/activation/image.hpp>

namespace kq {

/// The argument of the quantizer.
template <class Element>
struct quantize_parameters {
    const Element* x;      ///< [m, k], rows `stride` elements apart
    int64_t stride;        ///< in elements
    int blocks;            ///< blocks of a row
    int padded_blocks;     ///< blocks of a row's tiles, those past its end included
    int64_t total;         ///< m * padded_blocks
    unsigned char* images; ///< [m, image_bytes]
    int64_t image_bytes;   ///< bytes of a quantized row
    bool vectorized;       ///< whether every lane's elements are aligned as a whole
};

namespace detail {

/// A lane's elements of one block.
template <int N, class Element>
struct alignas(N * sizeof(Element)) element_vector {
    Element x[N];
};

/// Loads a lane's `N` elements as f32.
template <int N, class Element>
__device__ __forceinline__ void load_elements(const Element* x, bool vectorized, float (&out)[N]) {
    constexpr int width = N * sizeof(Element) > 16 ? 16 / sizeof(Element) : N;
    using vector = element_vector<width, Element>;
    if (vectorized) {
#pragma unroll
        for (int i = 0; i < N; i += width) {
            const vector v = *reinterpret_cast<const vector*>(x + i);
#pragma unroll
            for (int j = 0; j < width; ++j) {
                out[i + j] = to_f32(v.x[j]);
            }
        }
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i) {
            out[i] = to_f32(x[i]);
        }
    }
}

/// The element of largest magnitude among all lanes' `x`, the first one on ties.
template <int N>
__device__ __forceinline__ float extreme_of(const float (&x)[N]) {
    float own = x[0];
#pragma unroll
    for (int i = 1; i < N; ++i) {
        own = magnitude_bits(x[i]) > magnitude_bits(own) ? x[i] : own;
    }
    uint32_t largest = magnitude_bits(own);
#pragma unroll
    for (int distance = 16; distance >= 1; distance /= 2) {
        largest = max(largest, __shfl_xor_sync(~0u, largest, distance));
    }
    const unsigned holders = __ballot_sync(~0u, magnitude_bits(own) == largest);
    return __shfl_sync(~0u, own, __ffs(static_cast<int>(holders)) - 1);
}

} // namespace detail

/// Quantizes activations into images, a warp for each block; bit-equal to `quantize_block` and
/// `image::pack`. Lane l holds elements `l * elements / 32` and the following. Slots past a row's
/// last block are zeroed. Warps loop, so that no grid is too small.
template <class Image, class Element, int Warps>
__global__ void __launch_bounds__(32 * Warps)
    quantize_kernel(const __grid_constant__ quantize_parameters<Element> p) {
    using rule = quantization<typename Image::activation>;
    constexpr int elements = Image::activation::elements;
    constexpr int per_lane = elements / 32;
    constexpr int lanes_per_group = 16 / per_lane;
    static_assert(per_lane == 1 || per_lane == 8, "kq: a lane stores one code or eight");

    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int64_t step = int64_t{gridDim.x} * Warps;
    for (int64_t i = int64_t{blockIdx.x} * Warps + threadIdx.x / 32; i < p.total; i += step) {
        const int64_t batch = i / p.padded_blocks;
        const int block = static_cast<int>(i % p.padded_blocks);

        block_scale scale{0.0f, 0.0f};
        float x[per_lane] = {};
        if (block < p.blocks) {
            detail::load_elements(p.x + batch * p.stride + int64_t{block} * elements +
                                      lane * per_lane,
                                  p.vectorized, x);
            scale = rule::scale_of(detail::extreme_of(x));
        }
        int sum = 0;
        uint64_t codes = 0;
#pragma unroll
        for (int e = 0; e < per_lane; ++e) {
            const int code = rule::code_of(x[e], scale.inverse);
            sum += code;
            codes |= static_cast<uint64_t>(code & 0xff) << (8 * e);
        }
#pragma unroll
        for (int distance = lanes_per_group / 2; distance >= 1; distance /= 2) {
            sum += __shfl_xor_sync(~0u, sum, distance);
        }

        unsigned char* tile = p.images + batch * p.image_bytes + // [tile_bytes]
                              int64_t{block / Image::tile_blocks} * Image::tile_bytes;
        const int in_group = lane % lanes_per_group;
        const auto place = Image::place_of(lane / lanes_per_group);
        const int slot = block % Image::tile_blocks * Image::slices + place.slice;
        unsigned char* own = tile + Image::vector_at(place.vector, slot) + in_group * per_lane;
        if constexpr (per_lane == 8) {
            *reinterpret_cast<uint64_t*>(own) = codes;
        } else {
            *own = static_cast<unsigned char>(codes);
        }
        if (in_group == 0) {
            *reinterpret_cast<int16_t*>(tile + Image::sum_at(place.vector, slot)) =
                static_cast<int16_t>(sum);
            if (place.vector == 0) {
                *reinterpret_cast<float*>(tile + Image::d_at(slot)) = scale.d;
            }
        }
    }
}

} // namespace kq

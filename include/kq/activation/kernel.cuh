// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/activation/image.hpp>
#include <kq/activation/parameters.hpp>
#include <kq/launch/dependent.cuh>

namespace kq::inline KQ_ABI {

namespace detail {

/// Elements that one instruction loads.
template <int N, class Element>
struct alignas(N * sizeof(Element)) element_vector {
    Element x[static_cast<size_t>(N)];
};

/// Loads `Count` elements as f32.
template <size_t Count, class Element>
__device__ __forceinline__ void load_elements(const Element* x, bool vectorized,
                                              float (&out)[Count]) {
    constexpr int N = Count;
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
template <size_t Count>
__device__ __forceinline__ float extreme_of(const float (&x)[Count]) {
    constexpr int N = Count;
    float own = x[0];
#pragma unroll
    for (int i = 1; i < N; ++i) {
        own = larger_magnitude(own, x[i]);
    }
    uint32_t largest = magnitude_bits(own);
#pragma unroll
    for (int distance = 16; distance >= 1; distance /= 2) {
        largest = (max)(largest, __shfl_xor_sync(~0u, largest, distance));
    }
    const unsigned holders = __ballot_sync(~0u, magnitude_bits(own) == largest);
    return __shfl_sync(~0u, own, __ffs(static_cast<int>(holders)) - 1);
}

/// Where a block goes.
template <class Image>
struct block_slots {
    unsigned char* panel; ///< [panel_bytes]
    int first;            ///< the block's first slot in the panel

    /// Where the codes of 16-element group `group` go.
    __device__ __forceinline__ unsigned char* codes(int group) const {
        const auto [slice, vector] = Image::place_of(group);
        return panel + Image::vector_at(vector, first + slice);
    }

    /// Stores what belongs to group `group` beside its codes.
    __device__ __forceinline__ void store(int group, int sum, float d) const {
        const auto [slice, vector] = Image::place_of(group);
        *reinterpret_cast<int16_t*>(panel + Image::sum_at(vector, first + slice)) =
            static_cast<int16_t>(sum);
        if (vector == 0) {
            *reinterpret_cast<float*>(panel + Image::d_at(first + slice)) = d;
        }
    }
};

/// Stores a block's codes in columns; lane l holds elements `8 l` and the following.
template <class Image>
__device__ __forceinline__ void store_columns(const block_slots<Image>& out, int lane,
                                              uint64_t codes, float d) {
    uint32_t words[2] = {static_cast<uint32_t>(codes), static_cast<uint32_t>(codes >> 32)};
    // Each slice's last word is a column of the last 16 elements, which two lanes hold.
    const uint32_t others[2] = {__shfl_xor_sync(~0u, words[0], 1),
                                __shfl_xor_sync(~0u, words[1], 1)};
    if (lane >= 30) {
        const uint32_t columns = lane == 30 ? 0x5140u : 0x7362u;
        const uint32_t own = byte_permute(words[0], words[1], columns);
        const uint32_t other = byte_permute(others[0], others[1], columns);
        const uint32_t low = lane == 30 ? own : other;
        const uint32_t high = lane == 30 ? other : own;
        words[0] = byte_permute(low, high, 0x5410u);
        words[1] = byte_permute(low, high, 0x7632u);
    }
    int sums[2];
#pragma unroll
    for (int word = 0; word < 2; ++word) {
        const int element = lane < 30 ? 8 * lane + 4 * word : 240 + 2 * (lane - 30) + word;
        *reinterpret_cast<uint32_t*>(out.codes(Image::group_of(element)) +
                                     Image::byte_of(element)) = words[word];
        sums[word] = dp4a_ss(words[word], 0x01010101u, 0);
    }
    // A vector's words are of four lanes; lane g adds those of group g up.
    const int group = lane % Image::groups;
    int sum = 0;
#pragma unroll
    for (int word = 0; word < 4; ++word) {
        const int first = Image::first_of_word(group, word);
        const int holder = first < 240 ? first / 8 : 30 + (first - 240) / 2;
        const bool is_second = first < 240 ? first % 8 != 0 : first % 2 != 0;
        const int of_first = __shfl_sync(~0u, sums[0], holder);
        const int of_second = __shfl_sync(~0u, sums[1], holder);
        sum += is_second ? of_second : of_first;
    }
    if (lane < Image::groups) {
        out.store(group, sum, d);
    }
}

/// Stores a block's codes in the order of nibbles; lane l holds elements `8 l` and the following,
/// whose bytes alternate with those of lane `l ^ 2`.
template <class Image>
__device__ __forceinline__ void store_nibbles(const block_slots<Image>& out, int lane,
                                              uint64_t codes, int sum, float d) {
    const bool is_second = (lane & 2) != 0;
    const auto low = static_cast<uint32_t>(codes);
    const auto high = static_cast<uint32_t>(codes >> 32);
    const uint32_t other = __shfl_xor_sync(~0u, is_second ? low : high, 2);
    const uint32_t even = is_second ? other : low;
    const uint32_t odd = is_second ? high : other;
    const uint64_t words = byte_permute(even, odd, 0x5140u) |
                           static_cast<uint64_t>(byte_permute(even, odd, 0x7362u)) << 32;
    const int group = Image::group_of(8 * lane);
    *reinterpret_cast<uint64_t*>(out.codes(group) + (is_second ? 8 : 0)) = words;
    sum += __shfl_xor_sync(~0u, sum, 2);
    if (!is_second) {
        out.store(group, sum, d);
    }
}

/// Quantizes one block by a warp; lane l holds elements `l * elements / 32` and the following.
/// `x`: [elements], or null for a slot past the row's end.
template <class Image, class Element>
__device__ __forceinline__ void quantize_by_warp(const Element* x, bool vectorized, int lane,
                                                 block_slots<Image> out) {
    using rule = quantization<typename Image::activation>;
    constexpr int per_lane = Image::activation::elements / 32;
    static_assert(per_lane == 1 || per_lane == 8, "kq: a lane stores one code or eight");
    static_assert(per_lane == 1 || Image::order != element_order::nibbles_8,
                  "kq: a lane's codes must meet those of another lane, or follow each other");

    block_scale scale{0.0f, 0.0f};
    float own[per_lane] = {};
    if (x != nullptr) {
        load_elements(x + lane * per_lane, vectorized, own);
        scale = rule::scale_of(extreme_of(own));
    }
    int sum = 0;
    uint64_t codes = 0;
#pragma unroll
    for (int e = 0; e < per_lane; ++e) {
        const int code = rule::code_of(own[e], scale.inverse);
        sum += code;
        codes |= static_cast<uint64_t>(code & 0xff) << (8 * e);
    }
    if constexpr (Image::order == element_order::columns) {
        store_columns(out, lane, codes, scale.d);
    } else if constexpr (Image::order == element_order::nibbles && per_lane == 8) {
        store_nibbles(out, lane, codes, sum, scale.d);
    } else {
#pragma unroll
        for (int distance = 16; distance >= 1; distance /= 2) {
            if (Image::group_of(distance * per_lane) ==
                Image::group_of(0)) { // as of any other lane
                sum += __shfl_xor_sync(~0u, sum, distance);
            }
        }

        const int group = Image::group_of(lane * per_lane);
        const int byte = Image::byte_of(lane * per_lane);
        unsigned char* place = out.codes(group) + byte;
        if constexpr (per_lane == 8) {
            *reinterpret_cast<uint64_t*>(place) = codes;
        } else {
            *place = static_cast<unsigned char>(codes);
        }
        if (byte == 0) {
            out.store(group, sum, scale.d);
        }
    }
}

/// Loads group `g` of a block as f32, in the order of its vector.
/// `x`: [elements].
template <class Image, class Element>
__device__ __forceinline__ void load_group(const Element* x, int g, bool vectorized,
                                           float (&out)[16]) {
    if constexpr (Image::order == element_order::strided) {
        const Element* first = x + g / 2 * 32 + g % 2 * 4;
#pragma unroll
        for (int b = 0; b < 4; ++b) {
            float four[4];
            load_elements(first + 8 * b, vectorized, four);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                out[Image::byte_of(8 * b + i)] = four[i];
            }
        }
    } else if constexpr (Image::order == element_order::nibbles ||
                         Image::order == element_order::nibbles_8) {
        constexpr int apart = Image::order == element_order::nibbles ? 16 : 8;
        const Element* first = x + (apart == 16 ? g / 2 * 32 + g % 2 * 8 : g * 16);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float eight[8];
            load_elements(first + half * apart, vectorized, eight);
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                out[2 * i + half] = eight[i];
            }
        }
    } else if constexpr (Image::order == element_order::columns) {
#pragma unroll
        for (int word = 0; word < 4; ++word) {
            const Element* first = x + Image::first_of_word(g, word);
            float four[4];
            if (Image::first_of_word(g, word) < 240) {
                load_elements(first, vectorized, four);
            } else {
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    four[i] = to_f32(first[4 * i]);
                }
            }
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                out[4 * word + i] = four[i];
            }
        }
    } else {
        load_elements(x + 16 * g, vectorized, out);
    }
}

/// Quantizes one block by a thread, a group at a time; the second reading comes from a cache.
/// `x`: [elements], or null for a slot past the row's end.
template <class Image, class Element>
__device__ __forceinline__ void quantize_by_thread(const Element* x, bool vectorized,
                                                   block_slots<Image> out) {
    using rule = quantization<typename Image::activation>;
    block_scale scale{0.0f, 0.0f};
    float group[16] = {};
    if (x != nullptr) {
        float extreme = 0; // gives way to any element but a zero
        for (int g = 0; g < Image::groups; ++g) {
            load_elements(x + 16 * g, vectorized, group);
#pragma unroll
            for (int e = 0; e < 16; ++e) {
                extreme = larger_magnitude(extreme, group[e]);
            }
        }
        scale = rule::scale_of(extreme);
    }
    for (int g = 0; g < Image::groups; ++g) {
        if (x != nullptr) {
            load_group<Image>(x, g, vectorized, group);
        }
        int sum = 0;
        words<4> codes{};
#pragma unroll
        for (int e = 0; e < 16; ++e) {
            const int code = rule::code_of(group[e], scale.inverse);
            sum += code;
            codes.word[e / 4] |= static_cast<uint32_t>(code & 0xff) << (8 * (e % 4));
        }
        *reinterpret_cast<words<4>*>(out.codes(g)) = codes;
        out.store(g, sum, scale.d);
    }
}

/// Quantizes item `i` of the blocks of all rows, padding included.
template <class Image, int Sharers, class Element>
__device__ __forceinline__ void quantize_item(const quantize_parameters<Element>& p, int64_t i,
                                              int thread) {
    const int64_t row = i / p.padded_blocks;
    const int block = static_cast<int>(i % p.padded_blocks);
    const Element* x = nullptr;
    if (block < p.blocks) {
        x = p.x + row * p.stride + int64_t{block} * Image::activation::elements;
    }
    const block_slots<Image> out{p.images + row * p.image_bytes +
                                     int64_t{block / Image::panel_blocks} * Image::panel_bytes,
                                 block % Image::panel_blocks * Image::slices};
    wait_for_predecessors(); // here, so that what is above does not wait
    if constexpr (Sharers == 32) {
        quantize_by_warp(x, p.vectorized, thread % 32, out);
    } else {
        quantize_by_thread(x, p.vectorized, out);
    }
}

} // namespace detail

/// The work of a thread block of `quantize_kernel`, for a kernel of your own with `32 * Warps`
/// threads.
template <class Element, int Warps, quantizer_policy Policy, class... Images>
__device__ __forceinline__ void run_quantizer(const quantizations<Element, sizeof...(Images)>& p) {
    constexpr int sharers = Policy == quantizer_policy::warp_per_block ? 32 : 1;
    constexpr int at_once = 32 * Warps / sharers; // blocks of a thread block
    const int thread = static_cast<int>(threadIdx.x);
    detail::let_dependents_start();
    int64_t total = 0;
    for (const auto& one : p.of) {
        total += one.total;
    }
    const int64_t step = int64_t{gridDim.x} * at_once;
    for (int64_t i = int64_t{blockIdx.x} * at_once + thread / sharers; i < total; i += step) {
        int64_t in_image = i; // items of all images follow each other
        const auto quantize = [&]<class Image>(const quantize_parameters<Element>& one) {
            if (in_image >= 0 && in_image < one.total) {
                detail::quantize_item<Image, sharers>(one, in_image, thread);
            }
            in_image -= one.total;
        };
        int image = 0;
        (quantize.template operator()<Images>(p.of[image++]), ...);
    }
}

KQ_HIDDEN_BEGIN

/// Quantizes activations into images; bit-equal to `quantize_block` and `image::pack`. Slots past a
/// row's last block are zeroed. Threads loop over blocks, so that no grid is too small.
///
/// `Element`: the activation's type. `Warps`: of a thread block. `Policy`: which threads quantize a
/// block; never changes a bit. `Images`: the images' layouts, one for each of the parameters.
template <class Element, int Warps, quantizer_policy Policy, class... Images>
__global__ void __launch_bounds__(32 * Warps)
    quantize_kernel(const __grid_constant__ quantizations<Element, sizeof...(Images)> p) {
    run_quantizer<Element, Warps, Policy, Images...>(p);
}

KQ_HIDDEN_END

} // namespace kq::inline KQ_ABI

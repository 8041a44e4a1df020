// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/q8_0.hpp>
#include <kq/blocks/q8_0_aligned.hpp>
#include <kq/core/arithmetic.hpp>
#include <kq/core/standard.hpp>
#include <kq/core/status.hpp>
#include <kq/launch/kernel.cuh>

#include <algorithm>

namespace kq::inline KQ_ABI {

/// The argument of the repacking kernel. Of `From` and `To` one is `q8_0`, the other
/// `q8_0_aligned`.
template <class From, class To>
struct repack_parameters {
    const typename From::block* from;
    typename To::block* to;
    int64_t groups; ///< eight blocks of `q8_0` or one of `q8_0_aligned` each
};

namespace detail {

/// Both layouts are 2-byte pieces, eight blocks' of `q8_0` a group.
inline constexpr int repack_halves = sizeof(q8_0_aligned::block) / 2;

/// Where half number `i` of eight `q8_0` blocks lies in a `q8_0_aligned` block, in halves.
__device__ __forceinline__ constexpr int aligned_half(int i) {
    constexpr int halves = sizeof(q8_0::block) / 2; // of a block: the scale, then the codes
    constexpr int code_halves = q8_0::elements / 2;
    const int block = i / halves;
    const int half = i % halves;
    return half == 0 ? q8_0_aligned::q8_0_blocks * code_halves + block
                     : block * code_halves + half - 1;
}

inline constexpr int repack_warps = 4;

} // namespace detail

KQ_HIDDEN_BEGIN

/// Moves halves, the widest pieces that are aligned in every `q8_0` block, a group by a warp.
/// Warps loop over groups, so that no grid is too small.
template <class From, class To>
__global__ void __launch_bounds__(32 * detail::repack_warps)
    repack_kernel(const __grid_constant__ repack_parameters<From, To> p) {
    constexpr int halves = detail::repack_halves;
    const auto* from = reinterpret_cast<const uint16_t*>(p.from); // [groups, halves]
    auto* to = reinterpret_cast<uint16_t*>(p.to);                 // [groups, halves]
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int64_t step = int64_t{gridDim.x} * detail::repack_warps;
    for (int64_t g = int64_t{blockIdx.x} * detail::repack_warps + warp; g < p.groups; g += step) {
        const int64_t first = g * halves;
#pragma unroll
        for (int i = lane; i < halves; i += 32) {
            const int aligned = detail::aligned_half(i);
            if constexpr (standard::same_as<To, q8_0_aligned>) {
                to[first + aligned] = from[first + i];
            } else {
                to[first + i] = from[first + aligned];
            }
        }
    }
}

KQ_HIDDEN_END

namespace detail {

template <class Weights>
status check_repacked(const char* name, const void* blocks) {
    constexpr encoding_facts facts = facts_of<Weights>;
    if (blocks == nullptr) {
        return status::invalid(name, "must not be null");
    }
    if (reinterpret_cast<uintptr_t>(blocks) % facts.alignment != 0) {
        return status::invalid(name, facts.alignment_rule);
    }
    return {};
}

template <class From, class To>
status launch_repack(const typename From::block* from, int64_t count, typename To::block* to,
                     cudaStream_t stream) {
    if (count < 0 || count % q8_0_aligned::q8_0_blocks != 0) {
        return status::invalid("count", "must be a non-negative multiple of 8");
    }
    if (count == 0) {
        return {};
    }
    if (const status s = check_repacked<From>("from", from); !s.ok()) {
        return s;
    }
    if (const status s = check_repacked<To>("to", to); !s.ok()) {
        return s;
    }
    const auto from_begin = reinterpret_cast<uintptr_t>(from);
    const auto to_begin = reinterpret_cast<uintptr_t>(to);
    const auto bytes = static_cast<uintptr_t>(count) * sizeof(q8_0::block); // of either layout
    if (from_begin < to_begin + bytes && to_begin < from_begin + bytes) {
        return status::invalid("to", "must not overlap from");
    }
    constexpr int64_t most_thread_blocks = 1 << 30;
    const repack_parameters<From, To> p{from, to, count / q8_0_aligned::q8_0_blocks};
    return launch_kernel(
        repack_kernel<From, To>, "repack_kernel",
        {.grid = (std::min)(detail::ceil_div(p.groups, int64_t{repack_warps}), most_thread_blocks),
         .threads = 32 * repack_warps},
        stream, p);
}

} // namespace detail

/// Separates codes from scales in device memory, asynchronously on the stream; bit-equal to
/// `repack`. Out of place only: the two ranges must not overlap.
/// `from`: [count] blocks. `count`: a multiple of 8; of 0 launches nothing. `to`: [count / 8]
/// blocks.
///
/// Errors: a count that is negative or no multiple of 8; null, misaligned or overlapping ranges;
/// the CUDA error of the launch. Nothing is launched then.
///
/// `Block` is deduced: as a template the kernel is compiled only where it is launched.
template <standard::same_as<q8_0::block> Block>
status launch_repack(const Block* from, int64_t count, q8_0_aligned::block* to,
                     cudaStream_t stream) {
    return detail::launch_repack<q8_0, q8_0_aligned>(from, count, to, stream);
}

/// The inverse: puts each block's scale before its codes again. Otherwise as above.
/// `from`: [count / 8] blocks. `to`: [count] blocks.
template <standard::same_as<q8_0_aligned::block> Block>
status launch_repack(const Block* from, int64_t count, q8_0::block* to, cudaStream_t stream) {
    return detail::launch_repack<q8_0_aligned, q8_0>(from, count, to, stream);
}

} // namespace kq::inline KQ_ABI

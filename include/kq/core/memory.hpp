// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>
#include <kq/core/standard.hpp>

#include <cuda/std/cstring>
#include <nv/target>

/// How lanes read bytes. The pointers are byte addresses; a load of `T` needs `alignof(T)`.
namespace kq::inline KQ_ABI {

/// `N` words that are loaded by one instruction.
template <int N>
struct alignas(4 * N) words {
    uint32_t word[static_cast<size_t>(N)];
};

namespace detail {

/// A load that assumes nothing of the object's type, for the host.
template <class T>
T copy_from(const unsigned char* address) {
    T value;
    cuda::std::memcpy(&value, address, sizeof(T));
    return value;
}

} // namespace detail

/// Plain loads: shared memory, or global memory through the first-level cache.
struct cached_memory {
    template <class T>
    KQ_API static T load(const unsigned char* address) {
        NV_IF_ELSE_TARGET(NV_IS_DEVICE, (return *reinterpret_cast<const T*>(address);),
                          (return detail::copy_from<T>(address);))
    }
};

/// Plain loads from shared memory that goes on for at least a word on either side of a block: a
/// lane may read around it.
struct padded_memory : cached_memory {};

/// Global memory that nothing writes while the kernel runs and that is read once: the read-only
/// path. Whole vectors go past the first-level cache; lanes that read words and halves share
/// sectors and need it (without, q8_0 took 3.6 times as long on an H200).
struct streamed_memory {
    template <class T>
    KQ_API static T load(const unsigned char* address) {
        NV_IF_ELSE_TARGET(NV_IS_DEVICE, (return stream<T>(address);),
                          (return detail::copy_from<T>(address);))
    }

private:
#if defined(__CUDACC__)
    template <class T>
    __device__ __forceinline__ static T stream(const unsigned char* address) {
        T v;
        if constexpr (standard::same_as<T, uint8_t>) {
            uint32_t byte;
            asm("ld.global.nc.u8 %0, [%1];" : "=r"(byte) : "l"(address));
            v = static_cast<uint8_t>(byte);
        } else if constexpr (standard::same_as<T, uint16_t>) {
            asm("ld.global.nc.u16 %0, [%1];" : "=h"(v) : "l"(address));
        } else if constexpr (standard::same_as<T, uint32_t>) {
            asm("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(address));
        } else if constexpr (standard::same_as<T, words<2>>) {
            asm("ld.global.nc.v2.u32 {%0, %1}, [%2];"
                : "=r"(v.word[0]), "=r"(v.word[1])
                : "l"(address));
        } else {
            static_assert(standard::same_as<T, words<4>>, "kq: no streamed load of this type");
            asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
                : "l"(address));
        }
        return v;
    }
#endif
};

/// A way to read bytes.
/// Requires: a static `load<T>(address)`.
template <class Memory>
concept memory = requires(const unsigned char* address) {
    { Memory::template load<uint16_t>(address) } -> standard::same_as<uint16_t>;
    { Memory::template load<uint32_t>(address) } -> standard::same_as<uint32_t>;
    { Memory::template load<words<4>>(address) } -> standard::same_as<words<4>>;
};

static_assert(memory<cached_memory> && memory<padded_memory> && memory<streamed_memory>);

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __cplusplus < 202002L
#    error "kq: needs C++20, compile with -std=c++20 or newer"
#    include "kq ends here, it needs C++20" // no such file: hundreds of errors would follow
#endif

#include <kq/core/version.hpp>

#include <cuda/std/version>

#if !defined(CCCL_VERSION) || CCCL_VERSION < 3000001
#    error "kq: needs CCCL 3.0.1 or newer, as CUDA 13 brings it; put its folder on the include path"
#endif

#include <cuda/std/cstddef>
#include <cuda/std/cstdint>

/// Marks a function that both the host and the device run. A macro, because a plain host compiler
/// knows no execution space specifiers.
#if defined(__CUDACC__)
#    define KQ_API __host__ __device__ __forceinline__
#else
#    define KQ_API inline
#endif

/// Unrolls the loop that follows in device code, where fragments must be indexed by constants to
/// stay in registers. Host compilers need no such promise.
#if defined(__CUDA_ARCH__)
#    define KQ_UNROLL _Pragma("unroll")
#else
#    define KQ_UNROLL
#endif

/// Around kernels: a library that holds kq exports none. Pragmas, because nvcc 12 leaves g++ to
/// warn of the attribute; NVRTC exports nothing and warns of both.
#if defined(__CUDACC_RTC__)
#    define KQ_HIDDEN_BEGIN
#    define KQ_HIDDEN_END
#else
#    define KQ_HIDDEN_BEGIN _Pragma("GCC visibility push(hidden)")
#    define KQ_HIDDEN_END _Pragma("GCC visibility pop")
#endif

// Under NVRTC offsetof is libcu++'s, which is no constant expression.
#if defined(__CUDACC_RTC__)
#    undef offsetof
#    define offsetof(type, member) __INTADDR__(&(static_cast<type*>(nullptr)->member))
#endif

namespace kq::inline KQ_ABI {

// libcu++'s integer types also exist where there is no host standard library.
using cuda::std::int16_t;
using cuda::std::int32_t;
using cuda::std::int64_t;
using cuda::std::int8_t;
using cuda::std::ptrdiff_t;
using cuda::std::size_t;
using cuda::std::uint16_t;
using cuda::std::uint32_t;
using cuda::std::uint64_t;
using cuda::std::uint8_t;
using cuda::std::uintptr_t;

} // namespace kq::inline KQ_ABI

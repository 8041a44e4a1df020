// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

// The language's support library: the host's where there is one, else libcu++'s, whose headers cost
// each compilation seconds (docs/design.md). Only what needs no function that runs on a device.
#if defined(__CUDACC_RTC__)
#    include <cuda/std/bit>
#    include <cuda/std/concepts>
#    include <cuda/std/limits>
#    include <cuda/std/type_traits>
#    include <cuda/std/utility>
#else
#    include <bit>
#    include <concepts>
#    include <limits>
#    include <type_traits>
#    include <utility>
#endif

namespace kq::inline KQ_ABI {

#if defined(__CUDACC_RTC__)
namespace standard = cuda::std;
#else
namespace standard = std;
#endif

} // namespace kq::inline KQ_ABI

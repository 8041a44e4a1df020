// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

namespace kq::inline KQ_ABI {

/// How many threads run a kernel, and with how much dynamic shared memory.
struct launch_shape {
    int64_t grid = 0;     ///< thread blocks in x, below 2^31
    int grid_y = 1;       ///< in y, below 2^16
    int threads = 0;      ///< of a thread block
    int shared_bytes = 0; ///< of a thread block
    /// The most that any launch of the kernel may ask for. A function attribute is shared by all
    /// host threads, so each launch sets it to the same value.
    int most_shared_bytes = 0;
    bool dependent = false; ///< may start before the kernels before it end, and waits for them

    /// All thread blocks.
    KQ_API constexpr int64_t ctas() const { return grid * grid_y; }
};

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

namespace kq::inline KQ_ABI {

/// What a launch needs to know about a device; `query_device` asks the CUDA runtime.
struct device_facts {
    int compute_capability = 0;     ///< 10 * major + minor
    int multiprocessors = 0;        ///< streaming multiprocessors
    int shared_bytes_per_block = 0; ///< most dynamic shared memory of a thread block, opted in
};

} // namespace kq::inline KQ_ABI

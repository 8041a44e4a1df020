// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

namespace kq::inline KQ_ABI {

/// Memory that the caller lends for quantized activations: 16-byte aligned, at least
/// `workspace_bytes(arguments)` long. Written and read by the stream's kernels only.
struct workspace {
    void* data = nullptr;
    size_t bytes = 0;
};

} // namespace kq::inline KQ_ABI

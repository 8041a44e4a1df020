// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <driver_types.h>

namespace gpu {

/// Launches a kernel that lets dependent kernels start at once and writes only later.
/// `x`, `source`: [count] in device memory.
void produce_late(float* x, const float* source, int count, cudaStream_t stream);

} // namespace gpu

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/noise.hpp"

#include <driver_types.h>

namespace common {

/// Writes the blocks of a part into device memory.
/// Throws kq::cuda_error if that cannot be launched.
void fill_noise(kq::encoding e, const noise_part& part, void* blocks, cudaStream_t stream);

} // namespace common

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/status.hpp>

#include <cuda_runtime_api.h>

namespace kq::inline KQ_ABI::detail {

/// The status of a call of the CUDA runtime that failed. Takes the failure out of the runtime's
/// last error, where a later check of the caller's would meet it again.
inline status cuda_failure(const char* call, cudaError_t e) {
    (void)cudaGetLastError();
    return status::cuda_failure(call, cudaGetErrorName(e));
}

} // namespace kq::inline KQ_ABI::detail

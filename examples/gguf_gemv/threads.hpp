// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace gguf_gemv {

/// The threads that share work: one for each core.
int thread_count();

/// Calls `work(first, last)` for consecutive ranges that make up [0, count), each in a thread of
/// its own, and waits. Throws what a call threw.
void share(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& work);

} // namespace gguf_gemv

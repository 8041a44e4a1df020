// SPDX-License-Identifier: Apache-2.0
#include "threads.hpp"

#include <algorithm>
#include <future>
#include <thread>
#include <vector>

namespace gguf_gemv {

int thread_count() {
    return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

void share(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& work) {
    const std::int64_t part = (count + thread_count() - 1) / thread_count();
    std::vector<std::future<void>> running;
    for (std::int64_t first = 0; first < count; first += part) {
        running.push_back(
            std::async(std::launch::async, work, first, std::min(count, first + part)));
    }
    for (auto& thread : running) {
        thread.get();
    }
}

} // namespace gguf_gemv

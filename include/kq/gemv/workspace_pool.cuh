// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/workspace.hpp>
#include <kq/launch/failure.cuh>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

namespace kq::inline KQ_ABI {

namespace detail {

/// Lets this thread allocate and free while any thread captures a stream: under the default mode
/// `cudaMalloc` would fail and invalidate the capture.
class relaxed_capture {
public:
    relaxed_capture() : error_(cudaThreadExchangeStreamCaptureMode(&mode_)) {}
    ~relaxed_capture() {
        if (error_ == cudaSuccess) {
            cudaThreadExchangeStreamCaptureMode(&mode_);
        }
    }
    relaxed_capture(const relaxed_capture&) = delete;
    relaxed_capture& operator=(const relaxed_capture&) = delete;

private:
    cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed; // then the one to go back to
    cudaError_t error_;
};

} // namespace detail

/// Workspaces for callers that do not want to size and keep their own: one for each stream of each
/// device, which grows and never shrinks.
///
/// Outgrown blocks live as long as the pool, so that captured graphs keep valid pointers; blocks at
/// least double, so that all of a stream's outgrown ones together are smaller than its current one.
/// `reserve` may be called by any thread and while a stream is captured: the allocation happens
/// then and there and is no part of the graph. Threads that launch on one stream share its
/// workspace and must not put their launches between another's `quantize` and `multiply`.
///
/// Destroy the pool only when everything that uses its blocks, replays of graphs included, has
/// completed: it does not synchronize. The same goes for destroying a stream, because a later one
/// may get the same handle and with it the same workspace; likewise for threads that end.
class workspace_pool {
public:
    workspace_pool() = default;
    workspace_pool(const workspace_pool&) = delete;
    workspace_pool& operator=(const workspace_pool&) = delete;

    ~workspace_pool() {
        const detail::relaxed_capture relaxed;
        for (const block& b : blocks_) {
            cudaFree(b.space.data);
        }
    }

    /// The workspace of `stream` on the current device, at least `bytes` long: the same as before
    /// where that is long enough. `out` is the whole of it; null where `bytes` is 0 and the stream
    /// has none yet.
    ///
    /// Errors: the CUDA error of the allocation. `out` and the pool are unchanged then.
    status reserve(cudaStream_t stream, size_t bytes, workspace& out) {
        user own{.stream = stream};
        if (const cudaError_t e = cudaGetDevice(&own.device); e != cudaSuccess) {
            return detail::cuda_failure("cudaGetDevice", e);
        }
        // These handles name another stream in each thread; null where the build says so.
        if (stream == nullptr || stream == cudaStreamPerThread) {
            own.thread = std::this_thread::get_id();
        }

        const std::lock_guard lock(mutex_);
        const auto newest = std::find_if(blocks_.rbegin(), blocks_.rend(),
                                         [&](const block& b) { return b.owner == own; });
        const workspace current = newest == blocks_.rend() ? workspace{} : newest->space;
        if (bytes <= current.bytes) {
            out = current;
            return {};
        }
        const size_t grown = (std::max)(bytes, 2 * current.bytes);
        blocks_.push_back({own, {nullptr, grown}}); // first, because it may throw
        workspace& added = blocks_.back().space;
        const detail::relaxed_capture relaxed;
        if (const cudaError_t e = cudaMalloc(&added.data, grown); e != cudaSuccess) {
            blocks_.pop_back();
            return detail::cuda_failure("cudaMalloc", e);
        }
        out = added;
        return {};
    }

private:
    /// Whom a block belongs to.
    struct user {
        int device = 0;
        cudaStream_t stream = nullptr;
        std::thread::id thread = {};

        bool operator==(const user&) const = default;
    };
    struct block {
        user owner;
        workspace space;
    };

    std::mutex mutex_;
    std::vector<block> blocks_; // a user's last one is its current one
};

} // namespace kq::inline KQ_ABI

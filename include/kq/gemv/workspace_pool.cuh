// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/workspace.hpp>
#include <kq/launch/failure.cuh>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <memory>
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
/// device, which grows and never shrinks, and one for each captured graph.
///
/// `reserve` may be called by any thread and while a stream is captured: the allocation happens
/// then and there and is no part of the graph. What it gives for a stream that is being captured
/// belongs to that capture, and there to that stream: no other graph uses it, nor does work outside
/// of graphs. So graphs captured on one stream may replay on several at once, beside other work on
/// that stream. Call it inside the capture: what was reserved before is the stream's. (One graph
/// that is instantiated twice still has one workspace.)
///
/// Each captured graph therefore costs the workspace of its largest product. Its blocks return to
/// the pool, for later captures, when the graph and all that was instantiated from it are destroyed
/// and have completed, which CUDA tells the pool some time later.
///
/// Outgrown blocks live as long as the pool, so that captured graphs keep valid pointers; blocks at
/// least double, so that all of a stream's outgrown ones together are smaller than its current one.
/// Threads that launch on one stream share its workspace and must not put their launches between
/// another's `quantize` and `multiply`.
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

    /// The workspace of `stream` on the current device, or of the capture that `stream` is in, at
    /// least `bytes` long: the same as before where that is long enough. `out` is the whole of it;
    /// null where `bytes` is 0 and there is none yet.
    ///
    /// Errors: the CUDA error of the allocation, or of asking whether `stream` is being captured,
    /// such as cudaErrorStreamCaptureImplicit for the legacy stream while a blocking one is. `out`
    /// is unchanged then.
    status reserve(cudaStream_t stream, size_t bytes, workspace& out) {
        user own{.stream = stream};
        if (const cudaError_t e = cudaGetDevice(&own.device); e != cudaSuccess) {
            return detail::cuda_failure("cudaGetDevice", e);
        }
        cudaGraph_t graph = nullptr;
        if (const status s = find_capture(stream, own.capture, graph); !s.ok()) {
            return s;
        }
        // These handles name another stream in each thread; null where the build says so.
        if (stream == nullptr || stream == cudaStreamPerThread) {
            own.thread = std::this_thread::get_id();
        }

        const std::lock_guard lock(mutex_);
        const auto newest = std::find_if(blocks_.rbegin(), blocks_.rend(), [&](const block& b) {
            return b.owner == own && (own.capture == 0 || b.is_lent());
        });
        const workspace current = newest == blocks_.rend() ? workspace{} : newest->space;
        if (bytes <= current.bytes) {
            out = current;
            return {};
        }
        const size_t grown = (std::max)(bytes, 2 * current.bytes);
        if (own.capture == 0) {
            return allocate(own, grown, out);
        }
        workspace added;
        if (!take_back(own, grown)) {
            if (const status s = allocate(own, grown, added); !s.ok()) {
                return s;
            }
        }
        if (const status s = lend(blocks_.back(), graph); !s.ok()) {
            return s;
        }
        out = blocks_.back().space;
        return {};
    }

private:
    /// Whom a block belongs to.
    struct user {
        int device = 0;
        cudaStream_t stream = nullptr;
        std::thread::id thread = {};
        unsigned long long capture = 0; // its id, which no other capture has; 0: none

        bool operator==(const user&) const = default;
    };
    using flag = std::shared_ptr<std::atomic<bool>>;
    struct block {
        user owner;
        workspace space;
        flag lent = {}; // to a graph that is still there; null: never to one

        bool is_lent() const { return lent && *lent; }
    };

    /// The id and the graph of the capture that `stream` is in; 0 and null where it is in none.
    static status find_capture(cudaStream_t stream, unsigned long long& id, cudaGraph_t& graph) {
        cudaStreamCaptureStatus state = cudaStreamCaptureStatusNone;
        unsigned long long active = 0;
#if CUDART_VERSION < 13000
        cudaError_t e = cudaStreamGetCaptureInfo_v2(stream, &state, &active, &graph);
#else
        cudaError_t e = cudaStreamGetCaptureInfo(stream, &state, &active, &graph);
#endif
        if (e == cudaSuccess && state == cudaStreamCaptureStatusInvalidated) {
            e = cudaErrorStreamCaptureInvalidated;
        }
        if (e != cudaSuccess) {
            return detail::cuda_failure("cudaStreamGetCaptureInfo", e);
        }
        const bool captured = state == cudaStreamCaptureStatusActive;
        id = captured ? active : 0;
        graph = captured ? graph : nullptr;
        return {};
    }

    /// Adds a block of `bytes` for `own`, as the last one.
    status allocate(const user& own, size_t bytes, workspace& out) {
        blocks_.push_back({own, {nullptr, bytes}}); // first, because it may throw
        workspace& added = blocks_.back().space;
        const detail::relaxed_capture relaxed;
        if (const cudaError_t e = cudaMalloc(&added.data, bytes); e != cudaSuccess) {
            blocks_.pop_back();
            return detail::cuda_failure("cudaMalloc", e);
        }
        out = added;
        return {};
    }

    /// Gives `own` a block of a graph that is gone, as the last one, where one is long enough.
    bool take_back(const user& own, size_t bytes) {
        const auto b = std::find_if(blocks_.begin(), blocks_.end(), [&](const block& c) {
            return c.owner.capture != 0 && !c.is_lent() && c.owner.device == own.device &&
                   c.space.bytes >= bytes;
        });
        if (b == blocks_.end()) {
            return false;
        }
        std::rotate(b, b + 1, blocks_.end());
        blocks_.back().owner = own;
        return true;
    }

    /// Lets `graph`, and what is instantiated from it, keep `b` until they are destroyed.
    static status lend(block& b, cudaGraph_t graph) {
        b.lent = std::make_shared<std::atomic<bool>>(true);
        auto kept = std::make_unique<flag>(b.lent);
        const auto give_back = [](void* p) {
            const std::unique_ptr<flag> lent(static_cast<flag*>(p));
            **lent = false;
        };
        cudaUserObject_t object = nullptr;
        if (const cudaError_t e = cudaUserObjectCreate(&object, kept.get(), give_back, 1,
                                                       cudaUserObjectNoDestructorSync);
            e != cudaSuccess) {
            *b.lent = false;
            return detail::cuda_failure("cudaUserObjectCreate", e);
        }
        (void)kept.release(); // give_back's from now on
        if (const cudaError_t e =
                cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove);
            e != cudaSuccess) {
            (void)cudaUserObjectRelease(object, 1);
            return detail::cuda_failure("cudaGraphRetainUserObject", e);
        }
        return {};
    }

    std::mutex mutex_;
    std::vector<block> blocks_; // a user's last one is its current one
};

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "gpu/products.hpp"

#include <kq/core/check.hpp>
#include <kq/gemv/workspace_pool.cuh>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

class stream {
public:
    stream() { gpu::check(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "stream"); }
    ~stream() { cudaStreamDestroy(handle_); }
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;

    operator cudaStream_t() const { return handle_; }
    void synchronize() const { gpu::check(cudaStreamSynchronize(handle_), "synchronize"); }

private:
    cudaStream_t handle_ = nullptr;
};

kq::workspace reserve(kq::workspace_pool& pool, cudaStream_t on, size_t bytes) {
    kq::workspace space;
    kq::check(pool.reserve(on, bytes, space));
    return space;
}

/// Whether each of the workspace's bytes is `value`.
bool holds(kq::workspace space, unsigned char value) {
    std::vector<unsigned char> bytes(space.bytes);
    gpu::check(cudaMemcpy(bytes.data(), space.data, space.bytes, cudaMemcpyDeviceToHost), "copy");
    return std::all_of(bytes.begin(), bytes.end(), [&](unsigned char b) { return b == value; });
}

void fill(kq::workspace space, unsigned char value, cudaStream_t on) {
    gpu::check(cudaMemsetAsync(space.data, value, space.bytes, on), "fill");
}

/// What `record` launches on `on`, as a graph, captured under the strictest mode.
cudaGraphExec_t capture(cudaStream_t on, const std::function<void()>& record) {
    gpu::check(cudaStreamBeginCapture(on, cudaStreamCaptureModeGlobal), "begin capture");
    record();
    cudaGraph_t graph = nullptr;
    gpu::check(cudaStreamEndCapture(on, &graph), "end capture");
    cudaGraphExec_t replayed = nullptr;
    gpu::check(cudaGraphInstantiate(&replayed, graph, 0), "instantiate");
    gpu::check(cudaGraphDestroy(graph), "destroy");
    return replayed;
}

void run_in_threads(int count, const std::function<void(int)>& body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
        threads.emplace_back(body, i);
    }
    for (std::thread& t : threads) {
        t.join();
    }
}

} // namespace

TEST_CASE("a workspace that is long enough is given again") {
    const stream s;
    kq::workspace_pool pool;
    const kq::workspace first = reserve(pool, s, 1000);
    REQUIRE(first.data != nullptr);
    CHECK(first.bytes >= 1000);
    CHECK(reinterpret_cast<uintptr_t>(first.data) % 16 == 0);
    for (const size_t bytes : {1000, 1, 0, 999}) {
        const kq::workspace again = reserve(pool, s, bytes);
        CHECK(again.data == first.data);
        CHECK(again.bytes == first.bytes);
    }
}

TEST_CASE("zero bytes allocate nothing") {
    kq::workspace_pool pool;
    const kq::workspace space = reserve(pool, nullptr, 0);
    CHECK(space.data == nullptr);
    CHECK(space.bytes == 0);
}

TEST_CASE("a workspace that grows step by step moves a few times only") {
    const stream s;
    kq::workspace_pool pool;
    std::set<void*> blocks;
    for (size_t bytes = 256; bytes <= 256 * 1024; bytes += 256) {
        const kq::workspace space = reserve(pool, s, bytes);
        CHECK(space.bytes >= bytes);
        blocks.insert(space.data);
    }
    CHECK(blocks.size() == 11); // 256 bytes and ten doublings
}

TEST_CASE("a workspace that grows within a capture keeps the outgrown block for the graph") {
    const stream s;
    kq::workspace_pool pool;
    kq::workspace old;
    kq::workspace grown;
    const cudaGraphExec_t graph = capture(s, [&] {
        old = reserve(pool, s, 4096); // allocates during the capture
        fill(old, 0x5a, s);
        grown = reserve(pool, s, 10000);
        fill(grown, 0x11, s);
    });
    CHECK(grown.data != old.data);
    fill(old, 0, s);
    fill(grown, 0, s);
    gpu::check(cudaGraphLaunch(graph, s), "replay");
    s.synchronize();
    CHECK(holds(old, 0x5a));
    CHECK(holds(grown, 0x11));
    gpu::check(cudaGraphExecDestroy(graph), "destroy");
}

TEST_CASE("a capture gets one workspace, which no other capture and no eager work gets") {
    const stream s;
    kq::workspace_pool pool;
    const kq::workspace eager = reserve(pool, s, 4096);
    std::set<void*> blocks = {eager.data};
    std::vector<cudaGraphExec_t> graphs;
    for (int i = 0; i < 3; ++i) {
        graphs.push_back(capture(s, [&] {
            const kq::workspace own = reserve(pool, s, 4096);
            fill(own, 1, s);
            for (const size_t bytes : {4096, 1, 0}) {
                CHECK(reserve(pool, s, bytes).data == own.data);
            }
            blocks.insert(own.data);
        }));
        CHECK(reserve(pool, s, 4096).data == eager.data);
    }
    CHECK(blocks.size() == 4);
    for (const cudaGraphExec_t graph : graphs) {
        gpu::check(cudaGraphExecDestroy(graph), "destroy");
    }
}

TEST_CASE("streams that one capture joins have workspaces of their own") {
    const stream origin;
    const stream joined;
    kq::workspace_pool pool;
    cudaEvent_t event = nullptr;
    gpu::check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
    kq::workspace a;
    kq::workspace b;
    const cudaGraphExec_t graph = capture(origin, [&] {
        a = reserve(pool, origin, 4096);
        gpu::check(cudaEventRecord(event, origin), "record");
        gpu::check(cudaStreamWaitEvent(joined, event, 0), "wait");
        b = reserve(pool, joined, 4096);
        fill(a, 1, origin);
        fill(b, 2, joined);
        gpu::check(cudaEventRecord(event, joined), "record");
        gpu::check(cudaStreamWaitEvent(origin, event, 0), "wait");
    });
    CHECK(a.data != b.data);
    CHECK(reserve(pool, joined, 4096).data != b.data);
    gpu::check(cudaGraphExecDestroy(graph), "destroy");
    gpu::check(cudaEventDestroy(event), "destroy");
}

TEST_CASE("the blocks of destroyed graphs serve later captures") {
    constexpr int captures = 50;
    const stream s;
    kq::workspace_pool pool;
    const void* eager = reserve(pool, s, 4096).data;
    std::set<void*> blocks;
    for (int i = 0; i < captures; ++i) {
        const cudaGraphExec_t graph = capture(s, [&] {
            const kq::workspace own = reserve(pool, s, 4096);
            fill(own, 1, s);
            blocks.insert(own.data);
        });
        gpu::check(cudaGraphLaunch(graph, s), "replay");
        s.synchronize();
        gpu::check(cudaGraphExecDestroy(graph), "destroy");
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // CUDA tells the pool later
    }
    CHECK(blocks.size() < captures / 2);
    CHECK(blocks.count(const_cast<void*>(eager)) == 0);
}

TEST_CASE("graphs captured on one stream replay on several at once, beside eager work on it") {
    using E = kq::q4_k;
    using gemv = instances::gemv<E>;
    constexpr int64_t n = 512, k = 2048;
    constexpr int graphs = 2;
    const auto facts = gpu::device();
    const auto weights = samples::random_weights<E>(n, k, 1);
    const gpu::buffer w(weights, gpu::placement::exact);
    const stream captured;
    kq::workspace_pool pool;
    // Replayed on a stream each; the last one is not captured.
    const stream streams[graphs];
    std::vector<std::vector<float>> inputs;
    std::vector<std::unique_ptr<gpu::buffer>> x;
    std::vector<std::unique_ptr<gpu::output>> y;
    const auto launch = [&](int i) {
        const kq::dense_arguments a{.weights = w.data(),
                                    .activation = x[i]->as<const float>(),
                                    .output = y[i]->data(),
                                    .n = n,
                                    .k = k};
        const kq::workspace space = reserve(pool, captured, gemv::workspace_bytes(a));
        kq::check(gemv::quantize(a, space, captured, facts));
        // So long that every quantizer has run before the first product.
        const auto wait = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
        gpu::check(cudaLaunchHostFunc(captured, wait, nullptr), "wait");
        kq::check(gemv::multiply(a, space, captured, facts));
    };
    std::vector<cudaGraphExec_t> replayed;
    for (int i = 0; i <= graphs; ++i) {
        inputs.push_back(samples::gaussian(k, static_cast<uint64_t>(100 + i)));
        x.push_back(std::make_unique<gpu::buffer>(inputs.back(), gpu::placement::exact));
        y.push_back(std::make_unique<gpu::output>(n));
        if (i < graphs) {
            replayed.push_back(capture(captured, [&] { launch(i); }));
        }
    }
    gpu::check(cudaDeviceSynchronize(), "synchronize");
    for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < graphs; ++i) {
            gpu::check(cudaGraphLaunch(replayed[i], streams[i]), "replay");
        }
        launch(graphs);
        gpu::check(cudaDeviceSynchronize(), "synchronize");
        for (int i = 0; i <= graphs; ++i) {
            INFO("round " << round << ", product " << i);
            CHECK(y[i]->holds(gpu::host_product<E>(weights.data(), inputs[i].data(), n, k)));
        }
    }
    for (const cudaGraphExec_t graph : replayed) {
        gpu::check(cudaGraphExecDestroy(graph), "destroy");
    }
}

TEST_CASE("a thread may reserve and destroy while another one captures") {
    const stream captured;
    const stream other;
    kq::workspace_pool pool;
    const kq::workspace space = reserve(pool, captured, 512);
    kq::status outcome;
    const cudaGraphExec_t graph = capture(captured, [&] {
        fill(space, 0x77, captured);
        std::thread([&] {
            kq::workspace_pool own;
            kq::workspace unused;
            outcome = own.reserve(other, 512, unused);
        }).join();
    });
    CHECK(kq::message(outcome) == "ok");
    gpu::check(cudaGraphLaunch(graph, captured), "replay");
    captured.synchronize();
    CHECK(holds(space, 0x77));
    gpu::check(cudaGraphExecDestroy(graph), "destroy");
}

TEST_CASE("streams have workspaces of their own") {
    const stream a;
    const stream b;
    kq::workspace_pool pool;
    std::set<void*> blocks;
    const std::vector<cudaStream_t> streams = {a, b, nullptr, cudaStreamLegacy,
                                               cudaStreamPerThread};
    for (const cudaStream_t s : streams) {
        blocks.insert(reserve(pool, s, 100).data);
    }
    CHECK(blocks.size() == streams.size());
    const void* of_a = reserve(pool, a, 100).data;
    reserve(pool, b, 100000);
    CHECK(reserve(pool, a, 100).data == of_a);
}

TEST_CASE("each thread has a workspace for its per-thread default stream") {
    kq::workspace_pool pool;
    const kq::workspace own = reserve(pool, cudaStreamPerThread, 64);
    kq::workspace other;
    kq::status outcome;
    run_in_threads(1, [&](int) { outcome = pool.reserve(cudaStreamPerThread, 64, other); });
    CHECK(kq::message(outcome) == "ok");
    CHECK(other.data != own.data);
    CHECK(reserve(pool, cudaStreamPerThread, 64).data == own.data);
}

TEST_CASE("threads reserve on streams of their own at once") {
    constexpr int threads = 8;
    const stream streams[threads];
    kq::workspace_pool pool;
    std::vector<kq::workspace> spaces(threads);
    std::vector<std::string> messages(threads, "ok");
    run_in_threads(threads, [&](int i) {
        for (size_t bytes = 64; bytes <= 64 * 1024; bytes += 64) {
            const kq::status s = pool.reserve(streams[i], bytes, spaces[i]);
            if (!s.ok() || spaces[i].bytes < bytes ||
                cudaMemsetAsync(spaces[i].data, i + 1, spaces[i].bytes, streams[i]) !=
                    cudaSuccess) {
                messages[i] = "at " + std::to_string(bytes) + ": " + kq::message(s);
                return;
            }
        }
    });
    gpu::check(cudaDeviceSynchronize(), "synchronize");
    for (int i = 0; i < threads; ++i) {
        INFO("thread " << i);
        CHECK(messages[i] == "ok");
        CHECK(holds(spaces[i], static_cast<unsigned char>(i + 1)));
    }
}

TEST_CASE("threads that share a stream share its workspace") {
    constexpr int threads = 8;
    const stream s;
    kq::workspace_pool pool;
    std::vector<kq::workspace> spaces(threads);
    std::vector<kq::status> outcomes(threads);
    run_in_threads(threads, [&](int i) { outcomes[i] = pool.reserve(s, 5000, spaces[i]); });
    for (int i = 0; i < threads; ++i) {
        CHECK(kq::message(outcomes[i]) == "ok");
        CHECK(spaces[i].data == spaces[0].data);
    }
}

TEST_CASE("a refused allocation changes nothing and is reported once", "[error]") {
    const stream s;
    kq::workspace_pool pool;
    const kq::workspace before = reserve(pool, s, 2000);
    kq::workspace space = before;
    const kq::status refused = pool.reserve(s, size_t{1} << 60, space);
    CHECK(refused.code() == kq::error::cuda);
    CHECK(kq::message(refused) == "cudaMalloc: cudaErrorMemoryAllocation");
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(space.data == before.data);
    CHECK(space.bytes == before.bytes);
    CHECK(reserve(pool, s, 2000).data == before.data);
    CHECK(reserve(pool, s, 20000).bytes >= 20000);
}

// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "gpu/products.hpp"

#include <array>
#include <atomic>
#include <thread>

using gpu::buffer;
using gpu::placement;

namespace {

using E = kq::q4_k;
using gemv = instances::gemv<E>;
constexpr int64_t n = 513, k = 2048;

/// A product with memory of its own, many times on one stream.
class lane_of_work {
public:
    explicit lane_of_work(uint64_t seed)
        : w_(samples::random_weights<E>(n, k, seed)),
          x_(samples::gaussian(k, seed + 100)),
          weights_(w_, placement::exact),
          activation_(x_, placement::exact),
          output_(n),
          space_(gemv::workspace_bytes(arguments()), placement::exact) {}

    kq::status launch(cudaStream_t stream, const kq::device_facts& facts) const {
        return gemv::launch(arguments(), {space_.data(), space_.bytes()}, stream, facts);
    }
    bool is_right() const {
        return output_.holds(gpu::host_product<E>(w_.data(), x_.data(), n, k));
    }

private:
    kq::dense_arguments arguments() const {
        return {.weights = weights_.data(),
                .activation = activation_.as<const float>(),
                .output = output_.data(),
                .n = n,
                .k = k};
    }

    std::vector<E::block> w_;
    std::vector<float> x_;
    buffer weights_;
    buffer activation_;
    gpu::output output_;
    buffer space_;
};

} // namespace

TEST_CASE("products on several streams at once, each with its workspace, give the host's bits") {
    constexpr int count = 6;
    std::vector<std::unique_ptr<lane_of_work>> work;
    std::array<cudaStream_t, count> streams{};
    for (int i = 0; i < count; ++i) {
        work.push_back(std::make_unique<lane_of_work>(i));
        gpu::check(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking), "create stream");
    }
    gpu::check(cudaDeviceSynchronize(), "synchronize"); // the inputs came by the default stream
    const auto facts = gpu::device();
    for (int round = 0; round < 50; ++round) {
        for (int i = 0; i < count; ++i) {
            kq::check(work[i]->launch(streams[i], facts));
        }
    }
    gpu::check(cudaDeviceSynchronize(), "synchronize");
    for (int i = 0; i < count; ++i) {
        CHECK(work[i]->is_right());
        gpu::check(cudaStreamDestroy(streams[i]), "destroy stream");
    }
}

TEST_CASE("threads that launch on their per-thread default stream get the host's bits") {
    constexpr int count = 4;
    std::vector<std::unique_ptr<lane_of_work>> work;
    for (int i = 0; i < count; ++i) {
        work.push_back(std::make_unique<lane_of_work>(10 + i));
    }
    gpu::check(cudaDeviceSynchronize(), "synchronize");
    std::atomic<int> failures = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
        threads.emplace_back([&, i] {
            kq::device_facts facts;
            failures += !instances::query_device(facts).ok();
            for (int round = 0; round < 50; ++round) {
                failures += !work[i]->launch(cudaStreamPerThread, facts).ok();
            }
            failures += cudaStreamSynchronize(cudaStreamPerThread) != cudaSuccess;
        });
    }
    for (std::thread& t : threads) {
        t.join();
    }
    CHECK(failures == 0);
    for (const auto& w : work) {
        CHECK(w->is_right());
    }
}

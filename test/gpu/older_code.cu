// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "gpu/late_producer.hpp"
#include "gpu/memory.hpp"
#include "samples.hpp"

#include <kq/core/check.hpp>
#include <kq/dot/all.hpp>
#include <kq/gemv/gemv.cuh>
#include <kq/gemv/host_model.hpp>

// This file is compiled for compute capability 8.0 alone, an executable of its own: on a device
// above, the driver compiles that code, which has neither bulk copies nor waits for predecessors.

TEST_CASE("code for compute capability 8.0 gives the same bits on devices above, in dependent "
          "launches too") {
    using E = kq::q4_k;
    using gemv = kq::gemv<E>;
    using gpu::buffer;
    using gpu::placement;
    constexpr int n = 517, k = 2048;
    const auto w = samples::random_weights<E>(n, k, 1);
    const buffer weights(w, placement::exact);
    const buffer activation(size_t{k} * 4, placement::exact), y(size_t{n} * 4, placement::exact);
    const buffer space(gemv::workspace_bytes({.n = n, .k = k}), placement::exact);
    kq::device_facts device;
    kq::check(kq::query_device(device));
    cudaStream_t stream = nullptr;
    gpu::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "create stream");
    for (int link = 0; link < 10; ++link) {
        const auto x = samples::gaussian(k, 10 + link);
        const buffer source(x, placement::exact);
        std::vector<float> expected(n);
        kq::check(kq::host_model<E>::launch({.weights = w.data(),
                                             .activation = x.data(),
                                             .output = expected.data(),
                                             .n = n,
                                             .k = k}));
        gpu::check(cudaDeviceSynchronize(), "synchronize");
        gpu::produce_late(activation.as<float>(), source.as<const float>(), k, stream);
        kq::check(gemv::launch({.weights = weights.data(),
                                .activation = activation.as<const float>(),
                                .output = y.as<float>(),
                                .n = n,
                                .k = k},
                               {space.data(), space.bytes()}, stream, device,
                               {.dependent = true, .early_weights = true}));
        gpu::check(cudaStreamSynchronize(stream), "synchronize");
        CHECK(y.download<float>() == expected);
    }
    gpu::check(cudaStreamDestroy(stream), "destroy stream");
}

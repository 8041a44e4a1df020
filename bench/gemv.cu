// SPDX-License-Identifier: Apache-2.0

// The product alone and with its quantizer, every encoding and shape, weights cold. Time is GPU
// time by events over a CUDA graph of launches.

#include "instances/instances.hpp"
#include "timing.cuh"

#include <benchmark/benchmark.h>

#include <string>

namespace {

struct shape {
    int64_t n;
    int64_t k;
};
constexpr shape shapes[] = {{4096, 4096}, {14336, 4096}, {4096, 14336}, {129280, 7168}};

/// Hashed noise, a word an index.
__device__ uint32_t noise(size_t i) {
    uint64_t x = i * 0x9e3779b97f4a7c15u + 1;
    x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 29) * 0x94d049bb133111ebu;
    return static_cast<uint32_t>(x >> 32);
}

__global__ void fill_noise(uint32_t* words, size_t count) {
    const size_t step = size_t{gridDim.x} * blockDim.x;
    for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
        words[i] = noise(i);
    }
}

__global__ void fill_activation(float* x, size_t count) {
    const size_t step = size_t{gridDim.x} * blockDim.x;
    for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
        x[i] = static_cast<int>(noise(i)) * 0x1p-31f;
    }
}

/// Makes the f16 scales of noise blocks finite and small.
template <class Encoding>
__global__ void fix_scales(typename Encoding::block* blocks, size_t count) {
    const size_t step = size_t{gridDim.x} * blockDim.x;
    for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
        blocks[i].d.bits = 0x1400 + blocks[i].d.bits % 0x800;
        if constexpr (requires { blocks[i].dmin; }) {
            blocks[i].dmin.bits = 0x1400 + blocks[i].dmin.bits % 0x800;
        }
    }
}

constexpr size_t pool_bytes = size_t{1200} << 20;

template <class Encoding>
const bench::device_buffer& weight_pool() {
    static const bench::device_buffer pool(pool_bytes);
    static const bool filled = [] {
        fill_noise<<<1024, 256>>>(reinterpret_cast<uint32_t*>(pool.get()), pool_bytes / 4);
        fix_scales<Encoding><<<1024, 256>>>(reinterpret_cast<typename Encoding::block*>(pool.get()),
                                            pool_bytes / sizeof(typename Encoding::block));
        bench::check(cudaDeviceSynchronize(), "fill");
        return true;
    }();
    (void)filled;
    return pool;
}

template <class Encoding, kq::policy Policy>
void run(benchmark::State& state, shape s, int64_t m, bool quantize) {
    using gemv = instances::gemv<Encoding, Policy>;
    const size_t bytes =
        size_t(s.n) * (s.k / Encoding::elements) * sizeof(typename Encoding::block);
    const size_t pitch = (bytes + 255) / 256 * 256; // every copy as aligned as an allocation
    const int copies = static_cast<int>(
        std::max<size_t>(1, std::min(pool_bytes / pitch, (size_t{300} << 20) / pitch + 1)));
    const int launches =
        bytes > (size_t{200} << 20)
            ? 2
            : std::max<int>(copies, std::min<size_t>(80, (size_t{600} << 20) / bytes));
    const bench::device_buffer& pool = weight_pool<Encoding>();
    const bench::device_buffer x(s.k * m * 4);
    const bench::device_buffer y(s.n * m * 4);
    fill_activation<<<64, 256>>>(reinterpret_cast<float*>(x.get()), s.k * m);
    cudaStream_t stream = nullptr;
    bench::check(cudaStreamCreate(&stream), "create stream");
    kq::device_facts device;
    kq::check(instances::query_device(device));
    kq::dense_arguments a{.activation = reinterpret_cast<const float*>(x.get()),
                          .output = reinterpret_cast<float*>(y.get()),
                          .n = s.n,
                          .k = s.k,
                          .m = m};
    const size_t workspace_bytes = gemv::workspace_bytes(a);
    const bench::device_buffer space(workspace_bytes);
    for (auto _ : state) {
        const auto time = bench::time_launches(launches, 9, stream, [&](int i, cudaStream_t on) {
            a.weights = pool.get() + size_t(i % copies) * pitch;
            if (quantize) {
                kq::check(gemv::quantize(a, {space.get(), workspace_bytes}, on, device));
            }
            kq::check(gemv::multiply(a, {space.get(), workspace_bytes}, on, device));
        });
        state.SetIterationTime(time.median);
        state.counters["us"] = time.median * 1e6;
        state.counters["us_q1"] = time.lower_quartile * 1e6;
        state.counters["us_q3"] = time.upper_quartile * 1e6;
        state.counters["GB/s"] = bytes / time.median * 1e-9;
    }
    bench::check(cudaStreamDestroy(stream), "destroy stream");
}

template <class Encoding>
void enlist() {
    const auto add = [](const char* policy, auto body, shape s, bool quantize) {
        const std::string name = std::string(kq::name_of(Encoding::id)) + "/" +
                                 std::to_string(s.n) + "x" + std::to_string(s.k) + "/" + policy +
                                 (quantize ? "/quantize+multiply" : "/multiply");
        benchmark::RegisterBenchmark(name.c_str(),
                                     [=](benchmark::State& state) { body(state, s, 1, quantize); })
            ->UseManualTime()
            ->Iterations(1);
    };
    for (const shape s : shapes) {
        add("bulk", run<Encoding, instances::bulk>, s, false);
        add("bulk", run<Encoding, instances::bulk>, s, true);
        add("direct", run<Encoding, instances::direct>, s, false);
    }
}

template <class... Encodings>
void enlist_all(kq::type_list<Encodings...>) {
    (enlist<Encodings>(), ...);
}

} // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::fputs("gemv benchmark: there is no GPU here\n", stderr);
        return 77;
    }
    enlist_all(kq::encodings{});
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}

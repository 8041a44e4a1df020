// SPDX-License-Identifier: Apache-2.0

// What a tuned launch costs on the host before the driver gets it: choosing the policy, all checks,
// both plans and both kernels' arguments. Needs no GPU.

#include <kq/core/check.hpp>
#include <kq/dot/q4_k.hpp>
#include <kq/gemv/gemv.cuh>
#include <kq/gemv/mapping/experts.hpp>
#include <kq/gemv/policy/tuning/tuned.hpp>

#include <benchmark/benchmark.h>

#include <string>

namespace {

constexpr kq::device_facts h200{
    .compute_capability = 90, .multiprocessors = 132, .shared_bytes_per_block = 232448};

// Nobody reads what pointers point at.
alignas(256) unsigned char memory[256];

template <template <int> class Mapping, class Epilogue>
struct subject {
    using gemv = kq::gemv<kq::q4_k, kq::tuned, Mapping, Epilogue>;
    using product = typename gemv::product;
    using image = typename gemv::image;
    using arguments = typename gemv::arguments;

    /// What `gemv::launch` does, without the calls of the CUDA runtime.
    static kq::status prepare(const arguments& a, kq::workspace space,
                              const kq::device_facts& device, kq::launch_options options) {
        kq::launch_plan plan;
        if (const kq::status s = gemv::describe(a, device, plan, options); !s.ok()) {
            return s;
        }
        if (const kq::status s = kq::check_pointers<product>(a, plan.sizes, space); !s.ok()) {
            return s;
        }
        auto quantization =
            kq::quantizer_plan<image>::template parameters<float>(plan.sizes.activation, {{space}});
        kq::launch_shape shape =
            kq::plan_quantizer<kq::quantizer_policy::warp_per_block, image>(quantization);
        auto parameters = kq::bind<product>(a, plan, space);
        benchmark::DoNotOptimize(quantization);
        benchmark::DoNotOptimize(shape);
        benchmark::DoNotOptimize(parameters);
        return {};
    }

    static void time_launch(benchmark::State& state, arguments a) {
        kq::workspace space{memory, gemv::workspace_bytes(a)};
        kq::device_facts device = h200;
        kq::launch_options options;
        kq::check(prepare(a, space, device, options));
        for (auto _ : state) {
            benchmark::DoNotOptimize(a);
            benchmark::DoNotOptimize(space);
            benchmark::DoNotOptimize(device);
            benchmark::DoNotOptimize(options);
            kq::status done = prepare(a, space, device, options);
            benchmark::DoNotOptimize(done);
        }
    }

    static void time_choice(benchmark::State& state, arguments a) {
        kq::device_facts device = h200;
        for (auto _ : state) {
            benchmark::DoNotOptimize(a);
            benchmark::DoNotOptimize(device);
            kq::policy chosen = gemv::choose(a, device);
            benchmark::DoNotOptimize(chosen);
        }
    }

    static void add(const std::string& name, const arguments& a) {
        benchmark::RegisterBenchmark(("launch/" + name).c_str(), time_launch, a);
        benchmark::RegisterBenchmark(("choose/" + name).c_str(), time_choice, a);
    }
};

kq::dense_arguments dense(int64_t m) {
    return {.weights = memory,
            .activation = reinterpret_cast<const float*>(memory),
            .output = reinterpret_cast<float*>(memory),
            .n = 4096,
            .k = 4096,
            .m = m};
}

/// One token and its 8 of 128 experts.
kq::experts_arguments experts() {
    return {.weights = memory,
            .up_weights = memory,
            .activation = reinterpret_cast<const float*>(memory),
            .output = reinterpret_cast<float*>(memory),
            .expert_ids = reinterpret_cast<const int32_t*>(memory),
            .experts = 128,
            .n = 768,
            .k = 2048,
            .slots = 8,
            .top_k = 8,
            .activation_rows = kq::slot_activation::per_token};
}

} // namespace

int main(int argc, char** argv) {
    using kq::epilogues::gated;
    using kq::epilogues::store;
    subject<kq::mappings::dense, store>::add("q4_k/dense/m1", dense(1));
    subject<kq::mappings::dense, store>::add("q4_k/dense/m4", dense(4));
    subject<kq::mappings::experts, gated>::add("q4_k/experts/gated/8of128", experts());
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
        return 1;
    }
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}

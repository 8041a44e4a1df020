// SPDX-License-Identifier: Apache-2.0

// Products of every encoding over the axes of a file, weights cold: kq with its measured policies,
// the baseline kernel, and how fast the same bytes can be read at all. Time is GPU time by events
// over a CUDA graph of launches.

#include "baseline.cuh"
#include "ceilings.cuh"
#include "inputs.cuh"
#include "instances/instances.hpp"

#include <kq/gemv/dispatch.hpp>

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>

namespace {

using instances::tuned;
using kq::epilogues::gated;
using kq::epilogues::store;
using kq::epilogues::weighted_sum;
using kq::mappings::dense;
using kq::mappings::experts;

struct shape {
    int64_t n;
    int64_t k;
    std::string name() const { return std::to_string(n) + "x" + std::to_string(k); }
};
struct expert_shape {
    int64_t experts;
    shape of;
    int64_t top_k;
    bool gpt_oss; ///< gate and up row by row in one tensor, biases, that model's gate function
    std::string name() const {
        return std::to_string(top_k) + "of" + std::to_string(experts) + "x" + of.name();
    }
};

/// What a launch of a benchmark does.
enum class work { multiply, quantize_and_multiply };

bench::weight_pool& pool() {
    static bench::weight_pool p;
    return p;
}

/// The pool, full of an encoding's blocks.
template <class Encoding>
const unsigned char* weights() {
    static kq::encoding filled{};
    static bool is_filled = false;
    if (!is_filled || filled != Encoding::id) {
        pool().fill<Encoding>();
        filled = Encoding::id;
        is_filled = true;
    }
    return pool().get();
}

template <class Encoding>
size_t matrix_bytes(shape s) {
    return static_cast<size_t>(s.n * (s.k / Encoding::elements)) * sizeof(typename Encoding::block);
}

const kq::device_facts& device() {
    static const kq::device_facts facts = [] {
        kq::device_facts f;
        kq::check(instances::query_device(f));
        return f;
    }();
    return facts;
}

constexpr int replays = 9;

/// The read ceiling for so many bytes, in seconds: the faster of plain loads and bulk copies, over
/// as many copies as a product has of them.
double ceiling(size_t bytes, bool dependent) {
    static std::map<std::pair<size_t, bool>, double> known;
    const auto key = std::pair(bytes, dependent);
    if (const auto at = known.find(key); at != known.end()) {
        return at->second;
    }
    const bench::copies over(bytes);
    double best = 1e9;
    for (const bool by_bulk : {false, true}) {
        const auto time =
            bench::time_launches(over.launches(), replays, [&](int i, cudaStream_t on) {
                bench::read_once(by_bulk, {pool().get() + over.at(i), bytes / 16 * 16, nullptr},
                                 dependent, on);
            });
        best = std::min(best, time.median);
    }
    return known[key] = best;
}

/// Times `launches` launches and reports them; `bytes`: of the weights that one of them reads.
template <class Launch>
void report(benchmark::State& state, size_t bytes, int launches, bool dependent, Launch&& launch) {
    const double limit = ceiling(bytes, dependent);
    for (auto _ : state) {
        const auto time = bench::time_launches(launches, replays, launch);
        state.SetIterationTime(time.median);
        state.counters["us"] = time.median * 1e6;
        state.counters["us_q1"] = time.lower_quartile * 1e6;
        state.counters["us_q3"] = time.upper_quartile * 1e6;
        state.counters["GB/s"] = static_cast<double>(bytes) / time.median * 1e-9;
        state.counters["ceiling_us"] = limit * 1e6;
        state.counters["%ceiling"] = 100 * limit / time.median;
    }
}

/// Device memory that a benchmark's launches share.
struct vectors {
    bench::device_buffer x, y;
    vectors(int64_t inputs, int64_t outputs)
        : x(static_cast<size_t>(inputs) * 4), y(static_cast<size_t>(outputs) * 4) {
        bench::fill_activation<<<64, 256, 0, bench::stream()>>>(reinterpret_cast<float*>(x.get()),
                                                                static_cast<size_t>(inputs));
    }
    const float* input() const { return reinterpret_cast<const float*>(x.get()); }
    float* output() const { return reinterpret_cast<float*>(y.get()); }
};

template <class Encoding>
void run_dense(benchmark::State& state, shape s, int64_t m, work what, bool dependent) {
    using gemv = instances::gemv<Encoding, tuned<Encoding>>;
    const unsigned char* pool = weights<Encoding>();
    const size_t bytes = matrix_bytes<Encoding>(s);
    const bench::copies over(bytes);
    const vectors v(s.k * m, s.n * m);
    kq::dense_arguments a{
        .activation = v.input(), .output = v.output(), .n = s.n, .k = s.k, .m = m};
    const bench::device_buffer space(gemv::workspace_bytes(a));
    const kq::workspace lent{space.get(), gemv::workspace_bytes(a)};
    const kq::launch_options options{.dependent = dependent, .early_weights = dependent};
    kq::launch_plan plan;
    kq::check(gemv::describe(a, device(), plan, options));
    state.SetLabel(kq::name_of(kq::with_method(plan.policy, plan.method)));
    kq::check(gemv::quantize(a, lent, bench::stream(), device()));
    report(state, bytes, over.launches(), dependent, [&](int i, cudaStream_t on) {
        a.weights = pool + over.at(i);
        kq::check(what == work::multiply ? gemv::multiply(a, lent, on, device(), options)
                                         : gemv::launch(a, lent, on, device(), options));
    });
}

template <class Encoding, class Epilogue>
void run_experts(benchmark::State& state, expert_shape e, work what, bool dependent) {
    using gemv = instances::gemv<Encoding, tuned<Encoding>, experts, Epilogue>;
    constexpr int sets = Epilogue::weight_sets;
    const unsigned char* pool = weights<Encoding>();
    const size_t matrix = matrix_bytes<Encoding>(e.of);
    const size_t bytes = matrix * static_cast<size_t>(e.top_k) * sets;
    const vectors v(e.of.k * e.top_k, e.of.n * e.top_k);
    const bench::expert_stacks over(matrix, sets, static_cast<int>(e.experts),
                                    static_cast<int>(e.top_k));
    const bench::device_buffer ids(bench::first_numbers(e.experts));
    const bool alternate = sets == 2 && e.gpt_oss;
    const auto row = matrix / static_cast<size_t>(e.of.n);
    const auto up = [&](const unsigned char* gate) {
        return sets == 1 ? nullptr : gate + (alternate ? row : over.set_bytes());
    };
    const vectors biases(e.gpt_oss ? e.experts * e.of.n : 0, 0);
    const float* bias = e.gpt_oss ? biases.input() : nullptr;
    kq::experts_arguments a{
        .weights = pool,
        .up_weights = up(pool),
        .activation = v.input(),
        .output = v.output(),
        .experts = e.experts,
        .n = e.of.n,
        .k = e.of.k,
        .slots = e.top_k,
        .top_k = e.top_k,
        .activation_rows =
            Epilogue::sums_terms ? kq::slot_activation::per_slot : kq::slot_activation::per_token,
        .weight_pitch = alternate ? static_cast<int64_t>(2 * row) : 0,
        .epilogue = {.bias = bias,
                     .up_bias = sets == 2 ? bias : nullptr,
                     .term_weights = Epilogue::sums_terms ? v.input() : nullptr}};
    if (alternate) {
        a.epilogue.gate = {kq::gate_function::silu_weighted, 1.702f, 1, 7};
    }
    const bench::device_buffer space(gemv::workspace_bytes(a));
    const kq::workspace lent{space.get(), gemv::workspace_bytes(a)};
    const kq::launch_options options{.dependent = dependent};
    kq::launch_plan plan;
    if (const kq::status s = gemv::describe(a, device(), plan, options); !s.ok()) {
        state.SkipWithError(kq::message(s).c_str());
        return;
    }
    state.SetLabel(kq::name_of(kq::with_method(plan.policy, plan.method)));
    a.expert_ids = reinterpret_cast<const int32_t*>(ids.get());
    kq::check(gemv::quantize(a, lent, bench::stream(), device()));
    report(state, bytes, over.launches(), dependent, [&](int i, cudaStream_t on) {
        a.weights = pool + over.at(i);
        a.up_weights = up(pool + over.at(i));
        a.expert_ids = reinterpret_cast<const int32_t*>(ids.get()) + over.first_expert(i);
        kq::check(what == work::multiply ? gemv::multiply(a, lent, on, device(), options)
                                         : gemv::launch(a, lent, on, device(), options));
    });
}

/// Gate and up in one launch with silu, then down, both with their quantizers.
template <class Encoding>
void run_feed_forward(benchmark::State& state, int64_t hidden, int64_t inner, bool dependent) {
    using first = instances::gemv<Encoding, tuned<Encoding>, dense, gated>;
    using second = instances::gemv<Encoding, tuned<Encoding>>;
    const unsigned char* pool = weights<Encoding>();
    const size_t matrix = matrix_bytes<Encoding>({inner, hidden});
    const size_t part = (matrix + 255) / 256 * 256;
    const bench::copies over(3 * part);
    const vectors v(hidden, hidden), between(inner, inner);
    kq::dense_arguments up{
        .activation = v.input(), .output = between.output(), .n = inner, .k = hidden};
    kq::dense_arguments down{
        .activation = between.output(), .output = v.output(), .n = hidden, .k = inner};
    const bench::device_buffer up_space(first::workspace_bytes(up));
    const bench::device_buffer down_space(second::workspace_bytes(down));
    const kq::launch_options options{.dependent = dependent, .early_weights = dependent};
    report(state, 3 * part, over.launches(), dependent, [&](int i, cudaStream_t on) {
        const unsigned char* w = pool + over.at(i);
        up.weights = w;
        up.up_weights = w + part;
        down.weights = w + 2 * part;
        kq::check(
            first::launch(up, {up_space.get(), first::workspace_bytes(up)}, on, device(), options));
        kq::check(second::launch(down, {down_space.get(), second::workspace_bytes(down)}, on,
                                 device(), options));
    });
}

template <class Encoding>
void run_baseline(benchmark::State& state, shape s) {
    const unsigned char* pool = weights<Encoding>();
    const size_t bytes = matrix_bytes<Encoding>(s);
    const bench::copies over(bytes);
    const vectors v(s.k, s.n);
    using gemv = instances::gemv<Encoding, tuned<Encoding>>;
    const kq::dense_arguments a{.activation = v.input(), .output = v.output(), .n = s.n, .k = s.k};
    const bench::device_buffer space(gemv::workspace_bytes(a));
    kq::check(
        gemv::quantize(a, {space.get(), gemv::workspace_bytes(a)}, bench::stream(), device()));
    constexpr int shared = kq::table_bytes<Encoding>;
    bench::check(cudaFuncSetAttribute(bench::baseline_kernel<Encoding>,
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
                 "cudaFuncSetAttribute");
    report(state, bytes, over.launches(), false, [&](int i, cudaStream_t on) {
        bench::baseline_kernel<Encoding><<<static_cast<unsigned>((s.n + 3) / 4), 128, shared, on>>>(
            pool + over.at(i), space.get(), v.output(), static_cast<int>(s.n),
            static_cast<int>(s.k / Encoding::elements));
        bench::check(cudaGetLastError(), "baseline_kernel");
    });
}

template <class Run>
void enlist(const std::string& name, Run run) {
    benchmark::RegisterBenchmark(name.c_str(), [run](benchmark::State& state) { run(state); })
        ->UseManualTime()
        ->Iterations(1);
}

template <class Encoding>
void enlist_encoding(const nlohmann::json& axes) {
    const std::string name = kq::name_of(Encoding::id);
    for (const auto& at : axes.at("shapes")) {
        const shape s{at.at(0), at.at(1)};
        const std::string here = name + "/" + s.name();
        for (const int64_t m : axes.at("batches")) {
            for (const bool dependent : {false, true}) {
                const std::string tail =
                    "/m" + std::to_string(m) + (dependent ? "/dependent" : "/plain");
                enlist(here + "/multiply" + tail, [=](benchmark::State& state) {
                    run_dense<Encoding>(state, s, m, work::multiply, dependent);
                });
                enlist(here + "/quantize+multiply" + tail, [=](benchmark::State& state) {
                    run_dense<Encoding>(state, s, m, work::quantize_and_multiply, dependent);
                });
            }
        }
        enlist(here + "/baseline/m1/plain",
               [=](benchmark::State& state) { run_baseline<Encoding>(state, s); });
    }
    for (const auto& at : axes.at("experts")) {
        const auto only = at.value("encodings", axes.at("encodings"));
        if (std::find(only.begin(), only.end(), name) == only.end()) {
            continue;
        }
        const expert_shape e{
            at.at("experts"), {at.at("n"), at.at("k")}, at.at("top_k"), at.value("gpt_oss", false)};
        const expert_shape back{
            e.experts, {e.of.k, e.of.n}, e.top_k, e.gpt_oss}; // down after gate and up
        for (const bool dependent : {false, true}) {
            const std::string tail = dependent ? "/dependent" : "/plain";
            for (const work what : {work::multiply, work::quantize_and_multiply}) {
                const std::string does =
                    what == work::multiply ? "/multiply" : "/quantize+multiply";
                const std::string here = name + "/" + e.name() + does;
                enlist(here + "/store" + tail, [=](benchmark::State& state) {
                    run_experts<Encoding, store>(state, e, what, dependent);
                });
                enlist(here + "/gated" + tail, [=](benchmark::State& state) {
                    run_experts<Encoding, gated>(state, e, what, dependent);
                });
                enlist(name + "/" + back.name() + does + "/sum" + tail,
                       [=](benchmark::State& state) {
                           run_experts<Encoding, weighted_sum>(state, back, what, dependent);
                       });
            }
        }
    }
    for (const auto& at : axes.at("feed_forward")) {
        const int64_t hidden = at.at("hidden"), inner = at.at("inner");
        for (const bool dependent : {false, true}) {
            enlist(name + "/" + std::to_string(hidden) + "-" + std::to_string(inner) +
                       "/feed_forward" + (dependent ? "/dependent" : "/plain"),
                   [=](benchmark::State& state) {
                       run_feed_forward<Encoding>(state, hidden, inner, dependent);
                   });
        }
    }
}

} // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    const char* path = argc > 1 ? argv[1] : "bench/axes.json";
    std::ifstream file(path);
    if (!file) {
        std::fprintf(stderr, "gemv_benchmark: cannot read %s\n", path);
        return 2;
    }
    const auto axes = nlohmann::json::parse(file);
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::fputs("gemv_benchmark: there is no GPU here\n", stderr);
        return 77;
    }
    bool all_found = true;
    [&]<class... Encodings>(kq::type_list<Encodings...>) {
        for (const std::string name : axes.at("encodings")) {
            bool found = false;
            ((name == kq::name_of(Encodings::id) ? (enlist_encoding<Encodings>(axes), found = true)
                                                 : false),
             ...);
            if (!found) {
                std::fprintf(stderr,
                             "gemv_benchmark: built without the measured policies of %s; preset "
                             "benchmarks has all\n",
                             name.c_str());
                all_found = false;
            }
        }
    }(instances::tuned_encodings{});
    if (!all_found) {
        return 2;
    }
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}

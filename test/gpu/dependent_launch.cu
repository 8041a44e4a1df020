// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "gpu/products.hpp"

#include <kq/launch/dependent.cuh>

#include <array>

// Chains in which every kernel lets the next one start at once, and in which a kernel that does not
// wait for its predecessors reads or overwrites what they still need.

using gpu::buffer;
using gpu::placement;

namespace {

constexpr unsigned late = 10000; ///< nanoseconds

/// Writes the activation late.
__global__ void produce(float* x, const float* source, int count) {
    kq::detail::let_dependents_start();
    kq::detail::wait_for_predecessors();
    __nanosleep(late);
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
        x[i] = source[i];
    }
}

/// Reads the output late, counts what is not as expected.
__global__ void consume(const float* y, const float* expected, int count, int* differences) {
    kq::detail::let_dependents_start();
    kq::detail::wait_for_predecessors();
    __nanosleep(late);
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
        if (__float_as_uint(y[i]) != __float_as_uint(expected[i])) {
            atomicAdd(differences, 1);
        }
    }
}

template <class... Parameters, class... Arguments>
void launch_dependent(void (*kernel)(Parameters...), cudaStream_t stream, Arguments... arguments) {
    cudaLaunchConfig_t launch{};
    launch.gridDim = dim3(1);
    launch.blockDim = dim3(256);
    launch.stream = stream;
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    launch.attrs = &attribute;
    launch.numAttrs = 1;
    gpu::check(cudaLaunchKernelEx(&launch, kernel, arguments...), "cudaLaunchKernelEx");
}

using E = kq::q4_k;
constexpr int n = 1031, k = 2048;

/// A chain of links produce, quantize, multiply, consume, over one activation and one output.
template <class Gemv>
class chain {
public:
    explicit chain(bool early_weights)
        : options_{.dependent = true, .early_weights = early_weights} {
        for (size_t i = 0; i < sources_.size(); ++i) {
            const auto x = samples::gaussian(k, 10 + i);
            sources_[i] = std::make_unique<buffer>(x, placement::exact);
            expected_[i] = std::make_unique<buffer>(gpu::host_product<E>(w_.data(), x.data(), n, k),
                                                    placement::exact);
        }
        gpu::check(cudaMemset(differences_.data(), 0, 4), "memset");
        gpu::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "create stream");
        gpu::check(cudaDeviceSynchronize(), "synchronize");
    }
    ~chain() { cudaStreamDestroy(stream_); }
    chain(const chain&) = delete;
    chain& operator=(const chain&) = delete;

    cudaStream_t stream() const { return stream_; }

    void link(int i) {
        const auto source = static_cast<size_t>(i) % sources_.size();
        launch_dependent(produce, stream_, activation_.as<float>(),
                         sources_[source]->template as<const float>(), k);
        kq::check(Gemv::launch({.weights = weights_.data(),
                                .activation = activation_.as<const float>(),
                                .output = output_.as<float>(),
                                .n = n,
                                .k = k},
                               {space_.data(), space_.bytes()}, stream_, facts_, options_));
        launch_dependent(consume, stream_, output_.as<const float>(),
                         expected_[source]->template as<const float>(), n, differences_.as<int>());
    }

    int differences() {
        gpu::check(cudaStreamSynchronize(stream_), "synchronize");
        return differences_.download<int>()[0];
    }

private:
    kq::launch_options options_;
    kq::device_facts facts_ = gpu::device();
    std::vector<E::block> w_ = samples::random_weights<E>(n, k, 1);
    std::array<std::unique_ptr<buffer>, 3> sources_, expected_;
    buffer weights_{w_, placement::exact};
    buffer activation_{k * 4, placement::exact};
    buffer output_{n * 4, placement::exact};
    buffer space_{Gemv::workspace_bytes({.n = n, .k = k}), placement::exact};
    buffer differences_{4, placement::exact};
    cudaStream_t stream_ = nullptr;
};

template <class Gemv>
void run_chains() {
    for (const bool early_weights : {false, true}) {
        INFO("early weights " << early_weights);
        chain<Gemv> c(early_weights);
        for (int i = 0; i < 1000; ++i) {
            c.link(i);
        }
        CHECK(c.differences() == 0);
    }
}

} // namespace

TEST_CASE("a thousand dependent launches read no activation that is still to be written and write "
          "no output that is still to be read",
          "[repeat]") {
    run_chains<instances::gemv<E, instances::bulk>>();
    run_chains<instances::gemv<E, instances::direct>>();
}

TEST_CASE("dependent launches keep their order in a replayed graph", "[repeat]") {
    chain<instances::gemv<E, instances::bulk>> c(true);
    gpu::check(cudaStreamBeginCapture(c.stream(), cudaStreamCaptureModeThreadLocal), "begin");
    for (int i = 0; i < 9; ++i) {
        c.link(i);
    }
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    gpu::check(cudaStreamEndCapture(c.stream(), &graph), "end capture");
    gpu::check(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
    for (int replay = 0; replay < 120; ++replay) {
        gpu::check(cudaGraphLaunch(executable, c.stream()), "launch graph");
    }
    CHECK(c.differences() == 0);
    gpu::check(cudaGraphExecDestroy(executable), "destroy graph");
    gpu::check(cudaGraphDestroy(graph), "destroy graph");
}

namespace {

void compare_dependent(const gpu::weights_type& type,
                       const instances::launcher<kq::experts_arguments>& grouped) {
    const int64_t rows = 37, columns = 3 * type.elements, experts = 3;
    const gpu::bytes w = type.random_weights(experts * rows, columns, 2);
    const auto x = samples::gaussian(columns, 3);
    const std::vector<int32_t> ids = {2, 0, 2, 7};
    const buffer weights(w, placement::before_hole), activation(x, placement::exact);
    const buffer device_ids(ids, placement::exact);
    const auto facts = gpu::device();
    const kq::launch_options options{.dependent = true};
    std::vector<float> expected;
    for (const int32_t id : ids) {
        const auto y = id < experts
                           ? gpu::host_product(type, w.data() + id * rows * type.row_bytes(columns),
                                               x.data(), rows, columns)
                           : std::vector<float>(rows, 0.0f);
        expected.insert(expected.end(), y.begin(), y.end());
    }
    const gpu::output y(4 * rows);
    kq::experts_arguments a{.weights = weights.data(),
                            .activation = activation.as<const float>(),
                            .output = y.data(),
                            .expert_ids = device_ids.as<const int32_t>(),
                            .experts = experts,
                            .n = rows,
                            .k = columns,
                            .slots = 4,
                            .activation_rows = kq::slot_activation::broadcast};
    const buffer space(grouped.workspace_bytes(a), placement::exact);
    const kq::workspace lent{space.data(), space.bytes()};
    kq::check(grouped.launch(a, lent, nullptr, facts, options));
    gpu::check(cudaDeviceSynchronize(), "synchronize");
    CHECK(y.holds(expected));
    // Ids come from a kernel: weights that they choose are never early.
    const kq::status refused =
        grouped.launch(a, lent, nullptr, facts, {.dependent = true, .early_weights = true});
    CHECK(refused.subject() == std::string("early_weights"));
}

} // namespace

TEST_CASE("dependent launches of every mapping give the bits of ordinary ones") {
    samples::for_each_encoding([&]<class E>() {
        for (const auto& gemv :
             gpu::launchers_by_method<E, kq::mappings::experts, kq::epilogues::store>()) {
            compare_dependent(gpu::weights_type_of<E>, gemv);
        }
    });
}

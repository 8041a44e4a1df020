// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "gpu/gates.hpp"
#include "gpu/memory.hpp"
#include "instances/instances.hpp"
#include "samples.hpp"

#include <kq/dot/dots.hpp>
#include <kq/gemv/host_model.hpp>

#include <memory>
#include <string>
#include <utility>

// Every composition beside the plain product gives the bits of plain products, which the host model
// computes: gemv.cpp shows that they are the kernel's.

namespace {

using gpu::buffer;
using gpu::placement;
using instances::bulk;
using instances::direct;
using kq::epilogues::gated;
using kq::epilogues::store;
using kq::epilogues::weighted_sum;
using kq::policies::warp;

constexpr placement placements[] = {placement::exact, placement::before_hole,
                                    placement::after_hole};

const kq::gate_form gates[] = {
    {.function = kq::gate_function::silu},
    {.function = kq::gate_function::silu_clamped, .limit = 0.5f},
    {.function = kq::gate_function::silu_weighted, .alpha = 1.702f, .beta = 1, .limit = 7},
    {.function = kq::gate_function::gelu_tanh},
    {.function = kq::gate_function::gelu_erf},
    {.function = kq::gate_function::relu},
};

constexpr float pattern = -12345.0f;

kq::device_facts device() {
    kq::device_facts facts;
    kq::check(instances::query_device(facts));
    return facts;
}

/// Launches with exactly the workspace that it asks for.
template <class Gemv>
void run(const typename Gemv::arguments& a) {
    const buffer space(Gemv::workspace_bytes(a), placement::exact);
    kq::check(Gemv::launch(a, {space.data(), space.bytes()}, nullptr, device()));
    gpu::check(cudaDeviceSynchronize(), "synchronize");
}

/// An output of the GPU, pre-filled with a pattern that must survive where nothing is stored.
class output {
public:
    explicit output(int64_t elements)
        : memory_(std::vector<float>(static_cast<size_t>(elements), pattern), placement::exact) {}
    float* data() const { return memory_.as<float>(); }
    bool holds(const std::vector<float>& expected) const {
        const auto y = memory_.download<float>();
        return y.size() == expected.size() &&
               std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)) == 0;
    }

private:
    buffer memory_;
};

template <class E>
std::vector<float> plain(const typename E::block* w, const float* x, int64_t n, int64_t k,
                         int64_t m = 1) {
    std::vector<float> y(static_cast<size_t>(n * m));
    kq::check(kq::host_model<E>::launch(
        {.weights = w, .activation = x, .output = y.data(), .n = n, .k = k, .m = m}));
    return y;
}

template <class E, kq::policy Policy>
void compare_policy() {
    int turn = 0;
    for (const int64_t n : {1, 3, 5, 17, 513}) {
        for (const int64_t m : {1, 3, 8}) {
            const int64_t k = ((turn * 7 + 1) % 40 + 1) * E::elements;
            INFO(kq::name_of(Policy) << ", n " << n << ", m " << m << ", k " << k);
            const auto w = samples::random_weights<E>(n, k, 1);
            const auto x = samples::gaussian(m * k, 2);
            std::vector<float> expected(static_cast<size_t>(m * (n + 1)), pattern);
            kq::dense_arguments a{.weights = w.data(),
                                  .activation = x.data(),
                                  .output = expected.data(),
                                  .n = n,
                                  .k = k,
                                  .m = m,
                                  .output_stride = n + 1};
            kq::check(kq::host_model<E, Policy>::launch(a));
            const buffer weights(w, placements[turn++ % 3]);
            const buffer activation(x, placement::exact);
            const output y(m * (n + 1));
            a.weights = weights.data();
            a.activation = activation.as<const float>();
            a.output = y.data();
            run<instances::gemv<E, Policy>>(a);
            REQUIRE(y.holds(expected));
        }
    }
}

template <class E, kq::policy Policy, class Epilogue>
void compare_stacked() {
    int turn = 0;
    for (const auto& [n0, n1] : std::vector<std::pair<int64_t, int64_t>>{
             {16, 16}, {16, 7}, {7, 16}, {1, 24}, {24, 1}, {0, 5}}) {
        INFO("n " << n0 << " and " << n1);
        const int64_t rows[] = {n0, n1};
        const int64_t k = 5 * E::elements, m = 2;
        const auto x = samples::gaussian(m * k, 3);
        const buffer activation(x, placement::exact);
        kq::stacked_arguments a{
            .count = 2, .activation = activation.as<const float>(), .k = k, .m = m};
        std::vector<std::unique_ptr<buffer>> weights;
        std::vector<std::unique_ptr<output>> outputs;
        std::vector<std::vector<float>> expected;
        for (int i = 0; i < 2; ++i) {
            std::vector<float> products[2]; // gate and up
            for (int set = 0; set < 2; ++set) {
                const auto w = samples::random_weights<E>(rows[i], k, 10 + turn);
                products[set] = plain<E>(w.data(), x.data(), rows[i], k, m);
                weights.push_back(std::make_unique<buffer>(w, placements[turn++ % 3]));
            }
            const bool fused = Epilogue::weight_sets == 2;
            expected.push_back(fused && rows[i] > 0
                                   ? gpu::apply_gate(gates[0], products[0], products[1])
                                   : products[0]);
            outputs.push_back(std::make_unique<output>(m * rows[i]));
            a.matrices[i] = {.weights = weights[static_cast<size_t>(2 * i)]->data(),
                             .up_weights = weights[static_cast<size_t>(2 * i + 1)]->data(),
                             .output = outputs.back()->data(),
                             .n = rows[i]};
        }
        run<instances::gemv<E, Policy, kq::mappings::stacked, Epilogue>>(a);
        REQUIRE((outputs[0]->holds(expected[0]) && outputs[1]->holds(expected[1])));
    }
}

/// Experts, ids and activations of a grouped product.
template <class E>
struct experts {
    static constexpr int64_t n = 19, count = 5, top_k = 3, tokens = 3, slots = tokens * top_k;
    int64_t k = 6 * E::elements;
    std::vector<typename E::block> gate = samples::random_weights<E>(count * n, k, 20);
    std::vector<typename E::block> up = samples::random_weights<E>(count * n, k, 21);
    std::vector<float> x = samples::gaussian(slots * k, 22);
    std::vector<int32_t> ids = {4, 4, 0, -1, 5, 2, 3, 1, 0}; // twice the same, two unknown

    bool is_known(int64_t slot) const {
        const int32_t id = ids[static_cast<size_t>(slot)];
        return id >= 0 && id < count;
    }
    /// The product of a slot's expert with activation row `row`.
    std::vector<float> product(const std::vector<typename E::block>& w, int64_t slot,
                               int64_t row) const {
        return plain<E>(w.data() + ids[static_cast<size_t>(slot)] * n * (k / E::elements),
                        x.data() + row * k, n, k);
    }
};

template <class E, kq::policy Policy, class Epilogue>
void compare_grouped() {
    const experts<E> e;
    int turn = 0;
    for (const auto rows : {kq::slot_activation::per_slot, kq::slot_activation::per_token,
                            kq::slot_activation::broadcast}) {
        INFO("activation rows " << static_cast<int>(rows));
        std::vector<float> expected;
        for (int64_t s = 0; s < e.slots; ++s) {
            const int64_t row = rows == kq::slot_activation::per_slot    ? s
                                : rows == kq::slot_activation::per_token ? s / e.top_k
                                                                         : 0;
            std::vector<float> y(static_cast<size_t>(e.n), 0.0f);
            if (e.is_known(s)) {
                y = e.product(e.gate, s, row);
                if constexpr (Epilogue::weight_sets == 2) {
                    y = gpu::apply_gate(gates[static_cast<int>(rows)], y, e.product(e.up, s, row));
                }
            }
            expected.insert(expected.end(), y.begin(), y.end());
        }
        const buffer gate(e.gate, placements[turn++ % 3]);
        const buffer up(e.up, placements[turn % 3]);
        const buffer activation(e.x, placement::exact);
        const buffer ids(e.ids, placement::exact);
        const output y(e.slots * e.n);
        run<instances::gemv<E, Policy, kq::mappings::grouped, Epilogue>>(
            {.weights = gate.data(),
             .up_weights = up.data(),
             .activation = activation.as<const float>(),
             .output = y.data(),
             .expert_ids = ids.as<const int32_t>(),
             .experts = e.count,
             .n = e.n,
             .k = e.k,
             .slots = e.slots,
             .top_k = e.top_k,
             .activation_rows = rows,
             .epilogue = {.gate = gates[static_cast<int>(rows)]}});
        REQUIRE(y.holds(expected));
    }
}

template <class E, kq::policy Policy>
void compare_weighted_sum() {
    const experts<E> e;
    const auto term_weights = samples::gaussian(e.slots, 23);
    for (const auto rows : {kq::slot_activation::per_slot, kq::slot_activation::per_token}) {
        INFO("activation rows " << static_cast<int>(rows));
        std::vector<float> expected(static_cast<size_t>(e.tokens * e.n), 0.0f);
        for (int64_t s = 0; s < e.slots; ++s) {
            if (!e.is_known(s)) {
                continue;
            }
            const int64_t row = rows == kq::slot_activation::per_slot ? s : s / e.top_k;
            const auto dots = e.product(e.gate, s, row);
            for (int64_t r = 0; r < e.n; ++r) {
                float& sum = expected[static_cast<size_t>(s / e.top_k * e.n + r)];
                sum = std::fma(term_weights[static_cast<size_t>(s)], dots[static_cast<size_t>(r)],
                               sum);
            }
        }
        const buffer gate(e.gate, placement::before_hole);
        const buffer activation(e.x, placement::exact);
        const buffer ids(e.ids, placement::exact);
        const buffer weights(term_weights, placement::exact);
        const output y(e.tokens * e.n);
        run<instances::gemv<E, Policy, kq::mappings::grouped, weighted_sum>>(
            {.weights = gate.data(),
             .activation = activation.as<const float>(),
             .output = y.data(),
             .expert_ids = ids.as<const int32_t>(),
             .experts = e.count,
             .n = e.n,
             .k = e.k,
             .slots = e.slots,
             .top_k = e.top_k,
             .activation_rows = rows,
             .epilogue = {.term_weights = weights.as<const float>()}});
        REQUIRE(y.holds(expected));
    }
}

template <class E, kq::policy Policy>
void compare_block_diagonal() {
    int turn = 0;
    for (const auto& [groups, rows, columns] :
         std::vector<std::array<int64_t, 3>>{{4, 8, 64}, {8, 16, 96}, {2, 7, 32}}) {
        const int64_t k = columns * (E::elements / 32), m = 2, n = groups * rows;
        INFO(groups << " groups of " << rows << " rows, k " << k);
        const auto w = samples::random_weights<E>(n, k, 24);
        const auto x = samples::gaussian(m * groups * k, 25);
        std::vector<float> expected;
        for (int64_t unit = 0; unit < m * groups; ++unit) {
            const auto y = plain<E>(w.data() + unit % groups * rows * (k / E::elements),
                                    x.data() + unit * k, rows, k);
            expected.insert(expected.end(), y.begin(), y.end());
        }
        const buffer weights(w, placements[turn++ % 3]);
        const buffer activation(x, placement::exact);
        const output y(m * n);
        run<instances::gemv<E, Policy, kq::mappings::block_diagonal>>(
            {.weights = weights.data(),
             .activation = activation.as<const float>(),
             .output = y.data(),
             .n = n,
             .groups = groups,
             .k = k,
             .m = m});
        REQUIRE(y.holds(expected));
    }
}

} // namespace

TEST_CASE("every policy gives the host model's bits and touches no row beyond n") {
    samples::for_each_encoding([]<class E>() {
        [&]<size_t... I>(std::index_sequence<I...>) {
            (compare_policy<E, instances::policies[I]>(), ...);
        }
        (std::make_index_sequence<std::size(instances::policies)>{});
    });
}

TEST_CASE("stacked matrices give the bits of separate products") {
    samples::for_each_encoding([]<class E>() { compare_stacked<E, bulk, store>(); });
}

TEST_CASE("stacked gate and up give the bits of products and the gate function") {
    samples::for_each_encoding([]<class E>() { compare_stacked<E, direct, gated>(); });
}

TEST_CASE("grouped products give the bits of each expert's product, unknown experts zeros") {
    samples::for_each_encoding([]<class E>() {
        compare_grouped<E, direct, store>();
        compare_grouped<E, bulk, store>();
    });
}

TEST_CASE("grouped gate and up give the bits of products and the gate function") {
    samples::for_each_encoding([]<class E>() { compare_grouped<E, bulk, gated>(); });
}

TEST_CASE("weighted sums of experts give the bits of a chain of fused operations in slot order") {
    samples::for_each_encoding([]<class E>() {
        compare_weighted_sum<E, direct>();
        compare_weighted_sum<E, bulk>();
    });
}

TEST_CASE("block-diagonal groups give the bits of products with their columns") {
    samples::for_each_encoding([]<class E>() {
        compare_block_diagonal<E, direct>();
        compare_block_diagonal<E, bulk>();
    });
}

TEST_CASE("dense gate and up give the bits of products and the gate function, for every function") {
    samples::for_each_encoding([]<class E>() {
        const int64_t n = 33, k = 4 * E::elements, m = 2;
        const auto gate = samples::random_weights<E>(n, k, 26);
        const auto up = samples::random_weights<E>(n, k, 27);
        const auto x = samples::gaussian(m * k, 28);
        const auto g = plain<E>(gate.data(), x.data(), n, k, m);
        const auto u = plain<E>(up.data(), x.data(), n, k, m);
        const buffer gate_weights(gate, placement::before_hole);
        const buffer up_weights(up, placement::after_hole);
        const buffer activation(x, placement::exact);
        for (const kq::gate_form& form : gates) {
            INFO("gate function " << static_cast<int>(form.function));
            const output y(m * n);
            run<instances::gemv<E, bulk, kq::mappings::dense, gated>>(
                {.weights = gate_weights.data(),
                 .up_weights = up_weights.data(),
                 .activation = activation.as<const float>(),
                 .output = y.data(),
                 .n = n,
                 .k = k,
                 .m = m,
                 .epilogue = {.gate = form}});
            REQUIRE(y.holds(gpu::apply_gate(form, g, u)));
        }
    });
}

TEST_CASE("gate functions agree on host and device within 4 units in the last place of the terms "
          "that they add") {
    const auto x = samples::gaussian(100000, 29);
    const auto up = samples::gaussian(100000, 30);
    for (const kq::gate_form& form : gates) {
        const auto values = gpu::apply_gate(form, x, up);
        // 1 + tanh and 1 + erf may cancel; their error is then that of terms as large as 1.
        const bool cancels = form.function == kq::gate_function::gelu_tanh ||
                             form.function == kq::gate_function::gelu_erf;
        int64_t beyond = 0;
        for (size_t i = 0; i < x.size(); ++i) {
            const double host = kq::apply_gate(form, x[i], up[i]);
            const double largest =
                cancels ? std::max(std::abs(host), std::abs(0.5 * x[i] * up[i])) : std::abs(host);
            beyond += std::abs(host - values[i]) > 4 * std::ldexp(largest, -23);
        }
        INFO("gate function " << static_cast<int>(form.function));
        CHECK(beyond == 0);
    }
}

TEST_CASE("scales, bias and residual on the GPU give the host model's bits") {
    using E = kq::q4_k;
    const int64_t n = 37, k = 1024, m = 3;
    const auto w = samples::random_weights<E>(n, k, 31);
    const auto x = samples::gaussian(m * k, 32);
    const auto row_scale = samples::gaussian(n, 33), bias = samples::gaussian(n, 34);
    const auto unit_scale = samples::gaussian(m, 35), residual = samples::gaussian(m * n, 36);
    std::vector<float> expected(static_cast<size_t>(m * n));
    kq::dense_arguments a{.weights = w.data(),
                          .activation = x.data(),
                          .output = expected.data(),
                          .n = n,
                          .k = k,
                          .m = m,
                          .epilogue = {.scale = 0.3f,
                                       .row_scale = row_scale.data(),
                                       .bias = bias.data(),
                                       .unit_scale = unit_scale.data(),
                                       .residual = residual.data()}};
    kq::check(kq::host_model<E>::launch(a));
    const buffer weights(w, placement::exact), activation(x, placement::exact);
    const buffer rows(row_scale, placement::exact), biases(bias, placement::exact);
    const buffer units(unit_scale, placement::exact), before(residual, placement::exact);
    const output y(m * n);
    a.weights = weights.data();
    a.activation = activation.as<const float>();
    a.output = y.data();
    a.epilogue.row_scale = rows.as<const float>();
    a.epilogue.bias = biases.as<const float>();
    a.epilogue.unit_scale = units.as<const float>();
    a.epilogue.residual = before.as<const float>();
    run<instances::gemv<E>>(a);
    CHECK(y.holds(expected));
}

TEST_CASE("a captured grouped product replays with changed expert ids") {
    using E = kq::q4_k;
    using gemv = instances::gemv<E, bulk, kq::mappings::grouped>;
    experts<E> e;
    const buffer weights(e.gate, placement::exact), activation(e.x, placement::exact);
    const buffer ids(e.ids, placement::exact);
    const output y(e.slots * e.n);
    const kq::grouped_arguments a{.weights = weights.data(),
                                  .activation = activation.as<const float>(),
                                  .output = y.data(),
                                  .expert_ids = ids.as<const int32_t>(),
                                  .experts = e.count,
                                  .n = e.n,
                                  .k = e.k,
                                  .slots = e.slots};
    const buffer space(gemv::workspace_bytes(a), placement::exact);
    cudaStream_t stream = nullptr;
    gpu::check(cudaStreamCreate(&stream), "create stream");
    gpu::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "begin capture");
    kq::check(gemv::launch(a, {space.data(), space.bytes()}, stream, device()));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    gpu::check(cudaStreamEndCapture(stream, &graph), "end capture");
    gpu::check(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
    for (int replay = 0; replay < 3; ++replay) {
        std::rotate(e.ids.begin(), e.ids.begin() + 2, e.ids.end());
        gpu::check(cudaMemcpy(ids.data(), e.ids.data(), e.ids.size() * 4, cudaMemcpyHostToDevice),
                   "copy");
        gpu::check(cudaGraphLaunch(executable, stream), "launch graph");
        gpu::check(cudaStreamSynchronize(stream), "synchronize");
        std::vector<float> expected;
        for (int64_t s = 0; s < e.slots; ++s) {
            const auto row = e.is_known(s) ? e.product(e.gate, s, s)
                                           : std::vector<float>(static_cast<size_t>(e.n), 0.0f);
            expected.insert(expected.end(), row.begin(), row.end());
        }
        CHECK(y.holds(expected));
    }
    gpu::check(cudaGraphExecDestroy(executable), "destroy graph");
    gpu::check(cudaGraphDestroy(graph), "destroy graph");
    gpu::check(cudaStreamDestroy(stream), "destroy stream");
}

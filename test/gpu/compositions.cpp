// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "gpu/gates.hpp"
#include "gpu/products.hpp"
#include "merged.hpp"
#include "shapes.hpp"

#include <kq/gemv/host_model.hpp>

#include <memory>
#include <string>
#include <utility>

// Every composition beside the plain product gives the bits of plain products, which the host model
// computes: gemv.cpp shows that they are the kernel's.

namespace {

using gpu::buffer;
using gpu::for_each_method;
using gpu::gates;
using gpu::host_product;
using gpu::output;
using gpu::placement;
using gpu::placements;
using gpu::run;
using instances::bulk;
using instances::direct;
using kq::epilogues::gated;
using kq::epilogues::store;
using kq::epilogues::weighted_sum;

template <class E, kq::policy Policy>
void compare_dense(samples::shape s, placement where) {
    INFO(kq::name_of(Policy) << ", n " << s.n << ", m " << s.m << ", k " << s.k);
    const auto w = samples::random_weights<E>(s.n, s.k, 1);
    const auto x = samples::gaussian(s.m * s.k, 2);
    std::vector<float> expected(static_cast<size_t>(s.m * (s.n + 1)), output::pattern);
    kq::dense_arguments a{.weights = w.data(),
                          .activation = x.data(),
                          .output = expected.data(),
                          .n = s.n,
                          .k = s.k,
                          .m = s.m,
                          .output_stride = s.n + 1};
    if constexpr (Policy.order == kq::order{}) {
        kq::check(gpu::launch_host_model<E>(a));
    } else {
        kq::check(kq::host_model<E, Policy.order>::launch(a));
    }
    const buffer weights(w, where);
    const buffer activation(x, placement::exact);
    const output y(s.m * (s.n + 1));
    a.weights = weights.data();
    a.activation = activation.as<const float>();
    a.output = y.data();
    run<instances::gemv<E, Policy>>(a);
    REQUIRE(y.holds(expected));
}

/// Calls `compare` with every policy that is compiled for an encoding.
template <class E, class Compare>
void for_each_policy(Compare&& compare) {
    const auto try_policy = [&]<kq::policy Policy>() {
        if constexpr (instances::has<E, Policy>) {
            compare.template operator()<Policy>();
        }
    };
    [&]<size_t... I>(std::index_sequence<I...>) {
        (try_policy.template operator()<instances::policies[I]>(), ...);
    }
    (std::make_index_sequence<std::size(instances::policies)>{});
}

template <class E, kq::policy Policy, class Epilogue>
void compare_stacked(const std::vector<std::pair<int64_t, int64_t>>& sizes, int64_t k, int64_t m) {
    int turn = 0;
    for (const auto& [n0, n1] : sizes) {
        INFO("n " << n0 << " and " << n1 << ", k " << k << ", m " << m);
        const int64_t rows[] = {n0, n1};
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
                products[set] = host_product<E>(w.data(), x.data(), rows[i], k, m);
                weights.push_back(std::make_unique<buffer>(w, placements[turn++ % 3]));
            }
            const bool fused = Epilogue::weight_sets == 2;
            expected.push_back(fused && rows[i] > 0
                                   ? gpu::apply_gate(gates[0], products[0], products[1])
                                   : products[0]);
            outputs.push_back(std::make_unique<output>(m * rows[i]));
            a.matrices[i] = {.weights = weights[static_cast<size_t>(2 * i)]->data(),
                             .up_weights =
                                 fused ? weights[static_cast<size_t>(2 * i + 1)]->data() : nullptr,
                             .output = outputs.back()->data(),
                             .n = rows[i]};
        }
        run<instances::gemv<E, Policy, kq::mappings::stacked, Epilogue>>(a);
        REQUIRE((outputs[0]->holds(expected[0]) && outputs[1]->holds(expected[1])));
    }
}

/// Experts, ids and activations of a product with experts.
template <class E>
struct experts {
    static constexpr int64_t count = 5;
    int64_t top_k = 3;
    int64_t tokens = 4;
    int64_t slots = tokens * top_k;
    int64_t n = 19;
    int64_t k = 6 * E::elements;
    std::vector<typename E::block> gate = samples::random_weights<E>(count * n, k, 20);
    std::vector<typename E::block> up = samples::random_weights<E>(count * n, k, 21);
    std::vector<float> x = samples::gaussian(slots * k, 22);
    /// The first token has one expert twice, the second two unknown ones, the third only such.
    std::vector<int32_t> ids = {4, 4, 0, -1, 5, 2, 5, -1, 2147483647, 3, 1, 0};

    int64_t row_of(int64_t slot, kq::slot_activation rows) const {
        return rows == kq::slot_activation::per_slot    ? slot
               : rows == kq::slot_activation::per_token ? slot / top_k
                                                        : 0;
    }
    bool is_known(int64_t slot) const {
        const int32_t id = ids[static_cast<size_t>(slot)];
        return id >= 0 && id < count;
    }
    /// The product of a slot's expert with activation row `row`.
    std::vector<float> product(const std::vector<typename E::block>& w, int64_t slot,
                               int64_t row) const {
        return host_product<E>(w.data() + ids[static_cast<size_t>(slot)] * n * (k / E::elements),
                               x.data() + row * k, n, k);
    }
};

constexpr kq::slot_activation all_rows[] = {
    kq::slot_activation::per_slot, kq::slot_activation::per_token, kq::slot_activation::broadcast};

template <class E, kq::policy Policy, class Epilogue>
void compare_experts(const experts<E>& e = {}) {
    int turn = 0;
    for (const auto rows : all_rows) {
        INFO("activation rows " << static_cast<int>(rows) << ", n " << e.n << ", k " << e.k);
        std::vector<float> expected;
        for (int64_t s = 0; s < e.slots; ++s) {
            const int64_t row = e.row_of(s, rows);
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
        run<instances::gemv<E, Policy, kq::mappings::experts, Epilogue>>(
            {.weights = gate.data(),
             .up_weights = Epilogue::weight_sets == 2 ? up.data() : nullptr,
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

/// Gate and up in one matrix. Rows of one block too, which a bulk copy would bring together if they
/// followed each other.
template <class E, kq::policy Policy>
void compare_merged() {
    constexpr placement ends[] = {placement::before_hole, placement::after_hole};
    int turn = 0; // three sizes for each layout, so that each meets both
    for (const auto layout : samples::layouts) {
        for (const int64_t blocks : {1, 6, 48}) {
            const experts<E> e{.k = blocks * E::elements};
            const samples::merged<E> w(layout, e.count, e.n, e.k, 26);
            INFO("layout " << static_cast<int>(layout) << ", k " << e.k);
            std::vector<float> gate, up;
            for (int64_t s = 0; s < e.slots; ++s) {
                const auto dots =
                    host_product<E>(w.blocks.data(), e.x.data() + s * e.k, w.rows(), e.k);
                for (int64_t r = 0; r < e.n; ++r) {
                    const int64_t id = e.is_known(s) ? e.ids[static_cast<size_t>(s)] : 0;
                    gate.push_back(dots[static_cast<size_t>(w.row(id, 0, r))]);
                    up.push_back(dots[static_cast<size_t>(w.row(id, 1, r))]);
                }
            }
            auto expected = gpu::apply_gate(gates[0], gate, up);
            for (int64_t i = 0; i < e.slots * e.n; ++i) {
                if (!e.is_known(i / e.n)) {
                    expected[static_cast<size_t>(i)] = 0;
                }
            }
            const buffer weights(w.blocks, ends[turn++ % 2]);
            const buffer activation(e.x, placement::exact);
            const buffer ids(e.ids, placement::exact);
            const output y(e.slots * e.n);
            const auto* first = weights.as<const typename E::block>();
            run<instances::gemv<E, Policy, kq::mappings::experts, gated>>(
                {.weights = first,
                 .up_weights = first + (w.up() - w.gate()),
                 .activation = activation.as<const float>(),
                 .output = y.data(),
                 .expert_ids = ids.as<const int32_t>(),
                 .experts = e.count,
                 .n = e.n,
                 .k = e.k,
                 .slots = e.slots,
                 .top_k = e.top_k,
                 .weight_pitch = w.weight_pitch(),
                 .expert_pitch = w.expert_pitch(),
                 .epilogue = {.gate = gates[0]}});
            REQUIRE(y.holds(expected));
        }
    }
}

template <class E, kq::policy Policy>
void compare_weighted_sum(const experts<E>& e = {},
                          const kq::device_facts& device = gpu::device()) {
    const auto term_weights = samples::gaussian(e.slots, 23);
    for (const auto rows : all_rows) {
        INFO("activation rows " << static_cast<int>(rows) << ", n " << e.n << ", k " << e.k);
        std::vector<float> expected(static_cast<size_t>(e.tokens * e.n), 0.0f);
        for (int64_t s = 0; s < e.slots; ++s) {
            if (!e.is_known(s)) {
                continue;
            }
            const auto dots = e.product(e.gate, s, e.row_of(s, rows));
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
        run<instances::gemv<E, Policy, kq::mappings::experts, weighted_sum>>(
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
             .epilogue = {.term_weights = weights.as<const float>()}},
            device);
        REQUIRE(y.holds(expected));
    }
}

/// `sizes`: groups, rows of a group, blocks of a row.
template <class E, kq::policy Policy>
void compare_block_diagonal(const std::vector<std::array<int64_t, 3>>& sizes, int64_t m) {
    int turn = 0;
    for (const auto& [groups, rows, blocks] : sizes) {
        const int64_t k = blocks * E::elements, n = groups * rows;
        INFO(groups << " groups of " << rows << " rows, k " << k);
        const auto w = samples::random_weights<E>(n, k, 24);
        const auto x = samples::gaussian(m * groups * k, 25);
        std::vector<float> expected;
        for (int64_t unit = 0; unit < m * groups; ++unit) {
            const auto y = host_product<E>(w.data() + unit % groups * rows * (k / E::elements),
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

/// Rows of q8_0's shapes in every composition that an encoding has.
template <class E>
void compare_compositions() {
    for (const int64_t blocks : {16, 48, 224}) {
        const int64_t k = blocks * E::elements;
        for (const int64_t m : {1, 3}) {
            for (const int64_t n : {1, 7, 16, 17}) {
                for_each_policy<E>([&]<kq::policy Policy>() {
                    compare_dense<E, Policy>({m, n, k}, placements[(n + m / 2) % 3]);
                });
                for_each_method<E, kq::mappings::stacked, store>([&]<kq::policy Policy>() {
                    compare_stacked<E, Policy, store>({{n, 17 - n}}, k, m);
                });
                for_each_method<E, kq::mappings::stacked, gated>([&]<kq::policy Policy>() {
                    compare_stacked<E, Policy, gated>({{n, 17 - n}}, k, m);
                });
                for_each_method<E, kq::mappings::block_diagonal, store>([&]<kq::policy Policy>() {
                    compare_block_diagonal<E, Policy>({{m, n, blocks}}, m);
                });
            }
        }
        for (const int64_t n : {1, 7, 16, 17}) {
            const experts<E> e{.n = n, .k = k};
            for_each_method<E, kq::mappings::experts, store>(
                [&]<kq::policy Policy>() { compare_experts<E, Policy, store>(e); });
            for_each_method<E, kq::mappings::experts, gated>(
                [&]<kq::policy Policy>() { compare_experts<E, Policy, gated>(e); });
            for_each_method<E, kq::mappings::experts, weighted_sum>(
                [&]<kq::policy Policy>() { compare_weighted_sum<E, Policy>(e); });
        }
    }
}

const std::vector<std::pair<int64_t, int64_t>> pairs = {{16, 16}, {16, 7}, {7, 16},
                                                        {1, 24},  {24, 1}, {0, 5}};

} // namespace

TEST_CASE("every policy gives the host model's bits and touches no row beyond n") {
    samples::for_each_encoding([]<class E>() {
        for_each_policy<E>([]<kq::policy Policy>() {
            int turn = 0;
            for (const int64_t n : {1, 3, 5, 17, 513}) {
                for (const int64_t m : {1, 3, 8}) {
                    const int64_t k = ((turn * 7 + 1) % 40 + 1) * E::elements;
                    // Every m meets every placement.
                    compare_dense<E, Policy>({m, n, k}, placements[(turn + turn / 3) % 3]);
                    ++turn;
                }
            }
        });
    });
}

// Two rows share a warp at the end of rows of 16 and 48 blocks; all compositions that encodings of
// 32 weights have together.
TEST_CASE("rows of 16, 48 and 224 blocks of 32 weights give the bits of plain products in every "
          "composition") {
    samples::for_each_encoding([]<class E>() {
        if constexpr (instances::family_of<E> == instances::family::image_of_32) {
            compare_compositions<E>();
        }
    });
}

TEST_CASE("stacked matrices give the bits of separate products") {
    gpu::for_each_encoding_with<bulk, kq::mappings::stacked>(
        []<class E>() { compare_stacked<E, bulk, store>(pairs, 5 * E::elements, 2); });
}

TEST_CASE("stacked gate and up give the bits of products and the gate function") {
    gpu::for_each_encoding_with<direct, kq::mappings::stacked, gated>(
        []<class E>() { compare_stacked<E, direct, gated>(pairs, 5 * E::elements, 2); });
}

TEST_CASE("products with experts give the bits of each expert's product, unknown experts zeros") {
    samples::for_each_encoding([]<class E>() {
        for_each_method<E, kq::mappings::experts, store>(
            []<kq::policy Policy>() { compare_experts<E, Policy, store>(); });
    });
}

TEST_CASE("gate and up of experts give the bits of products and the gate function") {
    samples::for_each_encoding([]<class E>() {
        for_each_method<E, kq::mappings::experts, gated>(
            []<kq::policy Policy>() { compare_experts<E, Policy, gated>(); });
    });
}

TEST_CASE(
    "gate and up rows of experts in one matrix, which ends at an unmapped page, give the bits "
    "of two products and the gate function") {
    samples::for_each_encoding([]<class E>() {
        for_each_method<E, kq::mappings::experts, gated>(
            []<kq::policy Policy>() { compare_merged<E, Policy>(); });
    });
}

TEST_CASE("weighted sums of experts give the bits of a chain of fused operations in slot order") {
    samples::for_each_encoding([]<class E>() {
        for_each_method<E, kq::mappings::experts, weighted_sum>(
            []<kq::policy Policy>() { compare_weighted_sum<E, Policy>(); });
    });
}

// A thread block adds up 8 KB of products at a time: of 64 terms those of 32 rows. As if on few
// multiprocessors, so that a thread block has several times as many.
TEST_CASE("weighted sums of many terms and rows give the same bits, a round of rows at a time") {
    const kq::device_facts device = gpu::device();
    for (const int multiprocessors : {1, 3}) {
        kq::device_facts few = device;
        few.multiprocessors = multiprocessors;
        [&]<class... Encodings>(kq::type_list<Encodings...>) {
            const auto compare = [&]<class E>() {
                experts<E> e{.top_k = 64, .tokens = 1, .n = 413, .k = 2 * E::elements};
                e.ids.resize(64);
                for (size_t i = 0; i < e.ids.size(); ++i) {
                    e.ids[i] = static_cast<int32_t>(i * 5 % 7); // two of seven are unknown
                }
                for_each_method<E, kq::mappings::experts, weighted_sum>(
                    [&]<kq::policy Policy>() { compare_weighted_sum<E, Policy>(e, few); });
            };
            (compare.template operator()<Encodings>(), ...);
        }(kq::encodings{});
    }
}

TEST_CASE("block-diagonal groups give the bits of products with their columns") {
    samples::for_each_encoding([]<class E>() {
        // Blocks of 64, 96 and 32 columns for encodings of 32, of 512, 768 and 256 for the others.
        const std::vector<std::array<int64_t, 3>> sizes = {{4, 8, 2}, {8, 16, 3}, {2, 7, 1}};
        for_each_method<E, kq::mappings::block_diagonal, store>(
            [&]<kq::policy Policy>() { compare_block_diagonal<E, Policy>(sizes, 2); });
    });
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
    kq::check(gpu::launch_host_model<E>(a));
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

namespace {

template <class E>
void replay_with_changed_ids() {
    using gemv = instances::gemv<E, bulk, kq::mappings::experts>;
    experts<E> e;
    const buffer weights(e.gate, placement::exact), activation(e.x, placement::exact);
    const buffer ids(e.ids, placement::exact);
    const output y(e.slots * e.n);
    const kq::experts_arguments a{.weights = weights.data(),
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
    kq::check(gemv::launch(a, {space.data(), space.bytes()}, stream, gpu::device()));
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

} // namespace

TEST_CASE("a captured product with experts replays with changed ids") {
    gpu::for_each_encoding_with<bulk, kq::mappings::experts>(
        []<class E>() { replay_with_changed_ids<E>(); });
}

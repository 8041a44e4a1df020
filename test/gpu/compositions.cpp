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
using gpu::bytes;
using gpu::gates;
using gpu::host_product;
using gpu::launchers_by_method;
using gpu::output;
using gpu::placement;
using gpu::placements;
using gpu::run;
using gpu::weights_type;
using gpu::weights_type_of;
using instances::bulk;
using instances::direct;
using instances::launcher;
using kq::block_diagonal_arguments;
using kq::dense_arguments;
using kq::experts_arguments;
using kq::stacked_arguments;
using kq::epilogues::gated;
using kq::epilogues::store;
using kq::epilogues::weighted_sum;

/// A policy that is compiled for an encoding, and the host model in its order.
struct compiled_policy {
    kq::policy policy;
    launcher<dense_arguments> gemv;
    kq::status (*launch_host_model)(const dense_arguments&);
};

/// Every policy that is compiled for an encoding.
template <class E>
std::vector<compiled_policy> compiled_policies() {
    std::vector<compiled_policy> all;
    const auto add = [&]<kq::policy Policy>() {
        if constexpr (instances::has<E, Policy>) {
            const auto gemv = instances::launcher_of<instances::gemv<E, Policy>>;
            if constexpr (Policy.order == kq::order{}) {
                all.push_back({Policy, gemv, gpu::launch_host_model<E>});
            } else {
                all.push_back({Policy, gemv, kq::host_model<E, Policy.order>::launch});
            }
        }
    };
    [&]<size_t... I>(std::index_sequence<I...>) {
        (add.template operator()<instances::policies[I]>(), ...);
    }
    (std::make_index_sequence<std::size(instances::policies)>{});
    return all;
}

void compare_dense(const weights_type& type, const compiled_policy& by, samples::shape s,
                   placement where) {
    INFO(kq::name_of(by.policy) << ", n " << s.n << ", m " << s.m << ", k " << s.k);
    const bytes w = type.random_weights(s.n, s.k, 1);
    const auto x = samples::gaussian(s.m * s.k, 2);
    std::vector<float> expected(static_cast<size_t>(s.m * (s.n + 1)), output::pattern);
    dense_arguments a{.weights = w.data(),
                      .activation = x.data(),
                      .output = expected.data(),
                      .n = s.n,
                      .k = s.k,
                      .m = s.m,
                      .output_stride = s.n + 1};
    kq::check(by.launch_host_model(a));
    const buffer weights(w, where);
    const buffer activation(x, placement::exact);
    const output y(s.m * (s.n + 1));
    a.weights = weights.data();
    a.activation = activation.as<const float>();
    a.output = y.data();
    run(by.gemv, a);
    REQUIRE(y.holds(expected));
}

/// `fused`: whether the product is that of gate and up.
void compare_stacked(const weights_type& type, const launcher<stacked_arguments>& gemv, bool fused,
                     const std::vector<std::pair<int64_t, int64_t>>& sizes, int64_t k, int64_t m) {
    int turn = 0;
    for (const auto& [n0, n1] : sizes) {
        INFO("n " << n0 << " and " << n1 << ", k " << k << ", m " << m);
        const int64_t rows[] = {n0, n1};
        const auto x = samples::gaussian(m * k, 3);
        const buffer activation(x, placement::exact);
        stacked_arguments a{.count = 2, .activation = activation.as<const float>(), .k = k, .m = m};
        std::vector<std::unique_ptr<buffer>> weights;
        std::vector<std::unique_ptr<output>> outputs;
        std::vector<std::vector<float>> expected;
        for (int i = 0; i < 2; ++i) {
            std::vector<float> products[2]; // gate and up
            for (int set = 0; set < 2; ++set) {
                const bytes w = type.random_weights(rows[i], k, static_cast<uint64_t>(10 + turn));
                products[set] = host_product(type, w.data(), x.data(), rows[i], k, m);
                weights.push_back(std::make_unique<buffer>(w, placements[turn++ % 3]));
            }
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
        run(gemv, a);
        REQUIRE((outputs[0]->holds(expected[0]) && outputs[1]->holds(expected[1])));
    }
}

/// Experts, ids and activations of a product with experts.
struct experts {
    static constexpr int64_t count = 5;
    weights_type type;
    int64_t top_k = 3;
    int64_t tokens = 4;
    int64_t slots = tokens * top_k;
    int64_t n = 19;
    int64_t k = 6 * type.elements;
    bytes gate = type.random_weights(count * n, k, 20);
    bytes up = type.random_weights(count * n, k, 21);
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
    std::vector<float> product(const bytes& w, int64_t slot, int64_t row) const {
        return host_product(type, w.data() + ids[static_cast<size_t>(slot)] * n * type.row_bytes(k),
                            x.data() + row * k, n, k);
    }
};

constexpr kq::slot_activation all_rows[] = {
    kq::slot_activation::per_slot, kq::slot_activation::per_token, kq::slot_activation::broadcast};

/// `fused`: whether the product is that of gate and up.
void compare_experts(const experts& e, const launcher<experts_arguments>& gemv, bool fused) {
    int turn = 0;
    for (const auto rows : all_rows) {
        INFO("activation rows " << static_cast<int>(rows) << ", n " << e.n << ", k " << e.k);
        std::vector<float> expected;
        for (int64_t s = 0; s < e.slots; ++s) {
            const int64_t row = e.row_of(s, rows);
            std::vector<float> y(static_cast<size_t>(e.n), 0.0f);
            if (e.is_known(s)) {
                y = e.product(e.gate, s, row);
                if (fused) {
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
        run(gemv, {.weights = gate.data(),
                   .up_weights = fused ? up.data() : nullptr,
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
void compare_merged(const weights_type& type, const launcher<experts_arguments>& gemv) {
    constexpr placement ends[] = {placement::before_hole, placement::after_hole};
    int turn = 0; // three sizes for each layout, so that each meets both
    for (const auto layout : samples::layouts) {
        for (const int64_t blocks : {1, 6, 48}) {
            const experts e{.type = type, .k = blocks * type.elements};
            const samples::merged_rows w{layout, e.count, e.n, e.k, type.row_bytes(e.k)};
            const bytes matrix = type.random_weights(w.rows(), e.k, 26);
            INFO("layout " << static_cast<int>(layout) << ", k " << e.k);
            std::vector<float> gate, up;
            for (int64_t s = 0; s < e.slots; ++s) {
                const auto dots =
                    host_product(type, matrix.data(), e.x.data() + s * e.k, w.rows(), e.k);
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
            const buffer weights(matrix, ends[turn++ % 2]);
            const buffer activation(e.x, placement::exact);
            const buffer ids(e.ids, placement::exact);
            const output y(e.slots * e.n);
            const auto* first = weights.as<const unsigned char>();
            run(gemv, {.weights = first,
                       .up_weights = first + w.up_offset(),
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

void compare_weighted_sum(const experts& e, const launcher<experts_arguments>& gemv,
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
        run(gemv,
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
void compare_block_diagonal(const weights_type& type,
                            const launcher<block_diagonal_arguments>& gemv,
                            const std::vector<std::array<int64_t, 3>>& sizes, int64_t m) {
    int turn = 0;
    for (const auto& [groups, rows, blocks] : sizes) {
        const int64_t k = blocks * type.elements, n = groups * rows;
        INFO(groups << " groups of " << rows << " rows, k " << k);
        const bytes w = type.random_weights(n, k, 24);
        const auto x = samples::gaussian(m * groups * k, 25);
        std::vector<float> expected;
        for (int64_t unit = 0; unit < m * groups; ++unit) {
            const auto y = host_product(type, w.data() + unit % groups * rows * type.row_bytes(k),
                                        x.data() + unit * k, rows, k);
            expected.insert(expected.end(), y.begin(), y.end());
        }
        const buffer weights(w, placements[turn++ % 3]);
        const buffer activation(x, placement::exact);
        const output y(m * n);
        run(gemv, {.weights = weights.data(),
                   .activation = activation.as<const float>(),
                   .output = y.data(),
                   .n = n,
                   .groups = groups,
                   .k = k,
                   .m = m});
        REQUIRE(y.holds(expected));
    }
}

/// Every composition that is compiled for an encoding, as data.
struct compositions {
    weights_type type;
    std::vector<compiled_policy> dense;
    std::vector<launcher<stacked_arguments>> stacked, stacked_gated;
    std::vector<launcher<experts_arguments>> experts, experts_gated, experts_sum;
    std::vector<launcher<block_diagonal_arguments>> block_diagonal;
};

template <class E>
compositions compositions_of() {
    namespace by = kq::mappings;
    return {weights_type_of<E>,
            compiled_policies<E>(),
            launchers_by_method<E, by::stacked, store>(),
            launchers_by_method<E, by::stacked, gated>(),
            launchers_by_method<E, by::experts, store>(),
            launchers_by_method<E, by::experts, gated>(),
            launchers_by_method<E, by::experts, weighted_sum>(),
            launchers_by_method<E, by::block_diagonal, store>()};
}

/// Rows of q8_0's shapes in every composition that an encoding has.
void compare_compositions(const compositions& c) {
    for (const int64_t blocks : {16, 48, 224}) {
        const int64_t k = blocks * c.type.elements;
        for (const int64_t m : {1, 3}) {
            for (const int64_t n : {1, 7, 16, 17}) {
                for (const auto& by : c.dense) {
                    compare_dense(c.type, by, {m, n, k}, placements[(n + m / 2) % 3]);
                }
                for (const auto& gemv : c.stacked) {
                    compare_stacked(c.type, gemv, false, {{n, 17 - n}}, k, m);
                }
                for (const auto& gemv : c.stacked_gated) {
                    compare_stacked(c.type, gemv, true, {{n, 17 - n}}, k, m);
                }
                for (const auto& gemv : c.block_diagonal) {
                    compare_block_diagonal(c.type, gemv, {{m, n, blocks}}, m);
                }
            }
        }
        for (const int64_t n : {1, 7, 16, 17}) {
            const experts e{.type = c.type, .n = n, .k = k};
            for (const auto& gemv : c.experts) {
                compare_experts(e, gemv, false);
            }
            for (const auto& gemv : c.experts_gated) {
                compare_experts(e, gemv, true);
            }
            for (const auto& gemv : c.experts_sum) {
                compare_weighted_sum(e, gemv);
            }
        }
    }
}

/// Runs `test` with the compositions of every encoding, each in a section; once in a test case.
template <class Test>
void for_each_encoding(Test&& test) {
    samples::for_each_encoding([&]<class E>() { test(compositions_of<E>()); });
}

const std::vector<std::pair<int64_t, int64_t>> pairs = {{16, 16}, {16, 7}, {7, 16},
                                                        {1, 24},  {24, 1}, {0, 5}};

} // namespace

TEST_CASE("every policy gives the host model's bits and touches no row beyond n") {
    for_each_encoding([](const compositions& c) {
        for (const auto& by : c.dense) {
            int turn = 0;
            for (const int64_t n : {1, 3, 5, 17, 513}) {
                for (const int64_t m : {1, 3, 8}) {
                    const int64_t k = ((turn * 7 + 1) % 40 + 1) * c.type.elements;
                    // Every m meets every placement.
                    compare_dense(c.type, by, {m, n, k}, placements[(turn + turn / 3) % 3]);
                    ++turn;
                }
            }
        }
    });
}

// Two rows share a warp at the end of rows of 16 and 48 blocks; all compositions that encodings of
// 32 weights have together.
TEST_CASE("rows of 16, 48 and 224 blocks of 32 weights give the bits of plain products in every "
          "composition") {
    samples::for_each_encoding([]<class E>() {
        if constexpr (instances::family_of<E> == instances::family::image_of_32) {
            compare_compositions(compositions_of<E>());
        }
    });
}

TEST_CASE("stacked matrices give the bits of separate products") {
    for_each_encoding([](const compositions& c) {
        for (const auto& gemv : c.stacked) {
            compare_stacked(c.type, gemv, false, pairs, 5 * c.type.elements, 2);
        }
    });
}

TEST_CASE("stacked gate and up give the bits of products and the gate function") {
    for_each_encoding([](const compositions& c) {
        for (const auto& gemv : c.stacked_gated) {
            compare_stacked(c.type, gemv, true, pairs, 5 * c.type.elements, 2);
        }
    });
}

TEST_CASE("products with experts give the bits of each expert's product, unknown experts zeros") {
    for_each_encoding([](const compositions& c) {
        for (const auto& gemv : c.experts) {
            compare_experts({.type = c.type}, gemv, false);
        }
    });
}

TEST_CASE("gate and up of experts give the bits of products and the gate function") {
    for_each_encoding([](const compositions& c) {
        for (const auto& gemv : c.experts_gated) {
            compare_experts({.type = c.type}, gemv, true);
        }
    });
}

TEST_CASE(
    "gate and up rows of experts in one matrix, which ends at an unmapped page, give the bits "
    "of two products and the gate function") {
    for_each_encoding([](const compositions& c) {
        for (const auto& gemv : c.experts_gated) {
            compare_merged(c.type, gemv);
        }
    });
}

TEST_CASE("weighted sums of experts give the bits of a chain of fused operations in slot order") {
    for_each_encoding([](const compositions& c) {
        for (const auto& gemv : c.experts_sum) {
            compare_weighted_sum({.type = c.type}, gemv);
        }
    });
}

// A thread block adds up 8 KB of products at a time: of 64 terms those of 32 rows. As if on few
// multiprocessors, so that a thread block has several times as many.
TEST_CASE("weighted sums of many terms and rows give the same bits, a round of rows at a time") {
    const kq::device_facts device = gpu::device();
    for_each_encoding([&](const compositions& c) {
        experts e{.type = c.type, .top_k = 64, .tokens = 1, .n = 413, .k = 2 * c.type.elements};
        e.ids.resize(64);
        for (size_t i = 0; i < e.ids.size(); ++i) {
            e.ids[i] = static_cast<int32_t>(i * 5 % 7); // two of seven are unknown
        }
        for (const int multiprocessors : {1, 3}) {
            kq::device_facts few = device;
            few.multiprocessors = multiprocessors;
            for (const auto& gemv : c.experts_sum) {
                compare_weighted_sum(e, gemv, few);
            }
        }
    });
}

TEST_CASE("block-diagonal groups give the bits of products with their columns") {
    for_each_encoding([](const compositions& c) {
        // Blocks of 64, 96 and 32 columns for encodings of 32, of 512, 768 and 256 for the others.
        const std::vector<std::array<int64_t, 3>> sizes = {{4, 8, 2}, {8, 16, 3}, {2, 7, 1}};
        for (const auto& gemv : c.block_diagonal) {
            compare_block_diagonal(c.type, gemv, sizes, 2);
        }
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

void replay_with_changed_ids(const weights_type& type, const launcher<experts_arguments>& gemv) {
    experts e{.type = type};
    const buffer weights(e.gate, placement::exact), activation(e.x, placement::exact);
    const buffer ids(e.ids, placement::exact);
    const output y(e.slots * e.n);
    const experts_arguments a{.weights = weights.data(),
                              .activation = activation.as<const float>(),
                              .output = y.data(),
                              .expert_ids = ids.as<const int32_t>(),
                              .experts = e.count,
                              .n = e.n,
                              .k = e.k,
                              .slots = e.slots};
    const buffer space(gemv.workspace_bytes(a), placement::exact);
    cudaStream_t stream = nullptr;
    gpu::check(cudaStreamCreate(&stream), "create stream");
    gpu::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "begin capture");
    kq::check(gemv.launch(a, {space.data(), space.bytes()}, stream, gpu::device(), {}));
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
    for_each_encoding([](const compositions& c) {
        for (const auto& gemv : c.experts) {
            replay_with_changed_ids(c.type, gemv);
        }
    });
}

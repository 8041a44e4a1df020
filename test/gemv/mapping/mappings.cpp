// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "families.hpp"

#include <kq/core/check.hpp>
#include <kq/dot/all.hpp>
#include <kq/dot/q8_0_aligned.hpp>
#include <kq/gemv/host_model.hpp>
#include <kq/gemv/mapping/all.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

namespace {

using kq::epilogues::gated;
using kq::epilogues::weighted_sum;
constexpr kq::order warp{32};

/// The plain product that every other composition is compared with.
template <class E>
std::vector<float> plain(const typename E::block* w, const float* x, int64_t n, int64_t k,
                         int64_t m = 1) {
    std::vector<float> y(static_cast<size_t>(n * m));
    kq::check(kq::host_model<E>::launch(
        {.weights = w, .activation = x, .output = y.data(), .n = n, .k = k, .m = m}));
    return y;
}

/// A row length for all encodings, short enough for many products.
template <class E>
constexpr int64_t short_k = E::elements == 32 ? 96 : 768;

const kq::gate_form gates[] = {
    {.function = kq::gate_function::silu},
    {.function = kq::gate_function::silu_clamped, .limit = 0.5f},
    {.function = kq::gate_function::silu_weighted, .alpha = 1.702f, .beta = 1, .limit = 7},
    {.function = kq::gate_function::gelu_tanh},
    {.function = kq::gate_function::gelu_erf},
    {.function = kq::gate_function::relu},
};

/// Whether a product's matrices have bytes outside whole 16-byte units.
template <class Product>
bool is_ragged(const typename Product::arguments& a) {
    kq::product_sizes sizes;
    kq::check(kq::measure<Product>(a, sizes));
    return Product::mapping::bind(a, Product::facts, sizes, {}).ragged();
}

} // namespace

TEST_CASE("stacked matrices of different n give the bits of separate products") {
    samples::for_each_family<0>([]<class E>() {
        const int64_t k = short_k<E>, m = 2;
        const auto x = samples::gaussian(m * k, 1);
        for (const auto& [n0, n1] : std::vector<std::pair<int64_t, int64_t>>{
                 {16, 16}, {16, 7}, {7, 16}, {1, 24}, {24, 1}, {0, 5}, {5, 0}}) {
            INFO(n0 << " and " << n1);
            const auto w0 = samples::random_weights<E>(n0, k, 2);
            const auto w1 = samples::random_weights<E>(n1, k, 3);
            std::vector<float> y0(static_cast<size_t>(m * n0)), y1(static_cast<size_t>(m * n1));
            kq::stacked_arguments a{.count = 2, .activation = x.data(), .k = k, .m = m};
            a.matrices[0] = {.weights = w0.data(), .output = y0.data(), .n = n0};
            a.matrices[1] = {.weights = w1.data(), .output = y1.data(), .n = n1};
            kq::check(kq::host_model<E, warp, kq::mappings::stacked>::launch(a));
            CHECK(y0 == plain<E>(w0.data(), x.data(), n0, k, m));
            CHECK(y1 == plain<E>(w1.data(), x.data(), n1, k, m));
        }
    });
}

TEST_CASE("slots give the bits of their expert's product, unknown experts zeros") {
    samples::for_each_family<1>([]<class E>() {
        const int64_t k = short_k<E>, n = 5, experts = 4, top_k = 3, tokens = 3;
        const int64_t slots = tokens * top_k;
        const auto w = samples::random_weights<E>(experts * n, k, 4);
        const auto x = samples::gaussian(slots * k, 5);
        const std::vector<int32_t> ids = {3, 3, 0, -1, 4, 1, 2, 0, 2147483647};
        for (const auto rows : {kq::slot_activation::per_slot, kq::slot_activation::per_token,
                                kq::slot_activation::broadcast}) {
            std::vector<float> y(static_cast<size_t>(slots * n), 7.0f);
            kq::check(
                kq::host_model<E, warp, kq::mappings::experts>::launch({.weights = w.data(),
                                                                        .activation = x.data(),
                                                                        .output = y.data(),
                                                                        .expert_ids = ids.data(),
                                                                        .experts = experts,
                                                                        .n = n,
                                                                        .k = k,
                                                                        .slots = slots,
                                                                        .top_k = top_k,
                                                                        .activation_rows = rows}));
            for (int64_t s = 0; s < slots; ++s) {
                const int64_t row = rows == kq::slot_activation::per_slot    ? s
                                    : rows == kq::slot_activation::per_token ? s / top_k
                                                                             : 0;
                const int32_t id = ids[static_cast<size_t>(s)];
                const bool known = id >= 0 && id < experts;
                const auto expected = known ? plain<E>(w.data() + id * n * (k / E::elements),
                                                       x.data() + row * k, n, k)
                                            : std::vector<float>(static_cast<size_t>(n), 0.0f);
                CHECK(std::vector<float>(y.begin() + s * n, y.begin() + (s + 1) * n) == expected);
            }
        }
    });
}

TEST_CASE("block-diagonal groups give the bits of products with their columns") {
    samples::for_each_family<2>([]<class E>() {
        for (const auto& [groups, rows, columns] :
             std::vector<std::array<int64_t, 3>>{{4, 8, 64}, {8, 16, 96}, {2, 7, 32}}) {
            const int64_t k = columns * (E::elements / 32), m = 2, n = groups * rows;
            INFO(groups << " groups of " << rows << " rows, k " << k);
            const auto w = samples::random_weights<E>(n, k, 6);
            const auto x = samples::gaussian(m * groups * k, 7);
            std::vector<float> y(static_cast<size_t>(m * n));
            kq::check(kq::host_model<E, warp, kq::mappings::block_diagonal>::launch(
                {.weights = w.data(),
                 .activation = x.data(),
                 .output = y.data(),
                 .n = n,
                 .groups = groups,
                 .k = k,
                 .m = m}));
            for (int64_t j = 0; j < m; ++j) {
                for (int64_t g = 0; g < groups; ++g) {
                    const auto expected = plain<E>(w.data() + g * rows * (k / E::elements),
                                                   x.data() + (j * groups + g) * k, rows, k);
                    const auto first = y.begin() + j * n + g * rows;
                    CHECK(std::vector<float>(first, first + rows) == expected);
                }
            }
        }
    });
}

TEST_CASE("fused gate and up give the bits of two products and the gate function") {
    samples::for_each_family<3>([]<class E>() {
        const int64_t k = short_k<E>, n = 7, m = 2;
        const auto gate = samples::random_weights<E>(n, k, 8);
        const auto up = samples::random_weights<E>(n, k, 9);
        const auto x = samples::gaussian(m * k, 10);
        const auto g = plain<E>(gate.data(), x.data(), n, k, m);
        const auto u = plain<E>(up.data(), x.data(), n, k, m);
        for (const kq::gate_form& form : gates) {
            std::vector<float> y(g.size());
            kq::check(kq::host_model<E, warp, kq::mappings::dense, gated>::launch(
                {.weights = gate.data(),
                 .up_weights = up.data(),
                 .activation = x.data(),
                 .output = y.data(),
                 .n = n,
                 .k = k,
                 .m = m,
                 .epilogue = {.gate = form}}));
            for (size_t i = 0; i < y.size(); ++i) {
                CHECK(y[i] == kq::apply_gate(form, g[i], u[i]));
            }
        }
    });
}

TEST_CASE(
    "every mapping of q8_0 gives the bits of plain products for 16, 48 and 224 blocks a row") {
    using E = kq::q8_0;
    for (const int64_t blocks : {16, 48, 224}) {
        for (const int64_t n : {1, 7, 16, 17}) {
            for (const int64_t m : {1, 3}) {
                INFO(blocks << " blocks, n " << n << ", m " << m);
                const int64_t k = 32 * blocks;
                const auto w = samples::random_weights<E>(3 * n, k, 40);
                const auto x = samples::gaussian(3 * m * k, 41);
                const E::block* parts[] = {w.data(), w.data() + n * blocks,
                                           w.data() + 2 * n * blocks};
                const auto first = plain<E>(parts[0], x.data(), n, k, m);
                const auto second = plain<E>(parts[1], x.data(), n, k, m);
                const auto size = first.size();

                std::vector<float> y0(size), y1(size);
                kq::stacked_arguments stack{.count = 2, .activation = x.data(), .k = k, .m = m};
                stack.matrices[0] = {.weights = parts[0], .output = y0.data(), .n = n};
                stack.matrices[1] = {.weights = parts[1], .output = y1.data(), .n = n};
                kq::check(kq::host_model<E, warp, kq::mappings::stacked>::launch(stack));
                CHECK((y0 == first && y1 == second));

                const std::vector<int32_t> ids(static_cast<size_t>(m), 1);
                kq::check(kq::host_model<E, warp, kq::mappings::experts>::launch(
                    {.weights = w.data(),
                     .activation = x.data(),
                     .output = y0.data(),
                     .expert_ids = ids.data(),
                     .experts = 3,
                     .n = n,
                     .k = k,
                     .slots = m}));
                CHECK(y0 == second);

                kq::check(kq::host_model<E, warp, kq::mappings::dense, gated>::launch(
                    {.weights = parts[0],
                     .up_weights = parts[1],
                     .activation = x.data(),
                     .output = y0.data(),
                     .n = n,
                     .k = k,
                     .m = m}));
                for (size_t i = 0; i < size; ++i) {
                    CHECK(y0[i] == kq::apply_gate({}, first[i], second[i]));
                }

                std::vector<float> wide(3 * size);
                kq::check(kq::host_model<E, warp, kq::mappings::block_diagonal>::launch(
                    {.weights = w.data(),
                     .activation = x.data(),
                     .output = wide.data(),
                     .n = 3 * n,
                     .groups = 3,
                     .k = k,
                     .m = m}));
                for (int64_t j = 0; j < m; ++j) {
                    for (int64_t g = 0; g < 3; ++g) {
                        const auto begin = wide.begin() + (j * 3 + g) * n;
                        CHECK(std::vector<float>(begin, begin + n) ==
                              plain<E>(parts[g], x.data() + (j * 3 + g) * k, n, k));
                    }
                }
            }
        }
    }
}

TEST_CASE("gate functions follow their formulas and let NaN through") {
    for (const float x : {-3.0f, -0.25f, 0.0f, 0.7f, 9.0f}) {
        for (const float up : {-2.0f, 0.3f, 8.0f}) {
            const double s = 1 / (1 + std::exp(-double{x}));
            const auto apply = [&](int i) { return kq::apply_gate(gates[i], x, up); };
            CHECK(apply(0) == Approx(x * s * up).epsilon(1e-6));
            const double cx = std::min(x, 0.5f), cu = std::clamp(up, -0.5f, 0.5f);
            CHECK(apply(1) == Approx(cx / (1 + std::exp(-cx)) * cu).epsilon(1e-6));
            const double wx = std::min(x, 7.0f), wu = std::clamp(up, -7.0f, 7.0f);
            CHECK(apply(2) == Approx(wx / (1 + std::exp(-1.702 * wx)) * (wu + 1)).epsilon(1e-5));
            const double pi = 3.14159265358979323846;
            CHECK(apply(3) ==
                  Approx(0.5 * x * (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715 * x * x * x))) *
                         up)
                      .epsilon(1e-5)
                      .margin(1e-6));
            CHECK(apply(4) == Approx(0.5 * x * (1 + std::erf(x / std::sqrt(2.0))) * up)
                                  .epsilon(1e-5)
                                  .margin(1e-6));
            CHECK(apply(5) == std::max(x, 0.0f) * up);
        }
    }
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const kq::gate_form& form : gates) {
        CHECK(std::isnan(kq::apply_gate(form, nan, 1.0f)));
        CHECK(std::isnan(kq::apply_gate(form, 1.0f, nan)));
    }
}

TEST_CASE("a weighted sum adds a token's experts in slot order and leaves unknown ones out") {
    samples::for_each_family<4>([]<class E>() {
        const int64_t k = short_k<E>, n = 3, experts = 3, top_k = 4, tokens = 3;
        const auto w = samples::random_weights<E>(experts * n, k, 11);
        const auto x = samples::gaussian(tokens * top_k * k, 12);
        const std::vector<int32_t> ids = {2, 2, -1, 0, 1, 3,
                                          0, 1, -1, 3, 7, -2}; // none in the last
        const auto weights = samples::gaussian(tokens * top_k, 13);
        for (const auto rows : {kq::slot_activation::per_slot, kq::slot_activation::per_token,
                                kq::slot_activation::broadcast}) {
            INFO("activation rows " << static_cast<int>(rows));
            std::vector<float> y(static_cast<size_t>(tokens * n), 7.0f);
            kq::check(kq::host_model<E, warp, kq::mappings::experts, weighted_sum>::launch(
                {.weights = w.data(),
                 .activation = x.data(),
                 .output = y.data(),
                 .expert_ids = ids.data(),
                 .experts = experts,
                 .n = n,
                 .k = k,
                 .slots = tokens * top_k,
                 .top_k = top_k,
                 .activation_rows = rows,
                 .epilogue = {.term_weights = weights.data()}}));
            for (int64_t t = 0; t < tokens; ++t) {
                std::vector<float> sum(static_cast<size_t>(n), 0.0f);
                for (int64_t s = t * top_k; s < (t + 1) * top_k; ++s) {
                    const int32_t id = ids[static_cast<size_t>(s)];
                    if (id < 0 || id >= experts) {
                        continue;
                    }
                    const int64_t row = rows == kq::slot_activation::per_slot    ? s
                                        : rows == kq::slot_activation::per_token ? t
                                                                                 : 0;
                    const auto dots =
                        plain<E>(w.data() + id * n * (k / E::elements), x.data() + row * k, n, k);
                    for (size_t r = 0; r < sum.size(); ++r) {
                        sum[r] = std::fma(weights[static_cast<size_t>(s)], dots[r], sum[r]);
                    }
                }
                CHECK(std::vector<float>(y.begin() + t * n, y.begin() + (t + 1) * n) == sum);
            }
        }
    });
}

TEST_CASE("scales, bias and residual round once each, in the stated order") {
    using E = kq::q4_k;
    const int64_t k = 512, n = 6, m = 2;
    const auto w = samples::random_weights<E>(n, k, 14);
    const auto x = samples::gaussian(m * k, 15);
    const auto dots = plain<E>(w.data(), x.data(), n, k, m);
    const auto row_scale = samples::gaussian(n, 16);
    const auto bias = samples::gaussian(n, 17);
    const auto unit_scale = samples::gaussian(m, 18);
    std::vector<kq::f16> residual;
    for (const float v : samples::gaussian(m * n, 19)) {
        residual.push_back(kq::to_f16(v));
    }
    std::vector<float> y(dots.size());
    kq::check(kq::host_model<E>::launch({.weights = w.data(),
                                         .activation = x.data(),
                                         .output = y.data(),
                                         .n = n,
                                         .k = k,
                                         .m = m,
                                         .epilogue = {.scale = 0.3f,
                                                      .row_scale = row_scale.data(),
                                                      .bias = bias.data(),
                                                      .unit_scale = unit_scale.data(),
                                                      .residual = residual.data()}}));
    for (size_t i = 0; i < y.size(); ++i) {
        const size_t r = i % static_cast<size_t>(n), j = i / static_cast<size_t>(n);
        volatile float v = dots[i] * row_scale[r]; // volatile: no contraction
        v = v + bias[r];
        v = v * 0.3f;
        v = v * unit_scale[j];
        v = v + kq::to_f32(residual[i]);
        CHECK(y[i] == v);
    }
}

TEST_CASE("a weight pitch skips the gap between rows") {
    using E = kq::q8_0;
    const int64_t k = 96, n = 4;
    const auto wide =
        samples::random_weights<E>(n, 2 * k, 20); // rows of two, the first half is used
    const auto x = samples::gaussian(k, 21);
    std::vector<float> y(static_cast<size_t>(n));
    kq::check(kq::host_model<E>::launch({.weights = wide.data(),
                                         .activation = x.data(),
                                         .output = y.data(),
                                         .n = n,
                                         .k = k,
                                         .weight_pitch = 2 * 3 * 34}));
    for (int64_t r = 0; r < n; ++r) {
        CHECK(y[static_cast<size_t>(r)] == plain<E>(wide.data() + r * 6, x.data(), 1, k)[0]);
    }
}

// Bulk copies move whole 16-byte units; the kernel looks for bytes outside of them only where the
// mapping says that there are some.
TEST_CASE("mappings know whether a matrix has bytes outside whole 16-byte units") {
    alignas(16) static unsigned char memory[1024];
    // Rows of q8_0 with one block have 34 bytes: 8 rows are 17 units, 7 rows are 14 bytes more than
    // 14 units.
    const auto dense = [](const void* weights, int64_t n, const void* up = nullptr) {
        const kq::dense_arguments a{.weights = weights, .up_weights = up, .n = n, .k = 32};
        return up == nullptr ? is_ragged<kq::product<kq::q8_0>>(a)
                             : is_ragged<kq::product<kq::q8_0, kq::mappings::dense, gated>>(a);
    };
    CHECK_FALSE(dense(memory, 8));
    CHECK(dense(memory, 7));
    CHECK(dense(memory + 2, 8));
    CHECK(dense(memory + 14, 8));
    CHECK_FALSE(dense(memory + 16, 16));
    CHECK_FALSE(dense(memory, 8, memory + 512));
    CHECK(dense(memory, 8, memory + 510));

    kq::stacked_arguments stacked{.count = 2, .k = 32};
    stacked.matrices[0] = {.weights = memory, .n = 8};
    stacked.matrices[1] = {.weights = memory + 512, .n = 8};
    CHECK_FALSE(is_ragged<kq::product<kq::q8_0, kq::mappings::stacked>>(stacked));
    stacked.matrices[1].n = 7;
    CHECK(is_ragged<kq::product<kq::q8_0, kq::mappings::stacked>>(stacked));

    const kq::experts_arguments grouped{.weights = memory, .experts = 4, .n = 2, .k = 32};
    CHECK_FALSE(is_ragged<kq::product<kq::q8_0, kq::mappings::experts>>(grouped));
    const kq::experts_arguments three{.weights = memory, .experts = 3, .n = 2, .k = 32};
    CHECK(is_ragged<kq::product<kq::q8_0, kq::mappings::experts>>(three));

    const kq::block_diagonal_arguments diagonal{.weights = memory, .n = 8, .groups = 2, .k = 32};
    CHECK_FALSE(is_ragged<kq::product<kq::q8_0, kq::mappings::block_diagonal>>(diagonal));
}

TEST_CASE("pointers to foreign structures pass as untyped weights") {
    struct foreign {
        unsigned char bytes[34];
    };
    const foreign* blocks = nullptr;
    CHECK(kq::weights_pointer(blocks).block_bytes == 0);
    const kq::q8_0::block* in_place = nullptr;
    const kq::q8_0_aligned::block* aligned = nullptr;
    CHECK(kq::weights_pointer(in_place).id == kq::encoding::q8_0);
    CHECK(kq::weights_pointer(in_place).block_bytes == 34);
    CHECK(kq::weights_pointer(aligned).id == kq::encoding::q8_0);
    CHECK(kq::weights_pointer(aligned).block_bytes != 34);
}

TEST_CASE("blocks of every other encoding, and of another layout, are refused by name") {
    alignas(16) static unsigned char memory[256] = {};
    float y[1] = {};
    const auto each = [](auto call) {
        [&]<class... Encodings>(kq::type_list<Encodings...>) {
            (call.template operator()<Encodings>(), ...);
            call.template operator()<kq::q8_0_aligned>();
        }(kq::encodings{});
    };
    std::vector<kq::weights_pointer> blocks; // of each
    each([&]<class Other>() {
        blocks.emplace_back(reinterpret_cast<const typename Other::block*>(memory));
    });
    size_t own = 0;
    each([&]<class Encoding>() {
        using product = kq::product<Encoding>;
        kq::dense_arguments a{
            .activation = reinterpret_cast<const float*>(memory), .output = y, .n = 1, .k = 256};
        for (size_t other = 0; other < blocks.size(); ++other) {
            a.weights = blocks[other];
            kq::product_sizes sizes;
            kq::check(kq::measure<product>(a, sizes));
            const kq::status s = product::mapping::check(a, product::facts, sizes);
            CHECK((kq::message(s) == "weights: must hold blocks of the launch's encoding") ==
                  (other != own));
        }
        ++own;
    });
}

TEST_CASE("mappings refuse bad arguments by name") {
    using E = kq::q8_0;
    alignas(16) static unsigned char memory[4096] = {};
    const auto* x = reinterpret_cast<const float*>(memory);
    auto* y = reinterpret_cast<float*>(memory + 2048);
    const auto* ids = reinterpret_cast<const int32_t*>(memory);

    kq::stacked_arguments stack{.count = 0, .activation = x, .k = 32};
    const auto stacked = [&] {
        return std::string(kq::host_model<E, warp, kq::mappings::stacked>::launch(stack).subject());
    };
    CHECK(stacked() == "count");
    stack.count = 9;
    CHECK(stacked() == "count");
    stack.count = 1;
    stack.matrices[0] = {.weights = memory, .output = y, .n = -1};
    CHECK(stacked() == "matrices.n");
    stack.matrices[0].n = 2;
    stack.matrices[0].output_stride = 1;
    CHECK(stacked() == "matrices.output_stride");
    stack.matrices[0].output_stride = 0;
    stack.matrices[0].weights = nullptr;
    CHECK(stacked() == "matrices.weights");

    kq::experts_arguments group{.weights = memory,
                                .activation = x,
                                .output = y,
                                .expert_ids = ids,
                                .experts = 1,
                                .n = 1,
                                .k = 32,
                                .slots = 4,
                                .top_k = 3};
    const auto grouped = [&] {
        return std::string(kq::host_model<E, warp, kq::mappings::experts>::launch(group).subject());
    };
    CHECK(grouped() == "top_k");
    group.top_k = 0;
    CHECK(grouped() == "top_k");
    group.top_k = 2;
    group.expert_ids = nullptr;
    CHECK(grouped() == "expert_ids");
    group.expert_ids = ids;
    group.experts = -1;
    CHECK(grouped() == "experts");
    group.experts = 1;
    group.activation_rows = static_cast<kq::slot_activation>(3);
    CHECK(grouped() == "activation_rows");

    kq::block_diagonal_arguments diagonal{
        .weights = memory, .activation = x, .output = y, .n = 5, .groups = 2, .k = 32};
    const auto blocks = [&] {
        return std::string(
            kq::host_model<E, warp, kq::mappings::block_diagonal>::launch(diagonal).subject());
    };
    CHECK(blocks() == "groups");
    diagonal.groups = 0;
    CHECK(blocks() == "groups");
    diagonal.groups = 5;
    diagonal.k = 33;
    CHECK(blocks() == "k");

    kq::dense_arguments dense{.weights = memory, .activation = x, .output = y, .n = 1, .k = 32};
    const auto fused = [&] {
        return std::string(
            kq::host_model<E, warp, kq::mappings::dense, gated>::launch(dense).subject());
    };
    CHECK(fused() == "up_weights");
    dense.up_weights = memory + 1;
    CHECK(fused() == "up_weights");
    dense.up_weights = reinterpret_cast<const kq::q4_0::block*>(memory);
    CHECK(fused() == "up_weights"); // blocks of another encoding
    dense.up_weights = reinterpret_cast<const kq::q8_0::block*>(memory);
    CHECK(fused().empty());
    dense.up_weights = memory;
    dense.epilogue.gate = {.function = kq::gate_function::silu_clamped};
    CHECK(fused() == "epilogue.gate.limit");
    dense.epilogue.gate = {.function = static_cast<kq::gate_function>(6)};
    CHECK(fused() == "epilogue.gate.function");
    dense.epilogue.gate = {};
    CHECK(kq::host_model<E>::launch(dense).subject() == std::string("up_weights"));
    const auto* floats = reinterpret_cast<const float*>(memory);
    dense.epilogue.bias = reinterpret_cast<const float*>(memory + 2);
    CHECK(fused() == "epilogue.bias");
    dense.epilogue.bias = nullptr;
    dense.epilogue.term_weights = floats;
    CHECK(fused() == "epilogue.term_weights");
    dense.epilogue.term_weights = nullptr;
    dense.epilogue.up_bias = floats;
    CHECK(fused().empty());
    dense.up_weights = {};
    CHECK(kq::host_model<E>::launch(dense).subject() == std::string("epilogue.up_bias"));
    dense.up_weights = memory;
    dense.epilogue.up_bias = nullptr;
    dense.weight_pitch = 33;
    CHECK(fused() == "weight_pitch");
    dense.weight_pitch = 0;
    CHECK(fused().empty());
}

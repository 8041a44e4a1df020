// SPDX-License-Identifier: Apache-2.0
#include "gpu/gates.hpp"
#include "catch.hpp"
#include "gpu/products.hpp"

#include <kq/gemv/epilogue/epilogue.hpp>

#include <cmath>
#include <limits>

using gpu::buffer;
using gpu::placement;

TEST_CASE("dense gate and up give the bits of products and the gate function, for every function") {
    samples::for_each_encoding([]<class E>() {
        const int64_t n = 33, k = 4 * E::elements, m = 2;
        const auto gate = samples::random_weights<E>(n, k, 26);
        const auto up = samples::random_weights<E>(n, k, 27);
        const auto x = samples::gaussian(m * k, 28);
        const auto g = gpu::host_product<E>(gate.data(), x.data(), n, k, m);
        const auto u = gpu::host_product<E>(up.data(), x.data(), n, k, m);
        const buffer gate_weights(gate, placement::before_hole);
        const buffer up_weights(up, placement::after_hole);
        const buffer activation(x, placement::exact);
        const auto compare = [&]<kq::policy Policy>(const kq::gate_form& form) {
            INFO("gate function " << static_cast<int>(form.function));
            const gpu::output y(m * n);
            gpu::run<instances::gemv<E, Policy, kq::mappings::dense, kq::epilogues::gated>>(
                {.weights = gate_weights.data(),
                 .up_weights = up_weights.data(),
                 .activation = activation.as<const float>(),
                 .output = y.data(),
                 .n = n,
                 .k = k,
                 .m = m,
                 .epilogue = {.gate = form}});
            REQUIRE(y.holds(gpu::apply_gate(form, g, u)));
        };
        for (const kq::gate_form& form : gpu::gates) {
            gpu::for_each_method<E, kq::mappings::dense, kq::epilogues::gated>(
                [&]<kq::policy Policy>() { compare.template operator()<Policy>(form); });
        }
    });
}

TEST_CASE("relu and the clamps of gate functions give the host's bits for every kind of value") {
    const float infinity = std::numeric_limits<float>::infinity();
    const float subnormal = std::numeric_limits<float>::denorm_min();
    const std::vector<float> kinds = {
        0.0f, -0.0f,    subnormal, -subnormal, 1e-39f,    -1e-39f,
        1.0f, -1.0f,    0.5f,      -0.5f,      infinity,  -infinity,
        7.5f, -65504.f, 3e38f,     -3e38f,     0x1p-126f, std::numeric_limits<float>::quiet_NaN(),
    };
    std::vector<float> gate, up;
    for (const float g : kinds) {
        for (const float u : kinds) {
            gate.push_back(g);
            up.push_back(u);
        }
    }
    const auto compare = [&](const kq::gate_form& form, const std::vector<float>& g) {
        const auto y = gpu::apply_gate(form, g, up);
        int differences = 0;
        for (size_t i = 0; i < y.size(); ++i) {
            const float host = kq::apply_gate(form, g[i], up[i]);
            differences +=
                std::isnan(host) ? !std::isnan(y[i]) : std::memcmp(&host, &y[i], sizeof(host)) != 0;
        }
        INFO("gate function " << static_cast<int>(form.function) << ", limit " << form.limit);
        CHECK(differences == 0);
    };
    compare({.function = kq::gate_function::relu}, gate);
    // A gate of zero has a sigmoid of exactly a half, whatever exp is: only `up` and the clamps
    // are left. `beta` keeps the product from vanishing.
    for (const float limit : {0.5f, 1e-39f, subnormal}) {
        compare({.function = kq::gate_function::silu_clamped, .limit = limit},
                std::vector<float>(up.size(), 0.0f));
        compare({.function = kq::gate_function::silu_weighted, .alpha = 0, .limit = limit}, gate);
    }
    compare({.function = kq::gate_function::silu_weighted, .alpha = 0}, gate);
}

// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "gpu/gates.hpp"
#include "samples.hpp"

#include <kq/gemv/epilogue/epilogue.hpp>

#include <cmath>

TEST_CASE("gate functions agree on host and device within 2^-21 of the terms that they add") {
    const auto x = samples::gaussian(100000, 29);
    const auto up = samples::gaussian(100000, 30);
    for (const kq::gate_form& form : gpu::gates) {
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

// SPDX-License-Identifier: Apache-2.0
#include "step.hpp"

#include "common/noise.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace decode_step {

token make_token(const block& b, std::uint64_t seed) {
    token t{.x = common::gaussian(b.hidden(), seed), .ids = {}, .term_weights = {}};
    if (b.is_dense()) {
        return t;
    }
    std::mt19937_64 random(seed);
    t.ids.resize(static_cast<std::size_t>(b.gate.experts));
    std::iota(t.ids.begin(), t.ids.end(), 0);
    std::shuffle(t.ids.begin(), t.ids.end(), random);
    // 1, 2, ... top_k parts of their sum: any weights that differ would do.
    for (std::int64_t slot = 0; slot < b.top_k; ++slot) {
        t.term_weights.push_back(2 * static_cast<float>(slot + 1) /
                                 static_cast<float>(b.top_k * (b.top_k + 1)));
    }
    return t;
}

std::vector<float> step_on_host(const block& b, const token& t) {
    std::vector<std::byte> gate, up, down; // of noise
    std::vector<float> inner(static_cast<std::size_t>(b.slots() * b.inner()));
    std::vector<float> y(t.x.size());
    kq::check(run_step(b,
                       {.gate = on_host(b.gate, gate),
                        .up = on_host(b.up, up),
                        .down = on_host(b.down, down),
                        .x = t.x.data(),
                        .inner = inner.data(),
                        .y = y.data(),
                        .ids = t.ids.data(),
                        .term_weights = t.term_weights.data()},
                       host_products{}));
    return y;
}

} // namespace decode_step

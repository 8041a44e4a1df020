// SPDX-License-Identifier: Apache-2.0
#include "policies.hpp"
#include "product.hpp"
#include "threads.hpp"

#include <kq/dot/all.hpp>
#include <kq/gemv/dispatch.hpp>
#include <kq/gemv/host_model.hpp>

#include <chrono>

namespace gguf_gemv {
namespace {

template <class Model>
double timed_run(const typename Model::arguments& a) {
    const auto start = std::chrono::steady_clock::now();
    share(a.n,
          [&](std::int64_t first, std::int64_t last) { kq::check(Model::launch(a, first, last)); });
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class Model>
product_result multiply_by(const product& p) {
    constexpr double long_run = 0.3;
    product_result result{std::vector<float>(static_cast<std::size_t>(p.m * p.n)), 0, false};
    auto a = arguments_of<typename Model::arguments>(p);
    a.output = result.output.data();
    std::vector<double> times{timed_run<Model>(a)};
    while (times.front() < long_run && times.size() < 3) {
        times.push_back(timed_run<Model>(a));
    }
    result.seconds = median(times);
    return result;
}

template <class Encoding>
product_result multiply(const product& p, int lanes) {
    using namespace kq::mappings;
    using namespace kq::epilogues;
    using namespace kq::policies;
    if (p.is_grouped()) {
        return p.is_gated() ? multiply_by<kq::host_model<Encoding, warp, grouped, gated>>(p)
                            : multiply_by<kq::host_model<Encoding, warp, grouped, store>>(p);
    }
    if (p.is_gated()) {
        return multiply_by<kq::host_model<Encoding, warp, dense, gated>>(p);
    }
    // The other fields of a policy do not change a bit.
    return lanes == 8    ? multiply_by<kq::host_model<Encoding, subwarp<8>>>(p)
           : lanes == 16 ? multiply_by<kq::host_model<Encoding, subwarp<16>>>(p)
                         : multiply_by<kq::host_model<Encoding, warp>>(p);
}

} // namespace

product_result multiply_on_host(const product& p, std::size_t policy) {
    product_result result{};
    kq::check(kq::dispatch(p.encoding, [&]<class Encoding>() {
        result = multiply<Encoding>(p, known_policies[policy].lanes);
    }));
    return result;
}

} // namespace gguf_gemv

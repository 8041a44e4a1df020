// SPDX-License-Identifier: Apache-2.0
#include "product.hpp"
#include "threads.hpp"

#include <kq/core/check.hpp>
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

// Every policy of the tool has this order of additions.
template <class Encoding, template <int> class Mapping>
product_result multiply(const product& p) {
    using namespace kq::epilogues;
    return p.is_gated() ? multiply_by<kq::host_model<Encoding, kq::order{}, Mapping, gated>>(p)
                        : multiply_by<kq::host_model<Encoding, kq::order{}, Mapping, store>>(p);
}

} // namespace

product_result multiply_on_host(const product& p) {
    product_result result{};
    kq::check(kq::dispatch(p.encoding, [&]<class Encoding>() {
        result = p.has_experts() ? multiply<Encoding, kq::mappings::experts>(p)
                                 : multiply<Encoding, kq::mappings::dense>(p);
    }));
    return result;
}

} // namespace gguf_gemv

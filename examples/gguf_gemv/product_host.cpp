// SPDX-License-Identifier: Apache-2.0
#include "product.hpp"
#include "threads.hpp"

#include <kq/dot/dots.hpp>
#include <kq/gemv/dispatch.hpp>
#include <kq/gemv/host_model.hpp>

#include <algorithm>
#include <chrono>

namespace gguf_gemv {
namespace {

template <class Encoding>
double timed_run(const kq::dense_arguments& a) {
    const auto start = std::chrono::steady_clock::now();
    share(a.n, [&](std::int64_t first, std::int64_t last) {
        kq::check(kq::host_model<Encoding>::launch(a, first, last));
    });
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

double median(std::vector<double> times) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

product_result multiply_on_host(const product& p) {
    constexpr double long_run = 0.3;
    kq::dense_arguments a = p.arguments;
    product_result result{std::vector<float>(static_cast<std::size_t>(a.m * a.n)), 0, false};
    a.output = result.output.data();
    kq::check(kq::dispatch(p.encoding, [&]<class Encoding>() {
        std::vector<double> times{timed_run<Encoding>(a)};
        while (times.front() < long_run && times.size() < 3) {
            times.push_back(timed_run<Encoding>(a));
        }
        result.seconds = median(times);
    }));
    return result;
}

} // namespace gguf_gemv

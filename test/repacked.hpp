// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "samples.hpp"
#include "shapes.hpp"

#include <kq/blocks/repack.hpp>
#include <kq/core/check.hpp>
#include <kq/dot/q8_0.hpp>
#include <kq/dot/q8_0_aligned.hpp>
#include <kq/gemv/host_model.hpp>

#include <cstring>
#include <vector>

/// What the tests of repacked weights share.
namespace samples {

inline std::vector<kq::q8_0_aligned::block> repacked(const std::vector<kq::q8_0::block>& w) {
    std::vector<kq::q8_0_aligned::block> aligned(w.size() / kq::q8_0_aligned::q8_0_blocks);
    kq::repack(w.data(), static_cast<int64_t>(w.size()), aligned.data());
    return aligned;
}

template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Rows of less than a step of 32 lanes, of a step and a half, and of several steps.
inline std::vector<shape> repacked_shapes() {
    std::vector<shape> all;
    for (const int64_t m : {1, 3}) {
        for (const int64_t n : {1, 7, 16, 17}) {
            for (const int64_t blocks : {16, 48, 224}) {
                all.push_back({m, n, blocks * kq::q8_0::elements});
            }
        }
    }
    return all;
}

/// The product of weights [n, k] and an activation [m, k] by the host model, [m, n].
template <class Weights, kq::order Order = kq::order{}>
std::vector<float> host_product(const std::vector<typename Weights::block>& w,
                                const std::vector<float>& x, shape s) {
    std::vector<float> y(static_cast<size_t>(s.m * s.n), -1.0f);
    kq::check(kq::host_model<Weights, Order>::launch({.weights = w.data(),
                                                      .activation = x.data(),
                                                      .output = y.data(),
                                                      .n = s.n,
                                                      .k = s.k,
                                                      .m = s.m}));
    return y;
}

} // namespace samples

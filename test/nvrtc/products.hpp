// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dot/all.hpp>
#include <kq/gemv/dispatch.hpp>
#include <kq/gemv/policy/policy.hpp>
#include <kq/core/status.hpp>

#include <string>
#include <vector>

/// What the tests compile at run time.
namespace nvrtc {

/// An encoding by its name, and a policy that nothing else in kq compiles.
struct product {
    std::string encoding;
    kq::policy policy;
};

inline const std::vector<product> products = {
    {"q4_k", {.rows = 3, .warps = 8, .via = kq::transport::direct}},
    {"q6_k", {.lanes = 16, .prefetch = 3, .via = kq::transport::direct}},
    {"iq2_xxs", {.rows = 3, .stages = 1, .via = kq::transport::bulk}},
    {"q8_0", {.rows = 2, .batch = 3, .warps = 4, .via = kq::transport::bulk}},
};

/// Calls `f.operator()<Encoding>()` with the product's encoding.
template <class F>
void with_encoding(const product& p, F&& f) {
    const auto is_named = [&]<class Encoding>() {
        if (kq::name_of(Encoding::id) == p.encoding) {
            f.template operator()<Encoding>();
        }
    };
    [&]<class... Encodings>(kq::type_list<Encodings...>) {
        (is_named.template operator()<Encodings>(), ...);
    }(kq::encodings{});
}

} // namespace nvrtc

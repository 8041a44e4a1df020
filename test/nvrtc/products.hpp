// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/status.hpp>
#include <kq/dot/all.hpp>
#include <kq/gemv/policy/policy.hpp>

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
    {"q4_k", {.rows = 3, .warps = 8, .method = kq::method::direct}},
    {"q6_k", {.order = {16}, .method = kq::method::direct, .direct = {.prefetch = 3}}},
    {"iq2_xxs", {.rows = 3, .method = kq::method::bulk, .bulk = {.stages = 1}}},
    {"q8_0", {.rows = 2, .batch = 3, .warps = 4, .method = kq::method::bulk}},
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

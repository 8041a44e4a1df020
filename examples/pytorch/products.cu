// SPDX-License-Identifier: Apache-2.0
#include "products.hpp"

#include <kq/kq.cuh>

#include <stdexcept>
#include <string>

namespace products {

namespace {

/// What is compiled. Every encoding costs build time.
using encodings = kq::type_list<kq::q4_k, kq::q6_k, kq::q8_0>;

/// Calls `f.operator()<Encoding>()` with the encoding of that name.
template <class F>
void with_encoding(const std::string& name, F&& f) {
    std::string known;
    bool found = false;
    const auto is_named = [&]<class Encoding>() {
        const std::string own = kq::name_of(Encoding::id);
        known += (known.empty() ? "" : ", ") + own;
        if (own == name) {
            found = true;
            f.template operator()<Encoding>();
        }
    };
    [&]<class... Encodings>(kq::type_list<Encodings...>) {
        (is_named.template operator()<Encodings>(), ...);
    }(encodings{});
    if (!found) {
        throw std::invalid_argument("encoding: \"" + name + "\" is none of " + known);
    }
}

kq::dense_arguments arguments_of(const product& p) {
    const auto type = p.type == element::f32   ? kq::element_type::f32
                      : p.type == element::f16 ? kq::element_type::f16
                                               : kq::element_type::bf16;
    return {.weights = p.weights,
            .activation = {p.x, type},
            .output = {p.y, type},
            .n = p.n,
            .k = p.k,
            .m = p.m};
}

/// As `kq::check`, but arguments have the operator's names.
void require(const kq::status& outcome) {
    const std::string subject = outcome.subject();
    if (outcome.code() == kq::error::invalid_argument &&
        (subject == "weights" || subject == "activation")) {
        throw std::invalid_argument((subject == "weights" ? "packed_weight: " : "x: ") +
                                    std::string(outcome.rule()));
    }
    kq::check(outcome);
}

} // namespace

sizes sizes_of(const product& p) {
    sizes bytes{};
    with_encoding(p.encoding, [&]<class Encoding>() {
        kq::product_sizes found;
        require(kq::measure<kq::product<Encoding>>(arguments_of(p), found));
        bytes = {p.n * found.row_bytes, found.workspace_bytes};
    });
    return bytes;
}

void launch(const product& p, void* workspace, int64_t workspace_bytes, cudaStream_t stream) {
    with_encoding(p.encoding, [&]<class Encoding>() {
        require(kq::gemv<Encoding, kq::tuned>::launch(
            arguments_of(p), {workspace, static_cast<size_t>(workspace_bytes)}, stream));
    });
}

} // namespace products

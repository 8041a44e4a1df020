// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "block.hpp"

#include <kq/core/check.hpp>
#include <kq/dot/all.hpp>
#include <kq/gemv/dispatch.hpp>
#include <kq/gemv/host_model.hpp>
#include <kq/gemv/mapping/all.hpp>

namespace decode_step {

/// What a step reads and writes: device memory for the kernels, host memory for the host model.
struct step_memory {
    const void* gate;
    const void* up;
    const void* down;
    const float* x;                      ///< [hidden]
    float* inner;                        ///< [slots, inner]
    float* y;                            ///< [hidden]
    const std::int32_t* ids = nullptr;   ///< [slots] experts, in device memory; null if dense
    const float* term_weights = nullptr; ///< [slots] of the experts; null if dense
};

/// Computes a block in two products: gate and up with silu, then down with the rest.
///
/// `Products`: has `launch<Mapping, Epilogue>(encoding, arguments)`, which returns a status.
/// kernels and host model take the same arguments.
template <class Products>
kq::status run_step(const block& b, const step_memory& m, const Products& products) {
    using namespace kq::mappings;
    using namespace kq::epilogues;
    if (b.is_dense()) {
        const kq::dense_arguments first{.weights = m.gate,
                                        .up_weights = m.up,
                                        .activation = m.x,
                                        .output = m.inner,
                                        .n = b.inner(),
                                        .k = b.hidden()};
        const kq::dense_arguments second{.weights = m.down,
                                         .activation = m.inner,
                                         .output = m.y,
                                         .n = b.hidden(),
                                         .k = b.inner(),
                                         .epilogue = {.residual = m.x}};
        if (const kq::status s = products.template launch<dense, gated>(b.gate.encoding, first);
            !s.ok()) {
            return s;
        }
        return products.template launch<dense, store>(b.down.encoding, second);
    }
    const kq::experts_arguments first{.weights = m.gate,
                                      .up_weights = m.up,
                                      .activation = m.x,
                                      .output = m.inner,
                                      .expert_ids = m.ids,
                                      .experts = b.gate.experts,
                                      .n = b.inner(),
                                      .k = b.hidden(),
                                      .slots = b.top_k,
                                      .top_k = b.top_k,
                                      .activation_rows = kq::slot_activation::per_token};
    const kq::experts_arguments second{
        .weights = m.down,
        .activation = m.inner,
        .output = m.y,
        .expert_ids = m.ids,
        .experts = b.down.experts,
        .n = b.hidden(),
        .k = b.inner(),
        .slots = b.top_k,
        .top_k = b.top_k,
        .epilogue = {.residual = m.x, .term_weights = m.term_weights}};
    if (const kq::status s = products.template launch<experts, gated>(b.gate.encoding, first);
        !s.ok()) {
        return s;
    }
    return products.template launch<experts, weighted_sum>(b.down.encoding, second);
}

/// Products by kq's host model.
struct host_products {
    template <template <int> class Mapping, class Epilogue>
    kq::status launch(kq::encoding e,
                      const typename Mapping<Epilogue::weight_sets>::arguments& a) const {
        return kq::dispatch(e, [&]<class Encoding>() {
            return kq::host_model<Encoding, kq::order{}, Mapping, Epilogue>::launch(a);
        });
    }
};

/// What a token brings to a block, in host memory.
struct token {
    std::vector<float> x;            ///< [hidden]
    std::vector<std::int32_t> ids;   ///< every expert once, the first `top_k` are the token's
    std::vector<float> term_weights; ///< [top_k], of sum 1
};

token make_token(const block& b, std::uint64_t seed);

/// A step by the host model, on one core. Returns y [hidden].
std::vector<float> step_on_host(const block& b, const token& t);

} // namespace decode_step

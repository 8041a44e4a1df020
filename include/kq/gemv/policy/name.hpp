// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/policy/policy.hpp>

#include <string>

namespace kq::inline KQ_ABI {

/// A policy's name as users write it: `warp`, `multi_row<4>`, or its fields where it has no name.
inline std::string name_of(const policy& p) {
    const auto numbered = [](const char* name, int i) {
        return std::string(name) + "<" + std::to_string(i) + ">";
    };
    const auto is = [&](const policy& other) { return with_method(other, p.method) == p; };
    std::string name;
    if (is(policies::warp)) {
        name = "warp";
    } else if (p.order.lanes < 32 && is(detail::policy_of_lanes(p.order.lanes))) {
        name = numbered("subwarp", p.order.lanes);
    } else if (p.direct.prefetch > 1 && is(detail::policy_of_prefetch(p.direct.prefetch))) {
        name = numbered("prefetch", p.direct.prefetch);
    } else if (p.batch > 1 && is(detail::policy_of_batch(p.batch))) {
        name = numbered("batch", p.batch);
    } else if (p.rows > 0 && is(detail::policy_of_rows(p.rows))) {
        name = numbered("multi_row", p.rows);
    } else {
        const policy usual;
        const auto field = [&](const char* text, int value, int usual_value) {
            if (value != usual_value) {
                name += (name.empty() ? "{." : ", .") + std::string(text) + " = " +
                        std::to_string(value);
            }
        };
        field("order.lanes", p.order.lanes, usual.order.lanes);
        field("rows", p.rows, usual.rows);
        field("batch", p.batch, usual.batch);
        field("warps", p.warps, usual.warps);
        field("direct.prefetch", p.direct.prefetch, usual.direct.prefetch);
        field("bulk.stages", p.bulk.stages, usual.bulk.stages);
        field("bulk.piece_bytes", p.bulk.piece_bytes, usual.bulk.piece_bytes);
        name += "}";
    }
    return p.method == method::direct ? name + ":direct"
           : p.method == method::bulk ? name + ":bulk"
                                      : name;
}

} // namespace kq::inline KQ_ABI

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
    const auto named = [&](policy other) { return by(other, p.via) == p; };
    std::string name;
    if (named(policies::warp)) {
        name = "warp";
    } else if (p.lanes < 32 && named(policy{.lanes = p.lanes})) {
        name = numbered("subwarp", p.lanes);
    } else if (p.prefetch > 1 && named(policy{.prefetch = p.prefetch})) {
        name = numbered("prefetch", p.prefetch);
    } else if (p.batch > 1 && named(policy{.batch = p.batch})) {
        name = numbered("batch", p.batch);
    } else if (p.rows > 0 && named(policy{.rows = p.rows, .piece_bytes = 4608 / p.rows})) {
        name = numbered("multi_row", p.rows);
    } else {
        const auto field = [&](const char* text, int value) {
            name +=
                (name.empty() ? "{." : ", .") + std::string(text) + " = " + std::to_string(value);
        };
        const policy usual;
        if (p.lanes != usual.lanes)
            field("lanes", p.lanes);
        if (p.rows != usual.rows)
            field("rows", p.rows);
        if (p.prefetch != usual.prefetch)
            field("prefetch", p.prefetch);
        if (p.batch != usual.batch)
            field("batch", p.batch);
        if (p.warps != usual.warps)
            field("warps", p.warps);
        if (p.stages != usual.stages)
            field("stages", p.stages);
        if (p.piece_bytes != usual.piece_bytes)
            field("piece_bytes", p.piece_bytes);
        name += "}";
    }
    return p.via == transport::direct ? name + ":direct"
           : p.via == transport::bulk ? name + ":bulk"
                                      : name;
}

} // namespace kq::inline KQ_ABI

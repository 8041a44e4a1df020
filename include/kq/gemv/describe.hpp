// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/plan/plan.hpp>
#include <kq/gemv/policy/name.hpp>

#include <string>

namespace kq::inline KQ_ABI {

/// How a planned launch is served: the name of its policy, and the method that was decided.
inline std::string policy_text(const launch_plan& plan) {
    return name_of(with_method(plan.policy, method::automatic)) +
           (plan.method == method::bulk ? " by bulk" : " by direct");
}

/// A planned launch as one line for a log: what is multiplied, how it is served, with how much
/// memory.
inline std::string to_string(const launch_plan& plan) {
    std::string line = name_of(plan.weights.id);
    const auto number = [&](const char* before, int64_t x, const char* after = "") {
        line += before + std::to_string(x) + after;
    };
    number(" n ", plan.sizes.n);
    number(" k ", plan.sizes.k);
    number(" units ", plan.sizes.units, ": ");
    line += policy_text(plan);
    number(", ", plan.shape.ctas());
    number(" x ", plan.shape.threads, " threads");
    number(", ", plan.shape.shared_bytes, " B shared");
    number(", ", plan.sizes.weight_bytes(), " B weights");
    number(" in blocks of ", plan.weights.block_bytes, " B");
    number(", ", plan.sizes.workspace_bytes, " B workspace");
    return line;
}

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/plan/plan.hpp>
#include <kq/gemv/policy/name.hpp>

#include <string>

namespace kq::inline KQ_ABI {

/// What a launch would do, as data: the shape and how it is served, not the row mapping, the
/// epilogue or the element types.
struct description {
    encoding weights = {};
    int block_bytes = 0; ///< tells layouts of an encoding apart
    policy with = {};
    transport via = transport::direct;
    int64_t n = 0;              ///< output rows of a unit
    int64_t k = 0;              ///< columns of a weight row
    int64_t units = 0;          ///< activation rows, expert slots or groups
    int64_t grid = 0;           ///< thread blocks
    int threads = 0;            ///< of a thread block
    int shared_bytes = 0;       ///< of a thread block
    int64_t weight_bytes = 0;   ///< that all units together need; fewer where experts coincide
    size_t workspace_bytes = 0; ///< quantized activations

    bool operator==(const description&) const = default;

    /// One line for a log.
    std::string line() const {
        const auto number = [](auto x) { return std::to_string(x); };
        return std::string(name_of(weights)) + " n " + number(n) + " k " + number(k) + " units " +
               number(units) + ": " + name_of(by(with, transport::automatic)) + " by " +
               (via == transport::bulk ? "bulk" : "direct") + ", " + number(grid) + " x " +
               number(threads) + " threads, " + number(shared_bytes) + " B shared, " +
               number(weight_bytes) + " B weights in blocks of " + number(block_bytes) + " B, " +
               number(workspace_bytes) + " B workspace";
    }
};

/// Plans a launch without looking at pointers and describes it.
///
/// Errors: as `plan_shape` and `check_options`.
template <dottable Encoding, epilogue Epilogue, class Arguments>
status describe_launch(const policy& p, const Arguments& a, const device_facts& device,
                       description& out, launch_options options = {}) {
    gemv_plan plan;
    if (const status s = check_options<mapping_of<Encoding, Epilogue, Arguments>>(device, options);
        !s.ok()) {
        return s;
    }
    if (const status s = plan_shape<Encoding, Epilogue>(p, a, device, plan); !s.ok()) {
        return s;
    }
    out = {.weights = Encoding::id,
           .block_bytes = block_bytes<Encoding>,
           .with = p,
           .via = plan.via,
           .n = plan.of.n,
           .k = plan.of.k,
           .units = plan.of.units,
           .grid = plan.grid,
           .threads = plan.threads,
           .shared_bytes = shape_of(plan, options).shared_bytes,
           .weight_bytes = plan.of.is_empty() ? 0 : plan.of.most_rows * plan.row_bytes,
           .workspace_bytes = static_cast<size_t>(plan.workspace_bytes)};
    return {};
}

} // namespace kq::inline KQ_ABI

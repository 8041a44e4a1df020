// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/status.hpp>
#include <kq/launch/device.hpp>

namespace kq::inline KQ_ABI {

/// How a launch follows the kernels before it on its stream. The results are the same bits.
struct launch_options {
    /// Programmatic dependent launch, on compute capability 9.0 and up and by code that was
    /// compiled for it: the kernels may start while those before them still run. They do what needs
    /// nothing from them, and wait for them to end before they read or write anything that those
    /// may use. Can be captured in a graph.
    bool dependent = false;

    /// The caller's promise that no kernel that may still run writes the weights: of the kernels
    /// before this one, neither the last that was not launched as dependent nor any after it. The
    /// weights are then read without waiting (bulk copies only). Refused for experts, whose ids
    /// come from a kernel; has no effect where `dependent` is false.
    bool early_weights = false;

    bool operator==(const launch_options&) const = default;
};

namespace detail {

/// The options as far as a device can follow them.
///
/// Errors: early weights that ids on the device choose.
constexpr status check_options(const device_facts& device, bool chosen_on_device,
                               launch_options& options) {
    if (options.early_weights && chosen_on_device) {
        return status::invalid("early_weights", "is not for weights that ids on the device choose");
    }
    options.dependent = options.dependent && device.compute_capability >= 90;
    options.early_weights = options.early_weights && options.dependent;
    return {};
}

} // namespace detail

} // namespace kq::inline KQ_ABI

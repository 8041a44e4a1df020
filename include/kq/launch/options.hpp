// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/version.hpp>

namespace kq::inline KQ_ABI {

/// How a launch follows the kernels before it on its stream. The results are the same bits.
struct launch_options {
    /// Programmatic dependent launch, on compute capability 9.0 and up and by code that was
    /// compiled for it: the kernels may start while those before them still run, and do what
    /// depends on nothing. They wait for the others to end before they read or write anything that
    /// those may use. Can be captured in a graph.
    bool dependent = false;

    /// The caller's word that no kernel writes the weights that may still run when a dependent
    /// launch starts: none since the last launch that was not dependent. Weights are then copied
    /// without waiting (bulk transport only). Not for experts, whose ids come from a kernel; means
    /// nothing where `dependent` is false.
    bool early_weights = false;
};

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/cuda.hpp"
#include "step.hpp"

#include <kq/launch/options.hpp>

namespace decode_step {

/// A block in the memory of the current device, with so many copies of its weights and so many
/// choices of experts that each step of a series finds its weights outside the L2 cache.
class gpu_block {
public:
    gpu_block(const block& b, const token& t);

    /// One step of the token. Returns y [hidden].
    std::vector<float> output(kq::launch_options options);

    /// The time of a step, in seconds: the median of replays of a graph of many steps, each with
    /// other weights.
    double seconds(kq::launch_options options);

    /// Whether the weights are cold then: small ones would need too many copies.
    bool is_cold() const;

private:
    void launch(std::size_t step, kq::launch_options options) const;

    const block& b_;
    std::size_t turns_;  ///< steps that one copy serves, each with other experts
    std::size_t copies_; ///< of all weights
    kq::device_facts facts_;
    std::size_t workspace_bytes_ = 0;
    common::stream_handle stream_ = common::make_stream();
    common::device_memory weights_; ///< [copies], each gate, up, down
    common::device_memory x_;
    common::device_memory inner_;
    common::device_memory y_;
    common::device_memory ids_; ///< [experts]
    common::device_memory term_weights_;
    common::device_memory workspace_;
};

} // namespace decode_step

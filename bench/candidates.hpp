// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "choice.hpp"

#include <kq/core/workspace.hpp>
#include <kq/dot/all.hpp>
#include <kq/gemv/mapping/all.hpp>
#include <kq/gemv/policy/policy.hpp>
#include <kq/launch/device.hpp>
#include <kq/launch/options.hpp>

#include <driver_types.h>

#include <vector>

/// The policies that the tuner tries, compiled for every encoding in a translation unit of its own
/// made from `candidates.cu.in`.
namespace bench {

/// `kq::gemv<...>::multiply` with one policy.
template <class Arguments>
struct candidate {
    kq::policy policy;
    size_t (*workspace_bytes)(const Arguments&);
    kq::status (*quantize)(const Arguments&, kq::workspace, cudaStream_t, const kq::device_facts&,
                           kq::launch_options);
    kq::status (*multiply)(const Arguments&, kq::workspace, cudaStream_t, const kq::device_facts&,
                           kq::launch_options);
};

template <class Encoding>
struct candidates {
    static std::vector<candidate<kq::dense_arguments>> dense();
    /// For more than one activation row.
    static std::vector<candidate<kq::dense_arguments>> batched(int64_t m);
    static std::vector<candidate<kq::experts_arguments>> experts();
    static std::vector<candidate<kq::experts_arguments>> experts_gated();
    static std::vector<candidate<kq::experts_arguments>> experts_sum();
};

} // namespace bench

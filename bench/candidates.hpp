// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dot/all.hpp>
#include <kq/gemv/mapping/mapping.hpp>
#include <kq/gemv/plan/plan.hpp>
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
    static std::vector<candidate<kq::dense_arguments>> batched(int batch);
    static std::vector<candidate<kq::grouped_arguments>> grouped();
    static std::vector<candidate<kq::grouped_arguments>> grouped_gated();
    static std::vector<candidate<kq::grouped_arguments>> grouped_sum();
};

} // namespace bench

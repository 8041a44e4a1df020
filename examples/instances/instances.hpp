// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/encodings.hpp>
#include <kq/gemv/arguments.hpp>
#include <kq/gemv/plan.hpp>
#include <kq/gemv/policy.hpp>

#include <driver_types.h>

/// The launchers that the tests, the tool and the benchmarks share: each encoding is compiled once,
/// in a translation unit of its own made from `instance.cu.in`.
namespace instances {

/// `kq::gemv<Encoding, kq::by(kq::policies::warp, Via)>`, compiled elsewhere.
template <class Encoding, kq::transport Via = kq::transport::automatic>
struct gemv {
    static size_t workspace_bytes(const kq::dense_arguments& a);
    static kq::status can_implement(const kq::dense_arguments& a, kq::workspace space,
                                    const kq::device_facts& device);
    static kq::status quantize(const kq::dense_arguments& a, kq::workspace space,
                               cudaStream_t stream, const kq::device_facts& device);
    static kq::status multiply(const kq::dense_arguments& a, kq::workspace space,
                               cudaStream_t stream, const kq::device_facts& device);
    static kq::status launch(const kq::dense_arguments& a, kq::workspace space, cudaStream_t stream,
                             const kq::device_facts& device);
};

/// `kq::query_device`.
kq::status query_device(kq::device_facts& facts);

} // namespace instances

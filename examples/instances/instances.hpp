// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instances/compositions.hpp"
#include "instances/tuned.hpp"

#include <kq/core/check.hpp>
#include <kq/core/workspace.hpp>
#include <kq/gemv/describe.hpp>

#include <driver_types.h>

/// The launchers that the tests, the tool and the benchmarks share, compiled for each encoding in
/// translation units of its own made from the `.cu.in` files; compositions.hpp lists them.
namespace instances {

/// `kq::gemv` with the same parameters, compiled elsewhere.
template <class Encoding, auto Choice = kq::policies::warp,
          template <int> class Mapping = kq::mappings::dense, class Epilogue = kq::epilogues::store>
struct gemv {
    using arguments = typename Mapping<Epilogue::weight_sets>::arguments;
    static constexpr bool compiled = has<Encoding, Choice, Mapping, Epilogue>;

    static size_t workspace_bytes(const arguments& a) requires compiled;
    static kq::status can_implement(const arguments& a, kq::workspace space,
                                    const kq::device_facts& device) requires compiled;
    static kq::status describe(const arguments& a, const kq::device_facts& device,
                               kq::launch_plan& plan,
                               kq::launch_options options = {}) requires compiled;
    static kq::status quantize(const arguments& a, kq::workspace space, cudaStream_t stream,
                               const kq::device_facts& device,
                               kq::launch_options options = {}) requires compiled;
    static kq::status multiply(const arguments& a, kq::workspace space, cudaStream_t stream,
                               const kq::device_facts& device,
                               kq::launch_options options = {}) requires compiled;
    static kq::status launch(const arguments& a, kq::workspace space, cudaStream_t stream,
                             const kq::device_facts& device,
                             kq::launch_options options = {}) requires compiled;
};

/// The functions of a `gemv` as data, so that what calls them is compiled once for all encodings.
template <class Arguments>
struct launcher {
    size_t (*workspace_bytes)(const Arguments&);
    kq::status (*describe)(const Arguments&, const kq::device_facts&, kq::launch_plan&,
                           kq::launch_options);
    kq::status (*launch)(const Arguments&, kq::workspace, cudaStream_t, const kq::device_facts&,
                         kq::launch_options);
};

template <class Gemv>
inline constexpr launcher<typename Gemv::arguments> launcher_of{&Gemv::workspace_bytes,
                                                                &Gemv::describe, &Gemv::launch};

/// `kq::query_device`; fails too where the GPU is one that these kernels are not compiled for.
kq::status query_device(kq::device_facts& facts);

} // namespace instances

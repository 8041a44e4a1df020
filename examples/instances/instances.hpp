// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/all.hpp>
#include <kq/dot/all.hpp>
#include <kq/gemv/describe.hpp>
#include <kq/gemv/mapping/mapping.hpp>
#include <kq/gemv/plan/plan.hpp>
#include <kq/launch/options.hpp>

#include <driver_types.h>

#include <type_traits>

/// The launchers that the tests, the tool and the benchmarks share: each encoding is compiled once,
/// in a translation unit of its own made from the `.cu.in` files, which list the compositions.
namespace instances {

/// Stands for no policy, but for the choice of `kq::tuned_gemv`.
inline constexpr kq::policy tuned{.warps = 0};

/// `kq::gemv` with the same parameters, or `kq::tuned_gemv`, compiled elsewhere.
template <class Encoding, kq::policy Policy = kq::policies::warp,
          template <int> class Mapping = kq::mappings::dense, class Epilogue = kq::epilogues::store>
struct gemv {
    using arguments = typename Mapping<Epilogue::weight_sets>::arguments;

    static size_t workspace_bytes(const arguments& a);
    static kq::status can_implement(const arguments& a, kq::workspace space,
                                    const kq::device_facts& device);
    static kq::status describe(const arguments& a, const kq::device_facts& device,
                               kq::description& out, kq::launch_options options = {});
    static kq::status quantize(const arguments& a, kq::workspace space, cudaStream_t stream,
                               const kq::device_facts& device, kq::launch_options options = {});
    static kq::status multiply(const arguments& a, kq::workspace space, cudaStream_t stream,
                               const kq::device_facts& device, kq::launch_options options = {});
    static kq::status launch(const arguments& a, kq::workspace space, cudaStream_t stream,
                             const kq::device_facts& device, kq::launch_options options = {});
};

/// The policies that are compiled for every encoding beside `warp`: each value of each field, with
/// one transport. Policies that differ in stages and pieces only share a kernel.
inline constexpr kq::policy policies[] = {
    kq::by(kq::policies::subwarp<8>, kq::transport::direct),
    kq::by(kq::policies::subwarp<16>, kq::transport::bulk),
    kq::by(kq::policies::multi_row<1>, kq::transport::direct),
    kq::by(kq::policies::multi_row<4>, kq::transport::bulk),
    kq::by(kq::policies::prefetch<2>, kq::transport::direct),
    kq::by(kq::policies::prefetch<4>, kq::transport::direct),
    kq::by(kq::policies::batch<2>, kq::transport::direct),
    kq::by(kq::policies::batch<4>, kq::transport::bulk),
    kq::by(kq::policies::batch<8>, kq::transport::bulk),
    {.lanes = 16, .rows = 2, .prefetch = 2, .warps = 8, .via = kq::transport::direct},
    {.rows = 4, .stages = 1, .piece_bytes = 1 << 20, .via = kq::transport::bulk},
    {.rows = 2, .stages = 3, .piece_bytes = 1152, .via = kq::transport::bulk},
    {.lanes = 16, .stages = 1, .piece_bytes = 1 << 20, .via = kq::transport::bulk},
};
inline constexpr int named_policies = 9; ///< of them, at the front, that have a name

/// `warp` by one transport.
inline constexpr kq::policy direct = kq::by(kq::policies::warp, kq::transport::direct);
inline constexpr kq::policy bulk = kq::by(kq::policies::warp, kq::transport::bulk);

/// The place of an encoding in the list.
template <class Encoding>
inline constexpr int index_of = []<class... Encodings>(kq::type_list<Encodings...>) {
    int index = 0;
    bool found = false;
    ((found = found || std::is_same_v<Encoding, Encodings>, index += found ? 0 : 1), ...);
    return index;
}(kq::encodings{});

/// Block-diagonal products and weighted sums, whose kernels differ little between encodings, are
/// compiled by one transport for each encoding, by turns.
template <class Encoding>
inline constexpr kq::policy by_turns = index_of<Encoding> % 2 == 0 ? direct : bulk;
template <class Encoding>
inline constexpr kq::policy by_other_turns = index_of<Encoding> % 2 == 0 ? bulk : direct;

/// `kq::query_device`; fails too where the GPU is one that these kernels are not compiled for.
kq::status query_device(kq::device_facts& facts);

} // namespace instances

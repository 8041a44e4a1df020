// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

namespace kq::inline KQ_ABI {

/// How weights reach the lanes. Never changes a bit of the result (contract C3).
enum class transport {
    automatic, ///< bulk where the device, the shape and the policy allow it, else direct
    direct, ///< lanes load from global memory; the activation comes through the first-level cache
    bulk,   ///< bulk copies into a ring in shared memory per warp; compute capability 9.0 and up
};

/// Which lane does what when: plain data, a template argument. Only `lanes` changes bits: the order
/// of float additions is a function of encoding, lanes and k (contract C3).
struct policy {
    int lanes = 32;   ///< lanes that share an output: 8, 16 or 32; a warp has 32 / lanes groups
    int rows = 1;     ///< weight rows that these lanes have in flight; share an activation
    int prefetch = 1; ///< fragments of a row in registers before its first dot (direct only)
    int batch = 1;    ///< activation rows that share a weight fragment
    int warps = 16;   ///< warps of a thread block
    int stages = 2;   ///< at most this many pieces in a warp's ring (bulk only)
    int piece_bytes = 4608; ///< about this many bytes of a row in one bulk copy (bulk only)
    transport via = transport::automatic;

    bool operator==(const policy&) const = default;
};

/// Weight rows that a warp has in flight.
KQ_API constexpr int rows_of_warp(const policy& p) {
    return p.rows * (32 / p.lanes);
}

/// Whether the fields are in range.
constexpr bool is_valid(const policy& p) {
    return (p.lanes == 8 || p.lanes == 16 || p.lanes == 32) && p.rows >= 1 && p.rows <= 8 &&
           p.prefetch >= 1 && p.prefetch <= 8 && p.batch >= 1 && p.batch <= 8 && p.warps >= 1 &&
           p.warps <= 32 && p.stages >= 1 && p.stages <= 8 && p.piece_bytes >= 1;
}

/// Whether a transport can serve a policy: fragments prefetched into registers come from global
/// memory.
constexpr bool allows(const policy& p, transport via) {
    return (p.via == transport::automatic || p.via == via) &&
           (p.prefetch == 1 || via == transport::direct);
}

/// The same policy by one transport.
constexpr policy by(policy p, transport via) {
    p.via = via;
    return p;
}

/// What of a policy the code of a kernel depends on; the other fields are data of a launch, so
/// policies that differ in them share a kernel.
constexpr policy compiled_part(policy p) {
    p.stages = policy{}.stages;
    p.piece_bytes = policy{}.piece_bytes;
    return p;
}

// What `policies` are made of: nvcc 12.4 fails on designated initializers of variable templates.
namespace detail {

constexpr policy policy_of_lanes(int lanes) {
    return {.lanes = lanes};
}
constexpr policy policy_of_rows(int rows) {
    return {.rows = rows, .piece_bytes = 4608 / rows};
}
constexpr policy policy_of_prefetch(int fragments) {
    return {.prefetch = fragments};
}
constexpr policy policy_of_batch(int rows) {
    return {.batch = rows};
}

} // namespace detail

namespace policies {

/// 32 lanes an output row, two rows in flight. Not tuned: on an H200 two rows were faster than one
/// by the direct transport and for iq2_xxs, one row faster by bulk for q2_k, q4_k, q6_k and q8_0.
inline constexpr policy warp{.rows = 2, .piece_bytes = 2304};

/// `Lanes` lanes an output row, for short k. `subwarp<32>` is `warp`.
template <int Lanes>
inline constexpr policy subwarp = Lanes == 32 ? warp : detail::policy_of_lanes(Lanes);

/// `Rows` weight rows share each activation fragment. Bit-equal to `warp`, which is `multi_row<2>`.
template <int Rows>
inline constexpr policy multi_row = detail::policy_of_rows(Rows);

/// `Fragments` fragments of a row are loaded before the first is dotted. Bit-equal to `warp`.
template <int Fragments>
inline constexpr policy prefetch = detail::policy_of_prefetch(Fragments);

/// `Rows` activation rows share each weight fragment, so weights are read once for them. Bit-equal
/// to `warp` for each.
template <int Rows>
inline constexpr policy batch = detail::policy_of_batch(Rows);

} // namespace policies

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dot/order.hpp>

namespace kq::inline KQ_ABI {

/// How weights reach the lanes. Never changes a bit of the result (contract C3).
enum class method {
    automatic, ///< bulk where the device, the shape and the policy allow it, else direct
    direct, ///< lanes load from global memory; the activation comes through the first-level cache
    bulk,   ///< bulk copies into a ring in shared memory per warp; compute capability 9.0 and up
};

/// What only the method `direct` uses.
struct direct_options {
    int prefetch = 1; ///< fragments of a row in registers before its first dot

    bool operator==(const direct_options&) const = default;
};

/// What only the method `bulk` uses. Data of a launch: kernels do not depend on it.
struct bulk_options {
    int stages = 2;         ///< at most this many pieces in a warp's ring
    int piece_bytes = 4608; ///< about this many bytes of a row in one copy

    bool operator==(const bulk_options&) const = default;
};

/// Which lane does what when: plain data, a template argument. Only `order` changes bits.
struct policy {
    kq::order order = {}; ///< of float additions; a warp has 32 / lanes groups of lanes
    int rows = 1;         ///< weight rows that these lanes have in flight; share an activation
    int batch = 1;        ///< activation rows that share a weight fragment
    int warps = 16;       ///< warps of a thread block
    kq::method method = kq::method::automatic;
    direct_options direct = {};
    bulk_options bulk = {};

    bool operator==(const policy&) const = default;
};

/// Weight rows that a warp has in flight.
KQ_API constexpr int rows_of_warp(const policy& p) {
    return p.rows * (32 / p.order.lanes);
}

/// Whether a method can serve a policy: fragments prefetched into registers come from global
/// memory.
KQ_API constexpr bool allows(const policy& p, method m) {
    return (p.method == method::automatic || p.method == m) &&
           (p.direct.prefetch == 1 || m == method::direct);
}

/// The same policy by one method.
KQ_API constexpr policy with_method(policy p, method m) {
    p.method = m;
    return p;
}

/// What of a policy the code of a kernel depends on; the other fields are data of a launch, so
/// policies that differ in them share a kernel.
KQ_API constexpr policy compiled_part(policy p) {
    p.bulk = {};
    return p;
}

// Functions, and not braces alone: nvcc 12.4 fails on designated initializers of variable
// templates, and a field more in `policy` moves nothing in a table that calls them.
namespace policies {

/// A policy by direct loads.
constexpr policy direct(int rows, int batch, int warps, direct_options options = {}) {
    return {
        .rows = rows, .batch = batch, .warps = warps, .method = method::direct, .direct = options};
}

/// A policy by bulk copies.
constexpr policy bulk(int rows, int batch, int warps, bulk_options options = {}) {
    return {.rows = rows, .batch = batch, .warps = warps, .method = method::bulk, .bulk = options};
}

} // namespace policies

namespace detail {

constexpr policy policy_of_lanes(int lanes) {
    return {.order = {lanes}};
}
constexpr policy policy_of_rows(int rows) {
    return {.rows = rows, .bulk = {.piece_bytes = 4608 / rows}};
}
constexpr policy policy_of_prefetch(int fragments) {
    return {.direct = {.prefetch = fragments}};
}
constexpr policy policy_of_batch(int rows) {
    return {.batch = rows};
}

} // namespace detail

namespace policies {

/// 32 lanes an output row, two rows in flight. Not tuned: on an H200 two rows were faster than one
/// by direct loads and for iq2_xxs, one row faster by bulk copies for q2_k, q4_k, q6_k and q8_0.
inline constexpr policy warp = detail::policy_of_rows(2);

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

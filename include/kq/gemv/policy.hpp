// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/config.hpp>

namespace kq {

/// How weights reach the lanes. Never changes a bit of the result (contract C3).
enum class transport {
    automatic, ///< bulk where the device and the shape allow it, else direct
    direct, ///< lanes load from global memory; the activation comes through the first-level cache
    bulk,   ///< bulk copies into a ring in shared memory per warp; compute capability 9.0 and up
};

/// Which lane does what when: plain data, a template argument.
///
/// `rows`: weight rows that a warp has in flight; they share an activation fragment.
/// `warps`: warps of a thread block.
/// `stages`: at most this many pieces in a warp's ring (bulk only).
/// `piece_bytes`: about this many bytes of a row in one bulk copy (bulk only).
/// `via`: the transport.
struct policy {
    int rows = 2;
    int warps = 16;
    int stages = 2;
    int piece_bytes = 2304;
    transport via = transport::automatic;
};

/// The rules of a policy.
constexpr bool is_valid(const policy& p) {
    return p.rows >= 1 && p.rows <= 8 && p.warps >= 1 && p.warps <= 32 && p.stages >= 1 &&
           p.stages <= 8 && p.piece_bytes >= 1;
}

/// The same policy by another transport.
constexpr policy by(policy p, transport via) {
    p.via = via;
    return p;
}

namespace policies {

/// 32 lanes an output row. Two rows in flight, 16 warps and two stages of about 2.3 KB were within
/// a few percent of the best on an H200 for every encoding and shape tried.
inline constexpr policy warp{};

} // namespace policies

} // namespace kq

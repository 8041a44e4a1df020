// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dot/dot.hpp>
#include <kq/gemv/policy/policy.hpp>

namespace kq::inline KQ_ABI::policies {

/// The policy with as many lanes as rows of `k` columns keep busy: a lane without a slice costs as
/// much as one with. 8 lanes up to 16 slices a row, 16 up to 48, else 32; a block of q8_0 is one
/// slice, a superblock four. A constant expression where k is one; at run time choose with it among
/// launchers of all three.
///
/// Other lane counts add in another order, so they agree within NMSE 1e-10 only (contract C3).
template <dottable Encoding>
constexpr policy short_k(int64_t k) {
    const int64_t slices = k / Encoding::elements * decoder<Encoding>::slices;
    return slices <= 16 ? subwarp<8> : slices <= 48 ? subwarp<16> : warp;
}

} // namespace kq::inline KQ_ABI::policies

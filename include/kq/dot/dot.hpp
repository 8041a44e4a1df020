// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dot/decoder.hpp>
#include <kq/dot/dp4a.hpp>

namespace kq::inline KQ_ABI {

/// Adds `scale.dot * x.dot - scale.min * x.min` to `sum`: one fused operation on each exact
/// integer, the dot first. The only float additions along a row.
template <class Dot>
KQ_API float accumulate(float sum, const scales& scale, const integers& x) {
    sum = fma_rn(scale.dot, static_cast<float>(x.dot), sum);
    return Dot::has_minimum ? fma_rn(scale.min, static_cast<float>(-x.min), sum) : sum;
}

} // namespace kq::inline KQ_ABI

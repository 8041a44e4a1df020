// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>

/// Integer arithmetic of sizes. Not `<algorithm>`'s and `<cuda/cmath>`'s, which cost every
/// translation unit that includes kq more time than the rest of kq does.
namespace kq::inline KQ_ABI::detail {

KQ_API constexpr int64_t lesser(int64_t a, int64_t b) {
    return a < b ? a : b;
}
KQ_API constexpr int64_t greater(int64_t a, int64_t b) {
    return a < b ? b : a;
}
/// `a / b`, rounded up. Requires: `a >= 0`, `b > 0`.
KQ_API constexpr int64_t ceil_div(int64_t a, int64_t b) {
    return a / b + (a % b != 0 ? 1 : 0);
}
/// The least multiple of `b` from `a` on. Requires: `a >= 0`, `b > 0`.
KQ_API constexpr int64_t round_up(int64_t a, int64_t b) {
    return ceil_div(a, b) * b;
}

} // namespace kq::inline KQ_ABI::detail

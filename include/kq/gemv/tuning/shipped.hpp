// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/tuning/select.hpp>

namespace kq::tuning {

inline constexpr row h200[] = {
    {90,
     encoding::q4_k,
     row_mapping::dense,
     4096,
     4096,
     1,
     {.rows = 1, .via = transport::bulk},
     4.0f,
     3.0f},
};

/// What was measured.
inline constexpr table shipped{h200};

} // namespace kq::tuning

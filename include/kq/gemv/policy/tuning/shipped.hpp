// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/policy/tuning/entry.hpp>
#include <kq/gemv/policy/tuning/h200.hpp>

namespace kq::inline KQ_ABI::tuning {

/// The measurements that come with kq.
inline constexpr table shipped{h200};

} // namespace kq::inline KQ_ABI::tuning

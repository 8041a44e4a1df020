// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instances/instances.hpp"

#include <kq/gemv/policy.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

namespace gguf_gemv {

/// Every policy of the tool, as compiled; the first one is the default. The last one of
/// instances::policies has no name to ask for it by.
inline constexpr auto known_policies = [] {
    std::array<kq::policy, std::size(instances::policies)> all{kq::policies::warp};
    std::copy(std::begin(instances::policies), std::end(instances::policies) - 1, all.begin() + 1);
    return all;
}();

/// A policy's name, whatever the transport.
inline std::string policy_name(const kq::policy& policy) {
    return kq::name_of(kq::by(policy, kq::transport::automatic));
}

} // namespace gguf_gemv

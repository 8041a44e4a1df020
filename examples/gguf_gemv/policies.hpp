// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instances/instances.hpp"

#include <kq/gemv/policy/policy.hpp>

#include <algorithm>
#include <array>
#include <string>

namespace gguf_gemv {

/// Every policy of the tool, as compiled; the first one is the default.
inline constexpr auto known_policies = [] {
    std::array<kq::policy, instances::named_policies + 2> all{instances::tuned, kq::policies::warp};
    std::copy_n(std::begin(instances::policies), instances::named_policies, all.begin() + 2);
    return all;
}();

/// A policy's name, whatever the transport.
inline std::string policy_name(const kq::policy& policy) {
    return policy == instances::tuned ? "tuned"
                                      : kq::name_of(kq::by(policy, kq::transport::automatic));
}

} // namespace gguf_gemv

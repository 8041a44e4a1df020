// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instances/compositions.hpp"

#include <kq/gemv/policy/name.hpp>

#include <array>
#include <optional>
#include <string>

namespace gguf_gemv {

/// The tool's policies, which every encoding is compiled with; the first one, the default, stands
/// for `instances::tuned`. All have one order of additions, so none changes a bit.
inline constexpr std::array<std::optional<kq::policy>, 3> known_policies{
    std::nullopt, kq::policies::warp, instances::batch};

/// A policy's name, whatever the method.
inline std::string policy_name(const std::optional<kq::policy>& policy) {
    return policy ? kq::name_of(kq::with_method(*policy, kq::method::automatic)) : "tuned";
}

} // namespace gguf_gemv

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/policy.hpp>

#include <array>
#include <string_view>

namespace gguf_gemv {

/// A policy that can be asked for by name: kq::policies::warp by a transport.
struct named_policy {
    std::string_view name;
    kq::transport via;
};

/// Every policy of the tool; the first one is the default.
inline constexpr auto known_policies = std::to_array<named_policy>({
    {"warp", kq::transport::automatic},
});

} // namespace gguf_gemv

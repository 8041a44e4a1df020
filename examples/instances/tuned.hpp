// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instances/compositions.hpp"
#include "instances/tuned_encodings.hpp"

#include <kq/gemv/policy/tuning/tuned.hpp>

#include <type_traits>

namespace instances {
namespace detail {

template <class Encoding, class... Encodings>
constexpr bool is_one_of(kq::type_list<Encodings...>) {
    return (std::is_same_v<Encoding, Encodings> || ...);
}

template <class Encoding>
constexpr auto choose_tuned() {
    if constexpr (is_one_of<Encoding>(tuned_encodings{})) {
        return kq::tuned;
    } else {
        return untuned;
    }
}

} // namespace detail

/// What the tool, the examples and the benchmarks multiply by: `kq::tuned`, where this build has an
/// encoding's measured policies (`KQ_TUNED_ENCODINGS`), else `untuned`. The bits are the same.
template <class Encoding>
inline constexpr auto tuned = detail::choose_tuned<Encoding>();

} // namespace instances

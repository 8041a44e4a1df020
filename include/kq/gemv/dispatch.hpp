// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/all.hpp>
#include <kq/core/standard.hpp>
#include <kq/core/status.hpp>
#include <kq/gemv/policy/name.hpp>

#include <string_view>

namespace kq::inline KQ_ABI {

namespace detail {

/// The status of `call()`, or success where it returns nothing.
template <class Call>
status status_of(Call&& call) {
    if constexpr (standard::is_void_v<decltype(call())>) {
        call();
        return {};
    } else {
        return call();
    }
}

template <class F, class... Encodings>
status dispatch([[maybe_unused]] encoding e, [[maybe_unused]] F& f, type_list<Encodings...>) {
    status result = status::invalid("encoding", "is none that this call was compiled for");
    (void)((Encodings::id == e &&
            (result = status_of([&] { return f.template operator()<Encodings>(); }), true)) ||
           ...);
    return result;
}

} // namespace detail

/// Calls `f.operator()<Encoding>()` with the encoding that `e` names at run time, and returns its
/// status (or success, where `f` returns nothing). Instantiates only what `List` holds.
///
///     kq::dispatch(kq::encoding::q6_k, [&]<class Encoding>() { ... });
///
/// Errors: `encoding`, where `List` does not hold it; `f` is not called then.
template <class List = encodings, class F>
status dispatch(encoding e, F&& f) {
    return detail::dispatch(e, f, List{});
}

/// Calls `f.operator()<Policy>()` with the one of `Policies` that `name` names (see `name_of`), and
/// returns its status. Instantiates only what is listed. (An output's type needs no dispatch: it is
/// an argument of the launch.)
///
///     kq::dispatch_policy<kq::policies::warp, kq::policies::batch<4>>(name, [&]<kq::policy P>() {
///         return kq::gemv<kq::q4_k, P>::launch(...);
///     });
///
/// Errors: `policy`, where none has this name; `f` is not called then.
template <policy... Policies, class F>
status dispatch_policy(std::string_view name, F&& f) {
    status result = status::invalid("policy", "is none that this call was compiled for");
    (void)((name_of(Policies) == name &&
            (result = detail::status_of([&] { return f.template operator()<Policies>(); }),
             true)) ||
           ...);
    return result;
}

} // namespace kq::inline KQ_ABI

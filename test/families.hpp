// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instances/compositions.hpp"
#include "samples.hpp"

namespace samples {

/// `for_each_encoding` for one encoding of each family, that whose turn number `Turn` is: for what
/// code does that all encodings share. Tests take different turns, so that encodings take part in
/// different ones.
template <int Turn, class Test>
void for_each_family(Test&& test) {
    for_each_encoding([&]<class Encoding>() {
        if constexpr (instances::has_turn<Encoding>(Turn)) {
            test.template operator()<Encoding>();
        }
    });
}

} // namespace samples

// SPDX-License-Identifier: Apache-2.0
// Passes where both units' products are right and each ran the functions of its own kq.
#include "unit.hpp"

#include <cstdio>

int main() {
    const sight here = see_this();
    const sight next = see_next();
    for (const sight& s : {here, next}) {
        std::printf("minor version %d: %g, %s\n", s.minor, static_cast<double>(s.product),
                    s.text.c_str());
    }
    return here.product == 254 && next.product == 254 && here.text == "ok" &&
                   next.text == "ok of the next" && next.minor == here.minor + 1
               ? 0
               : 1;
}

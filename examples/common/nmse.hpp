// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace common {

/// The normalized mean squared error: sum (x - expected)^2 / sum expected^2. Infinite where only
/// `expected` is all zero, NaN where a value is.
inline double nmse(std::span<const float> x, std::span<const float> expected) {
    double errors = 0;
    double squares = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double difference = static_cast<double>(x[i]) - expected[i];
        errors += difference * difference;
        squares += static_cast<double>(expected[i]) * expected[i];
    }
    return errors == 0 ? 0 : errors / squares;
}

} // namespace common

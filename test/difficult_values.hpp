// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "samples.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace samples {

/// Values that the rules of C1 treat specially, among ordinary ones.
inline std::vector<float> difficult_values(int64_t count) {
    constexpr float inf = std::numeric_limits<float>::infinity();
    auto x = gaussian(count, 5);
    for (size_t b = 0; b + 256 <= x.size(); b += 256) {
        const size_t kind = b / 256 % 12;
        for (size_t i = b; i < b + 256; ++i) {
            switch (kind) {
            case 1:
                x[i] = 0;
                break;
            case 2:
                x[i] = i % 2 == 0 ? 1.0f : -1.0f;
                break; // ties for the extreme
            case 3:
                x[i] = std::ldexp(x[i], -140);
                break; // subnormal
            case 4:
                x[i] = std::ldexp(x[i], 120);
                break; // huge
            case 5:
                x[i] = static_cast<float>(i % 255) - 127 + 0.5f;
                break; // halves
            case 6:
                x[i] = i == b + 17 ? std::nanf("") : x[i];
                break;
            case 7:
                x[i] = i == b + 255 ? -inf : x[i];
                break;
            case 8:
                x[i] = -0.0f;
                break;
            case 9:
                x[i] = std::ldexp(1.0f, -149);
                break; // the least subnormal
            case 10:
                x[i] = std::ldexp(x[i], -128);
                break; // reciprocals near overflow
            case 11:
                x[i] = x[i] * 65504 * 127;
                break; // scales about the largest f16 and beyond
            default:
                break;
            }
        }
    }
    return x;
}

} // namespace samples

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace samples {

struct shape {
    int64_t m;
    int64_t n;
    int64_t k;
};

/// Shapes in which every m meets every n, every m every k and every n every k (a Latin square), the
/// largest of two with the smallest of the third. k runs from one block to 56 superblocks and,
/// where blocks are smaller, is mostly no multiple of 256.
template <class Encoding>
std::vector<shape> shapes(int64_t most_m = 512, int64_t most_n = 513) {
    const int64_t ms[] = {1, 2, 4, 7, 32, most_m};
    const int64_t ns[] = {1, 3, 7, 16, 17, most_n};
    constexpr int64_t small_blocks[] = {1, 3, 33, 72, 130, 448};
    constexpr int64_t superblocks[] = {1, 3, 8, 9, 17, 56};
    constexpr int64_t elements = Encoding::elements;
    std::vector<shape> all;
    for (int i = 0; i < 6; ++i) {
        for (int j = 0; j < 6; ++j) {
            const int h = (10 - i - j) % 6;
            const int64_t blocks =
                elements == 256 ? superblocks[h] : (32 * small_blocks[h] + elements - 1) / elements;
            all.push_back({ms[i], ns[j], elements * blocks});
        }
    }
    return all;
}

} // namespace samples

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace tensor_parallel {

/// Some of the rows, or blocks of columns, of a matrix.
struct range {
    std::int64_t first;
    std::int64_t count;
};

/// How many of `total` each of `parts` gets; the last ones may get fewer, or none.
constexpr std::int64_t part_size(std::int64_t total, std::int64_t parts) {
    return (total + parts - 1) / parts;
}

/// What part number `index` gets. The parts follow each other.
constexpr range part_of(std::int64_t total, std::int64_t parts, std::int64_t index) {
    const std::int64_t size = part_size(total, parts);
    const std::int64_t first = std::min(total, index * size);
    return {first, std::min(total - first, size)};
}

} // namespace tensor_parallel

// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include "tensor_parallel/split.hpp"

using tensor_parallel::part_of;
using tensor_parallel::part_size;

TEST_CASE("parts follow each other and make up the whole, whatever the number of parts") {
    for (const int64_t total : {1, 2, 7, 8, 31, 8192}) {
        for (int64_t parts = 1; parts <= 9; ++parts) {
            INFO(total << " in " << parts);
            int64_t next = 0;
            for (int64_t i = 0; i < parts; ++i) {
                const auto part = part_of(total, parts, i);
                CHECK(part.first == next);
                CHECK(part.count >= 0);
                CHECK(part.count <= part_size(total, parts));
                next += part.count;
            }
            CHECK(next == total);
        }
    }
}

TEST_CASE("every part begins at its index times the size that all-gather moves") {
    for (int64_t i = 0; i < 4; ++i) {
        const auto part = part_of(10, 4, i); // 3, 3, 3, 1
        CHECK(part.first == i * part_size(10, 4));
    }
    CHECK(part_of(3, 4, 3).count == 0);
}

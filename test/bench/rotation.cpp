// SPDX-License-Identifier: Apache-2.0
#include "rotation.hpp"

#include <catch2/catch.hpp>

#include <vector>

namespace {

constexpr size_t mib = size_t{1} << 20;

/// Two replays of a graph, launch after launch: the least distance, in launches, between two that
/// read the same bytes.
int least_distance(const bench::rotation& r) {
    std::vector<int> last(static_cast<size_t>(r.places), -1);
    int least = 2 * r.launches;
    for (int i = 0; i < 2 * r.launches; ++i) {
        int& before = last[static_cast<size_t>(r.place(i % r.launches))];
        least = before < 0 ? least : std::min(least, i - before);
        before = i;
    }
    return least;
}

} // namespace

TEST_CASE("launches in flight together read different bytes, and the others between two that read "
          "the same ones three times the cache") {
    for (const size_t cache : {mib, 6 * mib, 50 * mib, 60 * mib, 128 * mib}) {
        for (const size_t bytes : {size_t{144}, 700 * size_t{1024}, 9 * mib, 31 * mib, 150 * mib,
                                   300 * mib, 985 * mib}) {
            if (cache / bytes > 1000) {
                continue; // more copies than anybody measures
            }
            for (const int multiple : {1, 8, 16}) {
                const bench::rotation r(bytes, cache, multiple);
                CAPTURE(cache, bytes, multiple, r.places, r.launches);
                const int distance = least_distance(r);
                CHECK(distance > bench::most_in_flight);
                const auto over = static_cast<size_t>(distance - bench::most_in_flight);
                CHECK(over * bytes >= 3 * cache);
                CHECK(r.places % multiple == 0);
                CHECK(r.launches % r.places == 0);
            }
        }
    }
}

TEST_CASE("four copies of weights larger than three times the cache are enough") {
    STATIC_REQUIRE(bench::rotation(985 * mib, 60 * mib).places == 4);
    STATIC_REQUIRE(bench::rotation(240 * mib, 60 * mib).places == 4);
    STATIC_REQUIRE(bench::rotation(240 * mib, 60 * mib).launches == 4);
}

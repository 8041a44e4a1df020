// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "samples.hpp"

#include <kq/dot/order.hpp>

#include <cstring>

namespace {

/// What every lane of a warp's group holds after an xor butterfly: in each step a lane adds what
/// the lane at the step's distance held.
std::vector<float> butterfly(std::vector<float> sums) {
    const size_t lanes = sums.size();
    for (size_t distance = lanes / 2; distance >= 1; distance /= 2) {
        const std::vector<float> before = sums;
        for (size_t l = 0; l < lanes; ++l) {
            sums[l] = before[l] + before[l ^ distance];
        }
    }
    return sums;
}

} // namespace

TEST_CASE("lanes' sums meet as in an xor butterfly, in which every lane ends with the same bits") {
    for (const int lanes : {8, 16, 32}) {
        INFO(lanes << " lanes");
        bool rounds = false; // whether the order mattered at all
        for (uint64_t seed = 0; seed < 200; ++seed) {
            std::vector<float> sums = samples::gaussian(lanes, seed);
            for (size_t i = 0; i < sums.size(); ++i) {
                sums[i] = std::ldexp(sums[i], static_cast<int>((i * 5 + seed) % 24));
            }
            const std::vector<float> all = butterfly(sums);
            float in_order = 0;
            for (const float x : sums) {
                in_order += x;
            }
            const float met = kq::order{lanes}.meet(sums.data());
            for (const float x : all) {
                REQUIRE(std::memcmp(&met, &x, sizeof(x)) == 0);
            }
            rounds = rounds || met != in_order;
        }
        CHECK(rounds);
    }
}

TEST_CASE("orders are equal where their lanes are") {
    STATIC_REQUIRE(kq::order{} == kq::order{32});
    STATIC_REQUIRE(kq::order{8} != kq::order{16});
}

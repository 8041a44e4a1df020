// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <kq/core/check.hpp>
#include <kq/dot/all.hpp>
#include <kq/gemv/describe.hpp>
#include <kq/gemv/mapping/all.hpp>
#include <kq/gemv/plan/product.hpp>

#include <string>

namespace {

constexpr kq::device_facts h200{
    .compute_capability = 90, .multiprocessors = 132, .shared_bytes_per_block = 232448};

/// The plan of a launch, without pointers.
template <class Product>
kq::status describe(const kq::policy& p, const typename Product::arguments& a,
                    const kq::device_facts& device, kq::launch_plan& plan,
                    kq::launch_options options = {}) {
    kq::product_sizes sizes;
    const kq::status s = kq::measure<Product>(a, sizes);
    return s.ok() ? kq::plan_launch(Product::facts, p, sizes, device, options, plan) : s;
}

using dense = kq::product<kq::q4_k>;
using experts = kq::product<kq::q4_k, kq::mappings::experts>;

} // namespace

TEST_CASE("a launch is described as data and as one line") {
    kq::launch_plan d;
    REQUIRE(describe<dense>(kq::policies::warp, {.n = 4096, .k = 4096}, h200, d).ok());
    CHECK(d.weights.id == kq::encoding::q4_k);
    CHECK(d.policy == kq::policies::warp);
    CHECK(d.method == kq::method::bulk);
    CHECK(kq::policy_text(d) == "warp by bulk");
    CHECK(d.sizes.weight_bytes() == int64_t{4096} * 16 * 144);
    CHECK(d.shape.threads == 512);
    CHECK(d.sizes.workspace_bytes == 2 * 2432); // 16 blocks are two panels
    // 2048 pairs of rows, 16 a thread block. In shared memory 33 barriers in 384 bytes, two panels
    // of 2432, and for each of 16 warps two stages of two rows of 2304 bytes with room around:
    // 4864.
    CHECK(kq::to_string(d) ==
          "q4_k n 4096 k 4096 units 1: warp by bulk, 128 x 512 threads, 160896 B shared, "
          "9437184 B weights in blocks of 144 B, 4864 B workspace");
    kq::device_facts older = h200;
    older.compute_capability = 80;
    REQUIRE(describe<dense>(kq::policies::warp, {.n = 4096, .k = 4096}, older, d).ok());
    CHECK(d.method == kq::method::direct);
    CHECK(kq::to_string(d) == "q4_k n 4096 k 4096 units 1: warp by direct, 128 x 512 threads, "
                              "0 B shared, 9437184 B weights in blocks of 144 B, 4864 B workspace");
    CHECK(describe<dense>(kq::policies::warp, {.n = 1, .k = 100}, h200, d).subject() ==
          std::string("k"));
}

TEST_CASE("the line of a plan says experts, the policy without its method and an empty product") {
    kq::launch_plan d;
    const kq::policy direct = with_method(kq::policies::multi_row<4>, kq::method::direct);
    REQUIRE(describe<experts>(direct, {.experts = 8, .n = 64, .k = 512, .slots = 6}, h200, d).ok());
    // 16 groups of rows for one thread block of 16 warps; six slots need six experts of the eight.
    CHECK(kq::to_string(d) == "q4_k n 64 k 512 units 6: multi_row<4> by direct, 6 x 512 threads, "
                              "0 B shared, 110592 B weights in blocks of 144 B, 14592 B workspace");
    REQUIRE(describe<experts>(direct, {.experts = 8, .n = 64, .k = 512, .slots = 0}, h200, d).ok());
    CHECK(kq::to_string(d) == "q4_k n 64 k 512 units 0: multi_row<4> by direct, 0 x 0 threads, "
                              "0 B shared, 0 B weights in blocks of 144 B, 0 B workspace");
    for (const char c : kq::to_string(d)) {
        CHECK(c != '\n');
    }
}

TEST_CASE("what a launch refuses is not described") {
    kq::launch_plan d;
    const kq::experts_arguments a{.experts = 4, .n = 64, .k = 1024, .slots = 2};
    CHECK(describe<experts>(kq::policies::warp, a, h200, d,
                            {.dependent = true, .early_weights = true})
              .subject() == std::string("early_weights"));
    CHECK(describe<experts>({.order = {0}}, a, h200, d).subject() ==
          std::string("policy.order.lanes"));
}

TEST_CASE("a description of a dependent launch has its shared memory") {
    const auto shared_bytes = [&](kq::launch_options options) {
        kq::launch_plan d;
        REQUIRE(
            describe<dense>(kq::policies::multi_row<1>, {.n = 4096, .k = 4096}, h200, d, options)
                .ok());
        return d.shape.shared_bytes;
    };
    // 16 warps with two whole rows each are some 78 KB; dependent, no second block is to fit.
    CHECK(shared_bytes({}) < h200.shared_bytes_per_block / 2);
    CHECK(shared_bytes({.dependent = true}) > h200.shared_bytes_per_block / 2);
}

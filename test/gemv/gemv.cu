// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "gemv/own_parts.hpp"

#include <kq/core/check.hpp>
#include <kq/dot/q8_0.hpp>
#include <kq/gemv/describe.hpp>
#include <kq/gemv/gemv.cuh>
#include <kq/gemv/mapping/experts.hpp>
#include <kq/gemv/policy/tuning/tuned.hpp>

#include <string>

// What launchers do before they launch; needs no GPU.

namespace {

constexpr kq::device_facts hopper{
    .compute_capability = 90, .multiprocessors = 132, .shared_bytes_per_block = 232448};
constexpr kq::device_facts ampere{
    .compute_capability = 80, .multiprocessors = 108, .shared_bytes_per_block = 166912};

using chosen = kq::gemv<kq::q8_0, own::by_size{}>;
constexpr kq::policy by_direct = kq::policies::direct(1, 1, 8);
constexpr kq::policy by_bulk = kq::policies::bulk(4, 1, 16);

constexpr kq::tuning::table nothing;

} // namespace

TEST_CASE("a selector of one's own chooses the policy of each launch") {
    CHECK(chosen::choose({.n = 4095, .k = 1024}, hopper) == by_direct);
    CHECK(chosen::choose({.n = 4096, .k = 1024}, hopper) == by_bulk);
    kq::launch_plan plan;
    REQUIRE(chosen::describe({.n = 4095, .k = 1024}, hopper, plan).ok());
    CHECK(plan.policy == by_direct);
    CHECK(plan.shape.threads == 32 * 8);
    REQUIRE(chosen::describe({.n = 4096, .k = 1024}, hopper, plan).ok());
    CHECK(plan.policy == by_bulk);
    CHECK(plan.shape.threads == 32 * 16);
}

TEST_CASE("the first policy of a list serves where the chosen one is refused") {
    for (const auto& [device, k] : {std::pair{ampere, 1024}, std::pair{hopper, 1 << 24}}) {
        const kq::dense_arguments a{.n = 5000, .k = k};
        CHECK(chosen::choose(a, device) == by_direct);
        kq::launch_plan plan;
        REQUIRE(chosen::describe(a, device, plan).ok());
        CHECK(plan.policy == by_direct);
        CHECK(plan.method == kq::method::direct);
    }
}

TEST_CASE("arguments that a launch refuses have a policy, and no plan") {
    kq::launch_plan plan;
    CHECK(chosen::choose({.n = 5000, .k = 33}, hopper) == by_direct);
    CHECK(kq::message(chosen::describe({.n = 5000, .k = 33}, hopper, plan)) ==
          "k: must be a non-negative multiple of 32, the block");
    CHECK(chosen::workspace_bytes({.n = 5000, .k = 33}) == 0);
}

TEST_CASE("tuned by a table without an entry, a product takes the untuned policy") {
    using experts = kq::gemv<kq::q8_0, kq::tuned_by<nothing>{}, kq::mappings::experts>;
    for (const int64_t slots : {1, 8}) {
        const kq::experts_arguments a{.experts = 4, .n = 64, .k = 1024, .slots = slots};
        for (const kq::device_facts& device : {hopper, ampere}) {
            CHECK(experts::choose(a, device) == kq::policies::warp);
            CHECK(experts::choose(a, device, {.dependent = true}) == kq::policies::warp);
        }
    }
}

TEST_CASE("a launcher describes the plan of its policy") {
    const kq::dense_arguments a{.n = 4096, .k = 4096, .m = 2};
    kq::launch_plan described, planned;
    REQUIRE(chosen::describe(a, hopper, described, {.dependent = true}).ok());
    kq::product_sizes sizes;
    REQUIRE(kq::measure<kq::product<kq::q8_0>>(a, sizes).ok());
    REQUIRE(kq::plan_launch(kq::product<kq::q8_0>::facts, by_bulk, sizes, hopper,
                            {.dependent = true}, planned)
                .ok());
    CHECK(kq::to_string(described) == kq::to_string(planned));
    CHECK(described.shape.dependent);
    CHECK(chosen::workspace_bytes(a) == static_cast<size_t>(sizes.workspace_bytes));
}

TEST_CASE("a refused launch calls nothing of CUDA and says why") {
    unsigned char memory[64] = {};
    kq::dense_arguments a{.n = 1, .k = 32};
    const auto refused = [&](kq::workspace space) {
        const kq::status s = chosen::can_implement(a, space, hopper);
        const kq::status launched = chosen::launch(a, space, nullptr, hopper);
        CHECK(kq::message(launched) == kq::message(s));
        CHECK(s.code() == kq::error::invalid_argument);
        return std::string(s.subject());
    };
    CHECK(refused({}) == "output");
    a.output = reinterpret_cast<float*>(memory);
    CHECK(refused({}) == "weights");
    a.weights = memory;
    CHECK(refused({}) == "activation");
    a.activation = reinterpret_cast<const float*>(memory);
    CHECK(refused({}) == "workspace");
}

TEST_CASE("an empty product is launched without a GPU") {
    CHECK(chosen::launch({.n = 0, .k = 1024}, {}, nullptr, hopper).ok());
    CHECK(chosen::launch({.n = 64, .k = 1024, .m = 0}, {}, nullptr, hopper).ok());
    CHECK(chosen::multiply({.n = 0, .k = 1024}, {}, nullptr, hopper).ok());
    CHECK(chosen::quantize({.n = 0, .k = 1024}, {}, nullptr, hopper).ok());
}

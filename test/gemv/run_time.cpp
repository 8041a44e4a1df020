// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <kq/dot/all.hpp>
#include <kq/gemv/run_time.hpp>

#include <vector>

namespace {

using gemv = kq::run_time_gemv<kq::q4_k>;

constexpr kq::device_facts hopper{
    .compute_capability = 90, .multiprocessors = 132, .shared_bytes_per_block = 232448};
constexpr kq::device_facts ampere{
    .compute_capability = 80, .multiprocessors = 108, .shared_bytes_per_block = 166912};

/// A product of 7 x 512, with memory that is never looked at.
struct product {
    kq::q4_k::block weights[7 * 2] = {};
    float x[512] = {};
    float y[7] = {};
    alignas(16) unsigned char space[4096] = {};
    kq::dense_arguments arguments{
        .weights = weights, .activation = x, .output = y, .n = 7, .k = 512};

    kq::status plan(const kq::policy& p, const kq::device_facts& device, gemv::launches& out,
                    kq::launch_options options = {}) {
        return gemv::plan(p, arguments, {space, sizeof(space)}, device, out, options);
    }
    std::string refusal(const kq::policy& p, const kq::device_facts& device = hopper) {
        return gemv::can_implement(p, arguments, {space, sizeof(space)}, device).message();
    }
};

} // namespace

TEST_CASE("a policy at run time is planned as gemv plans it") {
    product p;
    gemv::launches l;
    const kq::policy policy{.rows = 2, .warps = 8};
    REQUIRE(p.plan(policy, hopper, l).ok());
    kq::gemv_plan plan;
    REQUIRE(kq::plan_launch<kq::q4_k>(policy, p.arguments, {p.space, sizeof(p.space)}, hopper, plan)
                .ok());
    CHECK(l.via == kq::transport::bulk);
    CHECK(l.multiply.shape.grid * l.multiply.shape.grid_y == plan.grid);
    CHECK(l.multiply.shape.threads == 256);
    CHECK(l.multiply.shape.shared_bytes == plan.shared_bytes);
    CHECK(l.multiply.parameters.mapping.n == 7);
    CHECK(l.multiply.parameters.blocks == 2);
    CHECK(l.multiply.parameters.bulk.pieces == plan.bulk.pieces);
    CHECK(l.quantize.shape.grid == 2); // a tile of 8 blocks, 4 warps
    CHECK(l.quantize.parameters.of[0].x == p.x);
    CHECK(l.quantize.parameters.of[0].images == p.space);
    CHECK(gemv::workspace_bytes(p.arguments) == static_cast<size_t>(plan.workspace_bytes));

    REQUIRE(p.plan(policy, ampere, l).ok());
    CHECK(l.via == kq::transport::direct);
    kq::description description;
    REQUIRE(gemv::describe(policy, p.arguments, ampere, description).ok());
    CHECK(description.via == kq::transport::direct);
}

TEST_CASE("a policy at run time is refused where gemv would not compile or launch it") {
    product p;
    CHECK(p.refusal({.lanes = 0}) == "policy: its fields are out of range");
    CHECK(p.refusal({.prefetch = 2, .via = kq::transport::bulk}) ==
          "policy: register prefetch does not go with the bulk transport");
    CHECK(p.refusal({.via = kq::transport::bulk}, ampere) ==
          "policy: bulk transport needs compute capability 9.0 and rows that fit into shared "
          "memory");
    p.arguments.k = 300;
    CHECK(p.refusal({}) == "k: must be a non-negative multiple of 256, the block");
    p.arguments.k = 512;
    p.arguments.weights = nullptr;
    CHECK(p.refusal({}) == "weights: must not be null");

    using grouped = kq::run_time_gemv<kq::q4_k, kq::mappings::grouped, kq::epilogues::gated>;
    CHECK(grouped::can_implement({.batch = 2}, {}, {}, hopper).message() ==
          "policy: a batch of activation rows needs the dense or the stacked mapping");
    grouped::launches l;
    CHECK(grouped::plan({}, {}, {}, hopper, l, {.dependent = true, .early_weights = true})
              .message() == "early_weights: is not for weights that ids on the device choose");
}

TEST_CASE("nothing to multiply launches no kernel, and no columns launch no quantizer") {
    product p;
    gemv::launches l;
    p.arguments.m = 0;
    REQUIRE(p.plan({}, hopper, l).ok());
    CHECK(l.quantize.shape.grid == 0);
    CHECK(l.multiply.shape.grid == 0);
    p.arguments.m = 1;
    p.arguments.k = 0;
    REQUIRE(p.plan({}, hopper, l).ok());
    CHECK(l.quantize.shape.grid == 0);
    CHECK(l.multiply.shape.grid == 1);
}

TEST_CASE("a launch at run time is dependent where the device can") {
    product p;
    gemv::launches l;
    REQUIRE(p.plan({}, hopper, l, {.dependent = true, .early_weights = true}).ok());
    CHECK(l.quantize.shape.dependent);
    CHECK(l.multiply.shape.dependent);
    CHECK(l.multiply.parameters.early_weights);
    REQUIRE(p.plan({}, ampere, l, {.dependent = true, .early_weights = true}).ok());
    CHECK_FALSE(l.quantize.shape.dependent);
    CHECK_FALSE(l.multiply.shape.dependent);
    CHECK_FALSE(l.multiply.parameters.early_weights);
}

TEST_CASE("source text and names spell what the composition is") {
    using other = kq::run_time_gemv<kq::iq2_xxs, kq::mappings::grouped, kq::epilogues::gated>;
    CHECK(other::kernel_name({.rows = 2, .stages = 7, .via = kq::transport::automatic},
                             kq::transport::bulk) ==
          "kq::gemv_kernel<kq::config<kq::iq2_xxs, kq::policy{32, 2, 1, 1, 16, 2, 4608, "
          "kq::transport::bulk}, kq::mappings::grouped<2>, kq::epilogues::gated>>");
    CHECK(other::quantizer_name(kq::element_type::bf16) ==
          "kq::quantize_kernel<kq::bf16, 4, kq::quantizer_policy::warp_per_block, "
          "kq::sliced_dot<kq::iq2_xxs>::image>");
    CHECK(other::source().find("#include <kq/dot/iq2_xxs.hpp>\n") == 0);
}

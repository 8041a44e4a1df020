// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <kq/core/check.hpp>
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
        return kq::message(gemv::can_implement(p, arguments, {space, sizeof(space)}, device));
    }
};

} // namespace

TEST_CASE("a policy at run time is planned as gemv plans it") {
    product p;
    gemv::launches l;
    const kq::policy policy{.rows = 2, .warps = 8};
    REQUIRE(p.plan(policy, hopper, l).ok());
    kq::launch_plan plan;
    kq::product_sizes sizes;
    REQUIRE(kq::measure<gemv::product>(p.arguments, sizes).ok());
    REQUIRE(kq::plan_launch(gemv::product::facts, policy, sizes, hopper, {}, plan).ok());
    CHECK(l.method == kq::method::bulk);
    CHECK(l.multiply.shape.grid == plan.shape.grid);
    CHECK(l.multiply.shape.grid_y == plan.shape.grid_y);
    CHECK(l.multiply.shape.threads == 256);
    CHECK(l.multiply.shape.shared_bytes == plan.shape.shared_bytes);
    CHECK(l.multiply.parameters.mapping.n == 7);
    CHECK(l.multiply.parameters.blocks == 2);
    CHECK(l.multiply.parameters.bulk.pieces == plan.bulk.pieces);
    CHECK(l.quantize.shape.grid == 2); // a panel of 8 blocks, 4 warps
    CHECK(l.quantize.parameters.of[0].x == p.x);
    CHECK(l.quantize.parameters.of[0].images == p.space);
    CHECK(gemv::workspace_bytes(p.arguments) == static_cast<size_t>(sizes.workspace_bytes));

    REQUIRE(p.plan(policy, ampere, l).ok());
    CHECK(l.method == kq::method::direct);
    kq::launch_plan description;
    REQUIRE(gemv::describe(policy, p.arguments, ampere, description).ok());
    CHECK(description.method == kq::method::direct);
}

TEST_CASE("a policy at run time is refused where gemv would not compile or launch it") {
    product p;
    CHECK(p.refusal({.order = {0}}) == "policy.order.lanes: must be 8, 16 or 32");
    CHECK(p.refusal({.method = kq::method::bulk, .direct = {.prefetch = 2}}) ==
          "policy.direct.prefetch: must be 1 where weights come by bulk copies");
    CHECK(p.refusal({.method = kq::method::bulk}, ampere) ==
          "policy.method: bulk copies need compute capability 9.0 or above");
    kq::device_facts small = hopper;
    small.shared_bytes_per_block = 1024;
    CHECK(p.refusal({.method = kq::method::bulk}, small) ==
          "policy.method: bulk copies need rows and activations that fit into the device's shared "
          "memory");
    p.arguments.k = 300;
    CHECK(p.refusal({}) == "k: must be a non-negative multiple of 256, the block");
    p.arguments.k = 512;
    p.arguments.weights = nullptr;
    CHECK(p.refusal({}) == "weights: must not be null");

    using grouped = kq::run_time_gemv<kq::q4_k, kq::mappings::experts, kq::epilogues::gated>;
    CHECK(kq::message(grouped::can_implement({.batch = 2}, {}, {}, hopper)) ==
          "policy.batch: must be 1 unless the mapping is dense or stacked");
    grouped::launches l;
    CHECK(kq::message(
              grouped::plan({}, {}, {}, hopper, l, {.dependent = true, .early_weights = true})) ==
          "early_weights: is not for weights that ids on the device choose");
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
    using other = kq::run_time_gemv<kq::iq2_xxs, kq::mappings::experts, kq::epilogues::gated>;
    CHECK(other::kernel_name({.rows = 2, .bulk = {.stages = 7}}, kq::method::bulk) ==
          "kq::gemv_kernel<kq::config<kq::product<kq::iq2_xxs, kq::mappings::experts, "
          "kq::epilogues::gated>, kq::policy{kq::order{32}, 2, 1, 16, kq::method::bulk, "
          "kq::direct_options{1}, kq::bulk_options{2, 4608}}>>");
    CHECK(other::quantizer_name(kq::element_type::bf16) ==
          "kq::quantize_kernel<kq::bf16, 4, kq::quantizer_policy::warp_per_block, "
          "kq::image_of<kq::iq2_xxs>>");
    CHECK(other::source().find("#include <kq/dot/iq2_xxs.hpp>\n") == 0);
}

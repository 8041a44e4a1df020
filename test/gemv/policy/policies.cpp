// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "samples.hpp"

#include <kq/core/check.hpp>
#include <kq/dot/all.hpp>
#include <kq/gemv/host_model.hpp>
#include <kq/gemv/mapping/all.hpp>
#include <kq/gemv/policy/name.hpp>
#include <kq/gemv/policy/rules.hpp>
#include <kq/gemv/policy/short_k.hpp>

#include <cmath>

namespace {

/// A lane's sums of `Batch` activation rows and `Rows` weight rows, from slot `first_slot` of the
/// images on.
template <class E, int Lanes, int Rows, int Batch, int Prefetch>
std::vector<float> lane_sums(const std::vector<typename E::block>& w,
                             const std::vector<unsigned char>& images, int64_t image_bytes,
                             int first_slot, int blocks, int index) {
    using loop = kq::lane_loop<E, kq::order{Lanes}, Rows, Batch, Prefetch>;
    const unsigned char* rows[Rows];
    for (int r = 0; r < Rows; ++r) {
        rows[r] = reinterpret_cast<const unsigned char*>(w.data() + r * blocks);
    }
    const unsigned char* panels[Batch];
    for (int j = 0; j < Batch; ++j) {
        panels[j] = images.data() + j * image_bytes;
    }
    float sums[Batch][Rows] = {};
    loop::template accumulate<kq::cached_memory>(sums, rows, panels, first_slot, blocks,
                                                 loop::lane_at(index, samples::lookup_table<E>()));
    return std::vector<float>(&sums[0][0], &sums[0][0] + Batch * Rows);
}

/// Whether every lane's sums of a composition equal those of one row at a time without prefetch.
template <class E, int Lanes, int Rows, int Batch, int Prefetch>
bool sums_are_equal(int blocks) {
    using image = typename kq::decoder<E>::image;
    constexpr int first_slot = Lanes == 32 ? 0 : kq::decoder<E>::slices;
    const int padding = first_slot / kq::decoder<E>::slices;
    constexpr int met = E::elements / E::activation::elements; // activation blocks of a block
    const int64_t count = int64_t{blocks + padding} * met;
    const auto w = samples::random_weights<E>(Rows, int64_t{blocks} * E::elements, 1);
    samples::generator random(2);
    std::vector<unsigned char> images;
    for (int j = 0; j < Batch; ++j) {
        std::vector<typename E::activation::block> x;
        for (int64_t b = 0; b < count; ++b) {
            x.push_back(samples::random_activation<typename E::activation>(random));
        }
        std::vector<unsigned char> row(static_cast<size_t>(image::row_bytes(count)));
        image::pack(x.data(), count, row.data());
        images.insert(images.end(), row.begin(), row.end());
    }
    const int64_t image_bytes = image::row_bytes(count);
    for (int l = 0; l < 32; ++l) {
        const auto together = lane_sums<E, Lanes, Rows, Batch, Prefetch>(w, images, image_bytes,
                                                                         first_slot, blocks, l);
        for (int j = 0; j < Batch; ++j) {
            for (int r = 0; r < Rows; ++r) {
                const std::vector<typename E::block> row(w.begin() + r * blocks,
                                                         w.begin() + (r + 1) * blocks);
                const std::vector<unsigned char> own(images.begin() + j * image_bytes,
                                                     images.begin() + (j + 1) * image_bytes);
                const auto alone =
                    lane_sums<E, Lanes, 1, 1, 1>(row, own, image_bytes, first_slot, blocks, l);
                if (together[static_cast<size_t>(j * Rows + r)] != alone[0]) {
                    return false;
                }
            }
        }
    }
    return true;
}

template <class E, kq::policy Policy>
std::vector<float> multiply(const std::vector<typename E::block>& w, const std::vector<float>& x,
                            int64_t n, int64_t k) {
    std::vector<float> y(static_cast<size_t>(n));
    kq::check(kq::host_model<E, Policy.order>::launch(
        {.weights = w.data(), .activation = x.data(), .output = y.data(), .n = n, .k = k}));
    return y;
}

} // namespace

TEST_CASE(
    "several rows, activation rows and prefetched fragments give each lane's bits of one at a "
    "time") {
    samples::for_each_encoding([]<class E>() {
        for (const int blocks : {1, 7, 16, 33, 48, 224}) {
            INFO(blocks << " blocks");
            CHECK(sums_are_equal<E, 32, 4, 1, 1>(blocks));
            CHECK(sums_are_equal<E, 32, 1, 8, 1>(blocks));
            CHECK(sums_are_equal<E, 32, 1, 1, 4>(blocks));
            CHECK(sums_are_equal<E, 16, 2, 2, 2>(blocks));
            CHECK(sums_are_equal<E, 8, 1, 1, 3>(blocks));
        }
    });
}

TEST_CASE("8 and 16 lanes agree with 32 within NMSE 1e-10, and 32 are warp") {
    static_assert(kq::policies::subwarp<32> == kq::policies::warp);
    samples::for_each_encoding([]<class E>() {
        for (const int blocks : {1, 5, 16, 48}) {
            const int64_t k = int64_t{blocks} * E::elements;
            const auto w = samples::random_weights<E>(64, k, 3);
            const auto x = samples::gaussian(k, 4);
            const auto base = multiply<E, kq::policies::warp>(w, x, 64, k);
            CHECK(samples::nmse(multiply<E, kq::policies::subwarp<8>>(w, x, 64, k), base) <= 1e-10);
            CHECK(samples::nmse(multiply<E, kq::policies::subwarp<16>>(w, x, 64, k), base) <=
                  1e-10);
        }
    });
}

TEST_CASE("short rows of q8_0 get 8 lanes up to 16 blocks, 16 up to 48, else 32") {
    using kq::policies::short_k;
    STATIC_REQUIRE(short_k<kq::q8_0>(32) == kq::policies::subwarp<8>);
    STATIC_REQUIRE(short_k<kq::q8_0>(16 * 32).order.lanes == 8);
    STATIC_REQUIRE(short_k<kq::q8_0>(17 * 32).order.lanes == 16);
    STATIC_REQUIRE(short_k<kq::q8_0>(48 * 32).order.lanes == 16);
    STATIC_REQUIRE(short_k<kq::q8_0>(49 * 32) == kq::policies::warp);
    STATIC_REQUIRE(short_k<kq::q4_k>(4 * 256).order.lanes == 8); // four slices a superblock
    STATIC_REQUIRE(short_k<kq::q4_k>(12 * 256).order.lanes == 16);
    STATIC_REQUIRE(short_k<kq::q4_k>(13 * 256).order.lanes == 32);
}

TEST_CASE("policies are named as users write them") {
    using namespace kq::policies;
    CHECK(kq::name_of(warp) == "warp");
    CHECK(kq::name_of(subwarp<8>) == "subwarp<8>");
    CHECK(kq::name_of(subwarp<32>) == "warp");
    CHECK(kq::name_of(multi_row<1>) == "multi_row<1>");
    CHECK(kq::name_of(multi_row<2>) == "warp");
    CHECK(kq::name_of(multi_row<4>) == "multi_row<4>");
    CHECK(kq::name_of(prefetch<2>) == "prefetch<2>");
    CHECK(kq::name_of(batch<8>) == "batch<8>");
    CHECK(kq::name_of(kq::with_method(batch<2>, kq::method::bulk)) == "batch<2>:bulk");
    CHECK(kq::name_of({.order = {16}, .rows = 2, .warps = 8, .direct = {.prefetch = 2}}) ==
          "{.order.lanes = 16, .rows = 2, .warps = 8, .direct.prefetch = 2}");
    CHECK(kq::name_of(bulk(2, 4, 8, {.stages = 3, .piece_bytes = 1152})) ==
          "{.rows = 2, .batch = 4, .warps = 8, .bulk.stages = 3, .bulk.piece_bytes = 1152}:bulk");
    CHECK(kq::name_of(direct(2, 1, 8)) == "{.rows = 2, .warps = 8}:direct");
}

TEST_CASE("policies made by method have the fields that they are given, and the usual rest") {
    using namespace kq::policies;
    STATIC_REQUIRE(bulk(3, 4, 8, {.stages = 5, .piece_bytes = 1234}) ==
                   kq::policy{.order = {32},
                              .rows = 3,
                              .batch = 4,
                              .warps = 8,
                              .method = kq::method::bulk,
                              .direct = {.prefetch = 1},
                              .bulk = {.stages = 5, .piece_bytes = 1234}});
    STATIC_REQUIRE(direct(3, 4, 8, {.prefetch = 6}) ==
                   kq::policy{.order = {32},
                              .rows = 3,
                              .batch = 4,
                              .warps = 8,
                              .method = kq::method::direct,
                              .direct = {.prefetch = 6},
                              .bulk = {.stages = 2, .piece_bytes = 4608}});
    STATIC_REQUIRE(bulk(1, 1, 16).bulk == kq::bulk_options{});
    STATIC_REQUIRE(direct(1, 1, 16).direct == kq::direct_options{});
}

TEST_CASE("policies that differ in stages and pieces share a kernel, others do not") {
    constexpr auto kernel = [](const kq::policy& p) { return kq::compiled_part(p); };
    constexpr kq::policy p = kq::policies::bulk(2, 1, 16);
    STATIC_REQUIRE(kernel(kq::policies::bulk(2, 1, 16, {3, 1152})) == kernel(p));
    STATIC_REQUIRE(kernel(kq::policies::bulk(2, 1, 8)) != kernel(p));
    STATIC_REQUIRE(kernel(kq::policies::bulk(2, 2, 16)) != kernel(p));
    STATIC_REQUIRE(kernel(kq::policies::bulk(1, 1, 16)) != kernel(p));
    STATIC_REQUIRE(kernel(kq::policies::direct(2, 1, 16)) != kernel(p));
    STATIC_REQUIRE(kernel(kq::policies::direct(2, 1, 16, {2})) !=
                   kernel(kq::policies::direct(2, 1, 16)));
}

TEST_CASE("check_policy knows the ranges of a policy's fields, and names the field") {
    const auto broken = [](const kq::policy& p) { return kq::message(kq::check_policy(p)); };
    STATIC_REQUIRE(kq::check_policy(kq::policies::warp).ok());
    STATIC_REQUIRE(kq::check_policy({.order = {8},
                                     .rows = 8,
                                     .batch = 8,
                                     .warps = 32,
                                     .direct = {.prefetch = 8},
                                     .bulk = {.stages = 8}})
                       .ok());
    STATIC_REQUIRE(kq::check_policy({.warps = 1, .bulk = {.stages = 1, .piece_bytes = 1}}).ok());
    STATIC_REQUIRE(kq::check_policy({.order = {16}}).ok());
    for (const int lanes : {-8, 0, 4, 7, 24, 31, 33, 64}) {
        CHECK(broken({.order = {lanes}}) == "policy.order.lanes: must be 8, 16 or 32");
    }
    for (const int number : {-1, 0, 9, 1 << 30}) {
        CHECK(broken({.rows = number}) == "policy.rows: must be 1 to 8");
        CHECK(broken({.batch = number}) == "policy.batch: must be 1 to 8");
        CHECK(broken({.direct = {.prefetch = number}}) == "policy.direct.prefetch: must be 1 to 8");
        CHECK(broken({.bulk = {.stages = number}}) == "policy.bulk.stages: must be 1 to 8");
    }
    for (const int number : {-1, 0, 33}) {
        CHECK(broken({.warps = number}) == "policy.warps: must be 1 to 32");
    }
    for (const int number : {-1, 0}) {
        CHECK(broken({.bulk = {.piece_bytes = number}}) ==
              "policy.bulk.piece_bytes: must be at least 1");
    }
    for (const int number : {-1, 3}) {
        CHECK(broken({.method = static_cast<kq::method>(number)}) ==
              "policy.method: must be one of method's");
    }
    CHECK(broken({.method = kq::method::bulk, .direct = {.prefetch = 2}}) ==
          "policy.direct.prefetch: must be 1 where weights come by bulk copies");
    STATIC_REQUIRE(
        kq::check_policy({.method = kq::method::direct, .direct = {.prefetch = 2}}).ok());
    STATIC_REQUIRE(kq::check_policy({.direct = {.prefetch = 2}}).ok());
}

TEST_CASE("check_policy knows which policies serve which products") {
    using namespace kq::mappings;
    const auto broken = []<class Product>(const kq::policy& p) {
        return kq::message(kq::check_policy(p, Product::facts));
    };
    constexpr kq::policy batch = kq::policies::batch<2>;
    const std::string one = "policy.batch: must be 1 unless the mapping is dense or stacked";
    CHECK(broken.operator()<kq::product<kq::q4_k, dense>>(batch) == "ok");
    CHECK(broken.operator()<kq::product<kq::q4_k, stacked>>(batch) == "ok");
    CHECK(broken.operator()<kq::product<kq::q4_k, experts>>(batch) == one);
    CHECK(broken.operator()<kq::product<kq::q4_k, block_diagonal>>(batch) == one);
    CHECK(broken.operator()<kq::product<kq::q4_k, experts>>(kq::policies::warp) == "ok");
    CHECK(broken.operator()<kq::product<kq::q4_k, experts>>({.rows = 0}) ==
          "policy.rows: must be 1 to 8");
    // No encoding has more slices than the fewest lanes.
    kq::product_facts facts = kq::product<kq::q4_k>::facts;
    facts.slices = 16;
    CHECK(kq::message(kq::check_policy(kq::policies::subwarp<8>, facts)) ==
          "policy.order.lanes: must be a multiple of the encoding's slices");
    CHECK(kq::check_policy(kq::policies::subwarp<16>, facts).ok());
}

TEST_CASE("prefetched fragments go by direct loads only") {
    STATIC_REQUIRE(allows(kq::policies::warp, kq::method::bulk));
    STATIC_REQUIRE(allows(kq::policies::prefetch<2>, kq::method::direct));
    STATIC_REQUIRE_FALSE(allows(kq::policies::prefetch<2>, kq::method::bulk));
    STATIC_REQUIRE_FALSE(
        allows(kq::with_method(kq::policies::warp, kq::method::bulk), kq::method::direct));
}

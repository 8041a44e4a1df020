// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "samples.hpp"

#include <kq/dot/all.hpp>
#include <kq/gemv/describe.hpp>
#include <kq/gemv/host_model.hpp>
#include <kq/gemv/policy/short_k.hpp>

#include <cmath>

namespace {

/// A lane's sums of `Batch` activation rows and `Rows` weight rows, from slot `first_slot` of the
/// images on.
template <class E, int Lanes, int Rows, int Batch, int Prefetch>
std::vector<float> lane_sums(const std::vector<typename E::block>& w,
                             const std::vector<unsigned char>& images, int64_t image_bytes,
                             int first_slot, int blocks, int index) {
    using loop = kq::mainloop<E, Lanes, Rows, Batch, Prefetch>;
    const unsigned char* rows[Rows];
    for (int r = 0; r < Rows; ++r) {
        rows[r] = reinterpret_cast<const unsigned char*>(w.data() + r * blocks);
    }
    const unsigned char* tiles[Batch];
    for (int j = 0; j < Batch; ++j) {
        tiles[j] = images.data() + j * image_bytes;
    }
    float sums[Batch][Rows] = {};
    loop::template accumulate<kq::cached_memory>(sums, rows, tiles, first_slot, blocks,
                                                 loop::lane_at(index, samples::lookup_table<E>()));
    return std::vector<float>(&sums[0][0], &sums[0][0] + Batch * Rows);
}

/// Whether every lane's sums of a composition equal those of one row at a time without prefetch.
template <class E, int Lanes, int Rows, int Batch, int Prefetch>
bool sums_are_equal(int blocks) {
    using image = typename kq::sliced_dot<E>::image;
    constexpr int first_slot = Lanes == 32 ? 0 : kq::sliced_dot<E>::slices;
    const int padding = first_slot / kq::sliced_dot<E>::slices;
    const int64_t count = blocks + padding;
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
    kq::check(kq::host_model<E, Policy>::launch(
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
    STATIC_REQUIRE(short_k<kq::q8_0>(16 * 32).lanes == 8);
    STATIC_REQUIRE(short_k<kq::q8_0>(17 * 32).lanes == 16);
    STATIC_REQUIRE(short_k<kq::q8_0>(48 * 32).lanes == 16);
    STATIC_REQUIRE(short_k<kq::q8_0>(49 * 32) == kq::policies::warp);
    STATIC_REQUIRE(short_k<kq::q4_k>(4 * 256).lanes == 8); // four slices a superblock
    STATIC_REQUIRE(short_k<kq::q4_k>(12 * 256).lanes == 16);
    STATIC_REQUIRE(short_k<kq::q4_k>(13 * 256).lanes == 32);
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
    CHECK(kq::name_of(kq::by(batch<2>, kq::transport::bulk)) == "batch<2>:bulk");
    CHECK(kq::name_of({.lanes = 16, .rows = 2, .prefetch = 2, .warps = 8}) ==
          "{.lanes = 16, .rows = 2, .prefetch = 2, .warps = 8}");
}

TEST_CASE("a launch is described as data and as one line") {
    const kq::device_facts h200{
        .compute_capability = 90, .multiprocessors = 132, .shared_bytes_per_block = 232448};
    kq::description d;
    const kq::dense_arguments a{.n = 4096, .k = 4096};
    REQUIRE(
        kq::describe_launch<kq::q4_k, kq::epilogues::store>(kq::policies::warp, a, h200, d).ok());
    CHECK(d.via == kq::transport::bulk);
    CHECK(d.weight_bytes == int64_t{4096} * 16 * 144);
    CHECK(d.threads == 512);
    CHECK(d.workspace_bytes == size_t{2} * 2432); // 16 blocks are two tiles
    CHECK(d.line().rfind("q4_k n 4096 k 4096 units 1: warp by bulk, ", 0) == 0);
    CHECK(d.line().find('\n') == std::string::npos);
    kq::device_facts older = h200;
    older.compute_capability = 80;
    REQUIRE(
        kq::describe_launch<kq::q4_k, kq::epilogues::store>(kq::policies::warp, a, older, d).ok());
    CHECK(d.via == kq::transport::direct);
    CHECK(kq::describe_launch<kq::q4_k, kq::epilogues::store>(
              kq::policies::warp, kq::dense_arguments{.n = 1, .k = 100}, h200, d)
              .subject() == std::string("k"));
}

TEST_CASE("what a launch refuses is not described") {
    kq::description d;
    const kq::device_facts h200{
        .compute_capability = 90, .multiprocessors = 132, .shared_bytes_per_block = 232448};
    const kq::grouped_arguments a{.experts = 4, .n = 64, .k = 1024, .slots = 2};
    CHECK(kq::describe_launch<kq::q4_k, kq::epilogues::store>(
              kq::policies::warp, a, h200, d, {.dependent = true, .early_weights = true})
              .subject() == std::string("early_weights"));
    CHECK(kq::describe_launch<kq::q4_k, kq::epilogues::store>({.lanes = 0}, a, h200, d).subject() ==
          std::string("policy"));
}

TEST_CASE("a description of a dependent launch has its shared memory") {
    const kq::device_facts h200{
        .compute_capability = 90, .multiprocessors = 132, .shared_bytes_per_block = 232448};
    const auto shared_bytes = [&](kq::launch_options options) {
        kq::description d;
        REQUIRE(kq::describe_launch<kq::q4_k, kq::epilogues::store>(
                    kq::policies::multi_row<1>, kq::dense_arguments{.n = 4096, .k = 4096}, h200, d,
                    options)
                    .ok());
        return d.shared_bytes;
    };
    // 16 warps with two whole rows each are some 78 KB; dependent, no second block is to fit.
    CHECK(shared_bytes({}) < h200.shared_bytes_per_block / 2);
    CHECK(shared_bytes({.dependent = true}) > h200.shared_bytes_per_block / 2);
}

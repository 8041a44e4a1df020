// SPDX-License-Identifier: Apache-2.0
#include "choice.hpp"

#include <catch2/catch.hpp>

namespace {

using kq::policies::bulk;
using kq::policies::direct;

bench::problem dense(int m) {
    return {kq::encoding::q4_k, kq::tuning::product_kind::dense, 4096, 4096, m, 0};
}
bench::measurement measured(const kq::policy& p, double us) {
    return {"", p, us, us, us};
}

} // namespace

TEST_CASE("the batch for m rows is the smallest of those that read the weights least often") {
    CHECK(bench::batch_for(1) == 1);
    CHECK(bench::batch_for(2) == 2);
    CHECK(bench::batch_for(3) == 4);
    CHECK(bench::batch_for(4) == 4);
    for (const int m : {5, 6, 7, 8, 9, 12, 16, 24, 32, 48, 64}) {
        CAPTURE(m);
        CHECK(bench::batch_for(m) == 8);
    }
    CHECK(bench::weight_reads(5, 4) == 2);
    CHECK(bench::weight_reads(64, 8) == 8);
}

TEST_CASE("a policy that reads the weights more often than another measured one is never chosen, "
          "however fast it was") {
    const std::vector<bench::tried> results{
        {dense(3), {measured(bulk(2, 2, 16), 1.0), measured(bulk(2, 4, 16), 2.0)}},
        {dense(5), {measured(direct(2, 4, 16), 1.0), measured(bulk(2, 8, 16), 3.0)}},
        {dense(12), {measured(direct(2, 4, 16), 1.0), measured(bulk(1, 8, 16), 4.0)}}};
    const std::vector<kq::policy> all{
        kq::compiled_part(bulk(2, 2, 16)), kq::compiled_part(bulk(2, 4, 16)),
        kq::compiled_part(direct(2, 4, 16)), kq::compiled_part(bulk(2, 8, 16)),
        kq::compiled_part(bulk(1, 8, 16))};
    for (const bool dependent : {false, true}) {
        CHECK(results[0].best(all, dependent)->fields == bulk(2, 4, 16));
        CHECK(results[1].best(all, dependent)->fields == bulk(2, 8, 16));
        CHECK(results[2].best(all, dependent)->fields == bulk(1, 8, 16));
    }
    const std::string entries = bench::entries_of(results, 5, 90);
    CHECK(entries.find("4096, 4096, 3, kq::policies::bulk(2, 4, 16") != std::string::npos);
    CHECK(entries.find("4096, 4096, 5, kq::policies::bulk(2, 8, 16") != std::string::npos);
    CHECK(entries.find("4096, 4096, 12, kq::policies::bulk(1, 8, 16") != std::string::npos);
    CHECK(entries.find(", 2, 16") == std::string::npos);
    CHECK(entries.find("direct") == std::string::npos);
}

TEST_CASE(
    "where policies read the weights equally often the fastest is chosen, the one for untuned "
    "GPUs too") {
    const kq::policy untuned = kq::with_method(kq::policies::warp, kq::method::direct);
    const bench::tried slow_others{dense(1),
                                   {measured(direct(1, 1, 16), 3.0), measured(untuned, 2.0)}};
    CHECK(slow_others.best(bench::choose_kernels({&slow_others}, 5), false)->fields == untuned);
    const bench::tried single{dense(2),
                              {measured(direct(1, 2, 16), 3.0), measured(direct(2, 4, 16), 2.0)}};
    CHECK(single.best(bench::choose_kernels({&single}, 5), true)->fields == direct(2, 4, 16));
}

TEST_CASE("activation rows that one batch of policies serves share their kernels") {
    const bench::tried three{dense(3), {}}, four{dense(4), {}}, five{dense(5), {}},
        sixteen{dense(16), {}};
    CHECK(three.shares_kernels(four));
    CHECK(five.shares_kernels(sixteen));
    CHECK_FALSE(four.shares_kernels(five));
}

TEST_CASE("policies by direct loads are alike whatever they say of bulk copies") {
    CHECK(bench::alike(direct(2, 1, 16), kq::with_method(kq::policies::warp, kq::method::direct)));
    CHECK_FALSE(
        bench::alike(bulk(2, 1, 16), kq::with_method(kq::policies::warp, kq::method::bulk)));
    CHECK_FALSE(bench::alike(direct(2, 1, 16), direct(1, 1, 16)));
}

// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "gpu/products.hpp"

#include <kq/gemv/gemv.cuh>
#include <kq/gemv/policy/tuning/tuned.hpp>

using gpu::buffer;
using gpu::placement;

namespace {

using E = kq::q4_k;
using kq::tuning::product_kind;

// A user's own table: policies that are not the shipped ones.
using kq::policies::bulk;
using kq::policies::direct;
constexpr kq::policy batch = bulk(1, 4, 16);

constexpr kq::tuning::entry entries[] = {
    {90, kq::encoding::q4_k, product_kind::dense, 64, 1024, 1, bulk(4, 1, 16), 1, direct(1, 1, 16),
     1},
    {90, kq::encoding::q4_k, product_kind::dense, 4096, 1024, 1, direct(1, 1, 16), 1,
     bulk(4, 1, 16), 1},
    {90, kq::encoding::q4_k, product_kind::dense, 64, 1024, 4, batch, 1, batch, 1},
};
constexpr kq::tuning::table table(entries);
using gemv = kq::gemv<E, kq::tuned_by<table>{}>;

} // namespace

TEST_CASE("a product tuned by a user's table takes its policies and gives the bits of any other") {
    const kq::device_facts facts = gpu::device();
    if (facts.compute_capability == 90) {
        CHECK(gemv::choose({.n = 60, .k = 1024}, facts) == entries[0].best);
        CHECK(gemv::choose({.n = 60, .k = 1024}, facts, {.dependent = true}) ==
              entries[0].best_dependent);
        CHECK(gemv::choose({.n = 5000, .k = 1024}, facts) == entries[1].best);
        CHECK(gemv::choose({.n = 60, .k = 1024, .m = 3}, facts) == entries[2].best);
    }
    kq::device_facts other = facts;
    other.compute_capability = 80;
    CHECK(gemv::choose({.n = 60, .k = 1024}, other) == kq::policies::warp);
    // A row that fits into no shared memory goes by direct loads.
    CHECK(gemv::choose({.n = 60, .k = 1 << 24}, facts).method == kq::method::direct);

    for (const int64_t n : {1, 61, 4097}) {
        for (const int64_t m : {1, 3, 5}) {
            INFO("n " << n << ", m " << m);
            const int64_t k = 1024;
            const auto w = samples::random_weights<E>(n, k, 1);
            const auto x = samples::gaussian(m * k, 2);
            const buffer weights(w, placement::before_hole), activation(x, placement::exact);
            const gpu::output y(m * n);
            gpu::run<gemv>({.weights = weights.data(),
                            .activation = activation.as<const float>(),
                            .output = y.data(),
                            .n = n,
                            .k = k,
                            .m = m});
            CHECK(y.holds(gpu::host_product<E>(w.data(), x.data(), n, k, m)));
        }
    }
}

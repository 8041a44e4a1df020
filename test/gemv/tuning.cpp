// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <kq/dot/all.hpp>
#include <kq/gemv/policy/tuning/shipped.hpp>

using kq::encoding;
using kq::policy;
using kq::tuning::row_mapping;

namespace {

constexpr policy one{.rows = 1, .via = kq::transport::bulk};
constexpr policy two{.rows = 2, .via = kq::transport::bulk};
constexpr policy four{.rows = 4, .via = kq::transport::bulk};
constexpr policy eight{.batch = 8, .via = kq::transport::bulk};

constexpr kq::tuning::row rows[] = {
    {90, encoding::q4_k, row_mapping::dense, 4096, 4096, 1, one, 1, two, 1},
    {90, encoding::q4_k, row_mapping::dense, 131072, 4096, 1, two, 1, two, 1},
    {90, encoding::q4_k, row_mapping::dense, 4096, 16384, 1, four, 1, four, 1},
    {90, encoding::q4_k, row_mapping::dense, 4096, 4096, 8, eight, 1, eight, 1},
    {90, encoding::q4_k, row_mapping::grouped, 2048, 4096, 8, two, 1, two, 1},
};
constexpr kq::tuning::table table(rows);

constexpr policy choose(encoding e, row_mapping as, int64_t n, int64_t k, int64_t batch,
                        int compute_capability = 90) {
    return kq::tuning::choose(table, {compute_capability, e, as, n, k, batch});
}

// A selection is a constant expression where its arguments are.
static_assert(choose(encoding::q4_k, row_mapping::dense, 4096, 4096, 1) == one);

} // namespace

TEST_CASE("a selection takes the row of the nearest shape, in octaves") {
    const auto dense = [](int64_t n, int64_t k, int64_t batch) {
        return choose(encoding::q4_k, row_mapping::dense, n, k, batch);
    };
    CHECK(dense(4096, 4096, 1) == one);
    CHECK(dense(512, 2048, 1) == one);
    CHECK(dense(20000, 4096, 1) == one); // 2.3 octaves from 4096, 2.7 from 131072
    CHECK(dense(30000, 4096, 1) == two); // 2.9 and 2.1
    CHECK(dense(1 << 30, 4096, 1) == two);
    CHECK(dense(4096, 14336, 1) == four);
    CHECK(dense(0, 0, 1) == one);
}

TEST_CASE("a dependent launch has a policy of its own") {
    const kq::tuning::request ordinary{90, encoding::q4_k, row_mapping::dense, 4096, 4096, 1};
    kq::tuning::request dependent = ordinary;
    dependent.dependent = true;
    CHECK(kq::tuning::choose(table, ordinary) == one);
    CHECK(kq::tuning::choose(table, dependent) == two);
}

TEST_CASE("a batch of one and larger batches never take each other's rows") {
    const auto dense = [](int64_t batch) {
        return choose(encoding::q4_k, row_mapping::dense, 131072, 4096, batch);
    };
    CHECK(dense(1) == two);
    CHECK(dense(2) == eight); // the only row
    CHECK(dense(100) == eight);
}

TEST_CASE("what nobody measured is served by the untuned policies") {
    using namespace kq::policies;
    CHECK(choose(encoding::q6_k, row_mapping::dense, 4096, 4096, 1) == warp);
    CHECK(choose(encoding::q4_k, row_mapping::dense, 4096, 4096, 1, 80) == warp);
    CHECK(choose(encoding::q4_k, row_mapping::dense, 4096, 4096, 3, 80).batch == 4);
    CHECK(choose(encoding::q4_k, row_mapping::grouped_gated, 4096, 4096, 8) == warp);
    CHECK(choose(encoding::q4_k, row_mapping::grouped_sum, 4096, 4096, 8) == warp);
    CHECK(choose(encoding::q4_k, row_mapping::grouped, 4096, 4096, 1) == warp);
    CHECK(kq::tuning::nearest({}, {90, encoding::q4_k, row_mapping::dense, 1, 1, 1}) == nullptr);
}

TEST_CASE("every shipped row is a measured policy that any product can use") {
    for (const kq::tuning::row& r : kq::tuning::shipped) {
        INFO(kq::name_of(r.encoding)
             << " " << name_of(r.mapping) << " " << r.n << "x" << r.k << " batch " << r.batch);
        for (const policy& p : {r.best, r.best_dependent}) {
            CHECK(kq::is_valid(p));
            CHECK(p.lanes == 32); // the bits of `warp`
            CHECK((p.batch == 1 || r.mapping == row_mapping::dense));
        }
        CHECK((r.us > 0 && r.us_dependent > 0));
    }
    [&]<class... Encodings>(kq::type_list<Encodings...>) {
        for (const encoding e : {Encodings::id...}) {
            for (const row_mapping as : {row_mapping::dense, row_mapping::grouped,
                                         row_mapping::grouped_gated, row_mapping::grouped_sum}) {
                INFO(kq::name_of(e) << " " << name_of(as));
                CHECK(kq::tuning::nearest(
                          kq::tuning::shipped,
                          {90, e, as, 4096, 4096, as == row_mapping::dense ? 1 : 8}) != nullptr);
            }
        }
    }(kq::encodings{});
}

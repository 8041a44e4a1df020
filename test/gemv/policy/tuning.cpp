// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "families.hpp"

#include <kq/core/check.hpp>
#include <kq/dot/all.hpp>
#include <kq/gemv/mapping/all.hpp>
#include <kq/gemv/plan/product.hpp>
#include <kq/gemv/policy/rules.hpp>
#include <kq/gemv/policy/tuning/tuned.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

using kq::encoding;
using kq::policy;
using kq::tuning::product_kind;

namespace {

constexpr policy one{.rows = 1, .method = kq::method::bulk};
constexpr policy two{.rows = 2, .method = kq::method::bulk};
constexpr policy four{.rows = 4, .method = kq::method::bulk};
constexpr policy eight{.batch = 8, .method = kq::method::bulk};

constexpr kq::tuning::entry entries[] = {
    {90, encoding::q4_k, product_kind::dense, 4096, 4096, 1, one, 1, two, 1},
    {90, encoding::q4_k, product_kind::dense, 131072, 4096, 1, two, 1, two, 1},
    {90, encoding::q4_k, product_kind::dense, 4096, 16384, 1, four, 1, four, 1},
    {90, encoding::q4_k, product_kind::dense, 4096, 4096, 8, eight, 1, eight, 1},
    {90, encoding::q4_k, product_kind::experts, 2048, 4096, 8, two, 1, two, 1},
};
constexpr kq::tuning::table table(entries);

constexpr policy choose(encoding e, product_kind kind, int64_t n, int64_t k, int64_t batch,
                        int compute_capability = 90) {
    return kq::tuning::choose(table, {compute_capability, e, kind, n, k, batch});
}

// A selection is a constant expression where its arguments are.
static_assert(choose(encoding::q4_k, product_kind::dense, 4096, 4096, 1) == one);

} // namespace

TEST_CASE("a selection takes the entry of the nearest shape, in octaves") {
    const auto dense = [](int64_t n, int64_t k, int64_t batch) {
        return choose(encoding::q4_k, product_kind::dense, n, k, batch);
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
    const kq::tuning::request ordinary{90, encoding::q4_k, product_kind::dense, 4096, 4096, 1};
    kq::tuning::request dependent = ordinary;
    dependent.dependent = true;
    CHECK(kq::tuning::choose(table, ordinary) == one);
    CHECK(kq::tuning::choose(table, dependent) == two);
}

TEST_CASE("a batch of one and larger batches never take each other's entries") {
    const auto dense = [](int64_t batch) {
        return choose(encoding::q4_k, product_kind::dense, 131072, 4096, batch);
    };
    CHECK(dense(1) == two);
    CHECK(dense(2) == eight); // the only entry
    CHECK(dense(100) == eight);
}

TEST_CASE("a batch between two entries takes the larger one's policy: weights are read once") {
    static constexpr policy of_two{.batch = 2, .method = kq::method::bulk};
    static constexpr policy of_four{.batch = 4, .method = kq::method::bulk};
    static constexpr kq::tuning::entry batches[] = {
        {90, encoding::q4_k, product_kind::dense, 4096, 4096, 2, of_two, 1, of_two, 1},
        {90, encoding::q4_k, product_kind::dense, 512, 512, 4, of_four, 1, of_four, 1},
    };
    const auto dense = [](int64_t batch) {
        return kq::tuning::choose(batches,
                                  {90, encoding::q4_k, product_kind::dense, 4096, 4096, batch});
    };
    CHECK(dense(2) == of_two);
    CHECK(dense(3) == of_four); // though its n and k are further away
    CHECK(dense(4) == of_four);
    CHECK(dense(5) == of_four); // there is no larger one: the largest
}

TEST_CASE("for 1 to 64 activation rows no shipped entry's policy would read the weights less often "
          "than the chosen one") {
    const auto reads = [](int64_t m, const policy& p) { return (m + p.batch - 1) / p.batch; };
    [&]<class... Encodings>(kq::type_list<Encodings...>) {
        for (const encoding e : {Encodings::id...}) {
            for (int64_t m = 1; m <= 64; ++m) {
                int64_t fewest = m;
                for (const kq::tuning::entry& of : kq::tuning::shipped) {
                    if (of.encoding == e && of.kind == product_kind::dense) {
                        fewest = std::min(fewest, reads(m, of.best));
                    }
                }
                for (const bool dependent : {false, true}) {
                    INFO(kq::name_of(e) << " m = " << m << " dependent " << dependent);
                    const policy p =
                        kq::tuning::choose(kq::tuning::shipped,
                                           {90, e, product_kind::dense, 4096, 14336, m, dependent});
                    CHECK(reads(m, p) == fewest);
                }
            }
        }
    }(kq::encodings{});
}

TEST_CASE("what nobody measured is served by the untuned policies") {
    using namespace kq::policies;
    CHECK(choose(encoding::q6_k, product_kind::dense, 4096, 4096, 1) == warp);
    CHECK(choose(encoding::q4_k, product_kind::dense, 4096, 4096, 1, 80) == warp);
    CHECK(choose(encoding::q4_k, product_kind::dense, 4096, 4096, 3, 80).batch == 4);
    CHECK(choose(encoding::q4_k, product_kind::experts_gated, 4096, 4096, 8) == warp);
    CHECK(choose(encoding::q4_k, product_kind::experts_sum, 4096, 4096, 8) == warp);
    CHECK(choose(encoding::q4_k, product_kind::experts, 4096, 4096, 1) == warp);
    CHECK(kq::tuning::nearest({}, {90, encoding::q4_k, product_kind::dense, 1, 1, 1}) == nullptr);
}

TEST_CASE("products have the kind of their mapping and epilogue") {
    using namespace kq::mappings;
    using namespace kq::epilogues;
    using kq::tuning::kind_of;
    STATIC_REQUIRE(kind_of(kq::product<kq::q4_k>::facts) == product_kind::dense);
    STATIC_REQUIRE(kind_of(kq::product<kq::q4_k, dense, gated>::facts) == product_kind::dense);
    STATIC_REQUIRE(kind_of(kq::product<kq::q4_k, stacked>::facts) == product_kind::dense);
    STATIC_REQUIRE(kind_of(kq::product<kq::q4_k, block_diagonal>::facts) == product_kind::dense);
    STATIC_REQUIRE(kind_of(kq::product<kq::q4_k, experts>::facts) == product_kind::experts);
    STATIC_REQUIRE(kind_of(kq::product<kq::q4_k, experts, gated>::facts) ==
                   product_kind::experts_gated);
    STATIC_REQUIRE(kind_of(kq::product<kq::q4_k, experts, weighted_sum>::facts) ==
                   product_kind::experts_sum);
}

TEST_CASE("every shipped entry is a measured policy that any product can use") {
    for (const kq::tuning::entry& e : kq::tuning::shipped) {
        INFO(kq::name_of(e.encoding)
             << " " << name_of(e.kind) << " " << e.n << "x" << e.k << " batch " << e.batch);
        for (const policy& p : {e.best, e.best_dependent}) {
            CHECK(kq::check_policy(p).ok());
            CHECK(p.order.lanes == 32); // the bits of `warp`
            CHECK((p.batch == 1 || e.kind == product_kind::dense));
            CHECK((p.batch == 1 || e.batch > 1)); // as those that cannot batch assume
        }
        CHECK((e.us > 0 && e.us_dependent > 0));
    }
    [&]<class... Encodings>(kq::type_list<Encodings...>) {
        for (const encoding e : {Encodings::id...}) {
            for (const product_kind kind : kq::tuning::product_kinds) {
                INFO(kq::name_of(e) << " " << name_of(kind));
                CHECK(kq::tuning::nearest(kq::tuning::shipped,
                                          {90, e, kind, 4096, 4096,
                                           kind == product_kind::dense ? 1 : 8}) != nullptr);
            }
        }
    }(kq::encodings{});
}

namespace {

/// The policy that a selector chooses for measured arguments.
template <class Product, class Selector>
policy chosen(Selector, const typename Product::arguments& a, int compute_capability,
              bool dependent) {
    kq::product_sizes sizes;
    kq::check(kq::measure<Product>(a, sizes));
    const kq::device_facts device{compute_capability, 132, 232448};
    constexpr auto list = Selector::template policies<Product>();
    const int place = Selector::template choose<Product>(sizes, device, {.dependent = dependent});
    REQUIRE(place >= 0);
    REQUIRE(place < list.count);
    return list.of[place];
}

/// Shapes to choose for: those of all shipped entries, and a grid around them.
struct wanted {
    int64_t n;
    int64_t k; // in blocks of 256
    int64_t batch;
};
const std::vector<wanted>& all_wanted() {
    static const std::vector<wanted> all = [] {
        std::set<std::array<int64_t, 3>> shapes;
        for (const kq::tuning::entry& e : kq::tuning::shipped) {
            shapes.insert({e.n, e.k / 256, e.batch});
        }
        for (const int64_t n : {1, 500, 2900, 4096, 60000}) {
            for (const int64_t blocks : {1, 6, 23, 100}) {
                for (const int64_t batch : {1, 2, 3, 6, 8, 64}) {
                    shapes.insert({n, blocks, batch});
                }
            }
        }
        std::vector<wanted> list;
        for (const auto& [n, k, batch] : shapes) {
            list.push_back({n, k, batch});
        }
        return list;
    }();
    return all;
}

/// Whether a selector and `tuning::choose` agree for every shape and device, and how often the
/// choice was not the untuned one.
struct agreement {
    int differences = 0;
    int tuned = 0;
};
template <class Product, class Arguments, class Selector>
agreement compare(const kq::tuning::table& from, product_kind kind, Selector selector,
                  Arguments arguments_of) {
    agreement found;
    for (const wanted& w : all_wanted()) {
        for (const int capability : {90, 80}) {
            for (const bool dependent : {false, true}) {
                const int64_t batch =
                    Product::facts.chosen_on_device || Product::facts.batchable ? w.batch : 1;
                const policy expected =
                    kq::tuning::choose(from, {capability, Product::encoding::id, kind, w.n,
                                              256 * w.k, batch, dependent});
                found.differences +=
                    chosen<Product>(selector, arguments_of(w), capability, dependent) != expected;
                found.tuned += expected.method != kq::method::automatic;
            }
        }
    }
    return found;
}

/// The same for every kind of product with weights of one encoding.
template <class Encoding, class Selector>
void compare_all(const kq::tuning::table& from, Selector selector, bool has_entries) {
    using namespace kq::mappings;
    using namespace kq::epilogues;
    const auto check = [&](const char* what, const agreement& found) {
        INFO(what);
        CHECK(found.differences == 0);
        CHECK((found.tuned > 0) == has_entries);
    };
    const auto as_dense = [](const wanted& w) {
        return kq::dense_arguments{.n = w.n, .k = 256 * w.k, .m = w.batch};
    };
    const auto as_experts = [](const wanted& w) {
        return kq::experts_arguments{
            .experts = 64, .n = w.n, .k = 256 * w.k, .slots = w.batch, .top_k = w.batch};
    };
    const auto run = [&]<class Product>(const char* what, product_kind kind, auto arguments) {
        check(what, compare<Product, decltype(arguments)>(from, kind, selector, arguments));
    };
    run.template operator()<kq::product<Encoding>>("dense", product_kind::dense, as_dense);
    run.template operator()<kq::product<Encoding, dense, gated>>("gated", product_kind::dense,
                                                                 as_dense);
    run.template operator()<kq::product<Encoding, stacked>>(
        "stacked", product_kind::dense, [](const wanted& w) {
            kq::stacked_arguments a{.count = 2, .k = 256 * w.k, .m = w.batch};
            a.matrices[0].n = w.n / 2;
            a.matrices[1].n = w.n - w.n / 2;
            return a;
        });
    run.template operator()<kq::product<Encoding, block_diagonal>>(
        "block diagonal", product_kind::dense, [](const wanted& w) {
            return kq::block_diagonal_arguments{
                .n = 2 * w.n, .groups = 2, .k = 256 * w.k, .m = w.batch};
        });
    run.template operator()<kq::product<Encoding, experts>>("experts", product_kind::experts,
                                                            as_experts);
    run.template operator()<kq::product<Encoding, experts, gated>>(
        "gated experts", product_kind::experts_gated, as_experts);
    run.template operator()<kq::product<Encoding, experts, weighted_sum>>(
        "weighted sum", product_kind::experts_sum, as_experts);
}

constexpr kq::tuning::table nothing;

} // namespace

TEST_CASE("tuned chooses what a selection from the shipped table is, for products of every kind") {
    samples::for_each_family<9>(
        []<class E>() { compare_all<E>(kq::tuning::shipped, kq::tuned, true); });
}

TEST_CASE("tuned by a table of one's own chooses what a selection from it is, whatever it lacks") {
    // Only q4_k has entries, and none for gated experts and weighted sums.
    const auto as_dense = [](const wanted& w) {
        return kq::dense_arguments{.n = w.n, .k = 256 * w.k, .m = w.batch};
    };
    const agreement found = compare<kq::product<kq::q4_k>, decltype(as_dense)>(
        table, product_kind::dense, kq::tuned_by<table>{}, as_dense);
    CHECK(found.differences == 0);
    CHECK(found.tuned > 0);
    compare_all<kq::q6_k>(table, kq::tuned_by<table>{}, false);
    compare_all<kq::q4_k>(nothing, kq::tuned_by<nothing>{}, false);
}

TEST_CASE("a list of tuned policies has each once, one order, and a first that every device runs") {
    const auto check = []<class Product>() {
        constexpr auto list = kq::tuned_by<kq::tuning::shipped>::policies<Product>();
        STATIC_REQUIRE(list.has_one_order());
        CHECK(list.of[0] == kq::with_method(kq::policies::warp, kq::method::direct));
        for (int i = 0; i < list.count; ++i) {
            CHECK(kq::check_policy(list.of[i], Product::facts).ok());
            for (int j = 0; j < i; ++j) {
                CHECK(list.of[i] != list.of[j]);
            }
        }
    };
    samples::for_each_family<10>([&]<class E>() {
        check.template operator()<kq::product<E>>();
        check.template operator()<kq::product<E, kq::mappings::block_diagonal>>();
        check.template operator()<kq::product<E, kq::mappings::experts>>();
        check.template
        operator()<kq::product<E, kq::mappings::experts, kq::epilogues::weighted_sum>>();
    });
}

// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "gemv/own_parts.hpp"

#include <kq/dot/q4_k.hpp>
#include <kq/gemv/plan/product.hpp>
#include <kq/gemv/policy/tuning/tuned.hpp>

namespace {

using product = kq::product<kq::q4_k>;

struct without_choose {
    template <class Product>
    static constexpr kq::policy_list<1> policies() {
        return {{kq::policies::warp}};
    }
};
struct without_policies {
    template <class Product>
    static int choose(const kq::product_sizes&, const kq::device_facts&,
                      const kq::launch_options&) {
        return 0;
    }
};

} // namespace

TEST_CASE("a selector has policies to choose from and a way to choose") {
    STATIC_REQUIRE(kq::policy_selector<own::by_size, product>);
    STATIC_REQUIRE(kq::policy_selector<decltype(kq::tuned), product>);
    STATIC_REQUIRE_FALSE(kq::policy_selector<without_choose, product>);
    STATIC_REQUIRE_FALSE(kq::policy_selector<without_policies, product>);
    STATIC_REQUIRE_FALSE(kq::policy_selector<kq::policy, product>);
    STATIC_REQUIRE_FALSE(kq::policy_selector<int, product>);
}

TEST_CASE("a choice is a policy or a selector, and nothing else") {
    STATIC_REQUIRE(kq::policy_choice<kq::policy, product>);
    STATIC_REQUIRE(kq::policy_choice<own::by_size, product>);
    STATIC_REQUIRE_FALSE(kq::policy_choice<int, product>);
    STATIC_REQUIRE_FALSE(kq::policy_choice<kq::order, product>);
}

TEST_CASE("a list of policies knows whether all of them add in one order") {
    using namespace kq::policies;
    STATIC_REQUIRE(kq::policy_list<1>{{subwarp<8>}}.has_one_order());
    STATIC_REQUIRE(kq::policy_list<3>{{warp, batch<4>, multi_row<8>}}.has_one_order());
    STATIC_REQUIRE_FALSE(kq::policy_list<2>{{warp, subwarp<16>}}.has_one_order());
    STATIC_REQUIRE_FALSE(kq::policy_list<3>{{subwarp<8>, subwarp<8>, warp}}.has_one_order());
}

// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <kq/core/check.hpp>

#include <string>
#include <type_traits>

static_assert(std::is_trivially_copyable_v<kq::status>);
static_assert(kq::status{}.ok());
static_assert(!kq::status::invalid("n", "must be positive").ok());
static_assert(kq::status::cuda_failure("cudaFree", "cudaErrorUnknown").code() == kq::error::cuda);

TEST_CASE("a default status is success and has nothing to say") {
    const kq::status s;
    CHECK(s.ok());
    CHECK(s.code() == kq::error::none);
    CHECK(std::string(s.subject()).empty());
    CHECK(std::string(s.rule()).empty());
    CHECK(kq::message(s) == "ok");
}

TEST_CASE("an invalid status names the argument and the rule") {
    const kq::status s = kq::status::invalid("k", "must be a multiple of 256");
    CHECK_FALSE(s.ok());
    CHECK(s.code() == kq::error::invalid_argument);
    CHECK(s.subject() == std::string("k"));
    CHECK(s.rule() == std::string("must be a multiple of 256"));
    CHECK(kq::message(s) == "k: must be a multiple of 256");
}

TEST_CASE("a CUDA status names the call and the error") {
    const kq::status s = kq::status::cuda_failure("cudaLaunchKernelEx", "cudaErrorInvalidValue");
    CHECK_FALSE(s.ok());
    CHECK(s.code() == kq::error::cuda);
    CHECK(s.subject() == std::string("cudaLaunchKernelEx"));
    CHECK(s.rule() == std::string("cudaErrorInvalidValue"));
    CHECK(kq::message(s) == "cudaLaunchKernelEx: cudaErrorInvalidValue");
}

TEST_CASE("a copied or assigned status says the same") {
    kq::status s;
    const kq::status other = kq::status::invalid("m", "must be non-negative");
    s = other;
    CHECK(kq::message(s) == kq::message(other));
    s = {};
    CHECK(s.ok());
}

// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <kq/core/status.hpp>

#include <stdexcept>
#include <string>
#include <type_traits>

namespace {

/// What `check` throws for an outcome: the exception's kind and message.
struct thrown {
    std::string kind = "none";
    std::string message;
};

thrown thrown_by_check(const kq::status& outcome) {
    try {
        kq::check(outcome);
    } catch (const kq::argument_error& e) {
        return {"argument_error", e.what()};
    } catch (const kq::cuda_error& e) {
        return {"cuda_error", e.what()};
    } catch (const std::exception& e) {
        return {"other", e.what()};
    }
    return {};
}

} // namespace

static_assert(std::is_trivially_copyable_v<kq::status>);
static_assert(kq::status{}.ok());
static_assert(!kq::status::invalid("n", "must be positive").ok());
static_assert(kq::status::cuda_failure("cudaFree", "cudaErrorUnknown").code() == kq::error::cuda);
static_assert(std::is_base_of_v<std::invalid_argument, kq::argument_error>);
static_assert(std::is_base_of_v<std::runtime_error, kq::cuda_error>);
static_assert(!std::is_base_of_v<kq::argument_error, kq::cuda_error> &&
              !std::is_base_of_v<kq::cuda_error, kq::argument_error>);

TEST_CASE("a default status is success and has nothing to say") {
    const kq::status s;
    CHECK(s.ok());
    CHECK(s.code() == kq::error::none);
    CHECK(std::string(s.subject()).empty());
    CHECK(std::string(s.rule()).empty());
    CHECK(s.message() == "ok");
}

TEST_CASE("an invalid status names the argument and the rule") {
    const kq::status s = kq::status::invalid("k", "must be a multiple of 256");
    CHECK_FALSE(s.ok());
    CHECK(s.code() == kq::error::invalid_argument);
    CHECK(s.subject() == std::string("k"));
    CHECK(s.rule() == std::string("must be a multiple of 256"));
    CHECK(s.message() == "k: must be a multiple of 256");
}

TEST_CASE("a CUDA status names the call and the error") {
    const kq::status s = kq::status::cuda_failure("cudaLaunchKernelEx", "cudaErrorInvalidValue");
    CHECK_FALSE(s.ok());
    CHECK(s.code() == kq::error::cuda);
    CHECK(s.subject() == std::string("cudaLaunchKernelEx"));
    CHECK(s.rule() == std::string("cudaErrorInvalidValue"));
    CHECK(s.message() == "cudaLaunchKernelEx: cudaErrorInvalidValue");
}

TEST_CASE("check throws nothing for success") {
    CHECK(thrown_by_check({}).kind == "none");
}

TEST_CASE("check throws argument_error with the message for an invalid argument") {
    const thrown t = thrown_by_check(kq::status::invalid("weights", "must not be null"));
    CHECK(t.kind == "argument_error");
    CHECK(t.message == "weights: must not be null");
}

TEST_CASE("check throws cuda_error with the message for a CUDA failure") {
    const thrown t =
        thrown_by_check(kq::status::cuda_failure("cudaGetDevice", "cudaErrorNoDevice"));
    CHECK(t.kind == "cuda_error");
    CHECK(t.message == "cudaGetDevice: cudaErrorNoDevice");
}

TEST_CASE("a copied or assigned status says the same") {
    kq::status s;
    const kq::status other = kq::status::invalid("m", "must be non-negative");
    s = other;
    CHECK(s.message() == other.message());
    s = {};
    CHECK(s.ok());
}

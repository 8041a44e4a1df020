// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <kq/core/check.hpp>

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

static_assert(std::is_base_of_v<std::invalid_argument, kq::argument_error>);
static_assert(std::is_base_of_v<std::runtime_error, kq::cuda_error>);
static_assert(!std::is_base_of_v<kq::argument_error, kq::cuda_error> &&
              !std::is_base_of_v<kq::cuda_error, kq::argument_error>);

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

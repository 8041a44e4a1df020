// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <kq/core/arithmetic.hpp>
#include <kq/core/check.hpp>
#include <kq/core/rules.hpp>

#include <cstdint>
#include <limits>
#include <string>

using namespace kq::detail;
using kq::status;

namespace {

constexpr int64_t int_most = 2147483647;
constexpr int64_t most = std::numeric_limits<int64_t>::max();
constexpr int64_t lowest = std::numeric_limits<int64_t>::min();

/// An address that is never read.
void* address(uintptr_t value) {
    return reinterpret_cast<void*>(value);
}

} // namespace

TEST_CASE("the first error of several outcomes is found, wherever it stands") {
    const status good;
    const status first = status::invalid("a", "is bad");
    const status second = status::invalid("b", "is bad");
    STATIC_REQUIRE(first_error(status()).ok());
    STATIC_REQUIRE(first_error(status(), status(), status()).ok());
    CHECK(kq::message(first_error(first)) == "a: is bad");
    CHECK(kq::message(first_error(first, second, good)) == "a: is bad");
    CHECK(kq::message(first_error(good, second, first)) == "b: is bad");
    CHECK(kq::message(first_error(good, good, first)) == "a: is bad");
}

TEST_CASE("counts are numbers from 0 to 2^31 - 1") {
    for (const int64_t count : {int64_t{0}, int64_t{1}, int_most - 1, int_most}) {
        CHECK(check_count("n", count).ok());
    }
    for (const int64_t count : {int64_t{-1}, int_most + 1, lowest, most}) {
        const status s = check_count("n", count);
        CHECK(kq::message(s) == "n: must be between 0 and 2^31 - 1");
    }
}

TEST_CASE("a stride is 0 or at least a row, and all rows stay below 2^63 bytes") {
    const auto outcome = [](int64_t stride, int64_t least, int64_t rows) {
        return std::string(check_stride("stride", stride, least, rows).rule());
    };
    const std::string too_short = "must be 0 or at least the length of a row";
    const std::string too_long = "all rows must stay below 2^63 bytes";
    CHECK(outcome(0, 64, 3) == "");
    CHECK(outcome(64, 64, 3) == "");
    CHECK(outcome(65, 64, 3) == "");
    CHECK(outcome(63, 64, 3) == too_short);
    CHECK(outcome(-1, 64, 3) == too_short);
    CHECK(outcome(-1, 0, 0) == too_short);
    CHECK(outcome(lowest, 64, 3) == too_short);
    // Elements of four bytes: 2^61 - 1 of them are below 2^63 bytes.
    CHECK(outcome((int64_t{1} << 61) - 1, 64, 1) == "");
    CHECK(outcome(int64_t{1} << 61, 64, 1) == too_long);
    CHECK(outcome((int64_t{1} << 60) - 1, 64, 2) == "");
    CHECK(outcome(int64_t{1} << 60, 64, 2) == too_long);
    CHECK(outcome(0, int64_t{1} << 60, 2) == too_long); // the row counts where the stride is 0
    CHECK(outcome(most, 64, int_most) == too_long);
    CHECK(outcome(int64_t{1} << 61, 64, 0) == too_long); // no row is measured as one
}

TEST_CASE("a stride of 0 stands for the length of a row") {
    STATIC_REQUIRE(stride_or(0, 7) == 7);
    STATIC_REQUIRE(stride_or(9, 7) == 9);
    STATIC_REQUIRE(stride_or(0, 0) == 0);
}

TEST_CASE("elements need a pointer, a type and their type's alignment, in that order") {
    using enum kq::element_type;
    const auto outcome = [](uintptr_t at, kq::element_type type) {
        return kq::message(check_elements("x", address(at), type));
    };
    const auto unknown = static_cast<kq::element_type>(3);
    CHECK(outcome(0, unknown) == "x: must not be null");
    CHECK(outcome(0x1001, unknown) == "x: must have elements of f32, f16 or bf16");
    for (uintptr_t offset = 0; offset < 8; ++offset) {
        CHECK(outcome(0x1000 + offset, f32) ==
              (offset % 4 == 0 ? "ok" : "x: must be aligned to its element"));
        for (const kq::element_type type : {f16, bf16}) {
            CHECK(outcome(0x1000 + offset, type) ==
                  (offset % 2 == 0 ? "ok" : "x: must be aligned to its element"));
        }
    }
}

TEST_CASE("floats may be left out, and are 4-byte aligned where they are not") {
    CHECK(check_floats("bias", nullptr).ok());
    for (uintptr_t offset = 0; offset < 8; ++offset) {
        const status s = check_floats("bias", static_cast<float*>(address(0x1000 + offset)));
        CHECK(kq::message(s) == (offset % 4 == 0 ? "ok" : "bias: must be aligned to its element"));
    }
}

TEST_CASE("a workspace is there, long enough and 16-byte aligned, even where it needs no byte") {
    const auto outcome = [](uintptr_t at, size_t bytes, int64_t least) {
        return kq::message(check_workspace({address(at), bytes}, least, "is too small"));
    };
    CHECK(outcome(0x1000, 100, 100) == "ok");
    CHECK(outcome(0x1010, 100, 0) == "ok");
    CHECK(outcome(0x1000, 99, 100) == "workspace: is too small");
    CHECK(outcome(0, 100, 100) == "workspace: is too small");
    CHECK(outcome(0, 100, 0) == "workspace: is too small");
    for (uintptr_t offset = 1; offset < 16; ++offset) {
        CHECK(outcome(0x1000 + offset, 100, 100) == "workspace: must be 16-byte aligned");
    }
}

TEST_CASE("sizes are divided and rounded up as integers") {
    STATIC_REQUIRE((lesser(2, 3) == 2 && lesser(3, 2) == 2 && lesser(-1, 0) == -1));
    STATIC_REQUIRE((greater(2, 3) == 3 && greater(3, 2) == 3 && greater(-1, 0) == 0));
    for (int64_t a = 0; a <= 50; ++a) {
        for (int64_t b = 1; b <= 20; ++b) {
            int64_t quotient = 0; // the least with quotient * b >= a
            while (quotient * b < a) {
                ++quotient;
            }
            REQUIRE(ceil_div(a, b) == quotient);
            REQUIRE(round_up(a, b) == quotient * b);
        }
    }
    STATIC_REQUIRE(ceil_div(most, 2) == most / 2 + 1); // without overflow
    STATIC_REQUIRE(ceil_div(most, most) == 1);
    STATIC_REQUIRE(round_up(most - 127, 128) == most - 127);
}

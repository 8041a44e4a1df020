// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <kq/core/element.hpp>

#include <cmath>
#include <cstring>
#include <type_traits>

namespace {

constexpr kq::element_type types[] = {kq::element_type::f32, kq::element_type::f16,
                                      kq::element_type::bf16};

/// A type of one's own with the layout of a half.
struct own_half {
    uint16_t bits;
};

} // namespace

template <>
struct kq::element_type_of<own_half> {
    static constexpr element_type value = element_type::f16;
};

TEST_CASE("with_element calls with the type that the number names and returns what it returns") {
    const auto size_by_type = [](kq::element_type type) {
        return kq::with_element(type, []<class Element>() { return sizeof(Element); });
    };
    const auto number_by_type = [](kq::element_type type) {
        return kq::with_element(type, []<class Element>() {
            return std::is_same_v<Element, float>      ? 1
                   : std::is_same_v<Element, kq::f16>  ? 2
                   : std::is_same_v<Element, kq::bf16> ? 3
                                                       : 0;
        });
    };
    CHECK(number_by_type(kq::element_type::f32) == 1);
    CHECK(number_by_type(kq::element_type::f16) == 2);
    CHECK(number_by_type(kq::element_type::bf16) == 3);
    for (const kq::element_type type : types) {
        CHECK(size_by_type(type) == static_cast<size_t>(kq::size_of(type)));
    }
    STATIC_REQUIRE(kq::with_element(
        kq::element_type::bf16, []<class Element>() { return std::is_same_v<Element, kq::bf16>; }));
}

TEST_CASE("with_element calls once, and what it calls may return nothing") {
    for (const kq::element_type type : types) {
        int calls = 0;
        kq::with_element(type, [&]<class>() { ++calls; });
        CHECK(calls == 1);
    }
}

TEST_CASE("pointers convert with their element type") {
    const float f32[1] = {};
    const kq::f16 f16[1] = {};
    kq::bf16 bf16[1] = {};
    kq::input_pointer x;
    CHECK(x.data == nullptr);
    CHECK(x.type == kq::element_type::f32);
    x = f16;
    CHECK(x.data == f16);
    CHECK(x.type == kq::element_type::f16);
    x = f32;
    CHECK(x.data == f32);
    CHECK(x.type == kq::element_type::f32);
    kq::output_pointer y;
    CHECK(y.data == nullptr);
    y = bf16;
    CHECK(y.data == bf16);
    CHECK(y.type == kq::element_type::bf16);
    STATIC_REQUIRE(kq::size_of(kq::element_type::f32) == 4);
    STATIC_REQUIRE(kq::size_of(kq::element_type::f16) == 2);
    STATIC_REQUIRE(kq::size_of(kq::element_type::bf16) == 2);
}

TEST_CASE("pointers to types that say their element type convert, others do not") {
    STATIC_REQUIRE(std::is_convertible_v<const own_half*, kq::input_pointer>);
    STATIC_REQUIRE(std::is_convertible_v<own_half*, kq::output_pointer>);
    STATIC_REQUIRE_FALSE(std::is_convertible_v<const own_half*, kq::output_pointer>);
    STATIC_REQUIRE_FALSE(std::is_convertible_v<const double*, kq::input_pointer>);
    STATIC_REQUIRE_FALSE(std::is_convertible_v<int*, kq::output_pointer>);
    const own_half x[1] = {};
    CHECK(kq::input_pointer(x).type == kq::element_type::f16);
}

TEST_CASE("is_valid knows the three element types and no other number") {
    for (int i = -2; i <= 10; ++i) {
        CHECK(kq::is_valid(static_cast<kq::element_type>(i)) == (i >= 0 && i <= 2));
    }
}

TEST_CASE("elements are loaded exactly and stored rounded to nearest even, each in its place") {
    const float f32[] = {0.5f, -3.25f};
    const kq::f16 f16[] = {{0x3800}, {0xc280}};   // the same numbers
    const kq::bf16 bf16[] = {{0x3f00}, {0xc050}}; // likewise
    for (const kq::input_pointer x :
         {kq::input_pointer(f32), kq::input_pointer(f16), kq::input_pointer(bf16)}) {
        CHECK(x.load(0) == 0.5f);
        CHECK(x.load(1) == -3.25f);
    }
    float y32[] = {7, 7, 7};
    kq::f16 y16[] = {{7}, {7}, {7}};
    kq::bf16 yb[] = {{7}, {7}, {7}};
    const float x = 1.0f + 0x1.8p-8f; // between two bfloat16 numbers, nearer to the upper one
    kq::output_pointer(y32).store(1, x);
    kq::output_pointer(y16).store(1, x);
    kq::output_pointer(yb).store(1, x);
    CHECK((y32[0] == 7 && y32[1] == x && y32[2] == 7));
    CHECK((y16[0].bits == 7 && y16[1].bits == 0x3c06 && y16[2].bits == 7));
    CHECK((yb[0].bits == 7 && yb[1].bits == 0x3f81 && yb[2].bits == 7));
    kq::output_pointer(y16).store(2, 2049.0f); // halfway: to the even one, 2048
    CHECK(y16[2].bits == 0x6800);
}

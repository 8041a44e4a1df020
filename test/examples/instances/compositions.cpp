// SPDX-License-Identifier: Apache-2.0
#include "instances/compositions.hpp"
#include "catch.hpp"

#include <utility>

namespace {

using instances::family;

/// Calls `f.operator()<T>()` with each type of a list.
template <class F, class... Types>
void for_each(kq::type_list<Types...>, F&& f) {
    (f.template operator()<Types>(), ...);
}

/// Encodings of a family, all or those that a composition is compiled for.
template <class Composition = void>
int count_encodings(family of) {
    int count = 0;
    for_each(kq::encodings{}, [&]<class E>() {
        bool counts = instances::family_of<E> == of;
        if constexpr (!std::is_void_v<Composition>) {
            counts = counts && instances::detail::is_compiled<E, Composition>();
        }
        count += counts;
    });
    return count;
}

constexpr family families[] = {family::image_of_32, family::image_of_256, family::planar_image,
                               family::table};

} // namespace

TEST_CASE("every family has encodings") {
    for (const family f : families) {
        CHECK(count_encodings(f) >= 1);
    }
}

TEST_CASE("every encoding has the compositions of the first list") {
    for_each(instances::for_each_encoding{}, []<class C>() {
        for (const family f : families) {
            CHECK(count_encodings<C>(f) == count_encodings(f));
        }
    });
}

TEST_CASE("every composition of the second list is compiled for an encoding of each family") {
    for_each(instances::for_each_family{}, []<class C>() {
        for (const family f : families) {
            INFO("family " << static_cast<int>(f));
            CHECK(count_encodings<C>(f) >= 1);
        }
    });
}

TEST_CASE("a composition is compiled where the one is whose kernel it has") {
    // Both differ from others in stages and pieces only.
    for_each(kq::encodings{}, []<class E>() {
        using instances::has;
        CHECK(has<E, kq::policies::bulk(2, 1, 16, {.stages = 3, .piece_bytes = 1152})>);
        CHECK(has<E, kq::policies::bulk(4, 1, 16, {.stages = 1, .piece_bytes = 1 << 20})> ==
              has<E, kq::with_method(kq::policies::multi_row<4>, kq::method::bulk)>);
    });
}

namespace {

template <class Product>
inline constexpr auto untuned_policies = instances::untuned.policies<Product>();

/// Whether every policy of `untuned` is one that is compiled for every encoding.
template <template <int> class Mapping, class Epilogue>
bool untuned_is_compiled() {
    using product = kq::product<kq::q4_k, Mapping, Epilogue>;
    using instances::for_each_encoding;
    return []<size_t... I>(std::index_sequence<I...>) {
        return ((instances::detail::place_of<
                     instances::composition<untuned_policies<product>.of[I], Mapping, Epilogue>>(
                     for_each_encoding{}) < for_each_encoding::size) &&
                ...);
    }
    (std::make_index_sequence<static_cast<size_t>(untuned_policies<product>.count)>{});
}

} // namespace

TEST_CASE("what multiplies encodings without measured policies needs no kernel of its own") {
    using namespace kq::mappings;
    using namespace kq::epilogues;
    CHECK(untuned_is_compiled<dense, store>());
    CHECK(untuned_is_compiled<dense, gated>());
    CHECK(untuned_is_compiled<experts, store>());
    CHECK(untuned_is_compiled<experts, gated>());
    CHECK(untuned_is_compiled<experts, weighted_sum>());
}

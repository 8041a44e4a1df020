// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/dot/all.hpp>
#include <kq/gemv/mapping/all.hpp>
#include <kq/gemv/plan/product.hpp>
#include <kq/gemv/policy/policy.hpp>
#include <kq/gemv/policy/selector.hpp>

#include <type_traits>

/// Which compositions of `kq::gemv` are compiled, and for which encodings. Every kernel costs build
/// time, so each encoding gets the few that prove its decoder, table and image on a GPU, by which
/// the tool can multiply it too; the rest, whose code is the same for all encodings, are compiled
/// for one encoding of each family, by turns.
namespace instances {

/// `warp` by one method.
inline constexpr kq::policy direct = kq::with_method(kq::policies::warp, kq::method::direct);
inline constexpr kq::policy bulk = kq::with_method(kq::policies::warp, kq::method::bulk);

/// Four activation rows at once.
inline constexpr kq::policy batch = kq::with_method(kq::policies::batch<4>, kq::method::bulk);

/// The policies beside `direct` and `bulk`: each value of each field, by one method.
inline constexpr kq::policy policies[] = {
    batch,
    kq::with_method(kq::policies::subwarp<8>, kq::method::direct),
    kq::with_method(kq::policies::subwarp<16>, kq::method::bulk),
    kq::with_method(kq::policies::multi_row<1>, kq::method::direct),
    kq::with_method(kq::policies::multi_row<4>, kq::method::bulk),
    kq::with_method(kq::policies::prefetch<2>, kq::method::direct),
    kq::with_method(kq::policies::prefetch<4>, kq::method::direct),
    kq::with_method(kq::policies::batch<2>, kq::method::direct),
    kq::with_method(kq::policies::batch<8>, kq::method::bulk),
    {.order = {16}, .rows = 2, .warps = 8, .method = kq::method::direct, .direct = {.prefetch = 2}},
    // These share kernels with those above.
    kq::policies::bulk(4, 1, 16, {.stages = 1, .piece_bytes = 1 << 20}),
    kq::policies::bulk(2, 1, 16, {.stages = 3, .piece_bytes = 1152}),
    {.order = {16}, .method = kq::method::bulk, .bulk = {.stages = 1, .piece_bytes = 1 << 20}},
};

// The two lists. `entry(policy, mapping, epilogue)`.
// clang-format off

/// Compiled for every encoding.
#define KQ_FOR_EACH_ENCODING(entry) \
    entry(kq::policies::warp, dense, store) \
    entry(instances::direct, dense, store) \
    entry(instances::bulk, dense, store) \
    entry(instances::batch, dense, store) \
    entry(instances::direct, dense, gated) \
    entry(instances::direct, experts, store) \
    entry(instances::direct, experts, gated) \
    entry(instances::direct, experts, weighted_sum)

/// Compiled for one encoding of each family: for that whose turn it is at the entry's place, which
/// goes round. An entry that needs no kernel of its own is compiled where that kernel is.
#define KQ_FOR_EACH_FAMILY(entry) \
    entry(instances::policies[1], dense, store) \
    entry(instances::policies[2], dense, store) \
    entry(instances::policies[3], dense, store) \
    entry(instances::policies[4], dense, store) \
    entry(instances::policies[5], dense, store) \
    entry(instances::policies[6], dense, store) \
    entry(instances::policies[7], dense, store) \
    entry(instances::policies[8], dense, store) \
    entry(instances::policies[9], dense, store) \
    entry(instances::policies[10], dense, store) \
    entry(instances::policies[11], dense, store) \
    entry(instances::policies[12], dense, store) \
    entry(instances::bulk, dense, gated) \
    entry(instances::bulk, stacked, store) \
    entry(instances::direct, stacked, gated) \
    entry(instances::bulk, experts, store) \
    entry(instances::bulk, experts, gated) \
    entry(instances::direct, block_diagonal, store) \
    entry(instances::bulk, block_diagonal, store) \
    entry(instances::bulk, experts, weighted_sum)

// clang-format on

/// One entry of the lists.
template <kq::policy Policy, template <int> class Mapping, class Epilogue>
struct composition {
    static constexpr kq::policy policy = Policy;
    using mapping = Mapping<Epilogue::weight_sets>;
    using epilogue = Epilogue;
};

#define KQ_ENTRY(policy, mapping, epilogue)                                                        \
    , composition<policy, kq::mappings::mapping, kq::epilogues::epilogue>
using for_each_encoding = kq::detail::drop_first<void KQ_FOR_EACH_ENCODING(KQ_ENTRY)>::type;
using for_each_family = kq::detail::drop_first<void KQ_FOR_EACH_FAMILY(KQ_ENTRY)>::type;
#undef KQ_ENTRY

/// What the code that encodings share sees of them: the image that they meet, or a lookup table.
enum class family { image_of_32, image_of_256, planar_image, table };

template <class Encoding>
inline constexpr family family_of =
    kq::table_bytes<Encoding> != 0                                   ? family::table
    : std::is_same_v<typename Encoding::activation, kq::q8_32>       ? family::image_of_32
    : std::is_same_v<kq::image_of<Encoding>, kq::image_of<kq::q6_k>> ? family::planar_image
                                                                     : family::image_of_256;

namespace detail {

/// Whether a kernel of one composition is that of another one.
template <class A, class B>
inline constexpr bool share_kernels =
    kq::compiled_part(A::policy) == kq::compiled_part(B::policy) &&
    std::is_same_v<typename A::mapping, typename B::mapping>&& std::is_same_v<typename A::epilogue,
                                                                              typename B::epilogue>;

/// The place of the first entry with the same kernel; the length of the list where there is none.
template <class Composition, class... Entries>
constexpr int place_of(kq::type_list<Entries...>) {
    int place = 0;
    (void)((share_kernels<Composition, Entries> || (++place, false)) || ...);
    return place;
}

/// Whether it is this encoding's turn: those of a family take turns.
template <class Encoding, class... Encodings>
constexpr bool has_turn(int number, kq::type_list<Encodings...>) {
    int before = 0, all = 0;
    bool found = false;
    ((found = found || std::is_same_v<Encoding, Encodings>,
      before += family_of<Encoding> == family_of<Encodings> && !found,
      all += family_of<Encoding> == family_of<Encodings>),
     ...);
    return number % all == before;
}

} // namespace detail

/// Whether it is this encoding's turn, of those of its family.
template <class Encoding>
constexpr bool has_turn(int number) {
    return detail::has_turn<Encoding>(number, kq::encodings{});
}

namespace detail {

template <class Encoding, class Composition>
constexpr bool is_compiled() {
    if (place_of<Composition>(for_each_encoding{}) < for_each_encoding::size) {
        return true;
    }
    const int place = place_of<Composition>(for_each_family{});
    return place < for_each_family::size && instances::has_turn<Encoding>(place);
}

} // namespace detail

/// Chooses among the policies that every encoding is compiled with, so that it needs no kernel of
/// its own.
struct untuned_selector {
    template <class Product>
    static constexpr auto policies() {
        if constexpr (is_plain<Product>) {
            return kq::policy_list<3>{{direct, bulk, batch}};
        } else {
            return kq::policy_list<1>{{direct}};
        }
    }

    template <class Product>
    static constexpr int choose(const kq::product_sizes& sizes, const kq::device_facts&,
                                const kq::launch_options&) {
        return !is_plain<Product> ? 0 : sizes.activation.m > 1 ? 2 : 1;
    }

private:
    template <class Product>
    static constexpr bool is_plain = Product::facts.batchable&& Product::facts.weight_sets == 1;
};
inline constexpr untuned_selector untuned{};

/// Whether a composition is compiled for an encoding. A choice that is no policy is a selector,
/// `kq::tuned` or `untuned`, which tuned.hpp gives to encodings.
template <class Encoding, auto Choice = kq::policies::warp,
          template <int> class Mapping = kq::mappings::dense, class Epilogue = kq::epilogues::store>
inline constexpr bool has = [] {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(Choice)>, kq::policy>) {
        return detail::is_compiled<Encoding, composition<Choice, Mapping, Epilogue>>();
    } else {
        return true;
    }
}();

} // namespace instances

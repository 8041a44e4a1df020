// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "golden.hpp"
#include "samples.hpp"

#include <kq/dot/all.hpp>
#include <kq/reference/reference.hpp>

#include <memory>

namespace {

/// Weight blocks of a panel.
template <class E>
constexpr int panel_blocks = 32 / kq::decoder<E>::slices;

/// The integers of each block, or of each of its sub-blocks that have a float scale of their own,
/// added up over the lanes that share it.
struct block_integers {
    std::vector<int> dots;
    std::vector<int> mins;

    bool operator==(const block_integers&) const = default;
};

/// Dots at most one panel of blocks, lane by lane. The weights lie `offset` bytes past a 16-byte
/// boundary and end where their allocation ends, so that a sanitizer sees every byte too far.
template <class E, int Batch = 1>
block_integers dot_lanes(const std::vector<typename E::block>& w,
                         const std::vector<typename E::activation::block>& x, int offset) {
    using dot = kq::dp4a_dot<E, Batch>;
    using image = typename dot::image;
    const size_t bytes = w.size() * sizeof(w[0]);
    const std::unique_ptr<unsigned char[]> memory(
        new unsigned char[static_cast<size_t>(offset) + bytes]);
    unsigned char* row = memory.get() + offset;
    std::memcpy(row, w.data(), bytes);
    const auto count = static_cast<int64_t>(x.size());
    std::vector<unsigned char> panel(static_cast<size_t>(image::row_bytes(count)));
    image::pack(x.data(), count, panel.data());

    constexpr size_t subs = E::elements / kq::sub_elements<E>;
    block_integers sums{std::vector<int>(subs * w.size()), std::vector<int>(subs * w.size())};
    for (int l = 0; l < dot::slices * static_cast<int>(w.size()); ++l) {
        const auto b = static_cast<size_t>(l / dot::slices);
        const kq::lane_context where{l, l % dot::slices, samples::lookup_table<E>(), dot::constant};
        const auto anchor = dot::locate(row + b * sizeof(w[0]), where.slice);
        const auto fragment = dot::template load<kq::cached_memory>(anchor, 0);
        const auto activation = image::template load<kq::cached_memory>(panel.data(), l);
        const kq::integers part = dot::dot(fragment, activation, where);
        if constexpr (dot::has_two_scales) {
            static_assert(subs == 2 * dot::slices);
            sums.dots[2 * static_cast<size_t>(l)] = part.dot;
            sums.dots[2 * static_cast<size_t>(l) + 1] = -part.min;
        } else {
            static_assert(subs == 1);
            sums.dots[b] += part.dot;
            sums.mins[b] += part.min;
        }
    }
    return sums;
}

template <class E>
block_integers reference(const std::vector<typename E::block>& w,
                         const std::vector<typename E::activation::block>& x) {
    block_integers sums;
    for (size_t b = 0; b < w.size(); ++b) {
        constexpr int count = kq::sub_elements<E>;
        const auto* meets = x.data() + b * kq::reference::activation_blocks<E>;
        for (int first = 0; first < E::elements; first += count) {
            sums.dots.push_back(kq::reference::integer_dot<E>(w[b], meets, first, count));
            sums.mins.push_back(kq::reference::integer_min<E>(w[b], meets, first, count));
        }
    }
    return sums;
}

template <class E>
std::vector<typename E::activation::block> random_activations(samples::generator& random) {
    std::vector<typename E::activation::block> x;
    for (int b = 0; b < panel_blocks<E> * kq::reference::activation_blocks<E>; ++b) {
        x.push_back(samples::random_activation<typename E::activation>(random));
    }
    return x;
}

} // namespace

TEST_CASE("the slices of a golden block add up to ggml's integers") {
    samples::for_each_encoding([]<class E>() {
        for (const golden::test_case& c : golden::load(kq::name_of(E::id))) {
            if (!c.has("integer_dot_i32")) {
                continue; // the products are compared elsewhere
            }
            INFO(c.name);
            const auto w = c.as<typename E::block>("weight");
            const auto x = golden::activation_blocks<typename E::activation>(c);
            const int64_t count = c.k / E::elements;
            const int64_t met = c.k / E::activation::elements; // activation blocks
            REQUIRE(count <= panel_blocks<E>);
            block_integers sums;
            for (int64_t j = 0; j < c.m; ++j) {
                for (int64_t r = 0; r < c.n; ++r) {
                    const block_integers row =
                        dot_lanes<E>({w.begin() + r * count, w.begin() + (r + 1) * count},
                                     {x.begin() + j * met, x.begin() + (j + 1) * met}, 0);
                    sums.dots.insert(sums.dots.end(), row.dots.begin(), row.dots.end());
                    sums.mins.insert(sums.mins.end(), row.mins.begin(), row.mins.end());
                }
            }
            CHECK(sums.dots == c.as<int>("integer_dot_i32"));
            if (c.has("integer_min_i32")) {
                CHECK(sums.mins == c.as<int>("integer_min_i32"));
            }
        }
    });
}

TEST_CASE("the slices of 4096 random blocks add up to the reference's integers, at every alignment "
          "that the encoding allows") {
    samples::for_each_encoding([]<class E>() {
        samples::generator random(7);
        int offset = 0;
        for (int round = 0; round < 4096 / panel_blocks<E>; ++round) {
            std::vector<typename E::block> w;
            for (int b = 0; b < panel_blocks<E>; ++b) {
                w.push_back(samples::random_block<E>(random));
            }
            const auto x = random_activations<E>(random);
            REQUIRE(dot_lanes<E>(w, x, offset) == reference<E>(w, x));
            if constexpr (kq::decoder<E>::codes_in_two) { // in one for batches
                REQUIRE(dot_lanes<E, 8>(w, x, offset) == reference<E>(w, x));
            }
            offset = (offset + kq::block_alignment<E>) % 16;
        }
    });
}

TEST_CASE("blocks with every field at an extreme give the reference's integers") {
    samples::for_each_encoding([]<class E>() {
        for (const unsigned char byte : {0x00, 0xff, 0x0f, 0xf0, 0x80, 0x7f, 0x55, 0xaa}) {
            for (const int code : {127, -127, -128, 1}) {
                INFO("bytes " << int{byte} << ", activation codes " << code);
                const std::vector<typename E::block> w(panel_blocks<E>,
                                                       samples::uniform_block<E>(byte));
                typename E::activation::block block{};
                for (int8_t& q : block.q) {
                    q = static_cast<int8_t>(code);
                }
                const std::vector<typename E::activation::block> x(
                    panel_blocks<E> * kq::reference::activation_blocks<E>, block);
                CHECK(dot_lanes<E>(w, x, 0) == reference<E>(w, x));
            }
        }
    });
}

TEST_CASE("every byte of a block reaches the slice that it belongs to") {
    samples::for_each_encoding([]<class E>() {
        samples::generator random(11);
        const auto x = random_activations<E>(random);
        for (size_t at = 0; at < sizeof(typename E::block); ++at) {
            std::vector<typename E::block> w(panel_blocks<E>, samples::uniform_block<E>(0));
            for (auto& block : w) { // one byte differs from zero in each block
                reinterpret_cast<unsigned char*>(&block)[at] = static_cast<unsigned char>(random());
            }
            REQUIRE(dot_lanes<E>(w, x, 0) == reference<E>(w, x));
        }
    });
}

// One-hot: where the activation is 1 at j and 0 elsewhere, the product is weight j's, whatever the
// others are.
TEST_CASE(
    "an activation that is 1 at one place alone gives the integer of the weight at that place") {
    samples::for_each_encoding([]<class E>() {
        constexpr int per_block = E::activation::elements;
        samples::generator random(19);
        std::vector<typename E::block> w;
        for (int b = 0; b < panel_blocks<E>; ++b) {
            w.push_back(samples::random_block<E>(random));
        }
        for (int j = 0; j < E::elements; ++j) {
            auto x = random_activations<E>(random);
            for (auto& block : x) {
                std::memset(block.q, 0, sizeof(block.q));
                if constexpr (requires { block.sums; }) {
                    std::memset(block.sums, 0, sizeof(block.sums));
                }
            }
            for (size_t b = 0; b < w.size(); ++b) {
                auto& block =
                    x[b * kq::reference::activation_blocks<E> + static_cast<size_t>(j / per_block)];
                block.q[j % per_block] = 1;
                if constexpr (requires { block.sums; }) {
                    block.sums[j % per_block / 16] = 1;
                }
            }
            const block_integers found = dot_lanes<E>(w, x, 0);
            int wrong = 0;
            for (size_t b = 0; b < w.size(); ++b) {
                constexpr size_t subs = E::elements / kq::sub_elements<E>;
                for (size_t sub = 0; sub < subs; ++sub) {
                    const bool here = static_cast<size_t>(j / kq::sub_elements<E>) == sub;
                    const int dot = here ? E::scale(w[b], j) * E::code(w[b], j) : 0;
                    wrong += found.dots[b * subs + sub] != dot;
                    wrong += found.mins[b * subs + sub] != (here ? E::minimum(w[b], j) : 0);
                }
            }
            REQUIRE(wrong == 0);
        }
    });
}

TEST_CASE("lanes give every scale byte of nvfp4 times every code, wherever it lies in a block") {
    using dot = kq::dp4a_dot<kq::nvfp4>;
    int wrong = 0;
    for (int i = 0; i < 64; ++i) {
        kq::q8_32::block x[2]{{1.0f, {}}, {1.0f, {}}}; // 1 where weight i is, else 0
        x[i / 32].q[i % 32] = 1;
        alignas(16) unsigned char panel[dot::image::panel_bytes];
        dot::image::pack(x, 2, panel);
        const int slice = i / 32;
        const auto activation = dot::image::load<kq::cached_memory>(panel, slice);
        for (int bits = 0; bits < 256 * 16; ++bits) {
            alignas(4) kq::nvfp4::block w{};
            w.d[i / 16] = {static_cast<uint8_t>(bits / 16)};
            w.qs[i / 16 * 8 + i % 8] = static_cast<uint8_t>(bits % 16 << (i % 16 / 8 * 4));
            const auto anchor = dot::locate(reinterpret_cast<const unsigned char*>(&w), slice);
            const auto fragment = dot::load<kq::cached_memory>(anchor, 0);
            const float sum = kq::accumulate<dot>(
                0, dot::scale(fragment, activation.d),
                dot::dot(fragment, activation, {0, slice, nullptr, dot::constant}));
            wrong += sum != kq::reference::weight<kq::nvfp4>(w, i);
        }
    }
    CHECK(wrong == 0);
}

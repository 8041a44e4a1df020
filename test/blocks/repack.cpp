// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "repacked.hpp"

#include <kq/reference/reference.hpp>

#include <algorithm>

namespace {

using kq::q8_0;
using kq::q8_0_aligned;

/// The bytes of blocks, in ascending order.
template <class Block>
std::vector<unsigned char> sorted_bytes(const std::vector<Block>& blocks) {
    const auto* first = reinterpret_cast<const unsigned char*>(blocks.data());
    std::vector<unsigned char> bytes(first, first + blocks.size() * sizeof(Block));
    std::sort(bytes.begin(), bytes.end());
    return bytes;
}

static_assert(kq::weight_blocks<q8_0_aligned> && !kq::weight_encoding<q8_0_aligned>);
static_assert(kq::block_alignment<q8_0_aligned> == 16);
static_assert(std::is_same_v<kq::decoder<q8_0_aligned>::image, kq::decoder<q8_0>::image>);

} // namespace

TEST_CASE("aligned q8_0 holds a block's codes from 32 times its number on, and then the scales") {
    const auto w = samples::random_weights<q8_0>(3, 512, 1);
    const auto aligned = samples::repacked(w);
    REQUIRE(aligned.size() * sizeof(aligned[0]) == w.size() * sizeof(w[0]));
    for (size_t b = 0; b < w.size(); ++b) {
        const q8_0_aligned::block& group = aligned[b / 8];
        CHECK(std::memcmp(group.q + 32 * (b % 8), w[b].q, 32) == 0);
        CHECK(group.d[b % 8].bits == w[b].d.bits);
    }
}

TEST_CASE("aligned q8_0 decodes to the weights of q8_0") {
    const auto w = samples::random_weights<q8_0>(1, 256, 2);
    const q8_0_aligned::block group = samples::repacked(w)[0];
    for (int i = 0; i < q8_0_aligned::elements; ++i) {
        const int code = q8_0_aligned::scale(group, i) * q8_0_aligned::code(group, i);
        const float scaled =
            q8_0_aligned::d(group, i) * q8_0_aligned::factor * static_cast<float>(code);
        CHECK(scaled == kq::reference::weight<q8_0>(w[static_cast<size_t>(i / 32)], i % 32));
        CHECK(q8_0_aligned::minimum(group, i) == 0);
    }
}

TEST_CASE("a repack permutes the bytes, whatever they are, and its inverse restores them") {
    for (const int64_t count : {0, 8, 16, 48, 224, 4096}) {
        INFO("count " << count);
        samples::generator random(static_cast<uint64_t>(count));
        std::vector<q8_0::block> w(static_cast<size_t>(count));
        for (q8_0::block& b : w) {
            b.d.bits = static_cast<uint16_t>(random()); // NaN among them
            for (int8_t& q : b.q) {
                q = static_cast<int8_t>(random());
            }
        }
        const auto aligned = samples::repacked(w);
        CHECK(sorted_bytes(aligned) == sorted_bytes(w));
        std::vector<q8_0::block> restored(w.size());
        kq::repack(aligned.data(), count, restored.data());
        CHECK(samples::same_bytes(restored, w));
    }
}

TEST_CASE("a repack writes nothing outside its range") {
    const auto w = samples::random_weights<q8_0>(1, 512, 3);
    constexpr unsigned char pattern = 0x5a;
    const auto is_pattern = [](const auto& block) {
        const auto* bytes = reinterpret_cast<const unsigned char*>(&block);
        return std::all_of(bytes, bytes + sizeof(block), [](auto b) { return b == pattern; });
    };
    std::vector<q8_0_aligned::block> aligned(4);
    std::memset(aligned.data(), pattern, 4 * sizeof(aligned[0]));
    kq::repack(w.data(), 16, aligned.data() + 1);
    CHECK(is_pattern(aligned.front()));
    CHECK(is_pattern(aligned.back()));
    std::vector<q8_0::block> restored(18);
    std::memset(restored.data(), pattern, 18 * sizeof(restored[0]));
    kq::repack(aligned.data() + 1, 16, restored.data() + 1);
    CHECK(is_pattern(restored.front()));
    CHECK(is_pattern(restored.back()));
}

TEST_CASE("the host model gives the same bits for aligned q8_0 as for q8_0") {
    const auto compare = []<kq::order Order>() {
        for (const samples::shape s : samples::repacked_shapes()) {
            INFO("m " << s.m << ", n " << s.n << ", k " << s.k);
            const auto w = samples::random_weights<q8_0>(s.n, s.k, 4);
            const auto x = samples::gaussian(s.m * s.k, 5);
            const auto y = samples::host_product<q8_0, Order>(w, x, s);
            CHECK(samples::same_bytes(
                samples::host_product<q8_0_aligned, Order>(samples::repacked(w), x, s), y));
            CHECK(std::any_of(y.begin(), y.end(), [](float v) { return v != 0; }));
        }
    };
    compare.operator()<kq::order{32}>();
    compare.operator()<kq::order{8}>();
    compare.operator()<kq::order{16}>();
}

TEST_CASE("aligned q8_0 refuses rows that are no whole blocks and misaligned weights") {
    const auto w = samples::repacked(samples::random_weights<q8_0>(1, 512, 6));
    const auto x = samples::gaussian(512, 7);
    float y = 0;
    kq::dense_arguments a{
        .weights = w.data(), .activation = x.data(), .output = &y, .n = 1, .k = 288};
    CHECK(kq::host_model<q8_0_aligned>::launch(a).subject() == std::string("k"));
    a.k = 256;
    CHECK(kq::host_model<q8_0_aligned>::launch(a).ok());
    a.weights = reinterpret_cast<const char*>(w.data()) + 8;
    CHECK(kq::host_model<q8_0_aligned>::launch(a).subject() == std::string("weights"));
}

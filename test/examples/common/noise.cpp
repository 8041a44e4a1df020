// SPDX-License-Identifier: Apache-2.0
#include "common/noise.hpp"
#include "samples.hpp"

#include <cstring>

namespace {

template <class Block>
bool same_bytes(const Block& a, const Block& b) {
    return std::memcmp(&a, &b, sizeof(Block)) == 0;
}

} // namespace

TEST_CASE("a part of a noise matrix holds the matrix's own blocks") {
    samples::for_each_encoding([]<class Encoding>() {
        constexpr int rows = 7, row_blocks = 5;
        const common::noise_part whole{.seed = 3,
                                       .scale = 0.01f,
                                       .row_blocks = row_blocks,
                                       .rows = rows,
                                       .blocks = row_blocks};
        const auto all = common::noise_blocks<Encoding>(whole);
        REQUIRE(all.size() == rows * row_blocks);
        auto part = whole;
        part.first_row = 2;
        part.rows = 4;
        part.first_block = 1;
        part.blocks = 3;
        const auto cut = common::noise_blocks<Encoding>(part);
        REQUIRE(cut.size() == 12);
        for (size_t r = 0; r < 4; ++r) {
            for (size_t b = 0; b < 3; ++b) {
                CHECK(same_bytes(cut[r * 3 + b], all[(r + 2) * row_blocks + b + 1]));
            }
        }
    });
}

TEST_CASE("noise of another seed or place is another block") {
    const common::noise_part part{.seed = 1, .row_blocks = 2, .rows = 1, .blocks = 2};
    auto other = part;
    other.seed = 2;
    const auto blocks = common::noise_blocks<kq::q4_k>(part);
    CHECK_FALSE(same_bytes(blocks[0], blocks[1]));
    CHECK_FALSE(same_bytes(blocks[0], common::noise_blocks<kq::q4_k>(other)[0]));
}

TEST_CASE("noise weights have a mean square of 1 / k, within a fifth") {
    samples::for_each_encoding([]<class Encoding>() {
        for (const int64_t k : {256, 28672}) {
            const int64_t blocks = 4096 / Encoding::elements;
            const auto sample =
                common::noise_blocks<Encoding>({.seed = 5,
                                                .scale = common::noise_scale<Encoding>(k),
                                                .row_blocks = blocks,
                                                .rows = 16,
                                                .blocks = blocks});
            std::vector<float> weights(16 * 4096);
            kq::reference::dequantize<Encoding>(sample.data(), 16 * blocks, weights.data());
            double squares = 0;
            for (const float w : weights) {
                squares += static_cast<double>(w) * w;
            }
            CHECK(squares / static_cast<double>(weights.size()) * static_cast<double>(k) ==
                  Approx(1).epsilon(0.2));
        }
    });
}

// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "samples.hpp"

#include <kq/activation/image.hpp>
#include <kq/dot/all.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace {

using kq::element_order;
using sequential_k = kq::image<kq::q8_k, 4, element_order::sequential>;
using planar_k = kq::image<kq::q8_k, 4, element_order::planar>;
using sequential_32 = kq::image<kq::q8_32, 1, element_order::sequential>;
using columns_k = kq::image<kq::q8_k, 4, element_order::columns>;
using strided_32 = kq::image<kq::q8_32, 1, element_order::strided>;
using nibbles_k = kq::image<kq::q8_k, 4, element_order::nibbles>;
using nibbles_32 = kq::image<kq::q8_32, 1, element_order::nibbles>;
using nibbles_8_32 = kq::image<kq::q8_32, 1, element_order::nibbles_8>;

/// Every image that an encoding reads.
using images = kq::type_list<sequential_k, planar_k, columns_k, nibbles_k, sequential_32,
                             strided_32, nibbles_32, nibbles_8_32>;

template <class Image, class... Images>
constexpr bool is_one_of(kq::type_list<Images...>) {
    return (std::is_same_v<Image, Images> || ...);
}

/// Whether the dots of a list read one of the images above.
template <class... Encodings>
constexpr bool read_only_these(kq::type_list<Encodings...>) {
    return (is_one_of<typename kq::decoder<Encodings>::image>(images{}) && ...);
}
static_assert(read_only_these(kq::encodings{}));

/// Runs `test` for every image, each in a section of its name.
template <class Test>
void for_each_image(Test test) {
    SECTION("q8_k, sequential") {
        test.template operator()<sequential_k>();
    }
    SECTION("q8_k, planar") {
        test.template operator()<planar_k>();
    }
    SECTION("q8_k, columns") {
        test.template operator()<columns_k>();
    }
    SECTION("q8_32, sequential") {
        test.template operator()<sequential_32>();
    }
    SECTION("q8_32, strided") {
        test.template operator()<strided_32>();
    }
    SECTION("q8_k, nibbles") {
        test.template operator()<nibbles_k>();
    }
    SECTION("q8_32, nibbles") {
        test.template operator()<nibbles_32>();
    }
    SECTION("q8_32, nibbles of 16") {
        test.template operator()<nibbles_8_32>();
    }
}

template <class Image>
using block_of = typename Image::activation::block;

/// Random blocks whose scales differ.
template <class Image>
std::vector<block_of<Image>> random_blocks(int count, uint64_t seed) {
    samples::generator random(seed);
    std::vector<block_of<Image>> blocks;
    for (int b = 0; b < count; ++b) {
        auto block = samples::random_activation<typename Image::activation>(random);
        block.d = std::ldexp(static_cast<float>(random() % (1 << 24) + 1), -23) *
                  (random() % 2 == 0 ? 1.0f : -1.0f);
        blocks.push_back(block);
    }
    return blocks;
}

/// The image of `blocks`, in memory that held other bytes before.
template <class Image>
std::vector<unsigned char> packed(const std::vector<block_of<Image>>& blocks) {
    const auto count = static_cast<int64_t>(blocks.size());
    std::vector<unsigned char> row(static_cast<size_t>(Image::row_bytes(count)), 0xa5);
    Image::pack(blocks.data(), count, row.data());
    return row;
}

/// Counts of blocks: one, part of a panel, a panel, one more, several panels and a part.
template <class Image>
std::vector<int> counts() {
    const int panel = Image::panel_blocks;
    return {1, 2, panel - 1, panel, panel + 1, 3 * panel, 3 * panel + panel / 2 + 1};
}

/// The element that slice `slice` holds as byte `byte` of vector `vector`, as the order's
/// definition says.
template <class Image>
int defined_element(int slice, int vector, int byte) {
    if (std::is_same_v<Image, planar_k>) {
        return 16 * (8 * (slice / 2) + 2 * vector + slice % 2) + byte;
    }
    if (std::is_same_v<Image, columns_k>) {
        // Of 0, 128, 160 and 240 on: digits of bytes of tq1_0, by slices of 8 and of 4 bytes.
        constexpr int firsts[16] = {0,  4,  160, 128, 32, 36,  176, 132,
                                    64, 68, 192, 224, 96, 100, 208, 240};
        constexpr int steps[16] = {8, 8, 4, 8, 8, 8, 4, 8, 8, 8, 4, 4, 8, 8, 4, 1};
        const int word = 4 * vector + byte / 4;
        return firsts[word] + slice * steps[word] + byte % 4 * (word == 15 ? 4 : 1);
    }
    const int first = slice * (Image::activation::elements / Image::slices);
    if (std::is_same_v<Image, strided_32>) {
        const int word = 4 * vector + byte / 4;
        return first + word + 8 * (byte % 4);
    }
    if (std::is_same_v<Image, nibbles_k> || std::is_same_v<Image, nibbles_32>) {
        // Bytes j and j + 16 of 32 elements alternate, as the nibbles of a byte do in q4_0.
        return first + 32 * (vector / 2) + 8 * (vector % 2) + byte / 2 + 16 * (byte % 2);
    }
    if (std::is_same_v<Image, nibbles_8_32>) {
        return first + 16 * vector + byte / 2 + 8 * (byte % 2);
    }
    return first + 16 * vector + byte;
}

/// The codes that slice `slice` of a block holds as vector `vector`.
template <class Image>
std::array<int8_t, 16> defined_codes(const typename Image::activation::block& block, int slice,
                                     int vector) {
    std::array<int8_t, 16> codes{};
    for (int i = 0; i < 16; ++i) {
        codes[static_cast<size_t>(i)] = block.q[defined_element<Image>(slice, vector, i)];
    }
    return codes;
}

template <class T>
T read(const unsigned char* address) {
    T value;
    std::memcpy(&value, address, sizeof(value));
    return value;
}

int16_t sum_of_codes(const std::array<int8_t, 16>& codes) {
    int sum = 0;
    for (const int8_t code : codes) {
        sum += code;
    }
    return static_cast<int16_t>(sum);
}

/// How many of the slots of a packed row hold anything but what `blocks` puts there.
template <class Image>
int wrong_slots(const std::vector<block_of<Image>>& blocks, const std::vector<unsigned char>& row) {
    int wrong = 0;
    const auto slots = static_cast<int>(row.size() / Image::panel_bytes) * 32;
    for (int slot = 0; slot < slots; ++slot) {
        const unsigned char* panel = row.data() + slot / 32 * Image::panel_bytes;
        const auto b = static_cast<size_t>(slot / Image::slices);
        const bool used = b < blocks.size();
        bool right = true;
        for (int v = 0; v < Image::vectors; ++v) {
            std::array<int8_t, 16> codes{};
            if (used) {
                codes = defined_codes<Image>(blocks[b], slot % Image::slices, v);
            }
            right &= std::memcmp(panel + Image::vector_at(v, slot % 32), codes.data(), 16) == 0;
            right &= read<int16_t>(panel + Image::sum_at(v, slot % 32)) == sum_of_codes(codes);
        }
        const float d = used ? Image::activation::d(blocks[b]) : 0.0f;
        right &= std::memcmp(panel + Image::d_at(slot % 32), &d, sizeof(d)) == 0;
        wrong += !right;
    }
    return wrong;
}

} // namespace

TEST_CASE("an image unpacks to exactly the blocks that were packed") {
    for_each_image([]<class Image>() {
        for (const int count : counts<Image>()) {
            const auto blocks = random_blocks<Image>(count, 1);
            const auto row = packed<Image>(blocks);
            int different = 0;
            for (int b = 0; b < count; ++b) {
                const auto block = Image::unpack(row.data(), b);
                different += std::memcmp(&block, &blocks[size_t(b)], sizeof(block)) != 0;
            }
            INFO(count << " blocks");
            CHECK(different == 0);
        }
    });
}

TEST_CASE("slots hold their groups, sums and scale, and zeros past the last block") {
    for_each_image([]<class Image>() {
        for (const int count : counts<Image>()) {
            const auto blocks = random_blocks<Image>(count, 2);
            INFO(count << " blocks");
            CHECK(wrong_slots<Image>(blocks, packed<Image>(blocks)) == 0);
        }
    });
}

TEST_CASE("pack writes the whole row and nothing past it") {
    for_each_image([]<class Image>() {
        const auto blocks = random_blocks<Image>(Image::panel_blocks + 1, 3);
        const auto count = static_cast<int64_t>(blocks.size());
        const auto bytes = static_cast<size_t>(Image::row_bytes(count));
        std::vector<unsigned char> first(bytes + 64, 0x00);
        std::vector<unsigned char> second(bytes + 64, 0xff);
        Image::pack(blocks.data(), count, first.data());
        Image::pack(blocks.data(), count, second.data());
        CHECK(std::memcmp(first.data(), second.data(), bytes) == 0);
        for (size_t i = bytes; i < bytes + 64; ++i) {
            CHECK(int{first[i]} == 0x00);
            CHECK(int{second[i]} == 0xff);
        }
    });
}

TEST_CASE("place_of, group_of and byte_of put every element where its order is defined to") {
    for_each_image([]<class Image>() {
        for (int slice = 0; slice < Image::slices; ++slice) {
            for (int vector = 0; vector < Image::vectors; ++vector) {
                for (int byte = 0; byte < 16; ++byte) {
                    const int element = defined_element<Image>(slice, vector, byte);
                    const auto place = Image::place_of(Image::group_of(element));
                    CHECK(place.slice == slice);
                    CHECK(place.vector == vector);
                    CHECK(Image::byte_of(element) == byte);
                }
            }
        }
    });
}

TEST_CASE("the parts of a panel are aligned, do not overlap and cover it") {
    for_each_image([]<class Image>() {
        std::vector<int> uses(static_cast<size_t>(Image::panel_bytes), 0);
        const auto use = [&](int at, int bytes) {
            for (int i = at; i < at + bytes; ++i) {
                ++uses.at(static_cast<size_t>(i));
            }
        };
        int misaligned = 0;
        for (int slot = 0; slot < 32; ++slot) {
            for (int v = 0; v < Image::vectors; ++v) {
                use(Image::vector_at(v, slot), 16);
                use(Image::sum_at(v, slot), 2);
                misaligned += Image::vector_at(v, slot) % 16 != 0;
            }
            misaligned += Image::sum_at(0, slot) % (2 * Image::vectors) != 0; // one load
            use(Image::d_at(slot), 4);
            misaligned += Image::d_at(slot) % 4 != 0;
        }
        CHECK(misaligned == 0);
        CHECK(std::count(uses.begin(), uses.end(), 1) == Image::panel_bytes);
    });
}

TEST_CASE("lanes that follow each other read bytes that follow each other") {
    for_each_image([]<class Image>() {
        for (int slot = 0; slot + 1 < 32; ++slot) {
            for (int v = 0; v < Image::vectors; ++v) {
                CHECK(Image::vector_at(v, slot + 1) == Image::vector_at(v, slot) + 16);
            }
            CHECK(Image::sum_at(0, slot + 1) == Image::sum_at(0, slot) + 2 * Image::vectors);
            CHECK(Image::d_at(slot + 1) == Image::d_at(slot) + 4);
        }
    });
}

TEST_CASE("load gives a slot's codes, sums and scale") {
    for_each_image([]<class Image>() {
        const auto blocks = random_blocks<Image>(2 * Image::panel_blocks - 1, 4);
        const auto row = packed<Image>(blocks);
        int wrong = 0;
        for (int slot = 0; slot < 64; ++slot) {
            const auto f = Image::template load<kq::cached_memory>(
                row.data() + slot / 32 * Image::panel_bytes, slot % 32);
            const auto b = static_cast<size_t>(slot / Image::slices);
            const block_of<Image> block = b < blocks.size() ? blocks[b] : block_of<Image>{};
            for (int v = 0; v < Image::vectors; ++v) {
                const auto codes = defined_codes<Image>(block, slot % Image::slices, v);
                wrong += std::memcmp(f.q + 4 * v, codes.data(), 16) != 0;
                const uint32_t word = f.sums[v / 2];
                wrong += static_cast<int16_t>(word >> (16 * (v % 2))) != sum_of_codes(codes);
            }
            wrong += f.d != Image::activation::d(block);
        }
        CHECK(wrong == 0);
    });
}

TEST_CASE("sums are exact where every code is extreme") {
    for_each_image([]<class Image>() {
        for (const int code : {-128, -127, 127}) {
            block_of<Image> block{};
            std::memset(block.q, code, sizeof(block.q));
            const auto row = packed<Image>({block});
            for (int v = 0; v < Image::vectors; ++v) {
                CHECK(int{read<int16_t>(row.data() + Image::sum_at(v, 0))} == 16 * code);
            }
        }
    });
}

TEST_CASE("the sums come from the codes, whatever the block's own sums say") {
    auto block = random_blocks<sequential_k>(1, 5)[0];
    const auto expected = packed<sequential_k>({block});
    std::memset(block.sums, 0x55, sizeof(block.sums));
    CHECK(packed<sequential_k>({block}) == expected);
}

TEST_CASE("infinite and NaN scales survive an image") {
    const float infinity = std::numeric_limits<float>::infinity();
    std::vector<kq::q8_k::block> k(2);
    k[0].d = std::numeric_limits<float>::quiet_NaN();
    k[1].d = -infinity;
    const auto row_k = packed<planar_k>(k);
    CHECK(std::isnan(planar_k::unpack(row_k.data(), 0).d));
    CHECK(planar_k::unpack(row_k.data(), 1).d == -infinity);
    std::vector<kq::q8_32::block> q(2);
    q[0].d = std::numeric_limits<float>::quiet_NaN();
    q[1].d = infinity;
    const auto row_32 = packed<sequential_32>(q);
    CHECK(std::isnan(sequential_32::unpack(row_32.data(), 0).d));
    CHECK(sequential_32::unpack(row_32.data(), 1).d == infinity);
}

TEST_CASE("a row is the fewest panels that hold its blocks and a multiple of 128 bytes") {
    for_each_image([]<class Image>() {
        // From the documented layout: 16 codes, a sum of 2 bytes and a scale of 4 for each slot.
        const int64_t panel = 32 * (Image::vectors * (16 + 2) + 4);
        CHECK(Image::row_bytes(0) == 0);
        int wrong = 0;
        for (int64_t blocks = 1; blocks < 200; ++blocks) {
            const int64_t bytes = Image::row_bytes(blocks);
            const int64_t panels = bytes / panel;
            wrong += bytes % 128 != 0 || bytes % panel != 0;
            wrong += panels * 32 < blocks * Image::slices;
            wrong += (panels - 1) * 32 >= blocks * Image::slices;
            wrong += panels != Image::panels(blocks);
        }
        CHECK(wrong == 0);
        CHECK(Image::row_bytes(int64_t{1} << 40) ==
              (int64_t{1} << 40) * Image::slices / 32 * panel);
    });
}

// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <kq/blocks/all.hpp>
#include <kq/blocks/q8_k.hpp>
#include <kq/reference/reference.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

namespace {

/// A weight of a block, as worked out by hand.
struct expected_weight {
    int i;
    float value;
};

/// Whether the reference decodes a block to the expected weights.
template <class Encoding, int Count>
constexpr bool decodes(const typename Encoding::block& b, const expected_weight (&weights)[Count]) {
    for (const expected_weight& w : weights) {
        if (kq::reference::weight<Encoding>(b, w.i) != w.value) {
            return false;
        }
    }
    return true;
}

constexpr kq::f16 eighth{0x3000};
constexpr kq::f16 quarter{0x3400};
constexpr kq::f16 minus_quarter{0xb400};
constexpr kq::f16 one_half{0x3800};
constexpr kq::f16 one{0x3c00};
constexpr kq::f16 two{0x4000};

constexpr kq::q4_0::block q4_0_block() {
    kq::q4_0::block b{};
    b.d = one_half;
    b.qs[3] = 0xa1; // weight 3: 1, weight 19: 10
    b.qs[15] = 0xf8;
    return b;
}

constexpr kq::q4_1::block q4_1_block() {
    kq::q4_1::block b{};
    b.d = one_half;
    b.m = minus_quarter;
    b.qs[3] = 0xa1; // weight 3: 1, weight 19: 10
    b.qs[15] = 0xf8;
    return b;
}

constexpr kq::q5_0::block q5_0_block() {
    kq::q5_0::block b{};
    b.d = two;
    b.qs[5] = 0x3c;   // weight 5: 12, weight 21: 3
    b.qh[0] = 1 << 5; // weight 5
    b.qh[3] = 1 << 7; // weight 31
    return b;
}

constexpr kq::q5_1::block q5_1_block() {
    kq::q5_1::block b{};
    b.d = two;
    b.m = one_half;
    b.qs[5] = 0x3c;   // weight 5: 12, weight 21: 3
    b.qh[0] = 1 << 5; // weight 5
    b.qh[3] = 1 << 7; // weight 31
    return b;
}

constexpr kq::q8_0::block q8_0_block() {
    kq::q8_0::block b{};
    b.d = minus_quarter;
    b.q[0] = 127;
    b.q[31] = -128;
    return b;
}

constexpr kq::q2_k::block q2_k_block() {
    kq::q2_k::block b{};
    b.d = one_half;
    b.dmin = quarter;
    b.qs[48] = 0b11'10'01'00; // weights 144, 176, 208, 240: 0, 1, 2, 3
    b.scales[9] = 0x7b;       // of weights 144 to 159: scale 11, minimum 7
    b.scales[11] = 0x12;
    b.scales[13] = 0x0f;
    b.scales[15] = 0xf1;
    return b;
}

constexpr kq::q3_k::block q3_k_block() {
    kq::q3_k::block b{};
    b.d = one_half;
    b.qs[48] = 0b00'01'10'11; // weights 144, 176, 208, 240: 3, 2, 1, 0
    b.hmask[16] = 1 << 4;     // weight 144
    b.scales[1] = 0x50;       // sub-block 1: 0, sub-block 9: 5
    b.scales[9] = 0x30;       // sub-block 9: 3 << 4
    b.scales[3] = 0xf0;       // sub-block 11: 15
    return b;
}

constexpr kq::packed_scales scales() {
    kq::packed_scales s{};
    s.bytes[2] = 0b10'010101; // scale 2: 21; scale 6: 2 << 4
    s.bytes[6] = 0b01'000111; // minimum 2: 7; minimum 6: 1 << 4
    s.bytes[10] = 0xa3;       // sub-block 6: scale 3, minimum 10
    s.bytes[3] = 0b11'000000; // scale 7: 3 << 4
    s.bytes[7] = 0b10'000000; // minimum 7: 2 << 4
    s.bytes[11] = 0x21;       // sub-block 7: scale 1, minimum 2
    return s;
}

constexpr kq::q4_k::block q4_k_block() {
    kq::q4_k::block b{};
    b.d = one_half;
    b.dmin = eighth;
    b.scales = scales();
    b.qs[37] = 0xc9;  // weight 69: 9, weight 101: 12
    b.qs[127] = 0x7f; // weight 223: 15, weight 255: 7
    return b;
}

constexpr kq::q5_k::block q5_k_block() {
    kq::q5_k::block b{};
    b.d = one_half;
    b.dmin = eighth;
    b.scales = scales();
    b.qs[37] = 0xc9;
    b.qs[127] = 0x7f;
    b.qh[5] = 1 << 2;  // weight 69
    b.qh[31] = 1 << 7; // weight 255
    return b;
}

constexpr kq::q6_k::block q6_k_block() {
    kq::q6_k::block b{};
    b.d = one_half;
    b.ql[71] = 0x5a;          // weight 135: 10, weight 199: 5
    b.ql[103] = 0xc3;         // weight 167: 3, weight 231: 12
    b.qh[39] = 0b11'00'10'01; // weights 135, 167, 199, 231: 1, 2, 0, 3
    b.scales[8] = -128;
    b.scales[10] = 127;
    b.scales[12] = -1;
    b.scales[14] = 2;
    return b;
}

constexpr kq::iq2_xxs::block iq2_xxs_block() {
    kq::iq2_xxs::block b{};
    b.d = one;
    b.qs[24] = 1; // weights 96 to 103: magnitudes 43, then 8s
    b.qs[26] = 2; // weights 112 to 119: magnitudes 25, 25, then 8s
    // Scale 5; signs 0b0000001 for the first group of 8, 0b0000011 for the third.
    constexpr uint32_t word = 5u << 28 | 3u << 14 | 1u;
    for (int i = 0; i < 4; ++i) {
        b.qs[28 + i] = static_cast<uint8_t>(word >> (8 * i));
    }
    return b;
}

constexpr kq::iq3_xxs::block iq3_xxs_block() {
    kq::iq3_xxs::block b{};
    b.d = one_half;
    b.qs[56] = 1;   // weights 224 to 227: magnitudes 20, 4, 4, 4
    b.qs[57] = 0;   // weights 228 to 231: magnitudes 4
    b.qs[63] = 255; // weights 252 to 255: magnitudes 4, 28, 52, 62
    // Scale 15; signs 0b0000100 for the first group of 8, 0b1000000 for the last.
    constexpr uint32_t word = 15u << 28 | 0x40u << 21 | 4u;
    for (int i = 0; i < 4; ++i) {
        b.signs[28 + i] = static_cast<uint8_t>(word >> (8 * i));
    }
    return b;
}

/// Nibbles j and 15 - j in byte j.
template <class Block>
constexpr Block counting_nibbles() {
    Block b{};
    for (int j = 0; j < 16; ++j) {
        b.qs[j] = static_cast<uint8_t>(j | (15 - j) << 4);
    }
    return b;
}

constexpr kq::iq4_nl::block iq4_nl_block() {
    auto b = counting_nibbles<kq::iq4_nl::block>();
    b.d = one_half;
    return b;
}

constexpr kq::mxfp4::block mxfp4_block() {
    auto b = counting_nibbles<kq::mxfp4::block>();
    b.e = 129; // 2
    return b;
}

constexpr kq::nvfp4::block nvfp4_block() {
    kq::nvfp4::block b{};
    b.d[0] = {0x38}; // 1
    b.d[1] = {0x01}; // 2^-9
    b.d[2] = {0x7e}; // 448
    b.d[3] = {0xff}; // 480; 0x7f would be 0
    b.qs[0] = 0x71;  // weight 0: 1, weight 8: 12
    b.qs[15] = 0x9e; // weight 23: -8, weight 31: -1
    b.qs[18] = 0xf2; // weight 34: 2, weight 42: -12
    b.qs[31] = 0x83; // weight 55: 3, weight 63: -0
    return b;
}

constexpr kq::q1_0::block q1_0_block() {
    kq::q1_0::block b{};
    b.d = minus_quarter;
    b.qs[0] = 0x81;  // weights 0 and 7
    b.qs[15] = 0x40; // weight 126
    return b;
}

constexpr kq::q2_0::block q2_0_block() {
    kq::q2_0::block b{};
    b.d = one_half;
    b.qs[0] = 0b11'10'01'00;  // weights 0 to 3: 0, 1, 2, 3
    b.qs[15] = 0b00'11'00'10; // weights 60 to 63: 2, 0, 3, 0
    return b;
}

/// A block of `Elements` weights in `Bytes` bytes, of which kq knows no encoding.
template <int Elements, int Bytes>
struct unknown {
    struct block {
        using weights = unknown;

        uint8_t bytes[Bytes];
    };

    static constexpr kq::encoding id{1000 + Bytes};
    static constexpr int elements = Elements;
    using activation = kq::q8_32;
};

} // namespace

TEST_CASE("the facts of an encoding are those of its block, and a block names its encoding") {
    [&]<class... Encodings>(kq::type_list<Encodings...>) {
        STATIC_REQUIRE(((kq::facts_of<Encodings>.id == Encodings::id) && ...));
        STATIC_REQUIRE(((kq::facts_of<Encodings>.elements == Encodings::elements) && ...));
        STATIC_REQUIRE(((kq::facts_of<Encodings>.block_bytes == kq::block_bytes<Encodings>)&&...));
        STATIC_REQUIRE(
            ((kq::facts_of<Encodings>.alignment == kq::block_alignment<Encodings>)&&...));
        STATIC_REQUIRE((std::is_same_v<typename Encodings::block::weights, Encodings> && ...));
    }(kq::encodings{});
}

TEST_CASE("texts of refusals are made from the facts, at compile time") {
    const auto columns = [](const kq::encoding_facts& f) { return std::string(f.columns_rule); };
    CHECK(columns(kq::facts_of<kq::q4_0>) == "must be a non-negative multiple of 32, the block");
    CHECK(columns(kq::facts_of<kq::q4_k>) == "must be a non-negative multiple of 256, the block");
    CHECK(columns(kq::facts_of<unknown<64, 36>>) ==
          "must be a non-negative multiple of 64, the block");
    CHECK(columns(kq::facts_of<unknown<128, 18>>) ==
          "must be a non-negative multiple of 128, the block");

    const auto alignment = [](const kq::encoding_facts& f) {
        return std::string(f.alignment_rule);
    };
    CHECK(alignment(kq::facts_of<unknown<32, 17>>) == "must be 1-byte aligned");
    CHECK(alignment(kq::facts_of<kq::q6_k>) == "must be 2-byte aligned");
    CHECK(alignment(kq::facts_of<kq::q2_k>) == "must be 4-byte aligned");
    CHECK(alignment(kq::facts_of<unknown<32, 24>>) == "must be 8-byte aligned");
    CHECK(alignment(kq::facts_of<kq::q4_k>) == "must be 16-byte aligned");
    STATIC_REQUIRE(kq::facts_of<unknown<32, 24>>.alignment_rule[8] == '8');
}

TEST_CASE("blocks have the sizes of the file format") {
    STATIC_REQUIRE(kq::block_bytes<kq::q4_0> == 18);
    STATIC_REQUIRE(kq::block_bytes<kq::q4_1> == 20);
    STATIC_REQUIRE(kq::block_bytes<kq::q5_0> == 22);
    STATIC_REQUIRE(kq::block_bytes<kq::q5_1> == 24);
    STATIC_REQUIRE(kq::block_bytes<kq::q8_0> == 34);
    STATIC_REQUIRE(kq::block_bytes<kq::q2_k> == 84);
    STATIC_REQUIRE(kq::block_bytes<kq::q3_k> == 110);
    STATIC_REQUIRE(kq::block_bytes<kq::q4_k> == 144);
    STATIC_REQUIRE(kq::block_bytes<kq::q5_k> == 176);
    STATIC_REQUIRE(kq::block_bytes<kq::q6_k> == 210);
    STATIC_REQUIRE(kq::block_bytes<kq::iq2_xxs> == 66);
    STATIC_REQUIRE(kq::block_bytes<kq::iq3_xxs> == 98);
    STATIC_REQUIRE(kq::block_bytes<kq::iq4_nl> == 18);
    STATIC_REQUIRE(kq::block_bytes<kq::mxfp4> == 17);
    STATIC_REQUIRE(kq::block_bytes<kq::nvfp4> == 36);
    STATIC_REQUIRE(kq::block_bytes<kq::q1_0> == 18);
    STATIC_REQUIRE(kq::block_bytes<kq::q2_0> == 18);
    STATIC_REQUIRE(sizeof(kq::q8_k::block) == 292);
}

TEST_CASE("weights need the largest power of two that divides the block as alignment, 16 at most") {
    STATIC_REQUIRE(kq::block_alignment<kq::q4_0> == 2);
    STATIC_REQUIRE(kq::block_alignment<kq::q4_1> == 4);
    STATIC_REQUIRE(kq::block_alignment<kq::q5_0> == 2);
    STATIC_REQUIRE(kq::block_alignment<kq::q5_1> == 8);
    STATIC_REQUIRE(kq::block_alignment<kq::q8_0> == 2);
    STATIC_REQUIRE(kq::block_alignment<kq::q2_k> == 4);
    STATIC_REQUIRE(kq::block_alignment<kq::q3_k> == 2);
    STATIC_REQUIRE(kq::block_alignment<kq::q4_k> == 16);
    STATIC_REQUIRE(kq::block_alignment<kq::q5_k> == 16);
    STATIC_REQUIRE(kq::block_alignment<kq::q6_k> == 2);
    STATIC_REQUIRE(kq::block_alignment<kq::iq2_xxs> == 2);
    STATIC_REQUIRE(kq::block_alignment<kq::iq3_xxs> == 2);
    STATIC_REQUIRE(kq::block_alignment<kq::iq4_nl> == 2);
    STATIC_REQUIRE(kq::block_alignment<kq::mxfp4> == 1);
    STATIC_REQUIRE(kq::block_alignment<kq::nvfp4> == 4);
    STATIC_REQUIRE(kq::block_alignment<kq::q1_0> == 2);
    STATIC_REQUIRE(kq::block_alignment<kq::q2_0> == 2);
}

TEST_CASE("blocks can be read at the alignment that weights need") {
    // Half-word members are the widest; more would make an array of blocks unreadable in place.
    [&]<class... Encodings>(kq::type_list<Encodings...>) {
        STATIC_REQUIRE(
            ((alignof(typename Encodings::block) <= kq::block_alignment<Encodings>)&&...));
    }(kq::encodings{});
}

TEST_CASE(
    "encodings pair with the activation encoding whose codes are those that ggml pairs them with") {
    STATIC_REQUIRE(std::is_same_v<kq::q4_0::activation, kq::q8_32>);
    STATIC_REQUIRE(std::is_same_v<kq::q4_1::activation, kq::q8_32>);
    STATIC_REQUIRE(std::is_same_v<kq::q5_0::activation, kq::q8_32>);
    STATIC_REQUIRE(std::is_same_v<kq::q5_1::activation, kq::q8_32>);
    STATIC_REQUIRE(std::is_same_v<kq::q8_0::activation, kq::q8_32>);
    STATIC_REQUIRE(std::is_same_v<kq::q2_k::activation, kq::q8_k>);
    STATIC_REQUIRE(std::is_same_v<kq::q3_k::activation, kq::q8_k>);
    STATIC_REQUIRE(std::is_same_v<kq::q4_k::activation, kq::q8_k>);
    STATIC_REQUIRE(std::is_same_v<kq::q5_k::activation, kq::q8_k>);
    STATIC_REQUIRE(std::is_same_v<kq::q6_k::activation, kq::q8_k>);
    STATIC_REQUIRE(std::is_same_v<kq::iq2_xxs::activation, kq::q8_k>);
    STATIC_REQUIRE(std::is_same_v<kq::iq3_xxs::activation, kq::q8_k>);
    STATIC_REQUIRE(std::is_same_v<kq::iq4_nl::activation, kq::q8_32>);
    STATIC_REQUIRE(std::is_same_v<kq::mxfp4::activation, kq::q8_32>);
    STATIC_REQUIRE(std::is_same_v<kq::nvfp4::activation, kq::q8_32>);
    STATIC_REQUIRE(std::is_same_v<kq::q1_0::activation, kq::q8_32>);
    STATIC_REQUIRE(std::is_same_v<kq::q2_0::activation, kq::q8_32>);
}

TEST_CASE("a q4_0 block decodes to the weights worked out by hand, at compile time") {
    STATIC_REQUIRE(decodes<kq::q4_0>(
        q4_0_block(), {{3, -3.5f}, {19, 1.0f}, {15, 0.0f}, {31, 3.5f}, {0, -4.0f}, {16, -4.0f}}));
}

TEST_CASE("a q4_1 block decodes to the weights worked out by hand, at compile time") {
    STATIC_REQUIRE(decodes<kq::q4_1>(
        q4_1_block(),
        {{3, 0.25f}, {19, 4.75f}, {15, 3.75f}, {31, 7.25f}, {0, -0.25f}, {16, -0.25f}}));
}

TEST_CASE("a q5_0 block decodes to the weights worked out by hand, at compile time") {
    STATIC_REQUIRE(
        decodes<kq::q5_0>(q5_0_block(), {{5, 24.0f}, {21, -26.0f}, {31, 0.0f}, {15, -32.0f}}));
}

TEST_CASE("a q5_1 block decodes to the weights worked out by hand, at compile time") {
    STATIC_REQUIRE(
        decodes<kq::q5_1>(q5_1_block(), {{5, 56.5f}, {21, 6.5f}, {31, 32.5f}, {15, 0.5f}}));
}

TEST_CASE("a q8_0 block decodes to the weights worked out by hand, at compile time") {
    STATIC_REQUIRE(decodes<kq::q8_0>(q8_0_block(), {{0, -31.75f}, {31, 32.0f}, {7, 0.0f}}));
}

TEST_CASE("a q2_k block decodes to the weights worked out by hand, at compile time") {
    STATIC_REQUIRE(decodes<kq::q2_k>(
        q2_k_block(),
        {{144, -1.75f}, {145, -1.75f}, {176, 0.75f}, {208, 15.0f}, {240, -2.25f}, {0, 0.0f}}));
}

TEST_CASE("a q3_k block decodes to the weights worked out by hand, at compile time") {
    // 20 is in sub-block 1: scale -32, code -4. 145 is in sub-block 9: scale 21, code -4.
    STATIC_REQUIRE(
        decodes<kq::q3_k>(q3_k_block(), {{144, 31.5f}, {176, 17.0f}, {20, 64.0f}, {145, -42.0f}}));
}

TEST_CASE("a q4_k block decodes to the weights worked out by hand, at compile time") {
    STATIC_REQUIRE(decodes<kq::q4_k>(
        q4_k_block(), {{69, 93.625f}, {64, -0.875f}, {101, 0.0f}, {223, 259.25f}, {255, 167.25f}}));
}

TEST_CASE("a q5_k block decodes to the weights worked out by hand, at compile time") {
    STATIC_REQUIRE(decodes<kq::q5_k>(
        q5_k_block(), {{69, 261.625f}, {64, -0.875f}, {223, 259.25f}, {255, 559.25f}}));
}

TEST_CASE("a q6_k block decodes to the weights worked out by hand, at compile time") {
    // 128 is in sub-block 8: scale -128, code -32.
    STATIC_REQUIRE(decodes<kq::q6_k>(
        q6_k_block(), {{135, 384.0f}, {167, 190.5f}, {199, 13.5f}, {231, 28.0f}, {128, 2048.0f}}));
}

TEST_CASE("an iq2_xxs block decodes to the weights worked out by hand, at compile time") {
    // d / 8 * (2 * 5 + 1) is 1.375. An odd number of signs negates the eighth weight too.
    STATIC_REQUIRE(decodes<kq::iq2_xxs>(iq2_xxs_block(), {{96, -59.125f},
                                                          {97, 11.0f},
                                                          {103, -11.0f},
                                                          {104, 11.0f},
                                                          {112, -34.375f},
                                                          {113, -34.375f},
                                                          {114, 11.0f},
                                                          {119, 11.0f},
                                                          {0, 1.0f}}));
}

TEST_CASE("an iq3_xxs block decodes to the weights worked out by hand, at compile time") {
    // d / 4 * (2 * 15 + 1) is 3.875.
    STATIC_REQUIRE(decodes<kq::iq3_xxs>(iq3_xxs_block(), {{224, 77.5f},
                                                          {225, 15.5f},
                                                          {226, -15.5f},
                                                          {231, -15.5f},
                                                          {252, 15.5f},
                                                          {253, 108.5f},
                                                          {254, -201.5f},
                                                          {255, -240.25f},
                                                          {0, 0.5f}}));
}

TEST_CASE("an iq4_nl block decodes to the weights worked out by hand, at compile time") {
    STATIC_REQUIRE(decodes<kq::iq4_nl>(
        iq4_nl_block(),
        {{0, -63.5f}, {7, -5.0f}, {8, 0.5f}, {15, 56.5f}, {16, 56.5f}, {31, -63.5f}}));
}

TEST_CASE("iq4_nl has the 16 codes of the file format") {
    const uint8_t codes[16] = {0x81, 0x98, 0xad, 0xbf, 0xcf, 0xdd, 0xea, 0xf6,
                               0x01, 0x0d, 0x19, 0x26, 0x35, 0x45, 0x59, 0x71};
    for (int i = 0; i < 16; ++i) {
        CHECK(kq::iq4_nl::code(iq4_nl_block(), i) == static_cast<int8_t>(codes[i]));
        CHECK(kq::iq4_nl::code(iq4_nl_block(), 31 - i) == static_cast<int8_t>(codes[i]));
    }
}

TEST_CASE("an mxfp4 block decodes to the weights worked out by hand, at compile time") {
    STATIC_REQUIRE(decodes<kq::mxfp4>(
        mxfp4_block(), {{1, 2.0f}, {3, 6.0f}, {7, 24.0f}, {9, -2.0f}, {15, -24.0f}, {31, 0.0f}}));
}

TEST_CASE(
    "an mxfp4 weight is its E2M1 code times the power of two of its e8m0 byte, for all of both") {
    int wrong = 0;
    for (int e = 0; e < 256; ++e) {
        auto b = counting_nibbles<kq::mxfp4::block>();
        b.e = static_cast<uint8_t>(e);
        for (int code = 0; code < 16; ++code) { // sign, two bits of exponent, one of mantissa
            const int exponent = code >> 1 & 3;
            const float fraction = 0.5f * static_cast<float>(code & 1);
            const float magnitude =
                exponent == 0 ? fraction : std::ldexp(1 + fraction, exponent - 1);
            // The exponent's bias is 127. Below the normal numbers all bits are kept, 255 is no
            // NaN, and minus zero is zero, as ggml's codes are integers.
            const float value = code <= 8 ? magnitude : -magnitude;
            const float expected = std::ldexp(value, e - 127);
            for (const int i : {code, 31 - code}) {
                wrong += std::bit_cast<uint32_t>(kq::reference::weight<kq::mxfp4>(b, i)) !=
                         std::bit_cast<uint32_t>(expected);
            }
        }
    }
    CHECK(wrong == 0);
    CHECK(kq::mxfp4::d({0, {}}) == 0x1p-128f);
    CHECK(kq::mxfp4::d({1, {}}) == 0x1p-127f);
    CHECK(kq::mxfp4::d({255, {}}) == 0x1p127f);
}

TEST_CASE("an nvfp4 block decodes to the weights worked out by hand, at compile time") {
    // The table holds doubled values, so that each weight is half of scale times entry.
    STATIC_REQUIRE(decodes<kq::nvfp4>(nvfp4_block(), {{0, 0.5f},
                                                      {8, 6.0f},
                                                      {1, 0.0f},
                                                      {23, -0x1p-7f},
                                                      {31, -0x1p-10f},
                                                      {34, 448.0f},
                                                      {42, -2688.0f},
                                                      {55, 720.0f},
                                                      {63, 0.0f}}));
}

/// Twice the value of each FP4 code, as the codebook's text has it.
constexpr int fp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

TEST_CASE("every scale byte of nvfp4 times every code is the weight that the definition gives") {
    int wrong = 0;
    for (int byte = 0; byte < 256; ++byte) {
        const int exponent = byte >> 3 & 15, mantissa = byte & 7;
        const double scale = byte == 0x7f    ? 0
                             : exponent == 0 ? std::ldexp(mantissa, -9)
                                             : std::ldexp(8 + mantissa, exponent - 10);
        for (int sub = 0; sub < 4; ++sub) {
            for (int code = 0; code < 16; ++code) {
                kq::nvfp4::block b{};
                b.d[sub] = {static_cast<uint8_t>(byte)};
                for (int i = 0; i < 8; ++i) {
                    b.qs[8 * sub + i] = static_cast<uint8_t>(code * 0x11);
                }
                for (int i = 16 * sub; i < 16 * sub + 16; ++i) {
                    wrong += kq::reference::weight<kq::nvfp4>(b, i) != scale * fp4_values[code] / 2;
                }
            }
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("a q1_0 block decodes to the weights worked out by hand, at compile time") {
    STATIC_REQUIRE(decodes<kq::q1_0>(
        q1_0_block(), {{0, -0.25f}, {7, -0.25f}, {1, 0.25f}, {126, -0.25f}, {127, 0.25f}}));
}

TEST_CASE("a q2_0 block decodes to the weights worked out by hand, at compile time") {
    STATIC_REQUIRE(decodes<kq::q2_0>(q2_0_block(), {{0, -0.5f},
                                                    {1, 0.0f},
                                                    {2, 0.5f},
                                                    {3, 1.0f},
                                                    {60, 0.5f},
                                                    {61, -0.5f},
                                                    {62, 1.0f},
                                                    {63, -0.5f}}));
}

// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"

#include <kq/blocks/all.hpp>
#include <kq/blocks/q8_k.hpp>
#include <kq/reference/reference.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

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

constexpr kq::iq2_xs::block iq2_xs_block() {
    kq::iq2_xs::block b{};
    b.d = one;
    b.qs[12] = 1 << 9 | 1;   // weights 96 to 103: magnitudes 43, then 8s; signs 0b0000001
    b.qs[14] = 3 << 9 | 511; // weights 112 to 119: magnitudes 43; signs 0b0000011
    b.scales[3] = 0xf5;      // of weights 96 to 111: 5; of 112 to 127: 15
    return b;
}

constexpr kq::iq3_s::block iq3_s_block() {
    kq::iq3_s::block b{};
    b.d = one_half;
    b.qs[56] = 1;      // weights 224 to 227: magnitudes 3, 1, 1, 1
    b.qs[63] = 255;    // weights 252 to 255, by 511: magnitudes 1, 1, 15, 15
    b.qh[7] = 0xc0;    // the ninth bits of weights 248 to 251 (256: 7, 5, 9, 5) and 252 to 255
    b.signs[28] = 132; // weights 226 and 231
    b.signs[31] = 128; // weight 255
    b.scales[3] = 0xf0;
    return b;
}

constexpr kq::iq2_s::block iq2_s_block() {
    kq::iq2_s::block b{};
    b.d = one;
    b.qs[12] = 1;       // weights 96 to 103: magnitudes 43, then 8s
    b.signs[12] = 0x81; // weights 96 and 103
    b.qs[14] = 255;     // weights 112 to 119, by 1023: magnitudes 43
    b.qh[3] = 0x30;
    b.signs[14] = 3;    // weights 112 and 113
    b.qh[7] = 0x40;     // weights 248 to 255, by 256: magnitudes 25 25 25 25 25 8 25 8
    b.scales[3] = 0xf5; // of weights 96 to 111: 5; of 112 to 127: 15
    return b;
}

/// The FNV-1a hash of all magnitudes of a codebook, in order.
template <class Magnitude>
uint64_t hash(Magnitude magnitude, int entries, int magnitudes) {
    uint64_t h = 0xcbf29ce484222325;
    for (int index = 0; index < entries; ++index) {
        for (int i = 0; i < magnitudes; ++i) {
            h = (h ^ static_cast<uint64_t>(magnitude(index, i))) * 0x100000001b3;
        }
    }
    return h;
}

/// Whether flipping each of the bits from `bit` on of byte `byte`, `count` of them, changes weight
/// `i` of `b` and no other.
template <class Encoding>
bool are_bits_of(int i, typename Encoding::block b, int byte, int bit, int count) {
    typename Encoding::block flipped = b;
    bool only = true;
    for (int c = 0; c < count; ++c) {
        reinterpret_cast<unsigned char*>(&flipped)[byte] ^=
            static_cast<unsigned char>(1 << (bit + c));
        for (int j = 0; j < Encoding::elements; ++j) {
            const bool differs = kq::reference::weight<Encoding>(b, j) !=
                                 kq::reference::weight<Encoding>(flipped, j);
            only &= differs == (j == i);
        }
        b = flipped;
    }
    return only;
}

constexpr kq::iq4_xs::block iq4_xs_block() {
    kq::iq4_xs::block b{};
    b.d = one_half;
    b.qs[83] = 0xf3;              // weight 163: code 3, weight 179: code 15
    b.scales_l[2] = 0xa9;         // sub-block 4: 9, sub-block 5: 10
    b.scales_h[1] = 0b1111'10'01; // sub-block 4: 1 << 4, sub-block 5: 2 << 4, 6 and 7: 3 << 4
    b.scales_l[3] = 0xf0;         // sub-block 6: 0, sub-block 7: 15
    return b;
}

constexpr kq::tq1_0::block tq1_0_block() {
    kq::tq1_0::block b{};
    b.d = one_half;
    b.qs[5] = 0x10;  // digits 0, 0, 1, 2, 0: weights 5, 37, 69, 101, 133
    b.qs[41] = 0x20; // digits 0, 1, 0, 1, 0: weights 169, 185, 201, 217, 233
    b.qh[2] = 0xff;  // digits 2, 2, 2, 2: weights 242, 246, 250, 254
    return b;
}

constexpr kq::tq2_0::block tq2_0_block() {
    kq::tq2_0::block b{};
    b.d = one_half;
    b.qs[48] = 0b11'10'01'00; // weights 144, 176, 208, 240: 0, 1, 2, 3
    b.qs[31] = 0b10'00'00'01; // weights 31, 63, 95, 127: 1, 0, 0, 2
    return b;
}

constexpr kq::iq1_s::block iq1_s_block() {
    kq::iq1_s::block b{};
    b.d = one;
    b.qs[13] = 0x45; // weights 104 to 111: entry 0x345, trits 0 1 -1 1 0 1 -1 0
    b.qs[14] = 0xff; // weights 112 to 119: entry 0x7ff, trits 1
    // Delta -1, scale 5; high bits 3 of the second entry, 7 of the third, 0 of the others.
    b.qh[3] = 1u << 15 | 5u << 12 | 7u << 6 | 3u << 3;
    b.qs[28] = 1;            // weights 224 to 231: entry 0x401 with its high bits
    b.qh[7] = 2u << 12 | 4u; // scale 2
    return b;
}

constexpr kq::iq1_m::block iq1_m_block() {
    kq::iq1_m::block b{};
    b.qs[13] = 0x45; // weights 104 to 111: entry 0x345, trits 0 1 -1 1 0 1 -1 0
    b.qs[14] = 0xff; // weights 112 to 119: entry 0x7ff, trits 1
    b.qh[6] = 0x30;  // weights 104 to 111: high bits 3, delta 1
    b.qh[7] = 0x8f;  // weights 112 to 119: high bits 7, delta -1; 120 to 127: entry 0, delta -1
    b.scales[1] = 5u << 6 | 3u << 9; // of weights 96 to 111: 5; of 112 to 127: 3
    b.set_d(minus_quarter);          // 0xb400
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
    STATIC_REQUIRE(kq::block_bytes<kq::iq2_xs> == 74);
    STATIC_REQUIRE(kq::block_bytes<kq::iq3_xxs> == 98);
    STATIC_REQUIRE(kq::block_bytes<kq::iq3_s> == 110);
    STATIC_REQUIRE(kq::block_bytes<kq::iq2_s> == 82);
    STATIC_REQUIRE(kq::block_bytes<kq::nvfp4> == 36);
    STATIC_REQUIRE(kq::block_bytes<kq::q1_0> == 18);
    STATIC_REQUIRE(kq::block_bytes<kq::q2_0> == 18);
    STATIC_REQUIRE(kq::block_bytes<kq::iq4_nl> == 18);
    STATIC_REQUIRE(kq::block_bytes<kq::mxfp4> == 17);
    STATIC_REQUIRE(kq::block_bytes<kq::iq4_xs> == 136);
    STATIC_REQUIRE(kq::block_bytes<kq::tq1_0> == 54);
    STATIC_REQUIRE(kq::block_bytes<kq::tq2_0> == 66);
    STATIC_REQUIRE(kq::block_bytes<kq::iq1_s> == 50);
    STATIC_REQUIRE(kq::block_bytes<kq::iq1_m> == 56);
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
    STATIC_REQUIRE(kq::block_alignment<kq::iq2_xs> == 2);
    STATIC_REQUIRE(kq::block_alignment<kq::iq3_xxs> == 2);
    STATIC_REQUIRE(kq::block_alignment<kq::iq3_s> == 2);
    STATIC_REQUIRE(kq::block_alignment<kq::iq2_s> == 2);
    STATIC_REQUIRE(kq::block_alignment<kq::nvfp4> == 4);
    STATIC_REQUIRE(kq::block_alignment<kq::q1_0> == 2);
    STATIC_REQUIRE(kq::block_alignment<kq::q2_0> == 2);
    STATIC_REQUIRE(kq::block_alignment<kq::iq4_nl> == 2);
    STATIC_REQUIRE(kq::block_alignment<kq::mxfp4> == 1);
    STATIC_REQUIRE(kq::block_alignment<kq::iq4_xs> == 8);
    STATIC_REQUIRE(kq::block_alignment<kq::tq1_0> == 2);
    STATIC_REQUIRE(kq::block_alignment<kq::tq2_0> == 2);
    STATIC_REQUIRE(kq::block_alignment<kq::iq1_s> == 2);
    STATIC_REQUIRE(kq::block_alignment<kq::iq1_m> == 8);
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
    STATIC_REQUIRE(std::is_same_v<kq::iq2_xs::activation, kq::q8_k>);
    STATIC_REQUIRE(std::is_same_v<kq::iq3_xxs::activation, kq::q8_k>);
    STATIC_REQUIRE(std::is_same_v<kq::iq3_s::activation, kq::q8_k>);
    STATIC_REQUIRE(std::is_same_v<kq::iq2_s::activation, kq::q8_k>);
    STATIC_REQUIRE(std::is_same_v<kq::nvfp4::activation, kq::q8_32>);
    STATIC_REQUIRE(std::is_same_v<kq::q1_0::activation, kq::q8_32>);
    STATIC_REQUIRE(std::is_same_v<kq::q2_0::activation, kq::q8_32>);
    STATIC_REQUIRE(std::is_same_v<kq::iq4_nl::activation, kq::q8_32>);
    STATIC_REQUIRE(std::is_same_v<kq::mxfp4::activation, kq::q8_32>);
    STATIC_REQUIRE(std::is_same_v<kq::iq4_xs::activation, kq::q8_k>);
    STATIC_REQUIRE(std::is_same_v<kq::tq1_0::activation, kq::q8_k>);
    STATIC_REQUIRE(std::is_same_v<kq::tq2_0::activation, kq::q8_k>);
    STATIC_REQUIRE(std::is_same_v<kq::iq1_s::activation, kq::q8_k>);
    STATIC_REQUIRE(std::is_same_v<kq::iq1_m::activation, kq::q8_k>);
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

TEST_CASE("an iq2_xs block decodes to the weights worked out by hand, at compile time") {
    // d / 8 * (2 * 5 + 1) is 1.375, d / 8 * (2 * 15 + 1) is 3.875.
    STATIC_REQUIRE(decodes<kq::iq2_xs>(iq2_xs_block(), {{96, -59.125f},
                                                        {97, 11.0f},
                                                        {103, -11.0f},
                                                        {104, 11.0f},
                                                        {112, -166.625f},
                                                        {113, -166.625f},
                                                        {114, 166.625f},
                                                        {119, 166.625f},
                                                        {0, 1.0f}}));
}

TEST_CASE("an iq3_s block decodes to the weights worked out by hand, at compile time") {
    // d * (2 * 15 + 1) is 15.5.
    STATIC_REQUIRE(decodes<kq::iq3_s>(iq3_s_block(), {{224, 46.5f},
                                                      {225, 15.5f},
                                                      {226, -15.5f},
                                                      {231, -15.5f},
                                                      {248, 108.5f},
                                                      {249, 77.5f},
                                                      {250, 139.5f},
                                                      {252, 15.5f},
                                                      {254, 232.5f},
                                                      {255, -232.5f},
                                                      {0, 0.5f}}));
}

TEST_CASE("an iq2_s block decodes to the weights worked out by hand, at compile time") {
    // d / 8 * (2 * 5 + 1) is 1.375, d / 8 * (2 * 15 + 1) is 3.875.
    STATIC_REQUIRE(decodes<kq::iq2_s>(iq2_s_block(), {{96, -59.125f},
                                                      {97, 11.0f},
                                                      {103, -11.0f},
                                                      {104, 11.0f},
                                                      {112, -166.625f},
                                                      {113, -166.625f},
                                                      {119, 166.625f},
                                                      {248, 3.125f},
                                                      {253, 1.0f},
                                                      {254, 3.125f},
                                                      {255, 1.0f}}));
}

TEST_CASE("codebooks hold the magnitudes of the file format: equal FNV-1a hashes") {
    using namespace kq::codebooks;
    CHECK(hash(iq2_xxs_magnitude, 256, 8) == 0xbb4ee025b5ac6e8e);
    CHECK(hash(iq2_xs_magnitude, 512, 8) == 0xc9b1ee61e79909bd);
    CHECK(hash(iq2_s_magnitude, 1024, 8) == 0x123edd38a3b62b90);
    CHECK(hash(iq3_xxs_magnitude, 256, 4) == 0xdfa5dc83d6a155d5);
    CHECK(hash(iq3_s_magnitude, 512, 4) == 0xfa37020c25b44829);
}

TEST_CASE("each code bit of q1_0, q2_0 and nvfp4 is that of its own weight and of no other") {
    kq::nvfp4::block b{};
    for (int sub = 0; sub < 4; ++sub) {
        b.d[sub] = {static_cast<uint8_t>(0x20 + 9 * sub)};
    }
    std::memset(b.qs, 0x11, sizeof(b.qs)); // not 0, whose sign is no change
    for (int i = 0; i < 128; ++i) {
        CHECK(are_bits_of<kq::q1_0>(i, q1_0_block(), 2 + i / 8, i % 8, 1));
        if (i < 64) {
            CHECK(are_bits_of<kq::q2_0>(i, q2_0_block(), 2 + i / 4, i % 4 * 2, 2));
            CHECK(are_bits_of<kq::nvfp4>(i, b, 4 + i / 16 * 8 + i % 8, i % 16 / 8 * 4 + 1, 3));
        }
    }
}

TEST_CASE("an iq4_xs block decodes to the weights worked out by hand, at compile time") {
    // Scales: sub-block 4 25 - 32, 5 42 - 32, 6 48 - 32, 7 63 - 32, the others -32; code 0 is -127.
    STATIC_REQUIRE(decodes<kq::iq4_xs>(iq4_xs_block(), {{163, -325.0f},
                                                        {179, 565.0f},
                                                        {160, -635.0f},
                                                        {128, 444.5f},
                                                        {192, -1016.0f},
                                                        {224, -1968.5f},
                                                        {0, 2032.0f}}));
}

TEST_CASE("each nibble of iq4_xs is one of the 16 codes, of one weight alone") {
    constexpr int codes[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                               1,    13,   25,  38,  53,  69,  89,  113};
    int wrong = 0;
    for (int i = 0; i < 256; ++i) {
        for (int nibble = 0; nibble < 16; ++nibble) {
            kq::iq4_xs::block b{};
            b.qs[16 * (i / 32) + i % 16] = static_cast<uint8_t>(nibble << (4 * (i % 32 / 16)));
            for (int j = 0; j < 256; ++j) {
                wrong += kq::iq4_xs::code(b, j) != codes[j == i ? nibble : 0];
            }
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("each bit of a scale of iq4_xs changes the scale of its 32 weights alone, by its worth") {
    int wrong = 0;
    for (int g = 0; g < 8; ++g) {
        for (int scale = 0; scale < 64; ++scale) {
            kq::iq4_xs::block b{};
            b.scales_l[g / 2] = static_cast<uint8_t>((scale & 15) << (4 * (g % 2)));
            b.scales_h[g / 4] = static_cast<uint8_t>((scale >> 4) << (2 * (g % 4)));
            for (int j = 0; j < 256; ++j) {
                wrong += kq::iq4_xs::scale(b, j) != (j / 32 == g ? scale : 0) - 32;
            }
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("a tq1_0 block decodes to the weights worked out by hand, at compile time") {
    STATIC_REQUIRE(decodes<kq::tq1_0>(tq1_0_block(), {{5, -0.5f},
                                                      {37, -0.5f},
                                                      {69, 0.0f},
                                                      {101, 0.5f},
                                                      {133, -0.5f},
                                                      {169, -0.5f},
                                                      {185, 0.0f},
                                                      {201, -0.5f},
                                                      {217, 0.0f},
                                                      {233, -0.5f},
                                                      {242, 0.5f},
                                                      {246, 0.5f},
                                                      {250, 0.5f},
                                                      {254, 0.5f},
                                                      {0, -0.5f},
                                                      {255, -0.5f}}));
}

TEST_CASE("the digits of all 256 bytes of tq1_0 are those of the byte as a fraction of 256") {
    int wrong = 0;
    for (int byte = 0; byte < 256; ++byte) {
        kq::tq1_0::block b{};
        for (uint8_t& q : b.qs) {
            q = static_cast<uint8_t>(byte);
        }
        for (uint8_t& q : b.qh) {
            q = static_cast<uint8_t>(byte);
        }
        int power = 1;
        for (int n = 0; n < 5; ++n) {
            power *= 3; // the number that digits 0 to n are is byte * power / 256, rounded down
            const int code = byte * power / 256 % 3 - 1;
            for (int i = 0; i < 32; ++i) {
                wrong += kq::tq1_0::code(b, 32 * n + i) != code;
            }
            for (int i = 0; i < 16; ++i) {
                wrong += kq::tq1_0::code(b, 160 + 16 * n + i) != code;
            }
            for (int i = 0; i < 4 && n < 4; ++i) {
                wrong += kq::tq1_0::code(b, 240 + 4 * n + i) != code;
            }
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("what a quantizer of tq1_0 writes for digits decodes to them, and is never one of 13 "
          "bytes") {
    bool written[256] = {};
    int wrong = 0;
    for (int number = 0; number < 243; ++number) {
        const int byte = (number * 256 + 242) / 243; // rounded up
        written[byte] = true;
        kq::tq1_0::block b{};
        b.qs[31] = b.qs[47] = static_cast<uint8_t>(byte);
        for (int n = 0, unit = 81; n < 5; ++n, unit /= 3) {
            const int code = number / unit % 3 - 1;
            wrong += kq::tq1_0::code(b, 32 * n + 31) != code;
            wrong += kq::tq1_0::code(b, 160 + 16 * n + 15) != code;
        }
    }
    CHECK(wrong == 0);
    std::vector<int> never;
    for (int byte = 0; byte < 256; ++byte) {
        if (!written[byte]) {
            never.push_back(byte);
        }
    }
    CHECK(never == std::vector<int>{1, 20, 40, 60, 79, 99, 119, 138, 158, 178, 197, 217, 237});
}

TEST_CASE("a byte of tq1_0 that moves one digit moves its weight alone") {
    // For each digit: the bytes that make it 0 and 2 where all others are 1.
    constexpr uint8_t of_five[5][2] = {
        {0x2b, 0xd5}, {0x64, 0x9c}, {0x76, 0x89}, {0x7d, 0x83}, {0x7f, 0x81}};
    constexpr uint8_t of_four[4][2] = {{0x2a, 0xd4}, {0x62, 0x9b}, {0x75, 0x88}, {0x7c, 0x82}};
    kq::tq1_0::block zero{};
    zero.d = one;
    std::memset(zero.qs, 0x80, sizeof(zero.qs));
    std::memset(zero.qh, 0x7f, sizeof(zero.qh));
    int wrong = 0;
    for (int i = 0; i < 256; ++i) {
        for (int up = 0; up < 2; ++up) {
            kq::tq1_0::block b = zero;
            if (i < 160) {
                b.qs[i % 32] = of_five[i / 32][up];
            } else if (i < 240) {
                b.qs[32 + i % 16] = of_five[i / 16 - 10][up];
            } else {
                b.qh[i % 4] = of_four[i / 4 - 60][up];
            }
            for (int j = 0; j < 256; ++j) {
                const float expected = j == i ? (up != 0 ? 1.0f : -1.0f) : 0.0f;
                wrong += kq::reference::weight<kq::tq1_0>(b, j) != expected;
            }
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("a tq2_0 block decodes to the weights worked out by hand, at compile time") {
    // A code of 3, which quantizers never write, is 2 d.
    STATIC_REQUIRE(decodes<kq::tq2_0>(tq2_0_block(), {{144, -0.5f},
                                                      {176, 0.0f},
                                                      {208, 0.5f},
                                                      {240, 1.0f},
                                                      {31, 0.0f},
                                                      {63, -0.5f},
                                                      {127, 0.5f},
                                                      {0, -0.5f}}));
}

TEST_CASE("each of the two bits of a tq2_0 weight changes that weight alone, by what it is worth") {
    kq::tq2_0::block b{};
    b.d = one;
    int wrong = 0;
    for (int i = 0; i < 256; ++i) {
        for (int bits = 1; bits < 4; ++bits) {
            b.qs[32 * (i / 128) + i % 32] = static_cast<uint8_t>(bits << (2 * (i % 128 / 32)));
            for (int j = 0; j < 256; ++j) {
                const float expected = static_cast<float>((j == i ? bits : 0) - 1);
                wrong += kq::reference::weight<kq::tq2_0>(b, j) != expected;
            }
            b.qs[32 * (i / 128) + i % 32] = 0;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("an iq1_s block decodes to the weights worked out by hand, at compile time") {
    // d / 8 * (2 * 5 + 1) is 1.375, times -9, -1 and 7; d / 8 * (2 * 2 + 1) is 0.625; else 1 / 8.
    STATIC_REQUIRE(decodes<kq::iq1_s>(iq1_s_block(), {{96, -12.375f},
                                                      {104, -1.375f},
                                                      {105, 9.625f},
                                                      {106, -12.375f},
                                                      {107, 9.625f},
                                                      {108, -1.375f},
                                                      {109, 9.625f},
                                                      {110, -12.375f},
                                                      {111, -1.375f},
                                                      {112, 9.625f},
                                                      {119, 9.625f},
                                                      {120, -12.375f},
                                                      {224, -4.375f},
                                                      {226, 0.625f},
                                                      {255, -4.375f},
                                                      {0, -0.875f}}));
}

TEST_CASE("an iq1_m block decodes to the weights worked out by hand, at compile time") {
    // d / 8 * (2 * 5 + 1) is -0.34375, times -7, 1 and 9; d / 8 * (2 * 3 + 1) is -0.21875.
    STATIC_REQUIRE(iq1_m_block().d().bits == 0xb400);
    STATIC_REQUIRE(decodes<kq::iq1_m>(iq1_m_block(), {{96, 2.40625f},
                                                      {104, -0.34375f},
                                                      {105, -3.09375f},
                                                      {106, 2.40625f},
                                                      {107, -3.09375f},
                                                      {111, -0.34375f},
                                                      {112, -1.53125f},
                                                      {119, -1.53125f},
                                                      {120, 1.96875f},
                                                      {127, 1.96875f},
                                                      {95, 0.21875f},
                                                      {0, 0.21875f}}));
}

TEST_CASE("iq1_m's d is set and read as four nibbles, and what is beside them stays") {
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
        kq::iq1_m::block b{};
        for (uint16_t& word : b.scales) {
            word = 0x5a3c;
        }
        b.set_d({static_cast<uint16_t>(bits)});
        REQUIRE(b.d().bits == bits);
        for (unsigned j = 0; j < 4; ++j) { // the lowest nibble is the first word's
            REQUIRE(b.scales[j] == (0xa3cu | ((bits >> (4 * j)) & 0xfu) << 12));
        }
    }
}

TEST_CASE("iq1_s and iq1_m decode every index to its entry of ggml's codebook: 2048 entries that "
          "grow, of trits with this checksum") {
    uint64_t of_s = 0xcbf29ce484222325u; // FNV-1a of the trits as bytes, entry by entry
    uint64_t of_m = of_s;
    int previous = -1;
    for (unsigned index = 0; index < 2048; ++index) {
        kq::iq1_s::block s{};
        kq::iq1_m::block m{};
        s.qs[0] = m.qs[0] = static_cast<uint8_t>(index);
        s.qh[0] = static_cast<uint16_t>(index >> 8);
        m.qh[0] = static_cast<uint8_t>(index >> 8);
        int place = 0; // in the order of entries: the last trit weighs most
        int power = 1;
        for (int i = 0; i < 8; ++i) {
            REQUIRE((kq::iq1_s::code(s, i) + 7) % 8 == 0); // the delta is 1
            const int trit = (kq::iq1_s::code(s, i) - 1) / 8;
            REQUIRE((trit >= -1 && trit <= 1));
            of_s = (of_s ^ static_cast<uint8_t>(trit)) * 0x100000001b3u;
            const int same = (kq::iq1_m::code(m, i) - 1) / 8;
            of_m = (of_m ^ static_cast<uint8_t>(same)) * 0x100000001b3u;
            place += (trit + 1) * power;
            power *= 3;
        }
        REQUIRE(place > previous);
        previous = place;
    }
    CHECK(of_s == 0x6703ed863501ae2e);
    CHECK(of_m == 0x6703ed863501ae2e);
}

TEST_CASE("every word of iq1_s's qh gives the scale, the delta and the four high parts that its "
          "digits to base 8 say") {
    for (int word = 0; word < 0x10000; ++word) {
        kq::iq1_s::block b{};
        b.qh[5] = static_cast<uint16_t>(word);
        REQUIRE(kq::iq1_s::scale(b, 160) == word / 4096 % 8 * 2 + 1);
        REQUIRE(kq::iq1_s::scale(b, 191) == word / 4096 % 8 * 2 + 1);
        for (int a = 0, high = word; a < 4; ++a, high /= 8) {
            const int trit = kq::codebooks::iq1_trit(high % 8 * 256, 7);
            REQUIRE(kq::iq1_s::code(b, 160 + 8 * a + 7) == 8 * trit + (word < 0x8000 ? 1 : -1));
        }
    }
}

TEST_CASE("every word of iq1_m's scales and every byte of its qh give what their digits say") {
    for (int word = 0; word < 0x10000; ++word) {
        kq::iq1_m::block b{};
        b.scales[2] = static_cast<uint16_t>(word);
        REQUIRE(b.d().bits == word / 4096 * 256); // the third nibble from below
        for (int a = 0, s = word; a < 4; ++a, s /= 8) {
            REQUIRE(kq::iq1_m::scale(b, 128 + 16 * a) == s % 8 * 2 + 1);
            REQUIRE(kq::iq1_m::scale(b, 128 + 16 * a + 15) == s % 8 * 2 + 1);
        }
    }
    for (int byte = 0; byte < 256; ++byte) {
        kq::iq1_m::block b{};
        b.qh[11] = static_cast<uint8_t>(byte);
        for (int a = 0, nibble = byte; a < 2; ++a, nibble /= 16) {
            const int trit = kq::codebooks::iq1_trit(nibble % 8 * 256, 7);
            const int delta = nibble % 16 < 8 ? 1 : -1;
            REQUIRE(kq::iq1_m::code(b, 176 + 8 * a + 7) == 8 * trit + delta);
        }
    }
}

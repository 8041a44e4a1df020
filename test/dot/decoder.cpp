// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "repacked.hpp"
#include "samples.hpp"

#include <kq/dot/all.hpp>
#include <kq/dot/q8_0_aligned.hpp>

#include <bit>
#include <cmath>
#include <utility>

namespace {

/// Memory that holds a block, and sees every load.
struct watched_memory {
    static inline const unsigned char* first = nullptr; ///< of the block
    static inline size_t bytes = 0;
    static inline int wrong = 0;  ///< loads that are misaligned or leave the block
    static inline int loaded = 0; ///< bytes

    template <class T>
    static T load(const unsigned char* address) {
        wrong += reinterpret_cast<uintptr_t>(address) % alignof(T) != 0 || address < first ||
                 address + sizeof(T) > first + bytes;
        loaded += static_cast<int>(sizeof(T));
        return kq::cached_memory::load<T>(address);
    }
};

/// What a decoder says of a slice or of a part of one.
struct decoded {
    std::vector<std::vector<uint32_t>> codes; ///< [runs][words of the share]
    std::vector<int> scales; ///< [runs], times factors of 1 and of the largest shift
    uint32_t minimums;
    std::pair<uint32_t, uint32_t> floats; ///< bits of the float scales
    int loaded;                           ///< bytes
};

template <class E, int Parts, class Memory = watched_memory>
decoded decode(const unsigned char* block, int slice, int part) {
    using decoder = kq::decoder<E, Parts>;
    const kq::lane_context where{7, slice, samples::lookup_table<E>(), decoder::constant, part};
    watched_memory::first = block;
    watched_memory::bytes = sizeof(typename E::block);
    watched_memory::loaded = 0;
    const auto fragment = decoder::template load<Memory>(decoder::locate(block, slice, part), 0);
    decoded d;
    d.loaded = watched_memory::loaded;
    const auto& scales = decoder::integer_scales(fragment, where);
    d.minimums = decoder::minimums(scales);
    const auto floats = decoder::scale(fragment, 3.0f);
    d.floats = {std::bit_cast<uint32_t>(floats.dot), std::bit_cast<uint32_t>(floats.min)};
    for (int run = 0; run < decoder::runs; ++run) {
        d.codes.emplace_back();
        for (int i = 0; i < kq::run_words<E, Parts>; ++i) {
            d.codes.back().push_back(decoder::codes(fragment, run, i, where));
        }
        d.scales.push_back(decoder::run_scale(scales, run, 1));
        d.scales.push_back(decoder::run_scale(scales, run, 1 << decoder::shift(decoder::runs - 1)));
    }
    return d;
}

/// The element of the block that meets byte `byte` of word `word` of a slice of the image.
template <class E>
int element_of(int slice, int word, int byte) {
    using image = typename kq::decoder<E>::image;
    for (int i = 0; i < E::activation::elements; ++i) {
        const auto place = image::place_of(image::group_of(i));
        if (place.slice == slice % image::slices && place.vector == word / 4 &&
            image::byte_of(i) == word % 4 * 4 + byte) {
            const int block = slice / image::slices; // of the activation
            return E::activation::elements * block + i;
        }
    }
    return -1;
}

/// Whether part `part` of a slice decodes to the codes, scales and minimums of the
/// element-by-element decode.
template <class E, int Parts>
bool is_element_by_element(const typename E::block& b, int slice, int part, const decoded& d) {
    using decoder = kq::decoder<E, Parts>;
    constexpr int share = kq::run_words<E, Parts>;
    bool same = true;
    for (int run = 0; run < decoder::runs; ++run) {
        const int unit = 1 << decoder::shift(run);
        const int factor = 1 << decoder::shift(decoder::runs - 1);
        for (int i = 0; i < 4 * share; ++i) {
            const int word = (run * Parts + part) * share + i / 4;
            const int element = element_of<E>(slice, word, i % 4);
            const auto byte = static_cast<uint8_t>(
                d.codes[static_cast<size_t>(run)][static_cast<size_t>(i / 4)] >> (8 * (i % 4)));
            const int standing = decoder::signed_codes ? static_cast<int8_t>(byte) : byte;
            same &= standing == (E::code(b, element) + decoder::offset) * unit;
            same &= d.scales[static_cast<size_t>(2 * run)] == E::scale(b, element);
            same &= d.scales[static_cast<size_t>(2 * run + 1)] == E::scale(b, element) * factor;
            const auto minimum = static_cast<int8_t>(d.minimums >> (8 * (word / 4)));
            same &= minimum == E::minimum(b, element);
        }
    }
    return same;
}

/// Whether the quarters of a slice decode to their elements' codes, and to the scales of the whole.
template <class E>
bool are_its_quarters(const typename E::block& b, const unsigned char* block, int slice) {
    const decoded whole = decode<E, 1>(block, slice, 0);
    bool same = true;
    for (int part = 0; part < 4; ++part) {
        const decoded quarter = decode<E, 4>(block, slice, part);
        same &= is_element_by_element<E, 4>(b, slice, part, quarter) &&
                quarter.minimums == whole.minimums && quarter.floats == whole.floats &&
                quarter.loaded <= whole.loaded;
    }
    return same;
}

/// Runs `test` with blocks of every encoding and of aligned q8_0: random ones and ones whose bytes
/// are all the same.
template <class Test>
void for_each_block(Test&& test) {
    samples::generator random(13);
#if defined(KQ_SANITIZED) // takes twenty times as long
    constexpr int blocks = 64;
#else
    constexpr int blocks = 512;
#endif
    samples::for_each_encoding([&]<class E>() {
        for (int i = 0; i < blocks; ++i) {
            test.template operator()<E>(samples::random_block<E>(random));
        }
        for (const unsigned char byte : {0x00, 0xff, 0x0f, 0xf0, 0x80, 0x7f, 0x55, 0xaa}) {
            test.template operator()<E>(samples::uniform_block<E>(byte));
        }
    });
    SECTION("q8_0_aligned") {
        const auto w = samples::random_weights<kq::q8_0>(1, 64 * 256, 17);
        for (const auto& block : samples::repacked(w)) {
            test.template operator()<kq::q8_0_aligned>(block);
        }
    }
}

/// Calls `test(block)` with a copy of a block at every alignment that its encoding allows.
template <class E, class Test>
void at_every_alignment(const typename E::block& b, Test&& test) {
    alignas(16) unsigned char memory[16 + sizeof(b)];
    for (int at = 0; at < 16; at += kq::block_alignment<E>) {
        std::memcpy(memory + at, &b, sizeof(b));
        test(memory + at);
    }
}

} // namespace

TEST_CASE(
    "codes, shifted back and without the offset, scales and minimums of every slice are those "
    "of the element-by-element decode") {
    for_each_block([]<class E>(const typename E::block& b) {
        for (int slice = 0; slice < kq::decoder<E>::slices; ++slice) {
            at_every_alignment<E>(b, [&](const unsigned char* block) {
                REQUIRE(is_element_by_element<E, 1>(b, slice, 0, decode<E, 1>(block, slice, 0)));
            });
        }
    });
}

TEST_CASE("every codebook entry with every signs and every scale byte decode as the "
          "element-by-element decode does") {
    const auto check = []<class E>(const typename E::block& b) {
        unsigned char bytes[sizeof(b)];
        std::memcpy(bytes, &b, sizeof(b));
        bool same = true;
        for (int slice = 0; slice < kq::decoder<E>::slices; ++slice) {
            same &= is_element_by_element<E, 1>(b, slice, 0, decode<E, 1>(bytes, slice, 0));
        }
        REQUIRE(same);
    };
    const auto set_scales = [](auto& b, size_t count) {
        b.d = kq::to_f16(1.0f);
        std::memset(b.scales, static_cast<int>(count % 256), sizeof(b.scales));
    };
    SECTION("iq2_xs: all 65536 pairs of index and signs") {
        for (size_t first = 0; first < 65536; first += 32) {
            kq::iq2_xs::block b{};
            set_scales(b, first / 32);
            for (size_t g = 0; g < 32; ++g) {
                b.qs[g] = static_cast<uint16_t>(first + g);
            }
            check.operator()<kq::iq2_xs>(b);
        }
    }
    SECTION("iq2_s: all 1024 indices with all 256 sign bytes") {
        for (size_t first = 0; first < 1024 * 256; first += 32) {
            kq::iq2_s::block b{};
            set_scales(b, first / 32);
            for (size_t g = 0; g < 32; ++g) {
                const size_t index = (first + g) % 1024;
                b.qs[g] = static_cast<uint8_t>(index);
                b.qh[g / 4] = static_cast<uint8_t>(b.qh[g / 4] | index / 256 << (g % 4 * 2));
                b.signs[g] = static_cast<uint8_t>((first + g) / 1024);
            }
            check.operator()<kq::iq2_s>(b);
        }
    }
    SECTION("iq3_s: all 512 indices with all 256 sign bytes") {
        for (size_t first = 0; first < 512 * 256; first += 64) {
            kq::iq3_s::block b{};
            set_scales(b, first / 64);
            for (size_t g = 0; g < 64; ++g) {
                const size_t index = (first + g) % 512;
                b.qs[g] = static_cast<uint8_t>(index);
                b.qh[g / 8] = static_cast<uint8_t>(b.qh[g / 8] | index / 256 << (g % 8));
                b.signs[g / 2] = static_cast<uint8_t>((first + g) / 512);
            }
            check.operator()<kq::iq3_s>(b);
        }
    }
}

TEST_CASE("the four quarters of every slice decode to their elements' codes and to the scales and "
          "minimums of the whole, and load no more bytes") {
    for_each_block([]<class E>(const typename E::block& b) {
        for (int slice = 0; slice < kq::decoder<E>::slices; ++slice) {
            at_every_alignment<E>(b, [&](const unsigned char* block) {
                REQUIRE(are_its_quarters<E>(b, block, slice));
            });
        }
    });
}

TEST_CASE("every load of a slice or of a quarter is aligned and inside the block") {
    watched_memory::wrong = 0;
    for_each_block([]<class E>(const typename E::block& b) {
        at_every_alignment<E>(b, [](const unsigned char* block) {
            for (int slice = 0; slice < kq::decoder<E>::slices; ++slice) {
                decode<E, 1>(block, slice, 0);
                for (int part = 0; part < 4; ++part) {
                    decode<E, 4>(block, slice, part);
                }
            }
        });
    });
    CHECK(watched_memory::wrong == 0);
}

TEST_CASE("a quarter of a q4_k slice loads the header and 8 bytes of codes") {
    samples::generator random(19);
    const auto b = samples::random_block<kq::q4_k>(random);
    alignas(16) unsigned char memory[sizeof(b)];
    std::memcpy(memory, &b, sizeof(b));
    CHECK(decode<kq::q4_k, 4>(memory, 2, 3).loaded == 16 + 8);
    CHECK(decode<kq::q4_k, 1>(memory, 2, 0).loaded == 16 + 32);
}

TEST_CASE("padded memory, where lanes may read around a block, gives the same") {
    for_each_block([]<class E>(const typename E::block& b) {
        alignas(16) unsigned char memory[48 + sizeof(b)];
        std::memset(memory, 0x5a, sizeof(memory));
        for (int at = 16; at < 32; at += kq::block_alignment<E>) {
            const unsigned char* block = memory + at;
            std::memcpy(memory + at, &b, sizeof(b));
            for (int slice = 0; slice < kq::decoder<E>::slices; ++slice) {
                const decoded strict = decode<E, 1>(block, slice, 0);
                const decoded padded = decode<E, 1, kq::padded_memory>(block, slice, 0);
                REQUIRE(padded.codes == strict.codes);
                REQUIRE(padded.scales == strict.scales);
                REQUIRE(padded.minimums == strict.minimums);
                REQUIRE(padded.floats == strict.floats);
                for (int part = 0; part < 4; ++part) {
                    const decoded quarter = decode<E, 4, kq::padded_memory>(block, slice, part);
                    REQUIRE(quarter.codes == decode<E, 4>(block, slice, part).codes);
                    REQUIRE(quarter.floats == strict.floats);
                }
            }
            std::memset(memory, 0xa5, sizeof(memory));
        }
    });
}

TEST_CASE(
    "every e8m0 byte of mxfp4 is a power of two times the activation's scale, subnormal or not") {
    using decoder = kq::decoder<kq::mxfp4>;
    for (const float d : {1.0f, 0.7f, -3.0f, 0x1.8p-100f, 0x1p-130f}) {
        int wrong = 0;
        for (uint32_t e = 0; e < 256; ++e) {
            decoder::fragment w{};
            w.e = e;
            const double exact = std::ldexp(static_cast<double>(d), static_cast<int>(e) - 128);
            const auto expected = static_cast<float>(exact);
            wrong += std::bit_cast<uint32_t>(decoder::scale(w, d).dot) !=
                     std::bit_cast<uint32_t>(expected);
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("lanes decode all 256 bytes of tq1_0 as the element-by-element decode does, in every "
          "field") {
    for (int byte = 0; byte < 256; ++byte) {
        const auto b = samples::uniform_block<kq::tq1_0>(static_cast<unsigned char>(byte));
        at_every_alignment<kq::tq1_0>(b, [&](const unsigned char* block) {
            for (int slice = 0; slice < 4; ++slice) {
                REQUIRE(is_element_by_element<kq::tq1_0, 1>(b, slice, 0,
                                                            decode<kq::tq1_0, 1>(block, slice, 0)));
                REQUIRE(are_its_quarters<kq::tq1_0>(b, block, slice));
            }
        });
    }
}

// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "difficult_values.hpp"
#include "golden.hpp"
#include "gpu/memory.hpp"
#include "instances/instances.hpp"
#include "same_images.hpp"

#include <kq/dot/all.hpp>
#include <kq/gemv/host_model.hpp>

#include <algorithm>
#include <cstring>

namespace {

using gpu::buffer;
using gpu::placement;
using samples::difficult_values;
using samples::same_images;

/// An encoding for each image type.
using image_owners = kq::type_list<kq::q8_0, kq::q2_0, kq::mxfp4, kq::nvfp4, kq::q4_k, kq::q6_k,
                                   kq::iq4_xs, kq::tq1_0>;

template <class Test>
void for_each_image(Test&& test) {
    [&]<class... Encodings>(kq::type_list<Encodings...>) {
        (test.template operator()<Encodings>(), ...);
    }(image_owners{});
}

/// Quantizes `m` rows, `stride` apart, on the GPU; returns the images, which lie in exactly the
/// memory that they need, pre-filled with a pattern.
template <class E, class T>
std::vector<unsigned char> quantize(const T* x, size_t count, int64_t k, int64_t m,
                                    int64_t stride) {
    kq::device_facts device;
    kq::check(instances::query_device(device));
    const buffer activation(x, count * sizeof(T), placement::exact);
    kq::dense_arguments a{.weights = activation.data(), // not read
                          .activation = activation.as<const T>(),
                          .output = activation.as<T>(), // not written
                          .n = 1,
                          .k = k,
                          .m = m,
                          .activation_stride = stride};
    const auto bytes = instances::gemv<E>::workspace_bytes(a);
    const buffer space(std::vector<unsigned char>(bytes, 0xcd), placement::exact);
    kq::check(instances::gemv<E>::quantize(a, {space.data(), bytes}, nullptr, device));
    return space.download<unsigned char>();
}

/// The same by the host's plain loop.
template <class E, class T>
std::vector<unsigned char> quantize_on_host(const T* x, int64_t k, int64_t m, int64_t stride) {
    std::vector<unsigned char> images;
    for (int64_t j = 0; j < m; ++j) {
        const auto row = kq::host_model<E>::quantize_row(x + j * stride, k);
        images.insert(images.end(), row.begin(), row.end());
    }
    return images;
}

template <class E, class T>
bool bits_agree(const std::vector<T>& x, int64_t k, int64_t m, int64_t stride) {
    using image = typename kq::decoder<E>::image;
    const auto device = quantize<E>(x.data(), x.size(), k, m, stride);
    const auto host = quantize_on_host<E>(x.data(), k, m, stride);
    return same_images<image>(device, host);
}

} // namespace

TEST_CASE("the quantizer's images equal the host's, for every element type, row count and stride") {
    for_each_image([]<class E>() {
        for (const int64_t m : {1, 2, 5}) {
            for (const int64_t k : {256, 768, 2048, 3072, 14336}) {
                for (const int64_t gap : {0, 1, 4}) {
                    INFO(kq::name_of(E::id) << ", m " << m << ", k " << k << ", gap " << gap);
                    const int64_t stride = k + gap;
                    const auto x = difficult_values((m - 1) * stride + k);
                    REQUIRE(bits_agree<E>(x, k, m, stride));
                    std::vector<kq::f16> x16;
                    std::vector<kq::bf16> xb;
                    for (const float v : x) {
                        x16.push_back(kq::to_f16(v));
                        xb.push_back(kq::to_bf16(v));
                    }
                    REQUIRE(bits_agree<E>(x16, k, m, stride));
                    REQUIRE(bits_agree<E>(xb, k, m, stride));
                }
            }
        }
    });
}

TEST_CASE("rows that are no multiple of 256 long quantize to q8_32") {
    for (const int64_t k : {32, 96, 32 * 33}) {
        INFO("k " << k);
        CHECK(bits_agree<kq::q8_0>(difficult_values(3 * k), k, 3, k));
        CHECK(bits_agree<kq::q2_0>(difficult_values(6 * k), 2 * k, 3, 2 * k));
    }
}

TEST_CASE(
    "the quantizer reproduces ggml's blocks of the golden files: equal codes, and scales that are "
    "equal once they are rounded as ggml stores them") {
    for_each_image([]<class E>() {
        using image = typename kq::decoder<E>::image;
        using stored = golden::stored_block<typename E::activation>;
        for (const golden::test_case& c : golden::load(kq::name_of(E::id))) {
            INFO(kq::name_of(E::id) << ", " << c.name);
            const auto x = c.as<float>("activation_f32");
            const auto images = quantize<E>(x.data(), x.size(), c.k, c.m, c.k);
            const int64_t blocks = c.k / E::activation::elements;
            std::vector<stored> unpacked;
            for (int64_t j = 0; j < c.m; ++j) {
                for (int64_t b = 0; b < blocks; ++b) {
                    unpacked.push_back(golden::ggml_block(
                        image::unpack(images.data() + j * image::row_bytes(blocks), b)));
                }
            }
            const auto expected = c.as<stored>("activation_q8");
            REQUIRE(unpacked.size() == expected.size());
            CHECK(std::memcmp(unpacked.data(), expected.data(), expected.size() * sizeof(stored)) ==
                  0);
        }
    });
}

TEST_CASE("an activation that is only aligned to its element quantizes to the same image") {
    for_each_image([]<class E>() {
        const int64_t k = 1024;
        const auto x = difficult_values(k + 1);
        const auto expected = quantize_on_host<E>(x.data() + 1, k, 1, k);
        const buffer memory(x, placement::exact);
        kq::device_facts device;
        kq::check(instances::query_device(device));
        kq::dense_arguments a{.weights = memory.data(),
                              .activation = memory.as<const float>() + 1,
                              .output = memory.as<float>(),
                              .n = 1,
                              .k = k};
        const auto bytes = instances::gemv<E>::workspace_bytes(a);
        const buffer space(bytes, placement::exact);
        kq::check(instances::gemv<E>::quantize(a, {space.data(), bytes}, nullptr, device));
        // These values hold no NaN scale before block 6; compare the whole of what lies before.
        const auto image = space.download<unsigned char>();
        REQUIRE(image.size() == expected.size());
        CHECK(std::equal(image.begin(), image.end(), expected.begin()));
    });
}

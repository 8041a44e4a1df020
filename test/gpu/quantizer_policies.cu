// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "difficult_values.hpp"
#include "gpu/memory.hpp"
#include "same_images.hpp"

#include <kq/core/check.hpp>
#include <kq/dot/all.hpp>
#include <kq/gemv/quantizer.cuh>

#include <vector>

namespace {

using gpu::buffer;
using gpu::placement;
using kq::quantizer_policy;

using bytes = std::vector<unsigned char>;

/// Rows to quantize: they start `first` elements into the memory, `stride` elements apart.
struct rows {
    int64_t m;
    int64_t k;
    int64_t stride;
    int64_t first = 0;

    int64_t elements() const { return first + (m - 1) * stride + k; }
};

/// `rows` with every element type's alignment of starts and strides.
std::vector<rows> all_rows(int64_t k) {
    std::vector<rows> all;
    for (const int64_t m : {1, 2, 5}) {
        for (const int64_t gap : {0, 1, 4, 8}) {
            for (const int64_t first : {0, 1, 4}) {
                all.push_back({m, k, k + gap, first});
            }
        }
    }
    return all;
}

/// Quantizes on the GPU by `launch(parameters)`; the images, in exactly the memory that they need
/// and pre-filled with a pattern.
template <class Image, class T, class Launch>
bytes quantize(const std::vector<T>& x, const rows& r, Launch&& launch) {
    const int64_t blocks = r.k / Image::activation::elements;
    const int64_t padded = Image::panels(blocks) * Image::panel_blocks;
    const buffer activation(x, placement::exact);
    const buffer images(bytes(static_cast<size_t>(r.m * Image::row_bytes(blocks)), 0xcd),
                        placement::exact);
    launch(kq::quantize_parameters<T>{.x = activation.as<const T>() + r.first,
                                      .stride = r.stride,
                                      .blocks = static_cast<int>(blocks),
                                      .padded_blocks = static_cast<int>(padded),
                                      .total = r.m * padded,
                                      .images = images.as<unsigned char>(),
                                      .image_bytes = Image::row_bytes(blocks),
                                      .vectorized = false});
    return images.download<unsigned char>();
}

template <class Image, quantizer_policy Policy, class T>
bytes quantize_by(const std::vector<T>& x, const rows& r) {
    return quantize<Image>(x, r, [](const kq::quantize_parameters<T>& p) {
        kq::check(
            kq::detail::launch_quantizer<Policy, Image>(kq::quantizations<T, 1>{{p}}, nullptr));
    });
}

/// The same by a grid of one thread block, whose threads have to loop.
template <class Image, quantizer_policy Policy, class T>
bytes quantize_by_one_thread_block(const std::vector<T>& x, const rows& r) {
    return quantize<Image>(x, r, [](const kq::quantize_parameters<T>& p) {
        constexpr int warps = kq::detail::quantizer_warps;
        kq::check(kq::detail::launch_kernel(kq::quantize_kernel<T, warps, Policy, Image>,
                                            "quantize_kernel", {.grid = 1, .threads = 32 * warps},
                                            nullptr, kq::quantizations<T, 1>{{p}}));
    });
}

/// The same by the host's plain loop.
template <class Image, class T>
bytes quantize_on_host(const std::vector<T>& x, const rows& r) {
    using activation = typename Image::activation;
    std::vector<typename activation::block> blocks(static_cast<size_t>(r.k / activation::elements));
    const auto count = static_cast<int64_t>(blocks.size());
    bytes images(static_cast<size_t>(r.m * Image::row_bytes(count)));
    for (int64_t j = 0; j < r.m; ++j) {
        const T* row = x.data() + r.first + j * r.stride;
        for (int64_t b = 0; b < count; ++b) {
            blocks[static_cast<size_t>(b)] =
                kq::quantize_block<activation>(row + b * activation::elements);
        }
        Image::pack(blocks.data(), count, images.data() + j * Image::row_bytes(count));
    }
    return images;
}

/// Both policies' images are the same bytes, and the host's but for the bits of a NaN.
template <class Image, class T>
bool agree(const std::vector<T>& x, const rows& r) {
    const bytes by_warp = quantize_by<Image, quantizer_policy::warp_per_block>(x, r);
    const bytes by_thread = quantize_by<Image, quantizer_policy::thread_per_block>(x, r);
    return by_warp == by_thread &&
           samples::same_images<Image>(by_thread, quantize_on_host<Image>(x, r));
}

template <class T>
std::vector<T> rounded(const std::vector<float>& x, T (*round)(float)) {
    std::vector<T> result;
    for (const float v : x) {
        result.push_back(round(v));
    }
    return result;
}

template <class Image>
void compare(const rows& r) {
    INFO("m " << r.m << ", k " << r.k << ", stride " << r.stride << ", first " << r.first);
    const std::vector<float> x = samples::difficult_values(r.elements());
    REQUIRE(agree<Image>(x, r));
    REQUIRE(agree<Image>(rounded(x, kq::to_f16), r));
    REQUIRE(agree<Image>(rounded(x, kq::to_bf16), r));
}

} // namespace

TEMPLATE_TEST_CASE("the quantizer's policies and the host give equal images", "",
                   kq::image_of<kq::q8_0>, kq::image_of<kq::q2_0>, kq::image_of<kq::q4_k>,
                   kq::image_of<kq::q6_k>, kq::image_of<kq::mxfp4>, kq::image_of<kq::nvfp4>,
                   kq::image_of<kq::iq4_xs>, kq::image_of<kq::tq1_0>) {
    for (const int64_t k : {256, 768, 3072, 14336}) {
        for (const rows& r : all_rows(k)) {
            compare<TestType>(r);
        }
    }
}

TEMPLATE_TEST_CASE("the quantizer's policies pad rows of q8_32 that end inside a panel", "",
                   kq::image_of<kq::q8_0>, kq::image_of<kq::q2_0>) {
    for (const int64_t k : {32, 96, 32 * 33}) {
        for (const rows& r : all_rows(k)) {
            compare<TestType>(r);
        }
    }
}

TEMPLATE_TEST_CASE("the quantizer's policies give the same image on a grid that is too small", "",
                   kq::image_of<kq::q8_0>, kq::image_of<kq::q2_0>, kq::image_of<kq::q4_k>,
                   kq::image_of<kq::q6_k>, kq::image_of<kq::mxfp4>, kq::image_of<kq::nvfp4>,
                   kq::image_of<kq::iq4_xs>, kq::image_of<kq::tq1_0>) {
    const rows r{.m = 3, .k = 256 * 56, .stride = 256 * 56};
    const auto x = samples::difficult_values(r.elements());
    const bytes expected = quantize_by<TestType, quantizer_policy::warp_per_block>(x, r);
    CHECK(quantize_by_one_thread_block<TestType, quantizer_policy::warp_per_block>(x, r) ==
          expected);
    CHECK(quantize_by_one_thread_block<TestType, quantizer_policy::thread_per_block>(x, r) ==
          expected);
}

TEST_CASE("no blocks launch no quantizer") {
    const kq::quantizations<float, 1> none{};
    CHECK(kq::detail::launch_quantizer<quantizer_policy::warp_per_block, kq::image_of<kq::q4_k>>(
              none, nullptr)
              .ok());
}

TEST_CASE("one launch writes several types of image, the bytes of each alone") {
    using first = kq::image_of<kq::q4_k>;
    using second = kq::image_of<kq::q2_k>;
    using third = kq::image_of<kq::q8_0>;
    using all = kq::quantizer<first, second, third>;
    const rows r{.m = 3, .k = 256 * 11, .stride = 256 * 11 + 4};
    const auto x = samples::difficult_values(r.elements());
    const buffer activation(x, placement::exact);
    const kq::activation_rows of{.activation = activation.as<const float>(),
                                 .k = r.k,
                                 .m = r.m,
                                 .activation_stride = r.stride};
    const buffer spaces[] = {{all::workspace_bytes(of, 0), placement::exact},
                             {all::workspace_bytes(of, 1), placement::exact},
                             {all::workspace_bytes(of, 2), placement::exact}};
    all::workspaces to{};
    for (int i = 0; i < 3; ++i) {
        to.of[i] = {spaces[i].data(), spaces[i].bytes()};
    }
    const kq::device_facts facts{.compute_capability = 0}; // no dependent launch
    kq::check(all::launch(of, to, nullptr, facts));
    constexpr auto policy = quantizer_policy::warp_per_block;
    CHECK(spaces[0].download<unsigned char>() == quantize_by<first, policy>(x, r));
    CHECK(spaces[1].download<unsigned char>() == quantize_by<second, policy>(x, r));
    CHECK(spaces[2].download<unsigned char>() == quantize_by<third, policy>(x, r));

    const auto refused = [&](kq::activation_rows rows, all::workspaces lent) {
        return std::string(all::launch(rows, lent, nullptr, facts).subject());
    };
    auto wrong = of;
    wrong.k = 96; // a multiple of q8_0's block only
    CHECK(refused(wrong, to) == "k");
    wrong = of;
    wrong.m = -1;
    CHECK(refused(wrong, to) == "m");
    wrong = of;
    wrong.activation_stride = r.k - 1;
    CHECK(refused(wrong, to) == "activation_stride");
    wrong = of;
    wrong.activation = {};
    CHECK(refused(wrong, to) == "activation");
    auto small = to;
    --small.of[2].bytes;
    CHECK(refused(of, small) == "workspace");
    small = to;
    small.of[1].data = spaces[1].as<char>() + 8;
    CHECK(refused(of, small) == "workspace");
}

// SPDX-License-Identifier: Apache-2.0
// Kernels with plain arguments, for callers that would rather not fill kq's parameters: that
// happens on the device, so by the direct method, which needs no plan. CuPy compiles this with
// NVRTC.
#include <kq/activation/kernel.cuh>
#include <kq/dot/all.hpp>
#include <kq/gemv/kernel/kernel.cuh>

constexpr int warps = KQ_WARPS; // of a thread block
constexpr int rows = KQ_ROWS;   // weight rows that a warp has in flight

// What the caller reserves: 5 bytes for 4 elements of rows that are padded to 2048 elements.
template <class Image>
constexpr bool fits = [] {
    constexpr int elements = Image::panel_blocks * Image::activation::elements;
    return 2048 % elements == 0 && 4 * Image::panel_bytes <= 5 * elements;
}();

/// Quantizes activations for weights of `Encoding`. Grid: any, in x.
/// `x`: [m, k]. `images`: [m, 5 / 4 * k], with k rounded up to 2048.
template <class Encoding, class Element>
__global__ void __launch_bounds__(32 * warps)
    quantize(const Element* x, unsigned char* images, kq::int64_t m, kq::int64_t k) {
    using image = kq::image_of<Encoding>;
    static_assert(fits<image>);
    // Rows are whole blocks, 64 bytes or more, so that all are aligned as the first one is.
    const kq::int64_t blocks = k / image::activation::elements;
    const kq::int64_t padded = image::panels(blocks) * image::panel_blocks;
    const kq::quantize_parameters<Element> p{.x = x,
                                             .stride = k,
                                             .blocks = static_cast<int>(blocks),
                                             .padded_blocks = static_cast<int>(padded),
                                             .total = m * padded,
                                             .images = images,
                                             .image_bytes = image::row_bytes(blocks),
                                             .vectorized =
                                                 reinterpret_cast<kq::uintptr_t>(x) % 16 == 0};
    kq::run_quantizer<Element, warps, kq::quantizer_policy::warp_per_block, image>({{p}});
}

/// Multiplies weights with quantized activations. Grid: m in x, in y any.
/// `weights`: [n, k / elements] blocks. `images`: from `quantize`. `y`: [m, n].
template <class Encoding>
__global__ void __launch_bounds__(32 * warps, 1)
    multiply(const unsigned char* weights, const unsigned char* images, float* y, kq::int64_t m,
             kq::int64_t n, kq::int64_t k) {
    using image = kq::image_of<Encoding>;
    using product = kq::product<Encoding>;
    constexpr kq::policy policy{.rows = rows, .warps = warps, .method = kq::method::direct};
    using config = kq::config<product, policy>;

    const kq::int64_t blocks = k / Encoding::elements;
    const kq::int64_t image_bytes = image::row_bytes(k / image::activation::elements);
    typename product::mapping map{};
    map.weights[0] = {.bytes = weights, .pitch = blocks * kq::block_bytes<Encoding>};
    map.images = {images, image_bytes};
    map.output = y;
    map.output_stride = n;
    map.n = static_cast<int>(n);
    extern __shared__ __align__(128) unsigned char table[]; // empty for encodings without one
    kq::run_gemv<config>({.units = m, .blocks = static_cast<int>(blocks), .mapping = map}, table);
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/activation/parameters.hpp>
#include <kq/dot/dot.hpp>
#include <kq/gemv/arguments.hpp>
#include <kq/gemv/problem.hpp>

#include <limits>

namespace kq::inline KQ_ABI {

/// The image that products with weights of `Encoding` read. Encodings that share it share what a
/// quantizer wrote.
template <dottable Encoding>
using image_of = typename sliced_dot<Encoding>::image;

/// Activation rows to quantize.
struct activation_rows {
    input_pointer activation = {}; ///< [m, k], rows `activation_stride` elements apart
    int64_t k = 0;                 ///< columns, a multiple of every image's block
    int64_t m = 1;                 ///< rows
    int64_t activation_stride = 0; ///< in elements, at least k; 0 means k
};

/// The activation rows of a product.
inline activation_rows activation_rows_of(const problem& of) {
    return {.activation = of.activation,
            .k = of.activation_k,
            .m = of.activation_rows,
            .activation_stride = of.activation_stride};
}

/// What of a `quantizer` needs no CUDA: sizes, checks and the kernel's argument.
///
/// `Images`: the types of image to write, each once.
template <class... Images>
struct quantizer_plan {
    static constexpr int count = sizeof...(Images);
    static_assert(count >= 1, "kq: a quantizer needs an image to write");

    /// Memory for each image, 16-byte aligned.
    struct workspaces {
        workspace of[count];
    };

    /// Bytes of workspace that image number `Image` needs; 0 for rows that `check` refuses.
    static size_t workspace_bytes(const activation_rows& a, int image) {
        return check_rows(a).ok() && image >= 0 && image < count
                   ? static_cast<size_t>(a.m * row_bytes(a.k, image))
                   : 0;
    }

    /// Checks all arguments.
    ///
    /// Errors: names the argument and the rule it breaks. Sizes of zero are no error.
    static status check(const activation_rows& a, const workspaces& to) {
        if (const status s = check_rows(a); !s.ok() || a.m == 0 || a.k == 0) {
            return s;
        }
        if (const status s =
                detail::check_elements("activation", a.activation.data, a.activation.type);
            !s.ok()) {
            return s;
        }
        for (int i = 0; i < count; ++i) {
            if (to.of[i].data == nullptr || to.of[i].bytes < workspace_bytes(a, i)) {
                return status::invalid("workspace", "must hold workspace_bytes(rows, image) bytes "
                                                    "each");
            }
            if (!detail::is_aligned(to.of[i].data, 16)) {
                return status::invalid("workspace", "must be 16-byte aligned");
            }
        }
        return {};
    }

    /// The kernel's argument, for checked arguments and activations of type `Element`.
    template <activation_element Element>
    static quantizations<Element, count> parameters(const activation_rows& a,
                                                    const workspaces& to) {
        int i = 0;
        const auto one = [&]<class Image>() {
            const int64_t blocks = a.k / Image::activation::elements;
            const int64_t padded = Image::tiles(blocks) * Image::tile_blocks;
            return quantize_parameters<Element>{
                .x = static_cast<const Element*>(a.activation.data),
                .stride = detail::stride_or(a.activation_stride, a.k),
                .blocks = static_cast<int>(blocks),
                .padded_blocks = static_cast<int>(padded),
                .total = a.m * padded,
                .images = static_cast<unsigned char*>(to.of[i++].data),
                .image_bytes = Image::row_bytes(blocks),
                .vectorized = false};
        };
        return {{one.template operator()<Images>()...}};
    }

private:
    static int64_t row_bytes(int64_t k, int image) {
        const int64_t bytes[] = {Images::row_bytes(k / Images::activation::elements)...};
        return bytes[image];
    }

    static status check_rows(const activation_rows& a) {
        if (const status s = detail::check_count("m", a.m); !s.ok()) {
            return s;
        }
        if (a.k < 0 || ((a.k % Images::activation::elements != 0) || ...)) {
            return status::invalid("k", "must be a non-negative multiple of every image's block");
        }
        if (((Images::tiles(a.k / Images::activation::elements) >
              (std::numeric_limits<int>::max)() / Images::tile_bytes) ||
             ...)) {
            return status::invalid("k", "a quantized activation row must stay below 2^31 bytes");
        }
        return detail::check_stride("activation_stride", a.activation_stride, a.k, a.m);
    }
};

} // namespace kq::inline KQ_ABI

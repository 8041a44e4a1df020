// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/activation/parameters.hpp>
#include <kq/activation/rows.hpp>
#include <kq/core/rules.hpp>
#include <kq/core/workspace.hpp>

namespace kq::inline KQ_ABI {

/// What of a `quantizer` needs no CUDA: sizes, checks and the kernel's argument.
///
/// `Images`: the types of image to write, each once.
template <class... Images>
struct quantizer_plan {
    static constexpr int count = sizeof...(Images);
    static_assert(count >= 1, "kq: a quantizer needs an image to write");

    /// Memory for each image, 16-byte aligned.
    struct workspaces {
        workspace of[static_cast<size_t>(count)];
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
            const auto least = static_cast<int64_t>(workspace_bytes(a, i));
            if (const status s = detail::check_workspace(
                    to.of[i], least, "must hold workspace_bytes(rows, image) bytes each");
                !s.ok()) {
                return s;
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
            const int64_t padded = Image::panels(blocks) * Image::panel_blocks;
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
        if (((Images::panels(a.k / Images::activation::elements) >
              detail::most_int / Images::panel_bytes) ||
             ...)) {
            return status::invalid("k", "a quantized activation row must stay below 2^31 bytes");
        }
        return detail::check_stride("activation_stride", a.activation_stride, a.k, a.m);
    }
};

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace samples {

/// Whether two quantized activations have the same bits, any NaN scale counting as equal to any.
/// Both are whole images, one after another.
template <class Image>
bool same_images(const std::vector<unsigned char>& a, const std::vector<unsigned char>& b) {
    if (a.size() != b.size()) {
        return false;
    }
    const auto is_nan = [](uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; };
    for (size_t at = 0; at < a.size(); at += 4) {
        uint32_t x = 0, y = 0;
        std::memcpy(&x, a.data() + at, 4);
        std::memcpy(&y, b.data() + at, 4);
        const bool scale = at % Image::panel_bytes >= Image::d_offset;
        if (x != y && !(scale && is_nan(x) && is_nan(y))) {
            return false;
        }
    }
    return true;
}

} // namespace samples

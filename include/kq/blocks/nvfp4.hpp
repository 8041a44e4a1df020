// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/codebooks/fp4.hpp>
#include <kq/blocks/encoding.hpp>
#include <kq/blocks/q8_32.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// NVFP4: four sub-blocks of 16 codes of 4 bits (E2M1) with a float scale each (unsigned E4M3).
///
/// Byte j of a sub-block's 8 holds weight j in its low nibble and weight j + 8 in its high nibble.
/// Weight i is `d(i / 16) / 2 * fp4[nibble]`, where the table holds doubled values.
struct nvfp4 {
    struct block {
        using weights = nvfp4;

        ue4m3 d[4];     ///< scales
        uint8_t qs[32]; ///< nibbles, 8 bytes a sub-block
    };

    static constexpr encoding id = encoding::nvfp4;
    static constexpr int elements = 64;
    static constexpr int sub_elements = 16;
    static constexpr float factor = 0.5f;
    using activation = q8_32;

    static constexpr int code(const block& b, int i) {
        const int nibble = (b.qs[i / 16 * 8 + i % 8] >> (i % 16 / 8 * 4)) & 0xf;
        return codebooks::fp4[nibble];
    }
    static constexpr int scale(const block&, int) { return 1; }
    static constexpr int minimum(const block&, int) { return 0; }
    static constexpr float d(const block& b, int i) { return to_f32(b.d[i / 16]); }
    static constexpr float dmin(const block&) { return 0; }
};

static_assert(sizeof(nvfp4::block) == 36 && offsetof(nvfp4::block, qs) == 4);
static_assert(weight_encoding<nvfp4>);

} // namespace kq::inline KQ_ABI

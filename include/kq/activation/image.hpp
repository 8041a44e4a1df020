// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/activation/rule.hpp>
#include <kq/core/arithmetic.hpp>
#include <kq/core/config.hpp>
#include <kq/core/memory.hpp>

namespace kq::inline KQ_ABI {

/// Which elements of a block one slice holds, in groups of 16, and in which order.
enum class element_order {
    sequential, ///< slice s holds the groups that follow each other
    planar,     ///< slice 2h + p holds groups 8h + 2i + p: the four bit planes of 16 code bytes
    strided,    ///< word w of a slice of 32 elements holds elements w, w + 8, w + 16 and w + 24
    columns,    ///< slice s holds all digits of 13 bytes of a tq1_0 block: see docs/formats.md
    nibbles,    ///< as sequential; word w of 32 elements holds 2w, 2w + 16, 2w + 1 and 2w + 17
    nibbles_8,  ///< as sequential; word w of 16 elements holds 2w, 2w + 8, 2w + 1 and 2w + 9
};

/// The geometry of an image, as data.
struct image_facts {
    int block_elements; ///< activations of a block
    int slices;         ///< slots of a block
    int panel_bytes;    ///< of 32 slots

    KQ_API constexpr int64_t panels(int64_t blocks) const {
        return detail::ceil_div(blocks * slices, int64_t{32});
    }
    /// Bytes of the image of a row of `blocks` blocks; a multiple of 128.
    KQ_API constexpr int64_t row_bytes(int64_t blocks) const {
        return panels(blocks) * panel_bytes;
    }
};

/// A quantized activation row, laid out in the order in which lanes read it.
///
/// A block is cut into `Slices` slices; slot number `block * Slices + slice` belongs to one lane.
/// 32 slots make a panel:
///
///     vector[vectors][32]  16 int8 codes each
///     sums[32]             the sum of each vector's codes, int16
///     d[32]                the block's scale, f32
///
/// so that a warp's reads are contiguous. Slots past the last block are zero. The values are
/// exactly those of `Activation::block`; encodings share an image where they name the same type.
///
/// `Activation`: the activation encoding. `Slices`: lanes that share a block. `Order`: which
/// elements a slice holds.
template <class Activation, int Slices, element_order Order>
struct image {
    using activation = Activation;
    static constexpr int slices = Slices;
    static constexpr element_order order = Order;
    static constexpr int groups = Activation::elements / 16;
    static constexpr int vectors = groups / Slices;
    static_assert(groups % Slices == 0 && 32 % Slices == 0 && vectors % 2 == 0,
                  "kq: an image's slices must hold an even number of 16-element groups each");
    static_assert(Order != element_order::planar || (groups == 16 && Slices == 4),
                  "kq: planar order is defined for 256 elements in 4 slices");
    static_assert(Order != element_order::strided || vectors == 2,
                  "kq: strided order is defined for slices of 32 elements");
    static_assert(Order != element_order::columns || (groups == 16 && Slices == 4),
                  "kq: columns are defined for 256 elements in 4 slices");

    static constexpr int panel_blocks = 32 / Slices;
    static constexpr int sums_offset = vectors * 512;
    static constexpr int d_offset = sums_offset + vectors * 64;
    static constexpr int panel_bytes = d_offset + 128;
    static constexpr image_facts facts{Activation::elements, Slices, panel_bytes};

    /// One slot in registers.
    struct fragment {
        uint32_t q[static_cast<size_t>(4 * vectors)]; ///< codes, four a word, vector after vector
        uint32_t sums[static_cast<size_t>(vectors / 2)]; ///< sums of the vectors, two int16 a word
        float d;                                         ///< scale
    };

    /// The 16-element group that element `i` of a block belongs to: a vector of a slice.
    KQ_API static constexpr int group_of(int i) {
        return Order == element_order::strided   ? i / 32 * 2 + i % 8 / 4
               : Order == element_order::columns ? group_in_columns(i)
               : Order == element_order::nibbles ? i / 32 * 2 + i % 16 / 8
                                                 : i / 16;
    }
    /// Where element `i` lies in its group's vector.
    KQ_API static constexpr int byte_of(int i) {
        return Order == element_order::strided     ? i % 4 * 4 + i % 32 / 8
               : Order == element_order::columns   ? byte_in_columns(i)
               : Order == element_order::nibbles   ? i % 8 * 2 + i % 32 / 16
               : Order == element_order::nibbles_8 ? i % 8 * 2 + i % 16 / 8
                                                   : i % 16;
    }
    /// In columns, the first of the four elements that word `word` of a group's vector holds. They
    /// follow each other, but in the last word of a slice: there the next is 4 elements on.
    KQ_API static constexpr int first_of_word(int group, int word) {
        const int slice = group / vectors;
        const int vector = group % vectors;
        return word < 2      ? 32 * vector + 8 * slice + 4 * word
               : word == 2   ? 160 + 16 * vector + 4 * slice
               : vector < 2  ? 128 + 8 * slice + 4 * vector
               : vector == 2 ? 224 + 4 * slice
                             : 240 + slice;
    }

    /// Where 16-element group `group` of a block lies.
    struct place {
        int slice;
        int vector;
    };
    KQ_API static constexpr place place_of(int group) {
        if constexpr (Order == element_order::planar) {
            return {group / 8 * 2 + group % 2, group % 8 / 2};
        } else {
            return {group / vectors, group % vectors};
        }
    }

    KQ_API static constexpr int64_t panels(int64_t blocks) {
        return detail::ceil_div(blocks, int64_t{panel_blocks});
    }
    /// Bytes of the image of a row of `blocks` blocks; a multiple of 128.
    KQ_API static constexpr int64_t row_bytes(int64_t blocks) {
        return panels(blocks) * panel_bytes;
    }

    /// Byte offset of a slot's part of vector `vector` in its panel.
    KQ_API static constexpr int vector_at(int vector, int slot) { return vector * 512 + slot * 16; }
    KQ_API static constexpr int sum_at(int vector, int slot) {
        return sums_offset + slot * 2 * vectors + vector * 2;
    }
    KQ_API static constexpr int d_at(int slot) { return d_offset + slot * 4; }

    /// Reads slot `slot`, 0 to 31, of a panel; the panel is 16-byte aligned.
    template <memory Memory>
    KQ_API static fragment load(const unsigned char* panel, int slot) { // [panel_bytes]
        fragment f;
        KQ_UNROLL
        for (int v = 0; v < vectors; ++v) {
            const auto codes = Memory::template load<words<4>>(panel + vector_at(v, slot));
            KQ_UNROLL
            for (int i = 0; i < 4; ++i) {
                f.q[4 * v + i] = codes.word[i];
            }
        }
        const auto sums = Memory::template load<words<vectors / 2>>(panel + sum_at(0, slot));
        KQ_UNROLL
        for (int i = 0; i < vectors / 2; ++i) {
            f.sums[i] = sums.word[i];
        }
        f.d = Memory::template load<float>(panel + d_at(slot));
        return f;
    }

    /// Lays out a row of blocks on the host.
    /// `blocks`: [count] blocks. `row`: [row_bytes(count)] bytes, all of them written.
    static void pack(const typename Activation::block* blocks, int64_t count, unsigned char* row) {
        cuda::std::memset(row, 0, static_cast<size_t>(row_bytes(count)));
        for (int64_t b = 0; b < count; ++b) {
            unsigned char* panel = row + b / panel_blocks * panel_bytes;
            const float d = Activation::d(blocks[b]);
            int8_t codes[static_cast<size_t>(groups)][16];
            for (int i = 0; i < Activation::elements; ++i) {
                codes[group_of(i)][byte_of(i)] = blocks[b].q[i];
            }
            for (int g = 0; g < groups; ++g) {
                const auto [slice, vector] = place_of(g);
                const int slot = static_cast<int>(b % panel_blocks) * Slices + slice;
                int16_t sum = 0;
                for (const int8_t code : codes[g]) {
                    sum = static_cast<int16_t>(sum + code);
                }
                cuda::std::memcpy(panel + vector_at(vector, slot), codes[g], 16);
                cuda::std::memcpy(panel + sum_at(vector, slot), &sum, sizeof(sum));
                cuda::std::memcpy(panel + d_at(slot), &d, sizeof(d));
            }
        }
    }

    /// The inverse of `pack`: block number `b` of a row.
    static typename Activation::block unpack(const unsigned char* row, int64_t b) {
        const unsigned char* panel = row + b / panel_blocks * panel_bytes;
        const int first_slot = static_cast<int>(b % panel_blocks) * Slices;
        typename Activation::block block{};
        for (int i = 0; i < Activation::elements; ++i) {
            const auto [slice, vector] = place_of(group_of(i));
            const unsigned char* codes = panel + vector_at(vector, first_slot + slice);
            block.q[i] = static_cast<int8_t>(codes[byte_of(i)]);
        }
        detail::finish(block, detail::copy_from<float>(panel + d_at(first_slot)));
        return block;
    }

private:
    KQ_API static constexpr int group_in_columns(int i) {
        return i < 128   ? i % 32 / 8 * vectors + i / 32
               : i < 160 ? i % 32 / 8 * vectors + i % 8 / 4
               : i < 224 ? i % 16 / 4 * vectors + i / 16 - 10
               : i < 240 ? i % 16 / 4 * vectors + 2
                         : i % 4 * vectors + 3;
    }
    KQ_API static constexpr int byte_in_columns(int i) {
        return i < 128   ? i % 8
               : i < 160 ? 12 + i % 4
               : i < 224 ? 8 + i % 4
               : i < 240 ? 12 + i % 4
                         : 12 + i % 16 / 4;
    }
};

} // namespace kq::inline KQ_ABI

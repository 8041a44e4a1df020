// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/activation/image.hpp>
#include <kq/blocks/encoding.hpp>
#include <kq/core/intrinsics.hpp>
#include <kq/core/memory.hpp>
#include <kq/core/numeric.hpp>

namespace kq::inline KQ_ABI {

/// What one lane is given: its number in the warp, the slice of a block it dots, and the lookup
/// table and the constant, if the encoding has them.
struct lane {
    int index;                  ///< 0 to 31
    int slice;                  ///< 0 to slices - 1
    const unsigned char* table; ///< [table_rows][32] words, the same word in every column
    uint32_t constant;          ///< `sliced_dot::constant`, in a register
};

/// The exact integers of one slice. Over the slices of a block they add up to the integer core and
/// to the min term of the block (contract C2).
struct integers {
    int dot; ///< sum of scale * code * activation code
    int min; ///< sum of minimum * activation code; 0 where the encoding has no minimums
};

/// What the integers of one slice weigh: a block's scales times the activation's.
struct scales {
    float dot;
    float min; ///< 0 where the encoding has no minimums
};

/// How the lanes of a warp dot blocks of one weight encoding with a quantized activation.
///
/// A specialization has
/// - `slices`: how many lanes share a block, a constant of the encoding;
/// - `image`: the activation image that it reads; a weight block meets `slices` slots of it;
/// - `has_minimum`: whether `integers::min` is ever other than 0;
/// - `table_rows` and `table_row(i)`: a table of words, looked up at `lane::table`; 0 rows: none;
/// - `constant`: a word that `dot` finds at `lane::constant`. Instructions that take one constant
///   only get their second one there: the compiler would make it anew before each;
/// - `anchor`: what stays the same for one lane along a row, made by `locate(block,
///   slice)` from the address of the lane's first block;
/// - `fragment`: a slice in registers, as loaded by `load<Memory>(anchor, offset)`, with `offset`
///   in bytes from the anchor's block, a multiple of the blocks that the lanes take at once; reads
///   no byte outside the block, but in `padded_memory`;
/// - `dot(fragment, image::fragment, lane) -> integers`: exact;
/// - `scale(fragment, d) -> scales`: with `d` the activation's scale; every rounding explicit.
template <class Encoding>
struct sliced_dot {
    static_assert(
        sizeof(Encoding) == 0,
        "kq: no dot for this encoding: include dot/all.hpp, or write dot/<encoding>.hpp");
};

/// An encoding, or another layout of one, that kq can multiply.
/// Requires: a complete specialization of `sliced_dot`.
template <class Encoding>
concept dottable = weight_blocks<Encoding> &&
    requires(const unsigned char* block, const typename sliced_dot<Encoding>::anchor& anchor,
             const typename sliced_dot<Encoding>::fragment& fragment,
             const typename sliced_dot<Encoding>::image::fragment& activation, const lane& where) {
    requires 32 % sliced_dot<Encoding>::slices == 0;
    requires sliced_dot<Encoding>::image::slices* Encoding::elements ==
        sliced_dot<Encoding>::slices* Encoding::activation::elements;
    requires(cuda::std::is_same_v<typename sliced_dot<Encoding>::image::activation,
                                  typename Encoding::activation>);
    { sliced_dot<Encoding>::table_rows } -> cuda::std::convertible_to<int>;
    { sliced_dot<Encoding>::constant } -> cuda::std::convertible_to<uint32_t>;
    sliced_dot<Encoding>::locate(block, 0);
    sliced_dot<Encoding>::template load<cached_memory>(anchor, 0);
    { sliced_dot<Encoding>::dot(fragment, activation, where) } -> cuda::std::same_as<integers>;
    { sliced_dot<Encoding>::scale(fragment, 0.0f) } -> cuda::std::same_as<scales>;
    { sliced_dot<Encoding>::has_minimum } -> cuda::std::convertible_to<bool>;
};

/// Bytes of the lookup table of `Encoding`, a column for each of 32 lanes.
template <class Encoding>
inline constexpr int table_bytes = sliced_dot<Encoding>::table_rows * 128;

/// The part of `sliced_dot` that encodings without a lookup table share.
struct without_table {
    static constexpr int table_rows = 0;
    static constexpr uint32_t constant = 0;
    KQ_API static uint32_t table_row(int) { return 0; }
};

/// Adds `scale.dot * x.dot - scale.min * x.min` to `sum`: one fused operation on each exact
/// integer, the dot first. The only float additions along a row.
template <class Dot>
KQ_API float accumulate(float sum, const scales& scale, const integers& x) {
    sum = fma_rn(scale.dot, static_cast<float>(x.dot), sum);
    return Dot::has_minimum ? fma_rn(scale.min, static_cast<float>(-x.min), sum) : sum;
}

} // namespace kq::inline KQ_ABI

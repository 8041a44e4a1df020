// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/activation/image.hpp>
#include <kq/blocks/encoding.hpp>
#include <kq/core/intrinsics.hpp>
#include <kq/core/memory.hpp>
#include <kq/core/numeric.hpp>
#include <kq/core/standard.hpp>

namespace kq::inline KQ_ABI {

/// What one lane is given: its number in the warp, what it decodes, and the lookup table and the
/// constant, if the encoding has them.
struct lane_context {
    int index;                  ///< 0 to 31
    int slice;                  ///< of a block, 0 to slices - 1
    const unsigned char* table; ///< [table_rows][table_columns] words, equal along a row
    uint32_t constant;          ///< `decoder::constant`, in a register
    int part = 0;               ///< of the slice, 0 to Parts - 1
};

/// Four codes as the sum of two words, byte by byte.
struct two_words {
    uint32_t first;  ///< int8
    uint32_t second; ///< int8
};

/// What the integers of one slice weigh: a block's scales times the activation's.
struct scales {
    float dot;
    float min; ///< of the minimums, or of a second run with a scale of its own; else 0
};

/// How a lane decodes one slice of a block, or a part of it: int8 or uint8 codes, four a word, in
/// the order of the activation's image, with integer scales and minimums. It multiplies nothing.
///
/// A slice's words are cut into runs: stretches whose codes share a shift and an integer scale.
/// Part t of `Parts` has an equal share of each run: of a run of W words those from `t * W / Parts`
/// on. A lane that multiplies by `dp4a` decodes a whole slice (`Parts` is 1), a lane that feeds
/// tensor cores a quarter (4).
///
/// A specialization has these facts, of which `plain_decoder` has the commonest values:
/// - `slices`: how many lanes share a block, a constant of the encoding;
/// - `image`: the activation image that it meets; a weight block meets `slices` slots of it;
/// - `runs`: how many runs a slice has, of equal length; fewer for parts where runs are too short;
/// - `shift(run)`: codes stand in place, this many bits up, so they come out 2^shift too large;
/// - `offset`: taken off each code, through the sums of the activation's codes;
/// - `signed_codes`: whether codes are int8; else they are uint8;
/// - `codes_in_two`: whether a code is also given as the sum of two int8, where that takes fewer
///   instructions than the code itself, by `codes_apart(fragment, run, i, lane) -> two_words`;
/// - `has_scales`: whether runs have integer scales; without, each is 1;
/// - `has_minimum`: whether minimums are ever other than 0, or `has_two_scales`;
/// - `has_two_scales`: whether a slice's two runs have a float scale each: `scales::dot` is the
///   first run's, `scales::min` the second's, whose integer is negated then;
/// - `table_rows`, `table_columns` and `table_row(i)`: a table of words, looked up at
/// `lane_context::table`,
///   with row i's word in each column; 0 rows: none;
/// - `constant`: a word that functions find at `lane_context::constant`. Instructions that take one
/// constant
///   only get their second one there: the compiler would make it anew before each;
///
/// and these types and functions:
/// - `anchor`: what stays the same for one lane along a row, made by `locate(block, slice, part)`
///   from the address of the lane's first block; `part` is 0 if left out;
/// - `fragment`: a part in registers, as loaded by `load<Memory>(anchor, offset)`, with `offset`
///   in bytes from the anchor's block, a multiple of the blocks that the lanes take at once; reads
///   no byte outside the block, but in `padded_memory`;
/// - `codes(fragment, run, i, lane) -> uint32_t`: word i of the part's share of a run;
/// - `integer_scales(fragment, lane)`: the slice's integer scales and minimums, unpacked as far as
///   can be done once for all runs, for
/// - `run_scale(integer_scales, run, factor) -> int`: the run's integer scale times `factor`, a
///   power of two up to 2^(the largest shift), and for
/// - `minimums(integer_scales) -> uint32_t`: the minimum of each 16 codes of the slice, a byte
/// each;
/// - `scale(fragment, d) -> scales`: with `d` the activation's scale; every rounding explicit.
template <class Encoding, int Parts = 1>
struct decoder {
    static_assert(
        sizeof(Encoding) == 0,
        "kq: no decoder for this encoding: include dot/all.hpp, or write dot/<encoding>.hpp");
};

/// What a decoder has where its encoding asks for nothing else: uint8 codes at bit 0, no offset, no
/// integer scales, no minimums, no table.
struct plain_decoder {
    static constexpr int offset = 0;
    static constexpr bool signed_codes = false;
    static constexpr bool codes_in_two = false;
    static constexpr bool has_scales = false;
    static constexpr bool has_minimum = false;
    static constexpr bool has_two_scales = false;
    static constexpr int table_rows = 0;
    static constexpr int table_columns = 32;
    static constexpr uint32_t constant = 0;

    KQ_API static constexpr int shift(int) { return 0; }
    static constexpr uint32_t table_row(int) { return 0; }

    template <class Fragment>
    KQ_API static const Fragment& integer_scales(const Fragment& w, const lane_context&) {
        return w;
    }
    template <class Scales>
    KQ_API static int run_scale(const Scales&, int, int factor) {
        return factor;
    }
    template <class Scales>
    KQ_API static uint32_t minimums(const Scales&) {
        return 0;
    }
};

namespace detail {

/// What `decoder` asks for.
template <class Decoder, class Encoding, int Parts>
concept decodes = requires(const unsigned char* block, const typename Decoder::anchor& anchor,
                           const typename Decoder::fragment& fragment, const lane_context& where) {
    requires 32 % Decoder::slices == 0;
    requires(Decoder::image::slices * Encoding::elements ==
             Decoder::slices * Encoding::activation::elements);
    requires(
        standard::is_same_v<typename Decoder::image::activation, typename Encoding::activation>);
    requires(4 * Decoder::image::vectors % (Decoder::runs * Parts) == 0);
    { Decoder::shift(0) } -> standard::same_as<int>;
    { Decoder::offset } -> standard::convertible_to<int>;
    { Decoder::signed_codes } -> standard::convertible_to<bool>;
    requires !Decoder::codes_in_two || requires {
        { Decoder::codes_apart(fragment, 0, 0, where) } -> standard::same_as<two_words>;
    };
    { Decoder::has_scales } -> standard::convertible_to<bool>;
    { Decoder::has_minimum } -> standard::convertible_to<bool>;
    requires !Decoder::has_two_scales ||
        (Decoder::runs == 2 && Decoder::has_minimum && !Decoder::has_scales);
    { Decoder::table_rows } -> standard::convertible_to<int>;
    { Decoder::table_columns } -> standard::convertible_to<int>;
    { Decoder::table_row(0) } -> standard::same_as<uint32_t>;
    { Decoder::constant } -> standard::convertible_to<uint32_t>;
    Decoder::locate(block, 0);
    Decoder::locate(block, 0, 0);
    Decoder::template load<cached_memory>(anchor, 0);
    { Decoder::codes(fragment, 0, 0, where) } -> standard::same_as<uint32_t>;
    Decoder::run_scale(Decoder::integer_scales(fragment, where), 0, 1);
    Decoder::minimums(Decoder::integer_scales(fragment, where));
    { Decoder::scale(fragment, 0.0f) } -> standard::same_as<scales>;
};

} // namespace detail

/// An encoding, or another layout of one, of which a lane can decode one of `Parts` parts of a
/// slice.
/// Requires: a complete specialization of `decoder`.
template <class Encoding, int Parts>
concept decodable =
    weight_blocks<Encoding> && detail::decodes<decoder<Encoding, Parts>, Encoding, Parts>;

/// An encoding, or another layout of one, that kq can multiply.
/// Requires: a complete specialization of `decoder`, for whole slices at least.
template <class Encoding>
concept dottable = decodable<Encoding, 1>;

/// The image that products with weights of `Encoding` read. Encodings that share it share what a
/// quantizer wrote.
template <dottable Encoding>
using image_of = typename decoder<Encoding>::image;

/// Words of one part's share of a run.
template <class Encoding, int Parts = 1>
inline constexpr int run_words = 4 * decoder<Encoding, Parts>::image::vectors /
                                 (decoder<Encoding, Parts>::runs * Parts);

/// Bytes of the lookup table of `Encoding`.
template <class Encoding>
inline constexpr int table_bytes =
    decoder<Encoding>::table_rows* decoder<Encoding>::table_columns * 4;

} // namespace kq::inline KQ_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>
#include <kq/core/standard.hpp>

/// The one list of weight encodings: the name of the struct and GGUF's number for the tensor type.
/// Everything that enumerates encodings follows from it. A macro, because an enumerator's name can
/// come from nothing else.
// clang-format off
#define KQ_ENCODINGS(entry) \
    entry(q4_0, 2) \
    entry(q4_1, 3) \
    entry(q5_0, 6) \
    entry(q5_1, 7) \
    entry(q8_0, 8) \
    entry(q2_k, 10) \
    entry(q3_k, 11) \
    entry(q4_k, 12) \
    entry(q5_k, 13) \
    entry(q6_k, 14) \
    entry(iq2_xxs, 16) \
    entry(iq3_xxs, 18) \
    entry(iq4_nl, 20) \
    entry(mxfp4, 39) \
    entry(nvfp4, 40) \
    entry(q1_0, 41) \
    entry(q2_0, 42)
// clang-format on

namespace kq::inline KQ_ABI {

#define KQ_ENTRY(name, gguf_type) struct name;
KQ_ENCODINGS(KQ_ENTRY)
#undef KQ_ENTRY

#define KQ_ENUMERATOR(name, gguf_type) name = gguf_type,
/// A weight encoding at run time. The values are GGUF's tensor type numbers.
enum class encoding : int { KQ_ENCODINGS(KQ_ENUMERATOR) };
#undef KQ_ENUMERATOR

/// The name of an encoding, as GGUF tools spell it in lower case; "unknown" for other values.
constexpr const char* name_of(encoding e) {
    switch (e) {
#define KQ_ENTRY(name, gguf_type)                                                                  \
    case encoding::name:                                                                           \
        return #name;
        KQ_ENCODINGS(KQ_ENTRY)
#undef KQ_ENTRY
    }
    return "unknown";
}

/// Whether GGUF's tensor type number `gguf_type` is an encoding that kq multiplies.
constexpr bool is_encoding(int gguf_type) {
    switch (static_cast<encoding>(gguf_type)) {
#define KQ_ENTRY(name, gguf_type) case encoding::name:
        KQ_ENCODINGS(KQ_ENTRY)
#undef KQ_ENTRY
        return true;
    }
    return false;
}

/// A list of types, to be folded over.
template <class... Ts>
struct type_list {
    static constexpr int size = sizeof...(Ts);
};

namespace detail {
template <class, class... Ts>
struct drop_first {
    using type = type_list<Ts...>;
};
} // namespace detail

#define KQ_TYPE(name, gguf_type) , name
/// Every weight encoding.
using encodings = detail::drop_first<void KQ_ENCODINGS(KQ_TYPE)>::type;
#undef KQ_TYPE

/// Weights in blocks: an encoding, or another layout of one. Multiplying needs no more.
///
/// Requires: `Weights::block` is trivially copyable and names `Weights` as its `weights`;
/// `elements` weights a block; `id` names the encoding; `activation` is what it is dotted with.
template <class Weights>
concept weight_blocks = requires {
    typename Weights::block;
    typename Weights::activation;
    requires standard::is_trivially_copyable_v<typename Weights::block>;
    requires standard::same_as<typename Weights::block::weights, Weights>;
    requires standard::same_as<const encoding, decltype(Weights::id)>;
    requires Weights::elements % 32 == 0;
    requires Weights::elements % Weights::activation::elements == 0;
};

/// How many weights that follow each other share d: those of a block, or of a sub-block where
/// `Encoding` has `sub_elements`.
template <class Encoding>
inline constexpr int sub_elements = Encoding::elements;
template <class Encoding>
    requires requires {
        Encoding::sub_elements;
    }
inline constexpr int sub_elements<Encoding> = Encoding::sub_elements;

/// What the bytes of a weight block mean, element by element. The reference needs nothing else.
///
/// Weight i of a block is `d * factor * scale(i) * code(i) - dmin * minimum(i)`. Where not all
/// weights of a block share d, it is `d(block, i)`, and `sub_elements` says how many weights that
/// follow each other share it, a divisor of the activation's elements.
///
/// Requires: `weight_blocks`, with `Encoding::block` exactly GGUF's bytes.
template <class Encoding>
concept weight_encoding = weight_blocks<Encoding> &&
    requires(const typename Encoding::block& block, int i) {
    { Encoding::code(block, i) } -> standard::same_as<int>;
    { Encoding::scale(block, i) } -> standard::same_as<int>;
    { Encoding::minimum(block, i) } -> standard::same_as<int>;
    requires requires {
        { Encoding::d(block) } -> standard::same_as<float>;
    } || requires {
        { Encoding::d(block, i) } -> standard::same_as<float>;
        requires Encoding::activation::elements % Encoding::sub_elements == 0;
    };
    { Encoding::dmin(block) } -> standard::same_as<float>;
    { Encoding::factor } -> standard::convertible_to<float>;
};

/// The d of weight `i` of a block.
template <weight_encoding Encoding>
constexpr float d_of(const typename Encoding::block& block, [[maybe_unused]] int i) {
    if constexpr (requires { Encoding::d(block, i); }) {
        return Encoding::d(block, i);
    } else {
        return Encoding::d(block);
    }
}

/// Bytes of one block of `Encoding`.
template <class Encoding>
inline constexpr int block_bytes = static_cast<int>(sizeof(typename Encoding::block));

/// The alignment in bytes that weights of `Encoding` need: the largest power of two that divides
/// the block's bytes, 16 at most.
template <class Encoding>
inline constexpr int block_alignment = block_bytes<Encoding> % 16 == 0  ? 16
                                       : block_bytes<Encoding> % 8 == 0 ? 8
                                       : block_bytes<Encoding> % 4 == 0 ? 4
                                       : block_bytes<Encoding> % 2 == 0 ? 2
                                                                        : 1;

namespace detail {

/// A text that is made at compile time.
struct text {
    char characters[64];
};

/// `before`, `number` and `after`. Requires: `number >= 0`, 63 characters at most.
constexpr text text_around(const char* before, int number, const char* after) {
    text t{};
    int length = 0;
    for (; *before != 0; ++before) {
        t.characters[length++] = *before;
    }
    int digits = 1;
    for (int rest = number / 10; rest != 0; rest /= 10) {
        ++digits;
    }
    for (int i = digits - 1; i >= 0; --i) {
        t.characters[length + i] = static_cast<char>('0' + number % 10);
        number /= 10;
    }
    length += digits;
    for (; *after != 0; ++after) {
        t.characters[length++] = *after;
    }
    return t;
}

template <int Elements>
inline constexpr text columns_text = text_around("must be a non-negative multiple of ", Elements,
                                                 ", the block");

template <int Alignment>
inline constexpr text alignment_text = text_around("must be ", Alignment, "-byte aligned");

} // namespace detail

/// What planning a launch needs of an encoding, as plain data, with the texts of refusals.
struct encoding_facts {
    encoding id;
    int elements;               ///< weights of a block
    int block_bytes;            ///< of a block
    int alignment;              ///< in bytes, of weights
    const char* columns_rule;   ///< of k: "must be a non-negative multiple of 256, the block"
    const char* alignment_rule; ///< of weights: "must be 16-byte aligned"
};

/// The facts of `Encoding`.
template <weight_blocks Encoding>
inline constexpr encoding_facts facts_of{
    Encoding::id,
    Encoding::elements,
    block_bytes<Encoding>,
    block_alignment<Encoding>,
    detail::columns_text<Encoding::elements>.characters,
    detail::alignment_text<block_alignment<Encoding>>.characters};

} // namespace kq::inline KQ_ABI

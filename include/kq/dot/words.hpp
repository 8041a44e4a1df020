// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>
#include <kq/core/intrinsics.hpp>
#include <kq/core/memory.hpp>
#include <kq/core/numeric.hpp>
#include <kq/core/standard.hpp>

/// Words of blocks in registers. Where blocks are only 2-byte or byte aligned: aligned loads, and
/// byte permutes that shift what they bring into place. No load leaves the block (contract C5), but
/// in padded memory.
namespace kq::inline KQ_ABI {

/// `N` consecutive words in registers.
template <int N>
struct aligned_run {
    uint32_t raw[static_cast<size_t>(N)];

    KQ_API uint32_t word(int i) const { return raw[i]; }
};

/// Loads a run by vectors of `Vector` words, or of `N` if that is less; `from` is a multiple of
/// their bytes.
template <int N, int Vector, memory Memory>
KQ_API aligned_run<N> load_aligned(const unsigned char* from) {
    constexpr int vector = N < Vector ? N : Vector;
    static_assert(N % vector == 0);
    aligned_run<N> run;
    KQ_UNROLL
    for (int i = 0; i < N; i += vector) {
        if constexpr (vector == 1) {
            run.raw[i] = Memory::template load<uint32_t>(from + 4 * i);
        } else {
            const auto v = Memory::template load<words<vector>>(from + 4 * i);
            KQ_UNROLL
            for (int j = 0; j < vector; ++j) {
                run.raw[i + j] = v.word[j];
            }
        }
    }
    return run;
}

/// `N` halves of words in registers.
template <int N>
struct half_run {
    uint32_t raw[static_cast<size_t>(N)];

    KQ_API uint32_t word(int i) const { return raw[i]; }
};

/// Loads `N` halves, `Stride` bytes apart; `from` is a multiple of 2.
template <int N, int Stride, memory Memory>
KQ_API half_run<N> load_halves(const unsigned char* from) {
    half_run<N> run;
    KQ_UNROLL
    for (int i = 0; i < N; ++i) {
        run.raw[i] = Memory::template load<uint16_t>(from + Stride * i);
    }
    return run;
}

/// An address that is a multiple of 2, and how far it is from a multiple of 4.
struct half_aligned {
    const unsigned char* start;
    uint32_t odd; ///< 2 where `start` is not a multiple of 4, else 0

    KQ_API static half_aligned at(const unsigned char* start) {
        return {start, in_register(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(start)) & 2u)};
    }
};

/// `N` consecutive words in registers, not yet shifted into place.
template <int N>
struct word_run {
    uint32_t raw[static_cast<size_t>(N + 1)];
    uint32_t first_selector;
    uint32_t selector;

    KQ_API uint32_t word(int i) const {
        return byte_permute(raw[i], raw[i + 1], i == 0 ? first_selector : selector);
    }

    /// The `Count` words from number `First` on.
    template <int First, int Count>
    KQ_API word_run<Count> words_from() const {
        word_run<Count> run;
        KQ_UNROLL
        for (int i = 0; i <= Count; ++i) {
            run.raw[i] = raw[First + i];
        }
        run.first_selector = First == 0 ? first_selector : selector;
        run.selector = selector;
        return run;
    }
};

/// Loads the run at `offset`, a multiple of 4, from `from`: words from the aligned address below,
/// and one more. May read two bytes before the run and four after it.
template <int N, memory Memory>
KQ_API word_run<N> load_around(const half_aligned& from, int offset) {
    word_run<N> run;
    KQ_UNROLL
    for (int i = 0; i <= N; ++i) {
        run.raw[i] = Memory::template load<uint32_t>(from.start - from.odd + offset + 4 * i);
    }
    run.selector = 0x3210u + 0x1111u * from.odd;
    run.first_selector = run.selector;
    return run;
}

/// Loads the run at `offset`, a multiple of 4, from `from`, where the block goes on for at least
/// two bytes before the run: words from the aligned address below, then the last half.
template <int N, memory Memory>
KQ_API word_run<N> load_after_header(const half_aligned& from, int offset) {
    if constexpr (standard::same_as<Memory, padded_memory>) {
        return load_around<N, Memory>(from, offset);
    } else {
        word_run<N> run;
        KQ_UNROLL
        for (int i = 0; i < N; ++i) {
            run.raw[i] = Memory::template load<uint32_t>(from.start - from.odd + offset + 4 * i);
        }
        run.raw[N] = Memory::template load<uint16_t>(from.start + offset + 4 * N - 2);
        run.selector = from.odd != 0 ? 0x5432u : 0x3210u;
        run.first_selector = run.selector;
        return run;
    }
}

/// Loads the run at `offset`, a multiple of 4, from `from`, where the block goes on for at least
/// two bytes after the run: the first half, then words from the aligned address above.
template <int N, memory Memory>
KQ_API word_run<N> load_before_trailer(const half_aligned& from, int offset) {
    if constexpr (standard::same_as<Memory, padded_memory>) {
        return load_around<N, Memory>(from, offset);
    } else {
        word_run<N> run;
        run.raw[0] = Memory::template load<uint16_t>(from.start + offset);
        KQ_UNROLL
        for (int i = 0; i < N; ++i) {
            run.raw[i + 1] =
                Memory::template load<uint32_t>(from.start + from.odd + offset + 4 * i);
        }
        run.first_selector = from.odd != 0 ? 0x5410u : 0x7654u;
        run.selector = from.odd != 0 ? 0x5432u : 0x7654u;
        return run;
    }
}

/// An address of any alignment.
struct byte_aligned {
    const unsigned char* below; ///< the multiple of 4 at or below it
    uint32_t past;              ///< from there to it, 0 to 3

    KQ_API static byte_aligned at(const unsigned char* address) {
        const auto low = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(address));
        const uint32_t past = in_register(low & 3u);
        return {address - past, past};
    }
};

/// Loads the run that begins one byte after `offset`, a multiple of 4, from `from`, in a block that
/// has that byte: words from the aligned address below the byte on. Of these the first and the last
/// may leave the block. Where memory is not padded they are made of the bytes that the run has of
/// them, which lie at different places of a word, so one word serves as both.
template <int N, memory Memory>
KQ_API word_run<N> load_after_byte(const byte_aligned& from, int offset) {
    constexpr bool padded = standard::same_as<Memory, padded_memory>;
    const unsigned char* aligned = from.below + offset;
    word_run<N> run;
    KQ_UNROLL
    for (int i = padded ? 0 : 1; i < (padded ? N + 1 : N); ++i) {
        run.raw[i] = Memory::template load<uint32_t>(aligned + 4 * i);
    }
    if constexpr (!padded) {
        uint32_t bytes[4];
        KQ_UNROLL
        for (uint32_t i = 0; i < 4; ++i) {
            bytes[i] = Memory::template load<uint8_t>(aligned + (i > from.past ? i : 4 * N + i));
        }
        run.raw[0] = byte_permute(byte_permute(bytes[0], bytes[1], 0x0040u),
                                  byte_permute(bytes[2], bytes[3], 0x0040u), 0x5410u);
        run.raw[N] = run.raw[0];
    }
    run.selector = 0x4321u + 0x1111u * from.past;
    run.first_selector = run.selector;
    return run;
}

/// What stays the same for a lane whose words follow a header in 2-byte aligned blocks.
struct words_after_header {
    half_aligned q; ///< the words
    int q_at;       ///< from the block to them

    KQ_API static words_after_header at(const unsigned char* block, int q_at) {
        return {half_aligned::at(block + q_at), q_at};
    }
    KQ_API const unsigned char* block(int offset) const { return q.start + (offset - q_at); }
};

/// Loads the binary16 at `address`, a multiple of 2.
template <memory Memory>
KQ_API f16 load_f16(const unsigned char* address) {
    return f16{Memory::template load<uint16_t>(address)};
}

} // namespace kq::inline KQ_ABI

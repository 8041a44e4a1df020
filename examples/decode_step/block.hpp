// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gguf/reader.hpp"

#include <kq/blocks/encoding.hpp>

#include <driver_types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace decode_step {

/// The weights of a projection: [experts, n, k / elements] blocks, of a file or of noise.
struct matrix {
    kq::encoding encoding;
    std::int64_t experts; ///< 1 if dense
    std::int64_t n;       ///< rows of an expert
    std::int64_t k;
    std::span<const std::byte> stored; ///< in the file; empty if noise
    std::uint64_t seed = 0;            ///< of the noise

    std::size_t bytes() const;
};

/// A feed-forward block of a transformer: y = x + down * (silu(gate * x) * (up * x)), or x and the
/// weighted sum of what `top_k` experts make of it.
struct block {
    std::string name;
    matrix gate;            ///< [inner, hidden]
    matrix up;              ///< of the gate's encoding
    matrix down;            ///< [hidden, inner], of any encoding
    std::int64_t top_k = 0; ///< experts of a token; 0 if dense

    bool is_dense() const { return top_k == 0; }
    std::int64_t hidden() const { return gate.k; }
    std::int64_t inner() const { return gate.n; }
    /// Rows of the inner activation: what gate and up give.
    std::int64_t slots() const { return is_dense() ? 1 : top_k; }
    /// Bytes of the weights that a step reads.
    std::size_t bytes_read() const;
};

/// The sizes and encodings of synthetic blocks.
struct synthetic {
    std::int64_t hidden = 0;
    std::int64_t inner = 0;
    std::int64_t experts = 0;
    std::int64_t expert_inner = 0;
    kq::encoding encoding = kq::encoding::q4_k;
    kq::encoding down_encoding = kq::encoding::q4_k;
};

/// Experts of a token, where neither command line nor model say.
inline constexpr std::int64_t default_top_k = 8;

/// Block number `number` of a model: dense, of experts, or both. The bytes are the file's.
/// `top_k`: experts of a token; by default those that the model's metadata states.
/// Throws kq::argument_error if the model has no such block, or one that kq cannot compute.
std::vector<block> blocks_of(const gguf::file& model, std::int64_t number,
                             std::optional<std::int64_t> top_k);

/// A dense block and one of experts, of noise.
/// Throws kq::argument_error if sizes and encodings do not go together.
std::vector<block> synthetic_blocks(const synthetic& wanted, std::int64_t top_k,
                                    std::uint64_t seed);

/// The blocks of a matrix in host memory: the file's, or noise that `memory` keeps.
const void* on_host(const matrix& m, std::vector<std::byte>& memory);

/// Copies or makes the blocks of a matrix in device memory.
void to_device(const matrix& m, void* blocks, cudaStream_t stream);

} // namespace decode_step

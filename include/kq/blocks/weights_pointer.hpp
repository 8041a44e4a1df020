// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/encoding.hpp>
#include <kq/core/standard.hpp>

namespace kq::inline KQ_ABI {

/// A type of weight block that says whose it is, as `block::weights` of every encoding does.
template <class Block>
concept typed_block = requires {
    typename Block::weights;
    requires standard::same_as<typename Block::weights::block, Block>;
};

/// A pointer to weight blocks: converts from `const void*` and from a pointer to an encoding's
/// blocks. The latter's type is remembered, so that blocks of another encoding are refused.
struct weights_pointer {
    const void* data = nullptr;
    encoding id = {};    ///< of typed blocks
    int block_bytes = 0; ///< of typed blocks, which tells layouts of an encoding apart; else 0

    constexpr weights_pointer() = default;
    KQ_API constexpr weights_pointer(const void* first) : data(first) {}
    template <typed_block Block>
    KQ_API constexpr weights_pointer(const Block* blocks)
        : data(blocks), id(Block::weights::id), block_bytes(static_cast<int>(sizeof(Block))) {}
};

} // namespace kq::inline KQ_ABI

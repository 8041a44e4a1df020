// SPDX-License-Identifier: Apache-2.0
#include "block.hpp"

#include "common/cuda.hpp"
#include "common/fill_noise.hpp"

#include <kq/gemv/dispatch.hpp>

#include <cstring>

namespace decode_step {
namespace {

using std::to_string;

[[noreturn]] void refuse(const std::string& argument, const std::string& rule) {
    throw kq::argument_error(argument + ": " + rule);
}

const gguf::type_info& type_of(kq::encoding e) {
    return *gguf::find_type(static_cast<std::uint32_t>(e));
}

const gguf::tensor& find(const gguf::file& model, const std::string& name) {
    const gguf::tensor* const found = model.find(name);
    if (found == nullptr) {
        refuse("model", "has no tensor " + gguf::printable(name));
    }
    return *found;
}

matrix matrix_of(const gguf::tensor& t, bool dense) {
    const std::string name = "tensor " + gguf::printable(t.name);
    if (!kq::is_encoding(static_cast<int>(t.type))) {
        refuse(name, gguf::type_name(t.type) + " is not an encoding that kq multiplies");
    }
    if (t.dimensions.size() != (dense ? 2 : 3)) {
        refuse(name, dense ? "must have two dimensions" : "must have three dimensions");
    }
    if (t.bytes.empty()) {
        refuse(name, "holds no elements");
    }
    return {.encoding = static_cast<kq::encoding>(t.type),
            .experts = dense ? 1 : static_cast<std::int64_t>(t.dimensions[2]),
            .n = static_cast<std::int64_t>(t.dimensions[1]),
            .k = static_cast<std::int64_t>(t.dimensions[0]),
            .stored = t.bytes};
}

/// Refuses matrices that do not make a block.
void require_block(const block& b) {
    if (b.up.encoding != b.gate.encoding || b.up.experts != b.gate.experts || b.up.n != b.gate.n ||
        b.up.k != b.gate.k) {
        refuse(b.name, "gate and up must have one encoding and one shape");
    }
    if (b.down.experts != b.gate.experts || b.down.n != b.gate.k || b.down.k != b.gate.n) {
        refuse(b.name, "down must have the rows of the gate as columns and its columns as rows");
    }
    if (b.top_k > b.gate.experts) {
        refuse("--top-k", to_string(b.top_k) + " must be at most the " + to_string(b.gate.experts) +
                              " experts");
    }
}

/// Experts of a token, as the model's metadata states.
std::optional<std::int64_t> stated_top_k(const gguf::file& model) {
    const auto architecture = model.metadata_string("general.architecture");
    if (!architecture) {
        return std::nullopt;
    }
    const std::string key = std::string(*architecture) + ".expert_used_count";
    const std::optional<std::int64_t> stated = model.metadata_integer(key);
    if (stated && *stated < 1) {
        refuse("model", "metadata " + gguf::printable(key) + " is " + to_string(*stated) +
                            ": choose with --top-k");
    }
    return stated;
}

block block_of(const gguf::file& model, const std::string& prefix, const std::string& suffix,
               std::int64_t top_k) {
    const auto matrix_named = [&](const char* part) {
        return matrix_of(find(model, prefix + part + suffix), top_k == 0);
    };
    block b{.name = prefix.substr(0, prefix.size() - 1) + (top_k == 0 ? "" : " experts"),
            .gate = matrix_named("ffn_gate"),
            .up = matrix_named("ffn_up"),
            .down = matrix_named("ffn_down"),
            .top_k = top_k};
    require_block(b);
    return b;
}

void require_multiple(const std::string& option, std::int64_t size, kq::encoding e) {
    const std::int64_t elements = type_of(e).block_elements;
    if (size % elements != 0) {
        refuse(option,
               "must be a multiple of " + to_string(elements) + ", the block of " + kq::name_of(e));
    }
}

common::noise_part noise_of(const matrix& m, float scale) {
    const std::int64_t blocks = m.k / type_of(m.encoding).block_elements;
    return {.seed = m.seed,
            .scale = scale,
            .row_blocks = blocks,
            .rows = m.experts * m.n,
            .blocks = blocks};
}

/// Calls `f` with the encoding of a matrix and the noise that it holds.
template <class F>
void with_noise(const matrix& m, F&& f) {
    kq::check(kq::dispatch(m.encoding, [&]<class Encoding>() {
        f.template operator()<Encoding>(noise_of(m, common::noise_scale<Encoding>(m.k)));
    }));
}

} // namespace

std::size_t matrix::bytes() const {
    const gguf::type_info& type = type_of(encoding);
    return static_cast<std::size_t>(experts * n * (k / type.block_elements)) * type.block_bytes;
}

std::size_t block::bytes_read() const {
    const std::size_t all = gate.bytes() + up.bytes() + down.bytes();
    return all / static_cast<std::size_t>(gate.experts) * static_cast<std::size_t>(slots());
}

std::vector<block> blocks_of(const gguf::file& model, std::int64_t number,
                             std::optional<std::int64_t> top_k) {
    if (model.alignment() < 16) {
        refuse("model", "tensors must be aligned to 16 bytes, general.alignment is " +
                            to_string(model.alignment()));
    }
    const std::string prefix = "blk." + to_string(number) + ".";
    std::vector<block> blocks;
    if (model.find(prefix + "ffn_gate.weight") != nullptr) {
        blocks.push_back(block_of(model, prefix, ".weight", 0));
    }
    if (model.find(prefix + "ffn_gate_exps.weight") != nullptr) {
        if (!top_k) {
            top_k = stated_top_k(model).value_or(default_top_k);
        }
        blocks.push_back(block_of(model, prefix, "_exps.weight", *top_k));
    }
    if (blocks.empty()) {
        refuse("--block", "the model has neither " + gguf::printable(prefix + "ffn_gate.weight") +
                              " nor " + gguf::printable(prefix + "ffn_gate_exps.weight"));
    }
    return blocks;
}

std::vector<block> synthetic_blocks(const synthetic& wanted, std::int64_t top_k,
                                    std::uint64_t seed) {
    require_multiple("--hidden", wanted.hidden, wanted.encoding);
    require_multiple("--inner", wanted.inner, wanted.down_encoding);
    require_multiple("--expert-inner", wanted.expert_inner, wanted.down_encoding);
    const auto make = [&](const char* name, std::int64_t experts, std::int64_t inner,
                          std::int64_t slots) {
        block b{.name = name,
                .gate = {wanted.encoding, experts, inner, wanted.hidden, {}, seed + 1},
                .up = {wanted.encoding, experts, inner, wanted.hidden, {}, seed + 2},
                .down = {wanted.down_encoding, experts, wanted.hidden, inner, {}, seed + 3},
                .top_k = slots};
        require_block(b);
        return b;
    };
    return {make("synthetic", 1, wanted.inner, 0),
            make("synthetic experts", wanted.experts, wanted.expert_inner, top_k)};
}

const void* on_host(const matrix& m, std::vector<std::byte>& memory) {
    if (!m.stored.empty()) {
        return m.stored.data();
    }
    memory.resize(m.bytes());
    with_noise(m, [&]<class Encoding>(const common::noise_part& noise) {
        const auto blocks = common::noise_blocks<Encoding>(noise);
        std::memcpy(memory.data(), blocks.data(), memory.size());
    });
    return memory.data();
}

void to_device(const matrix& m, void* blocks, cudaStream_t stream) {
    if (!m.stored.empty()) {
        common::require(cudaMemcpyAsync(blocks, m.stored.data(), m.stored.size(),
                                        cudaMemcpyHostToDevice, stream),
                        "cudaMemcpyAsync");
        return;
    }
    with_noise(m, [&]<class Encoding>(const common::noise_part& noise) {
        common::fill_noise(Encoding::id, noise, blocks, stream);
    });
}

} // namespace decode_step

// SPDX-License-Identifier: Apache-2.0
#include "decode_step/step.hpp"

#include "examples/program.hpp"
#include "gguf/writer.hpp"
#include "samples.hpp"

#include <kq/reference/reference.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>

#include <unistd.h>

using Catch::Contains;
using decode_step::block;
using decode_step::matrix;

namespace {

constexpr decode_step::synthetic sizes{.hidden = 512,
                                       .inner = 768,
                                       .experts = 5,
                                       .expert_inner = 256,
                                       .encoding = kq::encoding::q4_k,
                                       .down_encoding = kq::encoding::q6_k};
constexpr int64_t top_k = 3;

std::vector<block> make_blocks() {
    return decode_step::synthetic_blocks(sizes, top_k, 1);
}

/// A matrix, or that of an expert, times the quantized activation, by the reference.
std::vector<double> product(const matrix& m, int64_t expert, const std::vector<float>& x) {
    std::vector<double> y(static_cast<size_t>(m.n));
    std::vector<std::byte> memory;
    const void* const weights = on_host(m, memory);
    kq::check(kq::dispatch(m.encoding, [&]<class Encoding>() {
        using activation = typename Encoding::activation;
        const int64_t count = m.k / Encoding::elements;
        std::vector<typename activation::block> blocks;
        for (int64_t b = 0; b < m.k / activation::elements; ++b) {
            blocks.push_back(kq::quantize_block<activation>(x.data() + b * activation::elements));
        }
        const auto* const rows = static_cast<const typename Encoding::block*>(weights);
        kq::reference::matmul<Encoding>(rows + expert * m.n * count, blocks.data(), m.n, 1, count,
                                        y.data());
    }));
    return y;
}

/// What a block, or an expert of it, adds to x.
std::vector<double> feed_forward(const block& b, int64_t expert, const std::vector<float>& x) {
    const auto gate = product(b.gate, expert, x);
    const auto up = product(b.up, expert, x);
    std::vector<float> inner(gate.size());
    for (size_t i = 0; i < inner.size(); ++i) {
        inner[i] = static_cast<float>(gate[i] / (1 + std::exp(-gate[i])) * up[i]);
    }
    return product(b.down, expert, inner);
}

/// What a step should give.
std::vector<double> expected(const block& b, const decode_step::token& t) {
    std::vector<double> y(t.x.begin(), t.x.end());
    for (size_t slot = 0; slot < static_cast<size_t>(b.slots()); ++slot) {
        const auto added = feed_forward(b, b.is_dense() ? 0 : t.ids[slot], t.x);
        for (size_t i = 0; i < y.size(); ++i) {
            y[i] += added[i] * (b.is_dense() ? 1 : t.term_weights[slot]);
        }
    }
    return y;
}

void add(gguf::writer& out, const std::string& name, const matrix& m) {
    std::vector<std::byte> memory;
    const auto* const bytes = static_cast<const std::byte*>(on_host(m, memory));
    std::vector<std::uint64_t> dimensions{static_cast<std::uint64_t>(m.k),
                                          static_cast<std::uint64_t>(m.n)};
    if (m.experts > 1) {
        dimensions.push_back(static_cast<std::uint64_t>(m.experts));
    }
    out.add_tensor(name, dimensions, static_cast<std::uint32_t>(m.encoding), {bytes, m.bytes()});
}

/// A model whose block 2 is dense and of experts, so many of which serve a token by its metadata.
std::vector<std::byte> make_model(std::optional<std::uint32_t> stated_top_k = {}) {
    gguf::writer out;
    if (stated_top_k) {
        out.add_string("general.architecture", "some");
        out.add_u32("some.expert_used_count", *stated_top_k);
    }
    for (const block& b : make_blocks()) {
        const std::string suffix = b.is_dense() ? ".weight" : "_exps.weight";
        add(out, "blk.2.ffn_gate" + suffix, b.gate);
        add(out, "blk.2.ffn_up" + suffix, b.up);
        add(out, "blk.2.ffn_down" + suffix, b.down);
    }
    return out.finish();
}

/// The refusal of a model with these matrices of one dense block.
std::string refusal(const matrix& gate, const matrix& up, const matrix& down) {
    gguf::writer out;
    add(out, "blk.0.ffn_gate.weight", gate);
    add(out, "blk.0.ffn_up.weight", up);
    add(out, "blk.0.ffn_down.weight", down);
    const gguf::file model = gguf::file::own(out.finish());
    try {
        decode_step::blocks_of(model, 0, top_k);
    } catch (const kq::argument_error& e) {
        return e.what();
    }
    return "";
}

void require_refusal(const std::string& arguments, const std::vector<std::string>& words) {
    program::require_refusal(KQ_PROGRAM, arguments, words);
}

} // namespace

TEST_CASE("a step on the host is what the reference makes of its formula, within NMSE 1e-6") {
    for (const block& b : make_blocks()) {
        INFO(b.name);
        const auto t = decode_step::make_token(b, 1);
        const auto y = decode_step::step_on_host(b, t);
        const auto should = expected(b, t);
        CHECK(samples::nmse(y, should) <= 1e-6);
        // What the block adds to x is not lost in x.
        CHECK(samples::nmse(t.x, should) >= 1e-3);
    }
}

TEST_CASE("a token's weights of experts differ and add up to one, and its experts differ") {
    const block b = make_blocks()[1];
    const auto t = decode_step::make_token(b, 1);
    REQUIRE(t.ids.size() == 5);
    REQUIRE(t.term_weights.size() == top_k);
    CHECK(t.term_weights[0] + t.term_weights[1] + t.term_weights[2] == Approx(1));
    CHECK(t.term_weights[0] != t.term_weights[1]);
    auto ids = t.ids;
    std::ranges::sort(ids);
    CHECK(ids == std::vector<std::int32_t>{0, 1, 2, 3, 4});
}

TEST_CASE("a model's blocks give the bits of the same weights made as noise") {
    const gguf::file model = gguf::file::own(make_model());
    const auto stored = decode_step::blocks_of(model, 2, top_k);
    const auto made = make_blocks();
    REQUIRE(stored.size() == 2);
    for (size_t i = 0; i < 2; ++i) {
        CHECK(stored[i].bytes_read() == made[i].bytes_read());
        const auto t = decode_step::make_token(made[i], 1);
        CHECK(decode_step::step_on_host(stored[i], t) == decode_step::step_on_host(made[i], t));
    }
}

TEST_CASE("a token has as many experts as is asked for, else as the model states, else 8") {
    const auto top_k_of = [](const gguf::file& model, std::optional<int64_t> chosen) {
        return decode_step::blocks_of(model, 2, chosen)[1].top_k;
    };
    const gguf::file model = gguf::file::own(make_model(4));
    CHECK(top_k_of(model, std::nullopt) == 4);
    CHECK(top_k_of(model, 2) == 2);
    const gguf::file silent = gguf::file::own(make_model());
    CHECK_THROWS_WITH(top_k_of(silent, std::nullopt), Contains("8 must be at most the 5 experts"));
    const gguf::file none = gguf::file::own(make_model(0));
    CHECK_THROWS_WITH(top_k_of(none, std::nullopt),
                      Contains("some.expert_used_count") && Contains("is 0"));
    CHECK(top_k_of(none, 3) == 3);
}

TEST_CASE("a step reads the weights of a token's experts only") {
    const auto blocks = make_blocks();
    // 768 x 512 twice in q4_k, 512 x 768 in q6_k; 256 x 512 and 512 x 256 of three experts.
    CHECK(blocks[0].bytes_read() == 768 * 2 * (2 * 144) + 512 * 3 * 210);
    CHECK(blocks[1].bytes_read() == 3 * (256 * 2 * (2 * 144) + 512 * 1 * 210));
}

TEST_CASE("matrices that make no block are refused by name") {
    const auto blocks = make_blocks();
    const block& b = blocks[0];
    CHECK(refusal(b.gate, b.up, b.down).empty());
    CHECK_THAT(refusal(b.gate, b.down, b.down), Contains("gate and up must have one encoding"));
    CHECK_THAT(refusal(b.gate, b.up, b.gate), Contains("down must have the rows of the gate"));
    CHECK_THAT(refusal(b.gate, b.up, blocks[1].down),
               Contains("blk.0.ffn_down.weight") && Contains("must have two dimensions"));
    const gguf::file model = gguf::file::own(make_model());
    CHECK_THROWS_WITH(decode_step::blocks_of(model, 0, top_k),
                      Contains("--block") && Contains("blk.0.ffn_gate.weight"));
    CHECK_THROWS_WITH(decode_step::blocks_of(model, 2, 6),
                      Contains("--top-k") && Contains("at most the 5 experts"));
}

TEST_CASE("a matrix of an unknown type or without elements is refused by name") {
    const auto refusal_of = [](std::vector<std::uint64_t> dimensions, std::uint32_t type) {
        gguf::writer out;
        const std::vector<std::byte> bytes(dimensions[1] == 0 ? 0 : 144);
        out.add_tensor("blk.0.ffn_gate.weight", dimensions, type, bytes);
        try {
            decode_step::blocks_of(gguf::file::own(out.finish()), 0, top_k);
        } catch (const kq::argument_error& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    CHECK(refusal_of({256, 1}, 139) ==
          "tensor \"blk.0.ffn_gate.weight\": type 139 is not an encoding that kq multiplies");
    CHECK(refusal_of({256, 0}, 12) == "tensor \"blk.0.ffn_gate.weight\": holds no elements");
}

TEST_CASE("decode_step refuses arguments by name") {
    require_refusal("--hidden 0", {"--hidden", "not in range 1 to"});
    require_refusal("--hidden 300", {"--hidden", "multiple of 256", "q4_k"});
    require_refusal("--inner 48 --down-encoding q8_0", {"--inner", "multiple of 32", "q8_0"});
    require_refusal("--experts 4 --top-k 5", {"--top-k", "at most the 4 experts"});
    require_refusal("--encoding f16", {"--encoding", "must be one of", "iq3_xxs"});
    require_refusal("--block 1", {"--block requires model"});
    require_refusal("no.gguf --hidden 256", {"excludes"});
    require_refusal("no.gguf", {"no.gguf", "cannot be opened"});
}

TEST_CASE("decode_step checks a model and noise, on the GPU or by the host model") {
    const auto path = std::filesystem::temp_directory_path() /
                      ("kq_decode_step_" + std::to_string(::getpid()) + ".gguf");
    const auto model = make_model();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(model.data()),
               static_cast<std::streamsize>(model.size()));
    std::string arguments = "'";
    arguments += path.string();
    arguments += "' --block 2 --top-k 3 --check";
    const auto of_model = program::run(KQ_PROGRAM, arguments);
    std::filesystem::remove(path);
    INFO(of_model.text);
    CHECK(of_model.code == 0);
    CHECK_THAT(of_model.text, Contains("blk.2: ") && Contains("blk.2 experts: "));
    const auto of_noise = program::run(KQ_PROGRAM, "--check --encoding q8_0");
    INFO(of_noise.text);
    CHECK(of_noise.code == 0);
    CHECK_THAT(of_noise.text, Contains("host model") || Contains("NMSE"));
}

TEST_CASE("decode_step fails when its output cannot be written") {
    program::require_lost_output(KQ_PROGRAM, "--help");
    program::require_lost_output(KQ_PROGRAM, "--check");
}

TEST_CASE("decode_step says that memory, or the device's, does not suffice") {
    const auto ran = program::run("/bin/sh", "-c 'ulimit -v 16000000; exec \"" KQ_PROGRAM
                                             "\" --hidden 1048576 --inner 1048576'");
    INFO(ran.text);
    CHECK(ran.code == 2);
    CHECK_THAT(ran.text, Contains("decode_step: memory: there is not enough") ||
                             Contains("decode_step: device: "));
}

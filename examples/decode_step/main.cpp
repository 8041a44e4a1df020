// SPDX-License-Identifier: Apache-2.0

// The feed-forward blocks of a decode step, as an inference engine would launch them: see
// README.md.

#include "common/nmse.hpp"
#include "common/program.hpp"
#include "gpu_block.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace decode_step {
namespace {

constexpr double most_nmse = 1e-6;

/// Sizes of synthetic blocks: as in models of today, and small enough for the host model.
constexpr synthetic large{.hidden = 4096, .inner = 14336, .experts = 128, .expert_inner = 1536};
constexpr synthetic small{.hidden = 512, .inner = 1024, .experts = 16, .expert_inner = 512};

constexpr auto description =
    "Times a transformer's feed-forward blocks for one token: gate and up fused with silu, the "
    "down\n"
    "projection, the residual; dense and with a mixture of experts. The weights are a model's or\n"
    "noise. Without a GPU the host model runs once.";

constexpr auto notes = "The steps of a CUDA graph rotate over copies of the weights and over "
                       "experts, so that at least\n"
                       "three times the L2 cache passes before weights are read again; where 2048 "
                       "copies, or those that\n"
                       "half of the free memory holds, are less, the time is marked warm. It is "
                       "the median of 15 replays\n"
                       "after 3, quantizers included. GB/s counts the weights that a step reads.\n"
                       "Exit codes: 0 success, 1 a check failed, 2 bad input or a failing device.";

struct options {
    std::optional<std::string> model;
    std::int64_t block = 0;
    std::optional<std::int64_t> top_k;
    std::optional<std::int64_t> hidden, inner, experts, expert_inner;
    kq::encoding encoding = kq::encoding::q4_k;
    std::optional<kq::encoding> down_encoding;
    std::int64_t seed = 1;
    bool check = false;
};

synthetic sizes_of(const options& chosen, bool on_host) {
    const synthetic sizes = chosen.check || on_host ? small : large;
    return {.hidden = chosen.hidden.value_or(sizes.hidden),
            .inner = chosen.inner.value_or(sizes.inner),
            .experts = chosen.experts.value_or(sizes.experts),
            .expert_inner = chosen.expert_inner.value_or(sizes.expert_inner),
            .encoding = chosen.encoding,
            .down_encoding = chosen.down_encoding.value_or(chosen.encoding)};
}

/// One way to launch the kernels of a step.
struct way {
    const char* name;
    kq::launch_options options;
    bool for_experts;
};
constexpr way ways[] = {
    {"plain", {}, true},
    {"dependent", {.dependent = true}, true},
    // Experts' weights are chosen by ids that a kernel may just have written.
    {"dependent, early weights", {.dependent = true, .early_weights = true}, false},
};

void print_block(const block& b) {
    std::printf("%s: hidden %lld, inner %lld, ", b.name.c_str(), static_cast<long long>(b.hidden()),
                static_cast<long long>(b.inner()));
    if (!b.is_dense()) {
        std::printf("%lld of %lld experts, ", static_cast<long long>(b.top_k),
                    static_cast<long long>(b.gate.experts));
    }
    std::printf("gate and up %s, down %s, %.1f MB a step\n", kq::name_of(b.gate.encoding),
                kq::name_of(b.down.encoding), static_cast<double>(b.bytes_read()) / 1e6);
}

/// Times a block in every way. Returns whether all checks passed.
bool run_on_gpu(const block& b, const token& t, bool check) {
    std::vector<float> expected;
    if (check) {
        expected = step_on_host(b, t);
    }
    gpu_block on_gpu(b, t);
    bool passed = true;
    for (const way& each : ways) {
        if (!b.is_dense() && !each.for_experts) {
            continue;
        }
        const double seconds = on_gpu.seconds(each.options);
        std::printf("  %-26s %9.2f us a step  %7.1f GB/s %s", each.name, seconds * 1e6,
                    static_cast<double>(b.bytes_read()) / seconds / 1e9,
                    on_gpu.is_cold() ? "cold" : "warm");
        if (check) {
            const double error = common::nmse(on_gpu.output(each.options), expected);
            const bool ok = error <= most_nmse;
            std::printf("  NMSE %.1e %s", error, ok ? "ok" : "FAILED");
            passed = passed && ok;
        }
        std::printf("\n");
    }
    return passed;
}

/// Runs the host model. Returns whether its outputs are numbers.
bool run_on_host(const block& b, const token& t) {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<float> y = step_on_host(b, t);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    const bool finite = std::all_of(y.begin(), y.end(), kq::is_finite);
    std::printf("  host model %.1f ms, weights included, outputs %s\n", time.count() * 1e3,
                finite ? "finite" : "NOT FINITE");
    return finite;
}

int run(const options& chosen) {
    const common::gpu_presence gpus = common::find_gpus();
    std::optional<gguf::file> model;
    std::vector<block> blocks;
    if (chosen.model) {
        model = gguf::file::open(*chosen.model);
        blocks = blocks_of(*model, chosen.block, chosen.top_k);
    } else {
        blocks = synthetic_blocks(sizes_of(chosen, gpus.count == 0),
                                  chosen.top_k.value_or(default_top_k),
                                  static_cast<std::uint64_t>(chosen.seed));
    }
    if (gpus.count > 0) {
        std::printf("device: %s\n", common::device_name().c_str());
    } else {
        std::printf("there is no GPU here (%s): the host model runs once\n", gpus.absence.c_str());
    }
    bool passed = true;
    for (const block& b : blocks) {
        print_block(b);
        const token t = make_token(b, static_cast<std::uint64_t>(chosen.seed));
        passed = (gpus.count > 0 ? run_on_gpu(b, t, chosen.check) : run_on_host(b, t)) && passed;
    }
    return passed ? common::success : common::check_failed;
}

void declare(CLI::App& app, options& chosen) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    constexpr std::int64_t most_size = 1 << 20;
    constexpr std::int64_t most_experts = 1 << 12;
    auto* const model = app.add_option("model", chosen.model, "the GGUF file (noise)");
    model->type_name("MODEL.gguf");
    common::add_number(app, "--block", chosen.block, "the block of the model (0)", 0, most)
        ->needs(model);
    common::add_number(app, "--top-k", chosen.top_k,
                       "experts of a token (as the model says, else 8)", 1, 64);
    const auto add_size = [&](const char* name, std::optional<std::int64_t>& size, const char* text,
                              std::int64_t limit) {
        common::add_number(app, name, size, text, 1, limit)->excludes(model);
    };
    add_size("--hidden", chosen.hidden, "columns of gate and up", most_size);
    add_size("--inner", chosen.inner, "their rows", most_size);
    add_size("--experts", chosen.experts, "experts of the second block", most_experts);
    add_size("--expert-inner", chosen.expert_inner, "rows of an expert's gate and up", most_size);
    common::add_encoding(app, "--encoding", chosen.encoding, "of noise (q4_k)")->excludes(model);
    common::add_encoding(app, "--down-encoding", chosen.down_encoding,
                         "of the down projections (that of --encoding)")
        ->excludes(model);
    common::add_number(app, "--seed", chosen.seed, "of all that is random (1)", 0, most);
    app.add_flag("--check", chosen.check,
                 "compare with the host model, NMSE <= 1e-6; makes the default sizes small")
        ->disable_flag_override();
}

} // namespace
} // namespace decode_step

int main(int argc, char** argv) {
    using namespace decode_step;
    options chosen;
    CLI::App app(description, "decode_step");
    app.footer(notes);
    declare(app, chosen);
    return common::run_program(app, argc, argv, [&] { return run(chosen); });
}

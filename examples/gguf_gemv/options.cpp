// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include "gguf/reader.hpp"
#include "input_error.hpp"
#include "policies.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace gguf_gemv {
namespace {

constexpr auto description =
    "Multiplies the block-quantized tensors of a GGUF model with an activation:\n"
    "output[m, n] = activation[m, k] x weights[n, k]^T. Without a model it makes a small one with\n"
    "every encoding.";

constexpr auto notes =
    "A weight of more than two dimensions is multiplied with its slices stacked.\n"
    "Time on a GPU is that of quantizing the activation and multiplying, with weights that are "
    "not\n"
    "in the L2 cache: a CUDA graph of launches rotates over copies of the weights, so that at\n"
    "least three times the cache's size passes between two uses of a copy, and the median of 15\n"
    "replays after 3 is taken, or of what 2 s allow. A tensor so small that 2048 copies are less\n"
    "than that is marked warm. Time on the host is the median of 3 runs, or of 1 that takes over\n"
    "0.3 s. GB/s counts the weights' bytes.\n"
    "--check compares with the reference on the quantized activation (NMSE <= 1e-6) and, if the\n"
    "activation is generated and 256 outputs or more are compared, with the f64 product of the\n"
    "activation before quantization (NMSE <= 5e-4). Of a tensor with more than 2^22\n"
    "weights times batch it compares a sample of rows, 256 or more, that the seed chooses.\n"
    "Exit codes: 0 success, 1 a check failed (--output is not written), 2 bad input or a failing\n"
    "device.";

constexpr std::pair<std::string_view, device_choice> devices[] = {
    {"auto", device_choice::automatic},
    {"cuda", device_choice::cuda},
    {"host", device_choice::host},
};

template <class Names>
std::string joined(const Names& names) {
    std::string text;
    for (const auto& name : names) {
        text += (text.empty() ? "" : ", ") + std::string(name);
    }
    return text;
}

/// The index of `text` among the names.
template <class Names>
std::size_t index_of(const std::string& field, const std::string& text, const Names& names) {
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) {
        throw input_error(field, gguf::printable(text) + " is not one of " + joined(names));
    }
    return static_cast<std::size_t>(found - names.begin());
}

// CLI11's own conversion wraps negative numbers and saturates large ones.
template <class Number>
Number number_of(const std::string& field, const std::string& text, Number least) {
    Number value{};
    const char* const end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, value);
    if (code != std::errc{} || stop != end || value < least) {
        throw input_error(field, gguf::printable(text) + " is not an integer from " +
                                     std::to_string(least) + " to " +
                                     std::to_string(std::numeric_limits<Number>::max()));
    }
    return value;
}

/// CLI11's words, as a field and a rule.
input_error reworded(const CLI::ParseError& error) {
    const std::string text = error.what();
    const auto colon = text.find(": ");
    if (text.starts_with("--") && colon != std::string::npos) {
        return {text.substr(2, colon - 2), text.substr(colon + 2)};
    }
    return {"options", text};
}

// Everything that only a product needs would be ignored silently.
void require_nothing_beside_list(const CLI::App& app) {
    for (const CLI::Option* const option : app.get_options()) {
        const std::string name = option->get_single_name();
        const bool listed = name == "model" || name == "list" || name == "json" || name == "seed";
        if (!listed && option->count() != 0) {
            throw input_error("list", "cannot be combined with --" + name);
        }
    }
}

} // namespace

options parse_options(int argc, const char* const* argv) {
    std::vector<std::string_view> policy_names;
    std::ranges::transform(known_policies, std::back_inserter(policy_names), &named_policy::name);
    std::vector<std::string_view> device_names;
    std::ranges::transform(devices, std::back_inserter(device_names),
                           &std::pair<std::string_view, device_choice>::first);

    options chosen;
    std::string batch;
    std::string seed = std::to_string(chosen.seed);
    std::string policy{policy_names.front()};
    std::string device{device_names.front()};

    CLI::App app(description, "gguf_gemv");
    app.footer(notes);
    app.allow_extras(); // refused below, in this tool's words
    app.add_option("model", chosen.model, "the GGUF file")->type_name("MODEL.gguf");
    app.add_flag("--list", chosen.list, "list the tensors and whether kq can multiply them")
        ->disable_flag_override();
    app.add_option("--tensor", chosen.tensor, "multiply this tensor only")->type_name("NAME");
    CLI::Option* const batch_option =
        app.add_option("--batch", batch, "rows of activation (1, or as many as its file holds)")
            ->type_name("M");
    app.add_option("--activation", chosen.activation,
                   "little-endian f32, m x k (normally distributed numbers)")
        ->type_name("FILE");
    app.add_option("--seed", seed, "of all that is random (" + seed + ")")->type_name("S");
    app.add_option("--policy", policy, "one of " + joined(policy_names))->type_name("NAME");
    app.add_option("--device", device, "auto takes the GPU if there is one")
        ->type_name("auto|cuda|host");
    app.add_option("--output", chosen.output, "write little-endian f32, m x n")->type_name("FILE");
    app.add_flag("--check", chosen.check, "compare with the reference")->disable_flag_override();
    app.add_flag("--json", chosen.json, "print JSON")->disable_flag_override();

    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        chosen.help = app.help();
        return chosen;
    } catch (const CLI::ParseError& error) {
        throw reworded(error);
    }
    if (const auto extra = app.remaining(); !extra.empty()) {
        throw input_error("argument " + gguf::printable(extra.front()),
                          "is neither an option nor the one model");
    }
    if (batch_option->count() != 0) {
        chosen.batch = number_of<std::int64_t>("batch", batch, 1);
    }
    chosen.seed = number_of<std::uint64_t>("seed", seed, 0);
    chosen.policy = index_of("policy", policy, policy_names);
    chosen.device = devices[index_of("device", device, device_names)].second;
    if (chosen.list) {
        require_nothing_beside_list(app);
    }
    return chosen;
}

} // namespace gguf_gemv

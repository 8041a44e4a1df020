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
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace gguf_gemv {
namespace {

constexpr std::size_t help_width = 80;
constexpr std::size_t help_column = 30; ///< where what an option means begins

constexpr auto description =
    "Multiplies the block-quantized tensors of a GGUF model with an activation: output[m, n] = "
    "activation[m, k] x weights[n, k]^T. Without a model it makes a small one with every encoding.";

constexpr const char* notes[] = {
    "Any file of a split model opens all of it. Tensors that kq cannot multiply are skipped.",
    "A weight of more than two dimensions is multiplied with its slices stacked. With --ids or "
    "--experts the slices of one of three dimensions are experts: row i of the activation meets "
    "the expert of the i-th id, and gives zeros if there is none. With --gate and --up, or with "
    "--gate-up, the output is silu(gate) * up of two products. A product is multiplied with the "
    "f32 tensor NAME.scale beside NAME.weight, one number or one for each slice, and says so.",
    "Time on a GPU is that of quantizing the activation and multiplying, with weights that are "
    "not in the L2 cache: a CUDA graph of launches rotates over copies of the weights, so that at "
    "least three times the cache's size passes between two uses of a copy, and the median of 15 "
    "replays after 3 is taken, or of what 2 s allow. Where 2048 copies, or those that half of the "
    "free memory holds, are less than that, the time is marked warm. Time on the host is the "
    "median of 3 runs, or of 1 that takes over 0.3 s. GB/s counts the bytes of the weights used, "
    "those of an expert once. The total is the sum over all tensors.",
    "--check compares with the reference on the quantized activation (NMSE <= 1e-6) and, if the "
    "activation is generated and 256 outputs or more are compared, with the f64 product of the "
    "activation before quantization (NMSE <= 5e-4; not with --gate). Of a tensor with more than "
    "2^22 weights times batch it compares a sample of rows, 256 or more, chosen by the seed. "
    "Where the reference is not finite, as after a NaN in the activation, the product must be the "
    "same, and is counted.",
    "Exit codes: 0 success, 1 a check failed (--output is not written), 2 bad input or a failing "
    "device.",
};

/// The text in lines of at most `width` bytes, broken at spaces.
std::string wrapped(const std::string& text, std::size_t width) {
    std::istringstream words(text);
    std::string lines;
    std::size_t used = 0;
    for (std::string word; words >> word;) {
        const bool fits = used != 0 && used + 1 + word.size() <= width;
        lines += (used == 0 ? "" : fits ? " " : "\n") + word;
        used = fits ? used + 1 + word.size() : word.size();
    }
    return lines;
}

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

/// What CLI11 refuses, as a field and a rule.
input_error reworded(const CLI::ParseError& error) {
    // CLI11's own words, about types and counts, mean little to a reader.
    constexpr std::pair<std::string_view, const char*> rules[] = {
        {"missing", "needs a value"},
        {"At Most", "must be given once at most"},
        {"flag override", "takes no value"},
    };
    const std::string text = error.what();
    const std::size_t first = text.starts_with("--") ? 2 : 0;
    const std::size_t last = std::min(text.find_first_of(": "), text.size());
    for (const auto& [theirs, rule] : rules) {
        if (text.find(theirs, last) != std::string::npos) {
            return {text.substr(first, last - first), rule};
        }
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

/// Numbers separated by commas.
std::vector<std::int32_t> ids_of(const std::string& text) {
    std::vector<std::int32_t> ids;
    for (std::size_t first = 0; first <= text.size();) {
        const std::size_t last = std::min(text.find(',', first), text.size());
        ids.push_back(number_of("ids", text.substr(first, last - first),
                                std::numeric_limits<std::int32_t>::min()));
        first = last + 1;
    }
    return ids;
}

/// Refuses options that ask for more than one product, or for one that is not compiled.
void require_one_product(const CLI::App& app, const options& chosen) {
    const auto refuse_beside = [&](const std::string& field, const std::string& other) {
        if (app.get_option("--" + other)->count() != 0) {
            throw input_error(field, "cannot be combined with --" + other);
        }
    };
    const selection& wanted = chosen.weights;
    if (wanted.gate.has_value() != wanted.up.has_value()) {
        throw input_error(wanted.gate ? "gate" : "up",
                          wanted.gate ? "needs --up too" : "needs --gate too");
    }
    if (wanted.gate) {
        refuse_beside("gate", "tensor");
        refuse_beside("gate", "gate-up");
    }
    if (wanted.gate_up) {
        refuse_beside("gate-up", "tensor");
    }
    const std::string experts = chosen.ids.empty() ? "experts" : "ids";
    if (wanted.experts) {
        refuse_beside(experts, "batch");
        if (!wanted.is_named()) {
            throw input_error(experts, "needs --tensor, --gate-up, or --gate and --up");
        }
    }
    const bool gated = wanted.gate || wanted.gate_up;
    if (chosen.policy != 0 && (gated || wanted.experts)) {
        throw input_error("policy", policy_name(known_policies[chosen.policy]) +
                                        " cannot be combined with --" +
                                        (wanted.gate      ? "gate"
                                         : wanted.gate_up ? "gate-up"
                                                          : experts) +
                                        ", only " + policy_name(known_policies.front()) + " can");
    }
}

} // namespace

options parse_options(int argc, const char* const* argv) {
    std::vector<std::string> policy_names;
    std::ranges::transform(known_policies, std::back_inserter(policy_names), policy_name);
    std::vector<std::string_view> device_names;
    std::ranges::transform(devices, std::back_inserter(device_names),
                           &std::pair<std::string_view, device_choice>::first);

    options chosen;
    std::string batch;
    std::string seed = std::to_string(chosen.seed);
    std::string ids;
    std::string policy = policy_names.front();
    std::string device{device_names.front()};

    CLI::App app(wrapped(description, help_width), "gguf_gemv");
    std::string footer;
    for (const auto* const note : notes) {
        footer += (footer.empty() ? "" : "\n") + wrapped(note, help_width);
    }
    app.footer(footer);
    app.set_help_flag("-h,--help", "print this");
    app.get_formatter()->column_width(help_column);
    app.allow_extras(); // refused below, in this tool's words
    app.add_option("model", chosen.model, "the GGUF file")->type_name("MODEL.gguf");
    app.add_flag("--list", chosen.list, "list the tensors and whether kq can multiply them")
        ->disable_flag_override();
    app.add_option("--tensor", chosen.weights.tensor,
                   "multiply this tensor only, or those that match a glob such as 'blk.0.*'")
        ->type_name("NAME");
    app.add_option("--gate", chosen.weights.gate, "multiply this gate and its up, fused by silu")
        ->type_name("NAME");
    app.add_option("--up", chosen.weights.up, "of the gate's encoding and shape")
        ->type_name("NAME");
    app.add_option("--gate-up", chosen.weights.gate_up,
                   "both in one tensor, such as ffn_gate_up_exps: of each expert first the rows of "
                   "the gate")
        ->type_name("NAME");
    app.add_flag("--experts", chosen.weights.experts, "slices are experts")
        ->disable_flag_override();
    CLI::Option* const ids_option =
        app.add_option("--ids", ids, "the expert of each row (the first 8); implies --experts")
            ->type_name("I,J,...");
    CLI::Option* const batch_option =
        app.add_option("--batch", batch, "rows of activation (1, or as many as its file holds)")
            ->type_name("M");
    app.add_option("--activation", chosen.activation,
                   "little-endian f32, m x k (normally distributed numbers)")
        ->type_name("FILE");
    app.add_option("--seed", seed, "of all that is random (" + seed + ")")->type_name("S");
    app.add_option("--policy", policy, "one of " + joined(policy_names))->type_name("NAME");
    app.add_option("--device", device, "auto takes the GPU if there is one that it has code for")
        ->type_name("auto|cuda|host");
    app.add_option("--output", chosen.output,
                   "write little-endian f32, m x n, to a file; not to standard output, which has "
                   "the report")
        ->type_name("FILE");
    app.add_flag("--check", chosen.check, "compare with the reference")->disable_flag_override();
    app.add_flag("--json", chosen.json, "print JSON")->disable_flag_override();
    for (CLI::Option* const option : app.get_options()) {
        option->description(wrapped(option->get_description(), help_width - help_column));
    }

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
    if (policy == "multi_row<2>") {
        policy = policy_name(kq::policies::multi_row<2>); // another name of warp
    }
    chosen.policy = index_of("policy", policy, policy_names);
    chosen.device = devices[index_of("device", device, device_names)].second;
    if (ids_option->count() != 0) {
        chosen.ids = ids_of(ids);
        chosen.weights.experts = true;
    }
    if (chosen.output == "-") {
        throw input_error("output",
                          "must be a file, standard output has the report; ./- is a file");
    }
    if (chosen.list) {
        require_nothing_beside_list(app);
    }
    require_one_product(app, chosen);
    return chosen;
}

} // namespace gguf_gemv

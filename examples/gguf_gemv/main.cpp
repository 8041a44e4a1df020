// SPDX-License-Identifier: Apache-2.0
#include "activation.hpp"
#include "common/ending.hpp"
#include "input_error.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "progress.hpp"
#include "report.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace gguf_gemv {
namespace {

using common::check_failed;
using common::success;

gguf::file open_model(const options& chosen) {
    try {
        return chosen.model ? gguf::file::open(*chosen.model) : synthetic_model(chosen.seed);
    } catch (const gguf::error& error) {
        throw input_error("model", error.what());
    }
}

/// A tensor's bytes where kq can read them: a file may align them to as little as a byte.
class aligned_bytes {
public:
    explicit aligned_bytes(std::span<const std::byte> bytes) : data_(bytes.data()) {
        static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= alignment);
        if (reinterpret_cast<std::uintptr_t>(data_) % alignment != 0) {
            copy_.assign(bytes.begin(), bytes.end());
            data_ = copy_.data();
        }
    }
    aligned_bytes(const aligned_bytes&) = delete;
    aligned_bytes& operator=(const aligned_bytes&) = delete;

    const std::byte* data() const { return data_; }

private:
    static constexpr std::size_t alignment = 16; ///< the most that an encoding needs

    std::vector<std::byte> copy_;
    const std::byte* data_;
};

void require_other_file(const options& chosen, std::vector<std::filesystem::path> inputs) {
    if (chosen.activation) {
        inputs.emplace_back(*chosen.activation);
    }
    for (const auto& input : inputs) {
        std::error_code ignored;
        if (std::filesystem::equivalent(input, *chosen.output, ignored)) {
            throw input_error("output",
                              "file " + gguf::printable(*chosen.output) + " is an input too");
        }
    }
}

std::optional<output_file> open_output(const options& chosen, const gguf::file& model,
                                       std::size_t tensors) {
    if (!chosen.output) {
        return std::nullopt;
    }
    if (tensors != 1) {
        throw input_error("output", "holds the product of one tensor, but there are " +
                                        std::to_string(tensors) + ": choose with --tensor");
    }
    require_other_file(chosen, model.paths());
    return std::optional<output_file>(std::in_place, *chosen.output);
}

void print(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    common::require_output();
}

/// The experts to use: as asked for, or the first ones.
std::vector<std::int32_t> ids_for(const weight& w, const options& chosen) {
    constexpr std::int64_t most = 8;
    if (!chosen.weights.experts || !chosen.ids.empty()) {
        return chosen.ids;
    }
    std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min(w.experts, most)));
    std::iota(ids.begin(), ids.end(), 0);
    return ids;
}

int run(const options& chosen) {
    const gguf::file model = open_model(chosen);
    const auto& files = model.paths();
    const std::string model_name = files.empty() ? "synthetic" : files.front().string();
    if (chosen.list) {
        print(chosen.json ? json_list_of(model, model_name) : text_list_of(model));
        return success;
    }
    const choice chosen_tensors = choose_weights(model, chosen.weights);
    const auto& weights = chosen_tensors.weights;
    activation numbers(chosen.activation, chosen.seed);
    // Every refusal comes before the first product.
    std::vector<std::vector<std::int32_t>> ids;
    std::vector<std::int64_t> batches;
    for (const weight& w : weights) {
        ids.push_back(ids_for(w, chosen));
        batches.push_back(numbers.rows_for(
            w, ids.back().empty() ? chosen.batch : std::optional(std::ssize(ids.back()))));
    }
    auto output = open_output(chosen, model, weights.size());

    report all{model_name,
               std::max(files.size(), std::size_t{1}),
               choose_device(chosen.device),
               chosen_tensors.skipped,
               {}};
    if (!chosen.json) {
        print(text_head(all));
    }
    const std::size_t width = name_width(weights);
    progress shown(weights.size());
    product_result result;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const weight& w = weights[i];
        const std::int64_t m = batches[i];
        shown.show(i, names_of(w));
        const aligned_bytes blocks(w.tensor->bytes);
        const aligned_bytes up_blocks(w.up != nullptr ? w.up->bytes : std::span<const std::byte>());
        const std::size_t half = w.tensor->bytes.size() / static_cast<std::size_t>(w.experts) / 2;
        const auto scales = scales_of(w, w.scale);
        const auto up_scales = scales_of(w, w.up_scale);
        const product p{w.encoding,
                        blocks.data(),
                        w.is_merged ? blocks.data() + half : up_blocks.data(),
                        w.tensor->bytes.size(),
                        numbers.numbers(m * w.k),
                        w.n,
                        w.k,
                        m,
                        w.experts,
                        ids[i],
                        w.is_merged,
                        scales,
                        up_scales};
        result = all.where.is_gpu ? multiply_on_gpu(p, chosen.policy) : multiply_on_host(p);
        outcome o{w,           m,           ids[i],      p.bytes_read(), result.seconds,
                  result.cold, result.plan, std::nullopt};
        if (chosen.check) {
            o.check = check_product(p, result.output, numbers.is_generated(), chosen.seed);
        }
        all.outcomes.push_back(o);
        shown.clear();
        if (!chosen.json) {
            print(text_line(o, all, width));
        }
    }
    const bool failed = std::ranges::any_of(all.outcomes, &outcome::failed);
    if (output && !failed) {
        output->finish(result.output);
    }
    print(chosen.json ? json_of(all) : text_summary(all));
    return failed ? check_failed : success;
}

} // namespace
} // namespace gguf_gemv

int main(int argc, char** argv) {
    using namespace gguf_gemv;
    try {
        const options chosen = parse_options(argc, argv);
        if (chosen.help) {
            print(*chosen.help);
            return success;
        }
        return run(chosen);
    } catch (const std::exception&) {
        return common::refuse("gguf_gemv");
    }
}

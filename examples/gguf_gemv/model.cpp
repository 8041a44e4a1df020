// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include "gguf/writer.hpp"
#include "input_error.hpp"

#include <kq/core/check.hpp>
#include <kq/dot/all.hpp>
#include <kq/gemv/dispatch.hpp>
#include <kq/gemv/plan/product.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <span>
#include <string_view>
#include <utility>

#include <fnmatch.h>

namespace gguf_gemv {
namespace {

constexpr std::size_t most_dimensions = 4; ///< as many as ggml has

/// A scale of sane size: f16 bits of a number from 2^-8 up to 2^-6.
kq::f16 random_scale(std::mt19937_64& random) {
    return {static_cast<std::uint16_t>(0x1c00 + random() % 0x0800)};
}

/// Blocks of random bytes, every one of which means something in every encoding but the scales.
template <class Encoding>
std::vector<typename Encoding::block> random_blocks(std::size_t count, std::mt19937_64& random) {
    std::vector<typename Encoding::block> blocks(count);
    for (std::byte& byte : std::as_writable_bytes(std::span(blocks))) {
        byte = static_cast<std::byte>(random());
    }
    for (auto& block : blocks) {
        if constexpr (requires { block.d = random_scale(random); }) {
            block.d = random_scale(random);
        }
        if constexpr (requires { block.set_d(random_scale(random)); }) {
            block.set_d(random_scale(random));
        }
        if constexpr (requires { block.dmin; }) {
            block.dmin = random_scale(random);
        }
        if constexpr (requires { block.m; }) {
            block.m = random_scale(random);
        }
        if constexpr (requires { block.e; }) {
            block.e = static_cast<std::uint8_t>(120 + random() % 2); // 2^-8 or 2^-7, as d
        }
    }
    return blocks;
}

template <class Encoding>
void add_weight(gguf::writer& out, const std::string& name, std::vector<std::uint64_t> dimensions,
                std::mt19937_64& random) {
    const auto elements = std::accumulate(dimensions.begin(), dimensions.end(), std::uint64_t{1},
                                          std::multiplies<>());
    const auto blocks = random_blocks<Encoding>(elements / Encoding::elements, random);
    out.add_tensor(name, std::move(dimensions), static_cast<std::uint32_t>(Encoding::id),
                   std::as_bytes(std::span(blocks)));
}

template <class... Encodings>
void add_weights(gguf::writer& out, std::mt19937_64& random, kq::type_list<Encodings...>) {
    (add_weight<Encodings>(out, std::string(kq::name_of(Encodings::id)) + ".weight", {2048, 512},
                           random),
     ...);
}

weight weight_of(const gguf::tensor& tensor) {
    const auto& sizes = tensor.dimensions;
    const auto rows =
        std::accumulate(sizes.begin() + 1, sizes.end(), std::uint64_t{1}, std::multiplies<>());
    return {&tensor,
            nullptr,
            static_cast<kq::encoding>(tensor.type),
            static_cast<std::int64_t>(rows),
            static_cast<std::int64_t>(sizes.front()),
            1};
}

/// The tensor of that name, or whose name is printed like that; or a null pointer.
const gguf::tensor* find_printed(const gguf::file& model, const std::string& name) {
    if (const gguf::tensor* const found = model.find(name)) {
        return found;
    }
    const auto found = std::ranges::find(model.tensors(), '"' + name + '"', [](const auto& tensor) {
        return gguf::printable(tensor.name);
    });
    return found != model.tensors().end() ? &*found : nullptr;
}

/// The tensor that an option names. Throws input_error if kq cannot multiply it.
const gguf::tensor& find_tensor(const gguf::file& model, const char* field,
                                const std::string& name) {
    if (const gguf::tensor* const found = find_printed(model, name)) {
        if (const auto obstacle = obstacle_of(*found)) {
            throw input_error(field, gguf::printable(found->name) +
                                         " cannot be multiplied: " + obstacle->reason);
        }
        return *found;
    }
    std::string near;
    for (const auto& other : model.near_names(name, 3)) {
        near += (near.empty() ? "; near names are " : ", ") + gguf::printable(other);
    }
    throw input_error(field, gguf::printable(name) + " is not in the model" + near);
}

const gguf::tensor& up_of(const gguf::file& model, const gguf::tensor& gate,
                          const std::string& name) {
    const gguf::tensor& up = find_tensor(model, "up", name);
    if (up.type != gate.type || up.dimensions != gate.dimensions) {
        const auto text = [](const gguf::tensor& tensor) {
            return gguf::printable(tensor.name) + " is " + gguf::type_name(tensor.type) + " " +
                   shape_of(tensor);
        };
        throw input_error("up", text(up) + ", but the gate " + text(gate) +
                                    ": encoding and shape must be equal");
    }
    return up;
}

/// A tensor as gate and up, of which the first half of the rows of each slice is gate.
weight merged_of(const gguf::tensor& tensor) {
    weight w = weight_of(tensor);
    if (tensor.dimensions.size() < 2 || tensor.dimensions[1] % 2 != 0) {
        throw input_error("gate-up", gguf::printable(tensor.name) + " of shape " +
                                         shape_of(tensor) +
                                         " has no halves: its rows are not even");
    }
    w.n /= 2;
    w.is_merged = true;
    return w;
}

/// The tensor `NAME.scale` beside `NAME.weight`, or a null pointer.
const gguf::tensor* scale_of(const gguf::file& model, const gguf::tensor& tensor) {
    constexpr std::string_view suffix = ".weight";
    std::string name = tensor.name;
    if (name.ends_with(suffix)) {
        name.resize(name.size() - suffix.size());
    }
    const gguf::tensor* const scale = model.find(name + ".scale");
    if (scale == nullptr) {
        return nullptr;
    }
    constexpr std::uint32_t f32 = 0;
    const auto& sizes = tensor.dimensions;
    const std::uint64_t slices =
        std::accumulate(sizes.begin() + (sizes.size() < 2 ? 1 : 2), sizes.end(), std::uint64_t{1},
                        std::multiplies<>());
    const std::size_t count = scale->bytes.size() / sizeof(float);
    if (scale->type != f32 || (count != 1 && count != slices)) {
        throw input_error(
            "scale", gguf::printable(scale->name) + " is " + gguf::type_name(scale->type) + " " +
                         shape_of(*scale) + ": it must be f32, one or as many as " +
                         gguf::printable(tensor.name) + " has slices, " + std::to_string(slices));
    }
    return scale;
}

weight with_scales(const gguf::file& model, weight w) {
    w.scale = scale_of(model, *w.tensor);
    w.up_scale = w.is_merged ? w.scale : w.up != nullptr ? scale_of(model, *w.up) : nullptr;
    return w;
}

/// A weight whose slices are experts.
weight with_experts(weight w) {
    const gguf::tensor& tensor = *w.tensor;
    if (tensor.dimensions.size() != 3) {
        throw input_error("experts", gguf::printable(tensor.name) + " of shape " +
                                         shape_of(tensor) +
                                         " has no experts: it must have three dimensions");
    }
    w.n = static_cast<std::int64_t>(tensor.dimensions[1]) / (w.is_merged ? 2 : 1);
    w.experts = static_cast<std::int64_t>(tensor.dimensions[2]);
    return w;
}

obstacle_counts counts_of(const std::map<std::string, std::int64_t>& by_kind) {
    obstacle_counts counts(by_kind.begin(), by_kind.end());
    std::ranges::stable_sort(counts, std::ranges::greater(), &obstacle_counts::value_type::second);
    return counts;
}

/// Those of a model's tensors that match a glob, if there is one.
choice choose_matching(const gguf::file& model, const std::optional<std::string>& glob) {
    choice chosen;
    std::map<std::string, std::int64_t> skipped;
    for (const auto& tensor : model.tensors()) {
        if (glob && ::fnmatch(glob->c_str(), tensor.name.c_str(), 0) != 0) {
            continue;
        }
        if (const auto found = obstacle_of(tensor)) {
            ++skipped[found->kind];
        } else {
            chosen.weights.push_back(weight_of(tensor));
        }
    }
    chosen.skipped = counts_of(skipped);
    return chosen;
}

/// Whether a name that no tensor has is a glob that matches some.
bool is_glob(const gguf::file& model, const std::string& name) {
    return find_printed(model, name) == nullptr &&
           std::ranges::any_of(model.tensors(), [&](const gguf::tensor& tensor) {
               return ::fnmatch(name.c_str(), tensor.name.c_str(), 0) == 0;
           });
}

/// As wanted, but for the experts.
choice choose_tensors(const gguf::file& model, const selection& wanted) {
    if (wanted.gate_up) {
        const weight chosen = merged_of(find_tensor(model, "gate-up", *wanted.gate_up));
        if (!wanted.experts && chosen.tensor->dimensions.size() > 2) {
            throw input_error("gate-up", gguf::printable(chosen.tensor->name) + " of shape " +
                                             shape_of(*chosen.tensor) +
                                             " has experts: it needs --experts or --ids");
        }
        return {{chosen}, {}};
    }
    if (wanted.gate) {
        weight chosen = weight_of(find_tensor(model, "gate", *wanted.gate));
        chosen.up = &up_of(model, *chosen.tensor, *wanted.up);
        return {{chosen}, {}};
    }
    if (wanted.tensor && !is_glob(model, *wanted.tensor)) {
        return {{weight_of(find_tensor(model, "tensor", *wanted.tensor))}, {}};
    }
    choice chosen = choose_matching(model, wanted.tensor);
    if (chosen.weights.empty() && wanted.tensor) {
        throw input_error("tensor", gguf::printable(*wanted.tensor) +
                                        " matches no tensor that kq multiplies, but " +
                                        text_of(chosen.skipped));
    }
    if (chosen.weights.empty()) {
        throw input_error("model",
                          "holds no tensor that kq multiplies" +
                              (chosen.skipped.empty() ? "" : ", but " + text_of(chosen.skipped)) +
                              "; --list says why");
    }
    return chosen;
}

} // namespace

gguf::file synthetic_model(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    gguf::writer out;
    out.add_string("general.name", "synthetic");
    add_weights(out, random, kq::encodings{});
    add_weight<kq::q4_k>(out, "experts.weight", {1024, 64, 4}, random);
    add_weight<kq::q4_k>(out, "experts.up.weight", {1024, 64, 4}, random);
    add_weight<kq::q6_k>(out, "gate.weight", {1024, 256}, random);
    add_weight<kq::q6_k>(out, "up.weight", {1024, 256}, random);
    const std::vector<float> ones(2048, 1.0f);
    out.add_tensor("norm.weight", {ones.size()}, 0, std::as_bytes(std::span(ones)));
    return gguf::file::own(out.finish());
}

std::optional<obstacle> obstacle_of(const gguf::tensor& tensor) {
    const auto& sizes = tensor.dimensions;
    const std::string type = gguf::type_name(tensor.type);
    if (const auto zero = std::ranges::find(sizes, 0u); zero != sizes.end()) {
        return obstacle{"empty", "dimension " + std::to_string(zero - sizes.begin()) + " is zero"};
    }
    if (gguf::find_type(tensor.type) == nullptr) {
        return obstacle{type, type + " is unknown"};
    }
    if (!kq::is_encoding(static_cast<int>(tensor.type))) {
        return obstacle{type, type + " is not a block encoding kq multiplies"};
    }
    if (sizes.size() > most_dimensions) {
        const std::string text = std::to_string(sizes.size()) + " dimensions";
        return obstacle{"of " + text, text + " are more than " + std::to_string(most_dimensions)};
    }
    const weight w = weight_of(tensor);
    kq::dense_arguments a;
    a.n = w.n;
    a.k = w.k;
    const kq::status measured = kq::dispatch(w.encoding, [&]<class Encoding>() {
        kq::product_sizes ignored;
        return kq::measure<kq::product<Encoding>>(a, ignored);
    });
    return measured.ok() ? std::nullopt
                         : std::optional(obstacle{"too large", kq::message(measured)});
}

std::string text_of(const obstacle_counts& counts) {
    std::string text;
    for (const auto& [kind, count] : counts) {
        text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + kind;
    }
    return text;
}

std::string shape_of(const gguf::tensor& tensor) {
    std::string text;
    for (auto size = tensor.dimensions.rbegin(); size != tensor.dimensions.rend(); ++size) {
        text += (text.empty() ? "" : " x ") + std::to_string(*size);
    }
    return text.empty() ? "scalar" : text;
}

choice choose_weights(const gguf::file& model, const selection& wanted) {
    choice chosen = choose_tensors(model, wanted);
    if (wanted.experts) {
        std::ranges::transform(chosen.weights, chosen.weights.begin(), with_experts);
    }
    std::ranges::transform(chosen.weights, chosen.weights.begin(),
                           [&](const weight& w) { return with_scales(model, w); });
    return chosen;
}

std::vector<float> scales_of(const weight& w, const gguf::tensor* scale) {
    if (scale == nullptr) {
        return {};
    }
    std::vector<float> all(scale->bytes.size() / sizeof(float));
    std::memcpy(all.data(), scale->bytes.data(), all.size() * sizeof(float));
    // Slices that are stacked have the same number of rows each.
    const auto count = static_cast<std::size_t>(w.experts > 1 ? w.experts : w.n);
    std::vector<float> spread(count);
    for (std::size_t i = 0; i < count; ++i) {
        spread[i] = all[i * all.size() / count];
    }
    return spread;
}

} // namespace gguf_gemv

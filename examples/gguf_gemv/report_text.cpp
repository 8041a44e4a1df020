// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <kq/gemv/describe.hpp>

#include <algorithm>
#include <cstdio>

namespace gguf_gemv {
namespace {

constexpr std::size_t widest_name = 40;

/// A number as printf formats it.
std::string formatted(const char* format, double number) {
    char text[64];
    std::snprintf(text, sizeof text, format, number);
    return text;
}

/// How many characters of UTF-8 a text has.
std::size_t length_of(const std::string& text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string left(const std::string& text, std::size_t width) {
    return text + std::string(width - std::min(width, length_of(text)), ' ');
}

std::string right(const std::string& text, std::size_t width) {
    return std::string(width - std::min(width, text.size()), ' ') + text;
}

template <class Items, class Name>
std::size_t widest(const Items& items, const Name& name_of) {
    std::size_t width = 0;
    for (const auto& item : items) {
        width = std::max(width, length_of(name_of(item)));
    }
    return std::min(width, widest_name);
}

std::string check_text(const check_result& check, std::int64_t rows) {
    std::string text = "  NMSE " + formatted("%.1e", check.quantized);
    if (check.unquantized) {
        text += ", unquantized " + formatted("%.1e", *check.unquantized);
    }
    if (check.not_finite != 0) {
        text += ", " + std::to_string(check.not_finite) + " not finite as in the reference";
    }
    return text + "  " + std::to_string(check.rows) + " of " + std::to_string(rows) + " rows  " +
           (check.passed() ? "ok" : "FAILED");
}

} // namespace

std::string names_of(const weight& w) {
    return gguf::printable(w.tensor->name) +
           (w.up != nullptr ? ", " + gguf::printable(w.up->name) : "") +
           (w.is_merged ? " as gate, up" : "");
}

std::size_t name_width(const std::vector<weight>& weights) {
    return widest(weights, names_of);
}

std::string text_line(const outcome& o, const report& all, std::size_t name_width) {
    const weight& w = o.multiplied;
    const double rate = static_cast<double>(o.bytes) / o.seconds / 1e9;
    std::string text = left(names_of(w), name_width) + "  " + left(kq::name_of(w.encoding), 7) +
                       "  " + right(std::to_string(w.n) + " x " + std::to_string(w.k), 14) + "  " +
                       right(std::to_string(o.bytes), 10) +
                       (o.ids.empty() ? " B  batch " : " B  slots ") + std::to_string(o.batch) +
                       "  " + right(formatted("%.4f", o.seconds * 1e3), 10) + " ms  " +
                       right(formatted("%.1f", rate), 7) + " GB/s";
    if (all.where.is_gpu) {
        text += (o.cold ? " cold  " : " warm  ") + kq::policy_text(o.plan);
    }
    for (const gguf::tensor* const scale : {w.scale, w.is_merged ? nullptr : w.up_scale}) {
        text += scale != nullptr ? "  times " + gguf::printable(scale->name) : "";
    }
    return text + (o.check ? check_text(*o.check, w.n) : "") + "\n";
}

std::string text_head(const report& all) {
    std::string text = "model: " + gguf::printable(all.model);
    if (all.files > 1) {
        text += " and the " + std::to_string(all.files - 1) + " after it";
    }
    text += std::string("\ndevice: ") + (all.where.is_gpu ? "cuda, " : "host, ") + all.where.name;
    if (!all.where.reason.empty()) {
        text += " (" + all.where.reason + ")";
    }
    return text + "\n";
}

std::string text_summary(const report& all) {
    const auto count = all.outcomes.size();
    std::string text =
        std::to_string(count) + (count == 1 ? " tensor" : " tensors") + " multiplied";
    if (const auto checked = std::ranges::count_if(
            all.outcomes, [](const outcome& o) { return o.check.has_value(); })) {
        const auto failed = std::ranges::count_if(all.outcomes, &outcome::failed);
        text += ", " + std::to_string(checked - failed) + " of " + std::to_string(checked) +
                " checks passed";
    }
    const totals sums = totals_of(all);
    text += "\ntotal: " + std::to_string(sums.bytes) + " B in " +
            formatted("%.4f", sums.seconds * 1e3) + " ms, " +
            formatted("%.1f", sums.gigabytes_per_second()) + " GB/s\n";
    if (!all.skipped.empty()) {
        text += "skipped, since kq cannot multiply them: " + text_of(all.skipped) + "\n";
    }
    return text;
}

std::string text_list_of(const gguf::file& model) {
    const std::size_t width =
        widest(model.tensors(), [](const gguf::tensor& t) { return gguf::printable(t.name); });
    std::string text;
    for (const auto& tensor : model.tensors()) {
        const auto obstacle = obstacle_of(tensor);
        text += left(gguf::printable(tensor.name), width) + "  " +
                left(gguf::type_name(tensor.type), 8) + "  " + right(shape_of(tensor), 14) + "  " +
                right(std::to_string(tensor.bytes.size()), 10) +
                " B  kq: " + (obstacle ? "no, " + obstacle->reason : "yes") + "\n";
    }
    return text;
}

} // namespace gguf_gemv

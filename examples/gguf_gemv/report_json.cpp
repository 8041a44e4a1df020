// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <kq/gemv/describe.hpp>

#include <nlohmann/json.hpp>

namespace gguf_gemv {
namespace {

using nlohmann::json;

// Names are any bytes: those that are not UTF-8 are replaced.
std::string dumped(const json& object) {
    return object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

json json_of(const check_result& check) {
    json object{
        {"nmse", check.quantized}, {"rows_checked", check.rows}, {"passed", check.passed()}};
    if (check.not_finite != 0) {
        object["not_finite"] = check.not_finite;
    }
    if (check.unquantized) {
        object["nmse_unquantized"] = *check.unquantized;
    }
    return object;
}

json json_of(const outcome& o, const report& all) {
    const weight& w = o.multiplied;
    json object{{"tensor", w.tensor->name},
                {"encoding", kq::name_of(w.encoding)},
                {"n", w.n},
                {"k", w.k},
                {"bytes", o.bytes},
                {"batch", o.batch},
                {"seconds", o.seconds},
                {"gigabytes_per_second", static_cast<double>(o.bytes) / o.seconds / 1e9}};
    if (w.up != nullptr) {
        object["up"] = w.up->name;
    }
    if (w.is_merged) {
        object["gate_up"] = true;
    }
    if (w.scale != nullptr) {
        object["scale"] = w.scale->name;
    }
    if (w.up_scale != nullptr) {
        object["up_scale"] = w.up_scale->name;
    }
    if (!o.ids.empty()) {
        object["experts"] = w.experts;
        object["ids"] = o.ids;
    }
    if (all.where.is_gpu) {
        object["cold"] = o.cold;
        object["policy"] = kq::policy_text(o.plan);
        object["plan"] = kq::to_string(o.plan);
    }
    if (o.check) {
        object["check"] = json_of(*o.check);
    }
    return object;
}

} // namespace

std::string json_of(const report& all) {
    const totals sums = totals_of(all);
    json object{{"model", all.model},
                {"files", all.files},
                {"device", all.where.is_gpu ? "cuda" : "host"},
                {"device_name", all.where.name},
                {"skipped_by_kind", json::object()},
                {"results", json::array()},
                {"total",
                 {{"bytes", sums.bytes},
                  {"seconds", sums.seconds},
                  {"gigabytes_per_second", sums.gigabytes_per_second()}}}};
    std::int64_t skipped = 0;
    for (const auto& [kind, count] : all.skipped) {
        object["skipped_by_kind"][kind] = count;
        skipped += count;
    }
    object["skipped"] = skipped;
    if (!all.where.reason.empty()) {
        object["device_reason"] = all.where.reason;
    }
    for (const outcome& o : all.outcomes) {
        object["results"].push_back(json_of(o, all));
    }
    return dumped(object);
}

std::string json_list_of(const gguf::file& model, const std::string& name) {
    json tensors = json::array();
    for (const auto& tensor : model.tensors()) {
        const auto obstacle = obstacle_of(tensor);
        json object{{"name", tensor.name},
                    {"encoding", gguf::type_name(tensor.type)},
                    {"shape", std::vector(tensor.dimensions.rbegin(), tensor.dimensions.rend())},
                    {"bytes", tensor.bytes.size()},
                    {"multipliable", !obstacle}};
        if (obstacle) {
            object["reason"] = obstacle->reason;
        }
        tensors.push_back(std::move(object));
    }
    return dumped({{"model", name}, {"tensors", std::move(tensors)}});
}

} // namespace gguf_gemv

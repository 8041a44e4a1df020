// SPDX-License-Identifier: Apache-2.0

// Times every candidate policy on the present GPU and keeps the fastest of each shape, as CSV and
// as a header of entries.

#include "candidates.hpp"
#include "inputs.cuh"
#include "instances/instances.hpp"
#include "tuning_file.hpp"
#include "tuning_options.hpp"

#include <kq/gemv/dispatch.hpp>
#include <kq/gemv/policy/name.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <fstream>
#include <tuple>

namespace {

using bench::measurement;
using bench::problem;
using bench::tried;
using bench::tuning_file;

/// Memory and arguments of a dense problem's launches.
class dense_setting {
public:
    using arguments_type = kq::dense_arguments;

    dense_setting(const bench::weight_pool& pool, const problem& p, size_t row_bytes)
        : pool_(pool),
          p_(p),
          copies_(static_cast<size_t>(p.n) * row_bytes),
          x_(static_cast<size_t>(p.k) * p.batch * 4),
          y_(static_cast<size_t>(p.n) * p.batch * 4) {
        bench::fill_activation<<<64, 256, 0, bench::stream()>>>(reinterpret_cast<float*>(x_.get()),
                                                                static_cast<size_t>(p.k) * p.batch);
    }

    int launches() const { return copies_.launches(); }
    arguments_type arguments(int launch) const {
        return {.weights = pool_.get() + copies_.at(launch),
                .activation = reinterpret_cast<const float*>(x_.get()),
                .output = reinterpret_cast<float*>(y_.get()),
                .n = p_.n,
                .k = p_.k,
                .m = p_.batch};
    }

private:
    const bench::weight_pool& pool_;
    problem p_;
    bench::copies copies_;
    bench::device_buffer x_, y_;
};

/// The same of experts.
class experts_setting {
public:
    using arguments_type = kq::experts_arguments;

    experts_setting(const bench::weight_pool& pool, const problem& p, size_t row_bytes)
        : pool_(pool),
          p_(p),
          stacks_(static_cast<size_t>(p.n) * row_bytes, p.sets(), p.experts, p.batch),
          x_(static_cast<size_t>(p.k) * p.batch * 4),
          y_(static_cast<size_t>(p.n) * p.batch * 4),
          ids_(bench::first_numbers(p.experts)) {
        bench::fill_activation<<<64, 256, 0, bench::stream()>>>(reinterpret_cast<float*>(x_.get()),
                                                                static_cast<size_t>(p.k) * p.batch);
    }

    int launches() const { return stacks_.launches(); }
    arguments_type arguments(int launch) const {
        const unsigned char* weights = pool_.get() + stacks_.at(launch);
        const auto* x = reinterpret_cast<const float*>(x_.get());
        const bool summed = p_.kind == kq::tuning::product_kind::experts_sum;
        return {.weights = weights,
                .up_weights = p_.sets() == 2 ? weights + stacks_.set_bytes() : nullptr,
                .activation = x,
                .output = reinterpret_cast<float*>(y_.get()),
                .expert_ids =
                    reinterpret_cast<const int32_t*>(ids_.get()) + stacks_.first_expert(launch),
                .experts = p_.experts,
                .n = p_.n,
                .k = p_.k,
                .slots = p_.batch,
                .top_k = p_.batch,
                .activation_rows =
                    summed ? kq::slot_activation::per_slot : kq::slot_activation::per_token,
                .epilogue = {.term_weights = summed ? x : nullptr}};
    }

private:
    const bench::weight_pool& pool_;
    problem p_;
    bench::expert_stacks stacks_;
    bench::device_buffer x_, y_, ids_;
};

/// Times all candidates; those that the device or the shape does not allow are left out.
template <class Setting>
std::vector<measurement>
time_all(const std::vector<bench::candidate<typename Setting::arguments_type>>& candidates,
         const problem& p, const Setting& s, tuning_file& log, const kq::device_facts& device) {
    std::vector<measurement> all;
    for (const auto& c : candidates) {
        measurement m{kq::name_of(c.policy), c.policy};
        const std::string key = p.name() + ',' + tuning_file::cell(m.policy);
        if (const auto* known = log.find(key)) {
            std::tie(m.us, m.us_dependent, m.us_pair) = std::tuple_cat(*known);
            all.push_back(m);
            continue;
        }
        auto a = s.arguments(0);
        const size_t bytes = c.workspace_bytes(a);
        const bench::device_buffer space(bytes);
        const kq::workspace lent{space.get(), bytes};
        const kq::status quantized = c.quantize(a, lent, bench::stream(), device, {});
        const kq::status tried =
            quantized.ok() ? c.multiply(a, lent, bench::stream(), device, {}) : quantized;
        if (tried.code() == kq::error::invalid_argument) {
            continue;
        }
        kq::check(tried);
        const auto time = [&](bool quantized, kq::launch_options options) {
            const auto launch = [&](int i, cudaStream_t stream) {
                a = s.arguments(i);
                if (quantized) {
                    kq::check(c.quantize(a, lent, stream, device, options));
                }
                kq::check(c.multiply(a, lent, stream, device, options));
            };
            return 1e6 * bench::time_launches(s.launches(), 5, launch).median;
        };
        const kq::launch_options dependent{.dependent = true, .early_weights = p.is_dense()};
        m.us = time(false, {});
        m.us_dependent = time(false, dependent);
        m.us_pair = time(true, dependent);
        log.add(key, {m.us, m.us_dependent, m.us_pair});
        all.push_back(m);
    }
    return all;
}

template <class Encoding>
std::vector<measurement> time_problem(const bench::weight_pool& pool, const problem& p,
                                      tuning_file& log, const kq::device_facts& device) {
    using all = bench::candidates<Encoding>;
    const auto row_bytes =
        static_cast<size_t>(p.k / Encoding::elements) * sizeof(typename Encoding::block);
    if (p.is_dense()) {
        return time_all(p.batch == 1 ? all::dense() : all::batched(p.batch), p,
                        dense_setting(pool, p, row_bytes), log, device);
    }
    using kq::tuning::product_kind;
    return time_all(p.kind == product_kind::experts         ? all::experts()
                    : p.kind == product_kind::experts_gated ? all::experts_gated()
                                                            : all::experts_sum(),
                    p, experts_setting(pool, p, row_bytes), log, device);
}

void show_progress(size_t done, size_t all, const std::string& what) {
    constexpr int width = 40;
    const int full = static_cast<int>(done * width / std::max<size_t>(all, 1));
    std::fprintf(stderr, "\r[%s%s] %zu/%zu %-48s", std::string(full, '#').c_str(),
                 std::string(width - full, '.').c_str(), done, all, what.c_str());
    if (done == all) {
        std::fputc('\n', stderr);
    }
}

/// The name of the present device.
std::string device_name() {
    int device = 0;
    cudaDeviceProp properties{};
    bench::check(cudaGetDevice(&device), "cudaGetDevice");
    bench::check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    return properties.name;
}

int tune(const std::vector<problem>& problems, const std::string& csv_path,
         const std::string& header_path, size_t most_kernels) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::fputs("kq_tune: there is no GPU here\n", stderr);
        return 77;
    }
    kq::device_facts device;
    kq::check(instances::query_device(device));

    tuning_file log(csv_path, device_name(), device.compute_capability);
    const bench::weight_pool pool;
    std::vector<tried> results;
    for (size_t i = 0; i < problems.size(); ++i) {
        const problem& p = problems[i];
        show_progress(i, problems.size(), p.name());
        kq::check(kq::dispatch<instances::tuned_encodings>(p.encoding, [&]<class Encoding>() {
            if (results.empty() || results.back().of.encoding != p.encoding) {
                pool.fill<Encoding>();
            }
            results.push_back({p, time_problem<Encoding>(pool, p, log, device)});
        }));
    }
    show_progress(problems.size(), problems.size(), "");
    if (!header_path.empty()) {
        std::ofstream header(header_path);
        header << bench::entries_of(results, most_kernels, device.compute_capability);
        if (!header.flush()) {
            throw std::runtime_error("cannot write " + header_path);
        }
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app{"Times kq's policies on this GPU and keeps the fastest of each shape"};
    bench::tuning_options options;
    std::string csv_path = "tuning.csv", header_path;
    size_t most_kernels = 5;
    app.add_option("--encodings", options.encodings, "encodings, all by default")->delimiter(',');
    app.add_option("--shapes", options.shapes, "n x k of dense products")->delimiter(',');
    app.add_option("--experts", options.experts,
                   "experts x n x k x experts of a token; their weighted sum is measured k x n")
        ->delimiter(',');
    app.add_option("--batches", options.batches, "activation rows of dense products, each 1 to 64")
        ->delimiter(',');
    app.add_option("--csv", csv_path,
                   "all times; what it holds of this GPU already is not measured again");
    app.add_option("--header", header_path, "where to write the entries to include");
    app.add_option("--kernels", most_kernels,
                   "kernels that the entries of an encoding, kind and batch may need together");
    CLI11_PARSE(app, argc, argv);

    std::vector<std::string> known;
    [&]<class... Encodings>(kq::type_list<Encodings...>) {
        (known.emplace_back(kq::name_of(Encodings::id)), ...);
    }(instances::tuned_encodings{});
    try {
        return tune(bench::problems_of(options, known), csv_path, header_path, most_kernels);
    } catch (const bench::refusal& refused) {
        std::fprintf(stderr, "kq_tune: %s\n", refused.what());
        return 2;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "\nkq_tune: %s\n", failure.what());
        return 1;
    }
}

// SPDX-License-Identifier: Apache-2.0

// Times every candidate policy on the present GPU and keeps the fastest of each shape, as CSV and
// as a header of entries.

#include "candidates.hpp"
#include "inputs.cuh"
#include "instances/instances.hpp"
#include "tuned_encodings.hpp"

#include <kq/gemv/dispatch.hpp>
#include <kq/gemv/policy/tuning/entry.hpp>

#include <CLI/CLI.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iomanip>
#include <limits>
#include <map>
#include <sstream>
#include <tuple>

namespace {

/// One product to tune for.
struct problem {
    kq::encoding encoding;
    kq::tuning::product_kind kind;
    int64_t n;
    int64_t k;
    int batch;   ///< activation rows, of experts slots
    int experts; ///< 0 of dense products

    std::string name() const {
        std::ostringstream s;
        s << kq::name_of(encoding) << ',' << name_of(kind) << ',' << n << ',' << k << ',' << batch
          << ',' << experts;
        return s.str();
    }
};

struct measurement {
    std::string policy;
    kq::policy fields;
    double us = 0;           ///< of the product alone
    double us_dependent = 0; ///< the same in a chain of dependent launches
    double us_pair = 0;      ///< of quantizer and product in a chain of dependent launches
};

/// What was measured before, by problem and policy; each new line is in the file at once.
class csv {
public:
    explicit csv(const std::string& path) {
        std::ifstream before(path);
        std::string line;
        for (bool header = true; std::getline(before, line); header = false) {
            const auto cells = split(line);
            if (!header && cells.size() == 4) {
                known_[cells[0]] = {std::stod(cells[1]), std::stod(cells[2]), std::stod(cells[3])};
            }
        }
        file_.open(path, std::ios::app);
        if (!file_) {
            throw std::runtime_error("cannot write " + path);
        }
        if (known_.empty()) {
            file_ << "encoding,kind,n,k,batch,experts,policy,us,us_dependent,us_pair\n";
        }
    }

    using times = std::array<double, 3>; ///< us, us_dependent, us_pair

    const times* find(const std::string& key) const {
        const auto at = known_.find(key);
        return at == known_.end() ? nullptr : &at->second;
    }
    void add(const std::string& key, const times& t) {
        file_ << key << ',' << t[0] << ',' << t[1] << ',' << t[2] << std::endl;
    }

    /// A policy's name without commas, so that it is one cell.
    static std::string cell(std::string name) {
        for (char& c : name) {
            c = c == ',' ? ';' : c;
        }
        return name;
    }

private:
    /// Everything before the three times, and the times.
    static std::vector<std::string> split(const std::string& line) {
        std::vector<std::string> cells;
        auto end = line.size();
        for (int time = 0; time < 3; ++time) {
            const auto comma = end == 0 ? std::string::npos : line.rfind(',', end - 1);
            if (comma == std::string::npos) {
                return {};
            }
            cells.insert(cells.begin(), line.substr(comma + 1, end - comma - 1));
            end = comma;
        }
        cells.insert(cells.begin(), line.substr(0, end));
        return cells;
    }

    std::map<std::string, times> known_;
    std::ofstream file_;
};

/// Memory and arguments of a problem.
class setting {
public:
    setting(const bench::weight_pool& pool, const problem& p, size_t row_bytes)
        : pool_(pool),
          p_(p),
          matrix_bytes_(static_cast<size_t>(p.n) * row_bytes),
          rotation_(matrix_bytes_ * (p.kind == kq::tuning::product_kind::dense
                                         ? 1
                                         : static_cast<size_t>(p.batch * sets()))),
          x_(static_cast<size_t>(p.k) * p.batch * 4),
          y_(static_cast<size_t>(p.n) * p.batch * 4),
          ids_(bench::first_numbers(p.experts)) {
        bench::fill_activation<<<64, 256, 0, bench::stream()>>>(reinterpret_cast<float*>(x_.get()),
                                                                static_cast<size_t>(p.k) * p.batch);
    }

    int sets() const { return p_.kind == kq::tuning::product_kind::experts_gated ? 2 : 1; }

    void arguments(int launch, kq::dense_arguments& a) const {
        a = {.weights = pool_.get() + rotation_.at(launch),
             .activation = reinterpret_cast<const float*>(x_.get()),
             .output = reinterpret_cast<float*>(y_.get()),
             .n = p_.n,
             .k = p_.k,
             .m = p_.batch};
    }
    void arguments(int launch, kq::experts_arguments& a) const {
        // Each launch meets other experts, so that the cache has forgotten them when they come
        // again.
        const int turns = p_.experts / p_.batch;
        const auto* x = reinterpret_cast<const float*>(x_.get());
        const bool summed = p_.kind == kq::tuning::product_kind::experts_sum;
        a = {.weights = pool_.get(),
             .up_weights = sets() == 2 ? pool_.get() + matrix_bytes_ * p_.experts : nullptr,
             .activation = x,
             .output = reinterpret_cast<float*>(y_.get()),
             .expert_ids = reinterpret_cast<const int32_t*>(ids_.get()) + launch % turns * p_.batch,
             .experts = p_.experts,
             .n = p_.n,
             .k = p_.k,
             .slots = p_.batch,
             .top_k = p_.batch,
             .activation_rows =
                 summed ? kq::slot_activation::per_slot : kq::slot_activation::per_token,
             .epilogue = {.term_weights = summed ? x : nullptr}};
    }
    int launches() const { return rotation_.launches; }

private:
    const bench::weight_pool& pool_;
    problem p_;
    size_t matrix_bytes_;
    bench::rotation rotation_;
    bench::device_buffer x_, y_, ids_;
};

/// Times all candidates; those that the device or the shape does not allow are left out.
template <class Arguments>
std::vector<measurement> time_all(const std::vector<bench::candidate<Arguments>>& candidates,
                                  const problem& p, const setting& s, csv& log,
                                  const kq::device_facts& device) {
    std::vector<measurement> all;
    for (const auto& c : candidates) {
        measurement m{kq::name_of(c.policy), c.policy};
        const std::string key = p.name() + ',' + csv::cell(m.policy);
        if (const auto* known = log.find(key)) {
            std::tie(m.us, m.us_dependent, m.us_pair) = std::tuple_cat(*known);
            all.push_back(m);
            continue;
        }
        Arguments a;
        s.arguments(0, a);
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
                s.arguments(i, a);
                if (quantized) {
                    kq::check(c.quantize(a, lent, stream, device, options));
                }
                kq::check(c.multiply(a, lent, stream, device, options));
            };
            return 1e6 * bench::time_launches(s.launches(), 5, launch).median;
        };
        const kq::launch_options dependent{
            .dependent = true, .early_weights = p.kind == kq::tuning::product_kind::dense};
        m.us = time(false, {});
        m.us_dependent = time(false, dependent);
        m.us_pair = time(true, dependent);
        log.add(key, {m.us, m.us_dependent, m.us_pair});
        all.push_back(m);
    }
    return all;
}

template <class Encoding>
std::vector<measurement> time_problem(const bench::weight_pool& pool, const problem& p, csv& log,
                                      const kq::device_facts& device) {
    const setting s(
        pool, p, static_cast<size_t>(p.k / Encoding::elements) * sizeof(typename Encoding::block));
    using all = bench::candidates<Encoding>;
    switch (p.kind) {
    case kq::tuning::product_kind::experts:
        return time_all(all::experts(), p, s, log, device);
    case kq::tuning::product_kind::experts_gated:
        return time_all(all::experts_gated(), p, s, log, device);
    case kq::tuning::product_kind::experts_sum:
        return time_all(all::experts_sum(), p, s, log, device);
    case kq::tuning::product_kind::dense:
        break;
    }
    return p.batch == 1 ? time_all(all::dense(), p, s, log, device)
                        : time_all(all::batched(std::min(p.batch, 8)), p, s, log, device);
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

/// The candidates of one problem.
struct tried {
    problem of;
    std::vector<measurement> all;

    /// What a policy costs, in logarithms; dependent launches with and without a quantizer between.
    static double cost(const measurement& m, bool dependent) {
        return dependent ? (std::log(m.us_dependent) + std::log(m.us_pair)) / 2 : std::log(m.us);
    }

    /// The cheapest of the policies that run on one of `kernels`; null if there is none.
    const measurement* best(const std::vector<kq::policy>& kernels, bool dependent) const {
        const measurement* found = nullptr;
        for (const measurement& m : all) {
            const bool runs = std::find(kernels.begin(), kernels.end(),
                                        kq::compiled_part(m.fields)) != kernels.end();
            if (runs && (found == nullptr || cost(m, dependent) < cost(*found, dependent))) {
                found = &m;
            }
        }
        return found;
    }
};

/// At most `most` kernels that serve all problems with the least loss: one after the other the one
/// that helps most, while it helps by two in a thousand.
std::vector<kq::policy> choose_kernels(const std::vector<const tried*>& problems, size_t most) {
    std::vector<kq::policy> candidates;
    for (const tried* t : problems) {
        for (const measurement& m : t->all) {
            const kq::policy kernel = kq::compiled_part(m.fields);
            if (std::find(candidates.begin(), candidates.end(), kernel) == candidates.end()) {
                candidates.push_back(kernel);
            }
        }
    }
    std::vector<kq::policy> chosen;
    double loss_before = std::numeric_limits<double>::infinity();
    while (chosen.size() < std::min(most, candidates.size())) {
        kq::policy next;
        double least = std::numeric_limits<double>::infinity();
        for (const kq::policy& candidate : candidates) {
            std::vector<kq::policy> with = chosen;
            with.push_back(candidate);
            double loss = 0;
            for (const tried* t : problems) {
                for (const bool dependent : {false, true}) {
                    const measurement* best = t->best(with, dependent);
                    loss += best == nullptr ? 100 : tried::cost(*best, dependent);
                }
            }
            if (loss < least) {
                least = loss;
                next = candidate;
            }
        }
        if (least > loss_before - 0.002 * static_cast<double>(problems.size())) {
            break;
        }
        chosen.push_back(next);
        loss_before = least;
    }
    return chosen;
}

/// A policy as C++, and its time.
std::string cells_of(const kq::policy& p, double us) {
    const bool by_bulk = p.method == kq::method::bulk;
    std::ostringstream s;
    s << "kq::policies::" << (by_bulk ? "bulk(" : "direct(") << p.rows << ", " << p.batch << ", "
      << p.warps;
    if (by_bulk) {
        s << ", {" << p.bulk.stages << ", " << p.bulk.piece_bytes << '}';
    } else if (p.direct != kq::direct_options{}) {
        s << ", {" << p.direct.prefetch << '}';
    }
    s << "), " << std::fixed << std::setprecision(2) << us << 'f';
    return s.str();
}

std::string entry_of(const problem& p, const measurement& ordinary, const measurement& dependent,
                     const kq::device_facts& device) {
    std::ostringstream s;
    s << "    {" << device.compute_capability << ", kq::encoding::" << kq::name_of(p.encoding)
      << ", kq::tuning::product_kind::" << name_of(p.kind) << ", " << p.n << ", " << p.k << ", "
      << p.batch << ", " << cells_of(ordinary.fields, ordinary.us) << ", "
      << cells_of(dependent.fields, dependent.us_dependent) << "},\n";
    return s.str();
}

struct shape {
    int64_t n, k;
};
std::istream& operator>>(std::istream& in, shape& s) {
    char by = 0;
    return in >> s.n >> by >> s.k;
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app{"Times kq's policies on this GPU and keeps the fastest of each shape"};
    std::vector<std::string> encodings,
        shapes = {"4096x4096", "14336x4096", "4096x14336", "129280x7168",
                  "1536x7168", "2048x7168",  "512x4096"};
    std::vector<std::string> experts = {"64x2048x7168x8", "128x768x2048x8"};
    std::vector<int> batches = {1};
    std::string csv_path = "tuning.csv", header_path;
    size_t most_kernels = 5;
    app.add_option("--encodings", encodings, "encodings, all by default")->delimiter(',');
    app.add_option("--shapes", shapes, "n x k of dense products")->delimiter(',');
    app.add_option("--experts", experts,
                   "experts x n x k x experts of a token; their weighted sum is measured k x n")
        ->delimiter(',');
    app.add_option("--batches", batches, "activation rows of dense products: 1, 2, 4, 8 and more")
        ->delimiter(',');
    app.add_option("--csv", csv_path, "all times; what it holds already is not measured again");
    app.add_option("--header", header_path, "where to write the entries to include");
    app.add_option("--kernels", most_kernels,
                   "kernels that the entries of an encoding, kind and batch may need together");
    CLI11_PARSE(app, argc, argv);

    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::fputs("tune: there is no GPU here\n", stderr);
        return 77;
    }
    kq::device_facts device;
    kq::check(instances::query_device(device));

    std::vector<problem> problems;
    const auto add_all = [&](kq::encoding e) {
        for (const std::string& text : shapes) {
            shape s{};
            std::istringstream(text) >> s;
            for (const int m : batches) {
                problems.push_back({e, kq::tuning::product_kind::dense, s.n, s.k, m, 0});
            }
        }
        for (const std::string& text : experts) {
            int count = 0, top_k = 0;
            shape s{};
            char by = 0;
            std::istringstream(text) >> count >> by >> s >> by >> top_k;
            using kq::tuning::product_kind;
            problems.push_back({e, product_kind::experts, s.n, s.k, top_k, count});
            problems.push_back({e, product_kind::experts_gated, s.n, s.k, top_k, count});
            // The way back: what these experts' outputs meet next.
            problems.push_back({e, product_kind::experts_sum, s.k, s.n, top_k, count});
        }
    };
    const auto consider = [&](kq::encoding e) {
        if (encodings.empty() ||
            std::find(encodings.begin(), encodings.end(), kq::name_of(e)) != encodings.end()) {
            add_all(e);
        }
    };
    [&]<class... Encodings>(kq::type_list<Encodings...>) {
        (consider(Encodings::id), ...);
    }(tuned_encodings{});

    csv log(csv_path);
    bench::weight_pool pool;
    std::vector<tried> results;
    kq::encoding filled{};
    for (size_t i = 0; i < problems.size(); ++i) {
        const problem& p = problems[i];
        show_progress(i, problems.size(), p.name());
        kq::check(kq::dispatch<tuned_encodings>(p.encoding, [&]<class Encoding>() {
            if (results.empty() || filled != p.encoding) {
                pool.fill<Encoding>();
                filled = p.encoding;
            }
            results.push_back({p, time_problem<Encoding>(pool, p, log, device)});
        }));
    }
    show_progress(problems.size(), problems.size(), "");
    if (!header_path.empty()) {
        std::ofstream header(header_path);
        header
            << "// The fastest of the policies that kq_tune tried: compute capability, encoding, "
               "kind, n, k,\n// batch, policy and us of a launch, policy and us of a dependent "
               "one.\n";
        for (const tried& t : results) {
            std::vector<const tried*> alike; // served by one launcher
            for (const tried& other : results) {
                if (other.of.encoding == t.of.encoding && other.of.kind == t.of.kind &&
                    (t.of.kind != kq::tuning::product_kind::dense ||
                     other.of.batch == t.of.batch)) {
                    alike.push_back(&other);
                }
            }
            const std::vector<kq::policy> kernels = choose_kernels(alike, most_kernels);
            if (const measurement* ordinary = t.best(kernels, false)) {
                header << entry_of(t.of, *ordinary, *t.best(kernels, true), device);
            }
        }
    }
    return 0;
}

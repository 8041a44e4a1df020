// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/gemv/policy/policy.hpp>
#include <kq/gemv/policy/tuning/entry.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

/// What the tuner makes of its measurements: which policies it keeps, for which product. Needs no
/// GPU.
namespace bench {

/// The batches above 1 that there are candidates of, in ascending order.
using batches = std::integer_sequence<int, 2, 4, 8>;

/// How often a product of `m` activation rows reads the weights, by policies of a batch.
constexpr int64_t weight_reads(int64_t m, int batch) {
    return (m + batch - 1) / batch;
}

/// The batch whose candidates are measured for `m` activation rows: of those that read the weights
/// least often the smallest, since rows that are not there cost time too.
constexpr int batch_for(int64_t m) {
    int best = 1;
    [&]<int... Batches>(std::integer_sequence<int, Batches...>) {
        ((best = weight_reads(m, Batches) < weight_reads(m, best) ? Batches : best), ...);
    }
    (batches{});
    return best;
}

/// Whether two policies launch the same: what only bulk copies use is nothing to direct loads.
constexpr bool alike(const kq::policy& a, const kq::policy& b) {
    return a == b ||
           (a.method == kq::method::direct && kq::compiled_part(a) == kq::compiled_part(b));
}

/// One product to tune for.
struct problem {
    kq::encoding encoding;
    kq::tuning::product_kind kind;
    int64_t n;
    int64_t k;
    int batch;   ///< activation rows, of experts slots
    int experts; ///< 0 of dense products

    bool is_dense() const { return kind == kq::tuning::product_kind::dense; }
    int sets() const { return kind == kq::tuning::product_kind::experts_gated ? 2 : 1; }

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

/// What was measured for one problem.
struct tried {
    problem of;
    std::vector<measurement> all;

    /// What a policy costs, in logarithms; dependent launches with and without a quantizer between.
    static double cost(const measurement& m, bool dependent) {
        return dependent ? (std::log(m.us_dependent) + std::log(m.us_pair)) / 2 : std::log(m.us);
    }

    /// How often a policy reads the weights.
    int64_t reads(const measurement& m) const {
        return of.is_dense() ? weight_reads(of.batch, m.fields.batch) : 1;
    }

    /// The least of all that were measured.
    int64_t fewest_reads() const {
        int64_t fewest = std::numeric_limits<int64_t>::max();
        for (const measurement& m : all) {
            fewest = std::min(fewest, reads(m));
        }
        return fewest;
    }

    /// The cheapest of the policies that run on one of `kernels`; null if there is none. Never one
    /// that reads the weights more often than another measured one.
    const measurement* best(const std::vector<kq::policy>& kernels, bool dependent) const {
        const int64_t fewest = fewest_reads();
        const measurement* found = nullptr;
        for (const measurement& m : all) {
            const bool runs = std::find(kernels.begin(), kernels.end(),
                                        kq::compiled_part(m.fields)) != kernels.end();
            if (runs && reads(m) == fewest &&
                (found == nullptr || cost(m, dependent) < cost(*found, dependent))) {
                found = &m;
            }
        }
        return found;
    }

    /// Whether the entries of both are to share kernels: an encoding, a kind, and a batch of
    /// policies. Activation rows that one batch of policies serves need no kernels of their own.
    bool shares_kernels(const tried& other) const {
        return of.encoding == other.of.encoding && of.kind == other.of.kind &&
               (!of.is_dense() || batch_for(of.batch) == batch_for(other.of.batch));
    }
};

/// At most `most` kernels that serve all problems with the least loss: one after the other the one
/// that helps most, while it helps by two in a thousand.
inline std::vector<kq::policy> choose_kernels(const std::vector<const tried*>& problems,
                                              size_t most) {
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
inline std::string cells_of(const kq::policy& p, double us) {
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

inline std::string entry_of(const problem& p, const measurement& ordinary,
                            const measurement& dependent, int compute_capability) {
    std::ostringstream s;
    s << "    {" << compute_capability << ", kq::encoding::" << kq::name_of(p.encoding)
      << ", kq::tuning::product_kind::" << name_of(p.kind) << ", " << p.n << ", " << p.k << ", "
      << p.batch << ", " << cells_of(ordinary.fields, ordinary.us) << ", "
      << cells_of(dependent.fields, dependent.us_dependent) << "},\n";
    return s.str();
}

/// The entries of all problems, as a header to include. `most_kernels`: of those that share them.
inline std::string entries_of(const std::vector<tried>& results, size_t most_kernels,
                              int compute_capability) {
    std::string text =
        "// The fastest of the policies that kq_tune tried: compute capability, encoding, kind, n, "
        "k,\n// batch, policy and us of a launch, policy and us of a dependent one.\n";
    for (const tried& t : results) {
        std::vector<const tried*> together;
        for (const tried& other : results) {
            if (t.shares_kernels(other)) {
                together.push_back(&other);
            }
        }
        const std::vector<kq::policy> kernels = choose_kernels(together, most_kernels);
        if (const measurement* ordinary = t.best(kernels, false)) {
            text += entry_of(t.of, *ordinary, *t.best(kernels, true), compute_capability);
        }
    }
    return text;
}

} // namespace bench

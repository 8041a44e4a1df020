// SPDX-License-Identifier: Apache-2.0
#include "check.hpp"
#include "threads.hpp"

#include <kq/blocks/all.hpp>
#include <kq/core/check.hpp>
#include <kq/gemv/dispatch.hpp>
#include <kq/reference/reference.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>

namespace gguf_gemv {
namespace {

constexpr double quantized_bound = 1e-6;
constexpr double unquantized_bound = 5e-4;
constexpr std::int64_t least_outputs = 256; ///< that the unquantized band holds for
constexpr std::int64_t least_rows = 256;
constexpr std::int64_t most_products = std::int64_t{1} << 22;

/// Sums of squares of errors and of expected values.
struct deviation {
    double errors = 0;
    double squares = 0;
    std::int64_t not_finite = 0; ///< expected and found

    void add(double found, double expected) {
        if (!std::isfinite(expected)) {
            const bool same = found == expected || (std::isnan(found) && std::isnan(expected));
            not_finite += same ? 1 : 0;
            errors += same ? 0 : std::numeric_limits<double>::infinity();
            return;
        }
        errors += (found - expected) * (found - expected);
        squares += expected * expected;
    }
    void add(const deviation& other) {
        errors += other.errors;
        squares += other.squares;
        not_finite += other.not_finite;
    }
    double nmse() const {
        if (squares == 0) {
            return errors == 0 ? 0 : std::numeric_limits<double>::infinity();
        }
        return errors / squares;
    }
};

/// The deviations of one output row.
struct row_deviation {
    deviation quantized;
    deviation unquantized;
};

/// The rows to compare, in ascending order; every choice is as likely.
std::vector<std::int64_t> sampled_rows(const product& p, std::uint64_t seed) {
    const std::int64_t count = std::min(p.n, std::max(least_rows, most_products / p.k / p.m));
    std::mt19937_64 random(seed);
    std::vector<std::int64_t> rows;
    for (std::int64_t r = 0; std::ssize(rows) < count; ++r) {
        if (static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(p.n - r)) <
            count - std::ssize(rows)) {
            rows.push_back(r);
        }
    }
    return rows;
}

/// What a gate and an up product become (silu).
double gated(double gate, double up) {
    return gate / (1 + std::exp(-gate)) * up;
}

template <class Encoding>
class comparison {
public:
    comparison(const product& p, const std::vector<float>& output, bool unquantized)
        : p_(p),
          output_(output),
          unquantized_(unquantized),
          count_(p.k / Encoding::elements),
          met_(p.k / activation::elements),
          quantized_(static_cast<std::size_t>(p.m * met_)) {
        share(p.m * met_, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t b = first; b < last; ++b) {
                quantized_[static_cast<std::size_t>(b)] =
                    kq::quantize_block<activation>(p.activation + b * activation::elements);
            }
        });
    }

    row_deviation row(std::int64_t r) const {
        row_deviation sums;
        for (std::int64_t j = 0; j < p_.m; ++j) {
            const double found = output_[static_cast<std::size_t>(j * p_.n + r)];
            const auto expert = p_.expert_of(j);
            if (!expert) {
                // Nothing but zero is near enough to zero.
                sums.quantized.add(found == 0 ? 0 : std::numeric_limits<double>::infinity(), 0);
                continue;
            }
            const std::int64_t weight_row = *expert * p_.expert_rows() + r;
            const auto scale = [&](std::span<const float> scales) {
                const std::int64_t at = p_.has_experts() ? *expert : r;
                return scales.empty() ? 1.0 : double{scales[static_cast<std::size_t>(at)]};
            };
            const double dot = quantized(p_.weights, weight_row, j) * scale(p_.scales);
            const double expected =
                p_.is_gated()
                    ? gated(dot, quantized(p_.up_weights, weight_row, j) * scale(p_.up_scales))
                    : dot;
            sums.quantized.add(found, expected);
            // Without quantization an infinity can come out where a NaN does with it.
            if (unquantized_ && std::isfinite(expected)) {
                sums.unquantized.add(found,
                                     scale(p_.scales) * kq::reference::unquantized_dot<Encoding>(
                                                            blocks(p_.weights, weight_row),
                                                            p_.activation + j * p_.k, count_));
            }
        }
        return sums;
    }

private:
    using activation = typename Encoding::activation;

    const typename Encoding::block* blocks(const void* weights, std::int64_t row) const {
        return static_cast<const typename Encoding::block*>(weights) + row * count_;
    }
    double quantized(const void* weights, std::int64_t row, std::int64_t j) const {
        return kq::reference::dot<Encoding>(blocks(weights, row), quantized_.data() + j * met_,
                                            count_);
    }

    const product& p_;
    const std::vector<float>& output_;
    bool unquantized_;
    std::int64_t count_; ///< weight blocks of a row
    std::int64_t met_;   ///< activation blocks of a row
    std::vector<typename activation::block> quantized_;
};

/// Rows of the activation that meet weights.
std::int64_t met_rows(const product& p) {
    std::int64_t met = 0;
    for (std::int64_t j = 0; j < p.m; ++j) {
        met += p.expert_of(j) ? 1 : 0;
    }
    return met;
}

} // namespace

bool check_result::passed() const {
    return quantized <= quantized_bound && (!unquantized || *unquantized <= unquantized_bound);
}

check_result check_product(const product& p, const std::vector<float>& output, bool gaussian,
                           std::uint64_t seed) {
    const auto rows = sampled_rows(p, seed);
    const auto count = static_cast<std::int64_t>(rows.size());
    const bool unquantized = gaussian && !p.is_gated() && count * met_rows(p) >= least_outputs;
    std::vector<row_deviation> deviations(rows.size());
    kq::check(kq::dispatch(p.encoding, [&]<class Encoding>() {
        const comparison<Encoding> compared(p, output, unquantized);
        share(count, [&](std::int64_t first, std::int64_t last) {
            for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last);
                 ++i) {
                deviations[i] = compared.row(rows[i]);
            }
        });
    }));
    row_deviation total;
    for (const auto& deviation : deviations) {
        total.quantized.add(deviation.quantized);
        total.unquantized.add(deviation.unquantized);
    }
    check_result result{total.quantized.nmse(), std::nullopt, count, total.quantized.not_finite};
    if (unquantized) {
        result.unquantized = total.unquantized.nmse();
    }
    return result;
}

} // namespace gguf_gemv

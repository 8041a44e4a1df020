// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/standard.hpp>
#include <kq/gemv/policy/tuning/entry.hpp>

namespace kq::inline KQ_ABI::tuning {

/// What a selection is for.
struct request {
    int compute_capability; ///< 10 * major + minor
    kq::encoding encoding;
    product_kind kind;
    int64_t n;              ///< weight rows, of an expert
    int64_t k;              ///< columns
    int64_t batch;          ///< activation rows, of experts slots
    bool dependent = false; ///< see `launch_options`
};

namespace detail {

/// 8 * log2(x), by a straight line between powers of two, rounded down; 0 for x below 1.
constexpr int eighths_of_log2(int64_t x) {
    if (x < 1) {
        return 0;
    }
    const int whole = static_cast<int>(standard::bit_width(static_cast<uint64_t>(x))) - 1;
    const int64_t above = x - (int64_t{1} << whole);
    return 8 * whole + static_cast<int>(whole >= 3 ? above >> (whole - 3) : above << (3 - whole));
}

constexpr int distance(int a, int b) {
    return a < b ? b - a : a - b;
}

/// A shape as selections see it: sizes in eighths of octaves.
struct shape {
    int compute_capability;
    int n;
    int k;
    int batch;

    static constexpr shape of(int compute_capability, int64_t n, int64_t k, int64_t batch) {
        return {compute_capability, eighths_of_log2(n), eighths_of_log2(k), eighths_of_log2(batch)};
    }
};

/// Finds the nearest of the shapes it is shown, the first one on ties.
class search {
public:
    constexpr explicit search(const shape& wanted) : wanted_(wanted) {}

    /// Whether a shape is nearer than those before. Devices are alike or not; a batch of one is
    /// like no other; smaller batches, whose policies read the weights more often, are the last
    /// resort.
    constexpr bool is_nearer(const shape& s) {
        if (s.compute_capability != wanted_.compute_capability ||
            (s.batch == 0) != (wanted_.batch == 0)) {
            return false;
        }
        const int of_batch = s.batch < wanted_.batch ? 1024 : 4;
        const int d = distance(s.n, wanted_.n) + distance(s.k, wanted_.k) +
                      of_batch * distance(s.batch, wanted_.batch);
        if (least_ >= 0 && d >= least_) {
            return false;
        }
        least_ = d;
        return true;
    }

private:
    shape wanted_;
    int least_ = -1;
};

} // namespace detail

/// The entry whose shape is nearest to the request's, in octaves of n, k and, four times, batch; a
/// batch of one is like no other, and one smaller than the request's is the last resort. Null where
/// the table has none of the device, encoding and kind.
constexpr const entry* nearest(const table& entries, const request& r) {
    detail::search search(detail::shape::of(r.compute_capability, r.n, r.k, r.batch));
    const entry* best = nullptr;
    for (const entry& e : entries) {
        if (e.encoding == r.encoding && e.kind == r.kind &&
            search.is_nearer(detail::shape::of(e.compute_capability, e.n, e.k, e.batch))) {
            best = &e;
        }
    }
    return best;
}

/// The policy for GPUs that nobody measured: two rows in flight, and four activation rows where
/// there are more than one.
constexpr policy untuned(int64_t batch) {
    policy p = policies::warp;
    p.batch = batch <= 1 ? 1 : 4;
    return p;
}

/// The policy to serve a request with: that of the nearest entry, else `untuned`. A constant
/// expression where its arguments are.
constexpr policy choose(const table& entries, const request& r) {
    const entry* best = nearest(entries, r);
    if (best != nullptr) {
        return r.dependent ? best->best_dependent : best->best;
    }
    return r.kind == product_kind::dense ? untuned(r.batch) : policies::warp;
}

} // namespace kq::inline KQ_ABI::tuning

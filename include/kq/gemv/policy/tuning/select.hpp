// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/config.hpp>
#include <kq/dot/dot.hpp>
#include <kq/gemv/policy/tuning/entry.hpp>

namespace kq::inline KQ_ABI::tuning {

/// Rows of one or several GPUs, the argument of every selection. `shipped` holds kq's own; a user's
/// table is an array of rows, made by `kq_tune`.
struct table {
    const row* first = nullptr; // [count]
    int count = 0;

    constexpr table() = default;
    template <int Count>
    constexpr table(const row (&rows)[Count]) : first(rows), count(Count) {}
    constexpr const row* begin() const { return first; }
    constexpr const row* end() const { return first + count; }
};

/// What a selection is for.
struct request {
    int compute_capability; ///< 10 * major + minor
    kq::encoding encoding;
    row_mapping mapping;
    int64_t n;              ///< weight rows, of an expert
    int64_t k;              ///< columns
    int64_t batch;          ///< activation rows, of grouped products slots
    bool dependent = false; ///< see `launch_options`
};

namespace detail {

/// 8 * log2(x), by a straight line between powers of two, rounded down; 0 for x below 1.
constexpr int eighths_of_log2(int64_t x) {
    int whole = 0;
    int64_t power = 1;
    while (power <= x / 2) {
        power *= 2;
        ++whole;
    }
    return x < 1 ? 0 : 8 * whole + static_cast<int>((x - power) * 8 / power);
}

constexpr int distance(int64_t a, int64_t b) {
    const int d = eighths_of_log2(a) - eighths_of_log2(b);
    return d < 0 ? -d : d;
}

} // namespace detail

/// The row whose shape is nearest to the request's, in octaves of n, k and, four times, batch; a
/// batch of one is like no other. Null where the table has none of the device, encoding and
/// mapping.
constexpr const row* nearest(const table& rows, const request& r) {
    const row* best = nullptr;
    int least = 0;
    for (const row& candidate : rows) {
        if (candidate.compute_capability != r.compute_capability ||
            candidate.encoding != r.encoding || candidate.mapping != r.mapping ||
            (candidate.batch == 1) != (r.batch == 1)) {
            continue;
        }
        const int d = detail::distance(candidate.n, r.n) + detail::distance(candidate.k, r.k) +
                      4 * detail::distance(candidate.batch, r.batch);
        if (best == nullptr || d < least) {
            best = &candidate;
            least = d;
        }
    }
    return best;
}

/// The policy for GPUs that nobody measured: two rows in flight, and four activation rows where
/// there are more than one.
constexpr policy untuned(int64_t batch) {
    return batch == 1 ? policies::warp : policy{.rows = 2, .batch = 4, .piece_bytes = 2304};
}

/// The policy to serve a request with: that of the nearest row, else `untuned`. A constant
/// expression where its arguments are.
constexpr policy choose(const table& rows, const request& r) {
    const row* best = nearest(rows, r);
    if (best != nullptr) {
        return r.dependent ? best->best_dependent : best->best;
    }
    return r.mapping == row_mapping::dense ? untuned(r.batch) : policies::warp;
}

} // namespace kq::inline KQ_ABI::tuning

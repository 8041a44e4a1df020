// SPDX-License-Identifier: Apache-2.0
#include "team.hpp"

#include "common/nmse.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace tensor_parallel {

team::team(const problem& p, const group& g) : n_(static_cast<std::size_t>(p.n)), group_(g) {
    for (const member& m : g.members) {
        workers_.push_back(std::make_unique<worker>(p, g.ranks, m.rank, m.device));
    }
}

std::string team::prefix() const {
    const bool has_all = std::ssize(workers_) == group_.ranks;
    return has_all ? "" : "rank " + std::to_string(group_.members.front().rank) + ": ";
}

bool team::is_cold() const {
    return std::ranges::all_of(workers_, [](const auto& w) { return w->is_cold(); });
}

void team::multiply_all(std::size_t number) const {
    workers_.front()->multiply_all(number);
}

void team::multiply_rows(std::size_t number) const {
    for (const auto& w : workers_) {
        w->multiply_rows(number);
    }
}

void team::multiply_columns(std::size_t number) const {
    for (const auto& w : workers_) {
        w->multiply_columns(number);
    }
}

void team::gather() const {
    collective(group_, "ncclAllGather", [&](std::size_t i) {
        const worker& w = *workers_[i]; // in place: its own rows are where they belong
        return ncclAllGather(w.own_rows(), w.gathered(), w.rows_of_rank(), ncclFloat,
                             group_.members[i].comm.get(), w.on().stream);
    });
}

void team::reduce() const {
    collective(group_, "ncclAllReduce", [&](std::size_t i) {
        const worker& w = *workers_[i];
        return ncclAllReduce(w.sum(), w.sum(), n_, ncclFloat, ncclSum, group_.members[i].comm.get(),
                             w.on().stream);
    });
}

void team::meet() const {
    collective(group_, "ncclAllReduce", [&](std::size_t i) {
        const worker& w = *workers_[i]; // one number, which the next product overwrites
        return ncclAllReduce(w.sum(), w.sum(), 1, ncclFloat, ncclMax, group_.members[i].comm.get(),
                             w.on().stream);
    });
}

/// Brings the product of rank 0 to every rank.
void team::share_expected() const {
    collective(group_, "ncclBroadcast", [&](std::size_t i) {
        const worker& w = *workers_[i];
        return ncclBroadcast(w.expected(), w.expected(), n_, ncclFloat, 0,
                             group_.members[i].comm.get(), w.on().stream);
    });
}

team::comparison team::compare() const {
    for (const auto& w : workers_) {
        w->clear();
    }
    if (has_rank_0()) {
        multiply_all(0);
    }
    share_expected();
    multiply_rows(0);
    gather();
    multiply_columns(0);
    reduce();
    comparison found;
    for (const auto& w : workers_) {
        const auto expected = w->download(w->expected());
        const auto rows = w->download(w->gathered());
        const double nmse = common::nmse(w->download(w->sum()), expected);
        found.rows_are_equal = found.rows_are_equal &&
                               std::memcmp(rows.data(), expected.data(), n_ * sizeof(float)) == 0;
        // Not std::max, which would lose a NaN.
        found.worst_nmse = nmse <= found.worst_nmse ? found.worst_nmse : nmse;
    }
    return found;
}

} // namespace tensor_parallel

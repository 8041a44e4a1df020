// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "group.hpp"
#include "worker.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tensor_parallel {

/// The ranks of this process at work. Every call of a collective meets one of all other processes.
class team {
public:
    /// The group must outlive the team.
    team(const problem& p, const group& g);

    /// What begins a line of this process: nothing if it drives all ranks.
    std::string prefix() const;
    bool has_rank_0() const { return group_.members.front().rank == 0; }
    bool is_cold() const; ///< whether series meet weights outside the L2 caches

    /// Products, the launch of that number of a series.
    void multiply_all(std::size_t number) const; ///< on rank 0
    void multiply_rows(std::size_t number) const;
    void multiply_columns(std::size_t number) const;

    void gather() const; ///< collective: brings the outputs of all rows to every rank
    void reduce() const; ///< collective: adds up the sums over columns, on every rank
    void meet() const;   ///< collective: no stream goes on before those of all ranks are there

    /// How the results of this process compare with the product of rank 0.
    struct comparison {
        bool rows_are_equal = true; ///< bit for bit
        double worst_nmse = 0;      ///< of the sums over columns
    };

    /// Collective: computes one product of each kind.
    comparison compare() const;

    /// The time of `enqueue(number)` in a series, in seconds, on rank 0 alone.
    template <class Enqueue>
    double seconds_of_rank_0(Enqueue&& enqueue) const {
        return seconds(1, enqueue, [] {});
    }

    /// The same on all ranks of this process. Collective: each replay begins when all have met.
    template <class Enqueue>
    double seconds(Enqueue&& enqueue) const {
        return seconds(workers_.size(), enqueue, [this] { meet(); });
    }

private:
    /// On the first `count` ranks.
    template <class Enqueue, class Meet>
    double seconds(std::size_t count, Enqueue&& enqueue, Meet&& meet) const {
        std::vector<common::device_stream> on;
        for (std::size_t i = 0; i < count; ++i) {
            on.push_back(workers_[i]->on());
        }
        const auto graphs = common::capture(on, [&] {
            for (std::size_t number = 0; number < part_product::launches; ++number) {
                enqueue(number);
            }
        });
        return common::replay_seconds(on, graphs, meet) /
               static_cast<double>(part_product::launches);
    }

    void share_expected() const;

    std::size_t n_;
    const group& group_;
    std::vector<std::unique_ptr<worker>> workers_;
};

} // namespace tensor_parallel

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

namespace bench {

/// How many launches of a timed graph may be in flight at once: where they are dependent, the next
/// one has started as soon as all thread blocks of one run, and where some of these have ended the
/// one after it. (Ordinary ones come one after the other.)
inline constexpr int most_in_flight = 3;

/// Which bytes each launch of a timed graph reads: it goes over `places` in turn, each with bytes
/// of its own, so that every launch finds its bytes cold.
///
/// The rule, of products and of read ceilings, of ordinary and dependent launches alike: launches
/// that may be in flight together read different bytes; and between a launch and the next one that
/// reads the same bytes, others that are over by then have read at least three times the
/// second-level cache. From one replay of the graph to the next too: it goes over all places the
/// same number of times.
struct rotation {
    int places;
    int launches; ///< in a graph, so many that its own launch counts little

    /// `bytes`: what a launch reads. `cache_bytes`: of the second-level cache. `multiple`: of what
    /// there are to be places.
    constexpr rotation(size_t bytes, size_t cache_bytes, int multiple = 1) {
        const size_t others = (3 * cache_bytes + bytes - 1) / bytes;
        places = rounded_up(most_in_flight + static_cast<int>(others), multiple);
        const auto enough = static_cast<int>(std::min<size_t>(80, (size_t{600} << 20) / bytes));
        launches = rounded_up(std::max(enough, 4), places);
    }

    constexpr int place(int launch) const { return launch % places; }

private:
    static constexpr int rounded_up(int count, int multiple) {
        return (count + multiple - 1) / multiple * multiple;
    }
};

} // namespace bench

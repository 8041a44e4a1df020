// SPDX-License-Identifier: Apache-2.0
#include "product.hpp"

#include <algorithm>
#include <set>

namespace gguf_gemv {

std::optional<std::int64_t> product::expert_of(std::int64_t row) const {
    const std::int64_t id = has_experts() ? ids[static_cast<std::size_t>(row)] : 0;
    return id >= 0 && id < experts ? std::optional(id) : std::nullopt;
}

std::size_t product::bytes_read() const {
    std::set<std::int64_t> used;
    for (std::int64_t j = 0; j < m; ++j) {
        if (const auto expert = expert_of(j)) {
            used.insert(*expert);
        }
    }
    const std::size_t sets = is_gated() && !is_merged ? 2 : 1;
    return sets * used.size() * (weight_bytes / static_cast<std::size_t>(experts));
}

double median(std::vector<double> times) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

} // namespace gguf_gemv

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/blocks/all.hpp>
#include <kq/gemv/policy/policy.hpp>

namespace kq::inline KQ_ABI::tuning {

/// What kind of product a row was measured for.
enum class row_mapping { dense, grouped, grouped_gated, grouped_sum };

constexpr const char* name_of(row_mapping m) {
    switch (m) {
    case row_mapping::dense:
        return "dense";
    case row_mapping::grouped:
        return "grouped";
    case row_mapping::grouped_gated:
        return "grouped_gated";
    case row_mapping::grouped_sum:
        break;
    }
    return "grouped_sum";
}

/// The fastest of the policies that were tried for one product on one GPU, and their times.
struct row {
    int compute_capability; ///< 10 * major + minor
    kq::encoding encoding;
    row_mapping mapping;
    int64_t n; ///< weight rows, of an expert
    int64_t k; ///< columns
    int batch; ///< activation rows, of grouped products slots
    policy best;
    float us;              ///< of the product alone, weights cold
    policy best_dependent; ///< for dependent launches, with and without a quantizer between
    float us_dependent;    ///< of the product alone in a chain of them
};

} // namespace kq::inline KQ_ABI::tuning

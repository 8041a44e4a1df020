// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

namespace gguf_gemv {

totals totals_of(const report& all) {
    totals sums;
    for (const outcome& o : all.outcomes) {
        sums.bytes += o.bytes;
        sums.seconds += o.seconds;
    }
    return sums;
}

double totals::gigabytes_per_second() const {
    return static_cast<double>(bytes) / seconds / 1e9;
}

} // namespace gguf_gemv

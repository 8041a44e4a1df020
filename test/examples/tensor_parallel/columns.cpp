// SPDX-License-Identifier: Apache-2.0
#include "common/nmse.hpp"
#include "common/noise.hpp"
#include "samples.hpp"
#include "tensor_parallel/split.hpp"

#include <kq/core/check.hpp>
#include <kq/gemv/host_model.hpp>

namespace {

constexpr int64_t n = 64, k = 28672;

/// The columns of a part of a noise matrix times their part of the activation.
template <class Encoding>
std::vector<float> multiply(tensor_parallel::range blocks, const std::vector<float>& x) {
    const auto w = common::noise_blocks<Encoding>({.seed = 1,
                                                   .scale = common::noise_scale<Encoding>(k),
                                                   .row_blocks = k / Encoding::elements,
                                                   .rows = n,
                                                   .first_block = blocks.first,
                                                   .blocks = blocks.count});
    std::vector<float> y(n);
    kq::check(kq::host_model<Encoding>::launch(
        {.weights = w.data(),
         .activation = x.data() + blocks.first * Encoding::elements,
         .output = y.data(),
         .n = n,
         .k = blocks.count * Encoding::elements}));
    return y;
}

} // namespace

TEST_CASE("sums over 2 to 16 parts of the columns agree with the whole product within NMSE 1e-10") {
    samples::for_each_encoding([]<class Encoding>() {
        const auto x = common::gaussian(k, 1);
        const auto whole = multiply<Encoding>({0, k / Encoding::elements}, x);
        for (const int64_t parts : {2, 3, 16}) {
            std::vector<float> sum(n);
            for (int64_t i = 0; i < parts; ++i) {
                const auto part = multiply<Encoding>(
                    tensor_parallel::part_of(k / Encoding::elements, parts, i), x);
                for (size_t r = 0; r < sum.size(); ++r) {
                    sum[r] += part[r];
                }
            }
            INFO(parts << " parts, NMSE " << common::nmse(sum, whole));
            CHECK(common::nmse(sum, whole) <= 1e-10);
        }
    });
}

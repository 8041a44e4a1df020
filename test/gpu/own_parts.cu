// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "gemv/own_parts.hpp"
#include "gpu/products.hpp"

#include <kq/gemv/gemv.cuh>
#include <kq/gemv/host_model.hpp>

using gpu::buffer;
using gpu::placement;

namespace {

using E = kq::q4_k;

} // namespace

TEST_CASE("a mapping, an epilogue and a selector of one's own give the host model's bits") {
    using gemv = kq::gemv<E, own::by_size{}, own::permuted, own::squared_relu>;
    using model = kq::host_model<E, kq::order{}, own::permuted, own::squared_relu>;
    const kq::device_facts facts = gpu::device();
    for (const int64_t n : {1, 37, 4111}) { // by direct loads and, where there are, by bulk copies
        for (const int64_t m : {1, 3}) {
            INFO("n " << n << ", m " << m);
            const int64_t k = 1024;
            const auto w = samples::random_weights<E>(n, k, 1);
            const auto x = samples::gaussian(m * k, 2), residual = samples::gaussian(m * n, 3);
            std::vector<int32_t> places;
            for (int64_t r = 0; r < n; ++r) {
                places.push_back(static_cast<int32_t>(r * 16 % n)); // 16 has no factor of n's
            }
            std::vector<float> expected(static_cast<size_t>(m * n), gpu::output::pattern);
            own::permuted_arguments a{{.weights = w.data(),
                                       .activation = x.data(),
                                       .output = expected.data(),
                                       .n = n,
                                       .k = k,
                                       .m = m,
                                       .epilogue = {.residual = residual.data()}},
                                      places.data()};
            kq::check(model::launch(a));
            CHECK(std::count(expected.begin(), expected.end(), gpu::output::pattern) == 0);

            const buffer weights(w, placement::before_hole), activation(x, placement::exact);
            const buffer before(residual, placement::exact), to(places, placement::exact);
            const gpu::output y(m * n);
            a.weights = weights.data();
            a.activation = activation.as<const float>();
            a.output = y.data();
            a.epilogue.residual = before.as<const float>();
            a.places = to.as<const int32_t>();
            CHECK(gemv::choose(a, facts).rows ==
                  (n < 4096 || facts.compute_capability < 90 ? 1 : 4));
            gpu::run<gemv>(a, facts);
            CHECK(y.holds(expected));
        }
    }
}

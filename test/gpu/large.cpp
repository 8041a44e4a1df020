// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "families.hpp"
#include "gpu/products.hpp"

#include <cmath>

// Sizes beyond 2^31 and 2^16, and the shapes of real models. Weights and activations repeat a few
// random rows, so that the host can say what every output must be.

namespace {

using gpu::buffer;
using gpu::host_product;
using gpu::placement;
using gpu::run;

/// Device memory that repeats `pattern` until `bytes` are full.
class repeated {
public:
    template <class T>
    repeated(const std::vector<T>& pattern, size_t bytes) : memory_(bytes, placement::exact) {
        size_t filled = std::min(bytes, pattern.size() * sizeof(T));
        gpu::check(cudaMemcpy(memory_.data(), pattern.data(), filled, cudaMemcpyHostToDevice),
                   "copy to the device");
        while (filled < bytes) {
            const size_t more = std::min(filled, bytes - filled);
            gpu::check(cudaMemcpy(memory_.as<char>() + filled, memory_.data(), more,
                                  cudaMemcpyDeviceToDevice),
                       "repeat");
            filled += more;
        }
    }
    template <class T>
    const T* as() const {
        return memory_.as<const T>();
    }

private:
    buffer memory_;
};

} // namespace

TEST_CASE("more than 2^31 bytes of weights give the bits of their rows", "[large]") {
    using E = kq::q8_0;
    const int64_t k = 32768, n = 66001, distinct = 61;
    const auto w = samples::random_weights<E>(distinct, k, 1);
    const auto x = samples::gaussian(k, 2);
    const auto expected = host_product<E>(w.data(), x.data(), distinct, k, 1);
    const size_t bytes = static_cast<size_t>(n) * (k / 32) * 34;
    REQUIRE(bytes > size_t{1} << 31);
    const repeated weights(w, bytes);
    const buffer activation(x, placement::exact);
    const auto compare = [&]<kq::policy Policy>() {
        const buffer output(static_cast<size_t>(n) * 4, placement::exact);
        run<instances::gemv<E, Policy>>({.weights = weights.as<char>(),
                                         .activation = activation.as<const float>(),
                                         .output = output.as<float>(),
                                         .n = n,
                                         .k = k});
        const auto y = output.download<float>();
        int64_t differences = 0;
        for (int64_t r = 0; r < n; ++r) {
            differences += y[static_cast<size_t>(r)] != expected[static_cast<size_t>(r % distinct)];
        }
        CHECK(differences == 0);
    };
    compare.template operator()<instances::direct>();
    compare.template operator()<instances::bulk>();
}

TEST_CASE(
    "more than 2^31 outputs, 65,535 activation rows and quantizer blocks give their rows' bits",
    "[large]") {
    using E = kq::q4_0;
    const int64_t k = 32, n = 32003, m = 70001, distinct_rows = 59, distinct_batches = 53;
    REQUIRE(n * m > int64_t{1} << 31);
    const auto w = samples::random_weights<E>(distinct_rows, k, 3);
    const auto x = samples::gaussian(distinct_batches * k, 4);
    const auto expected = host_product<E>(w.data(), x.data(), distinct_rows, k, distinct_batches);
    const repeated weights(w, static_cast<size_t>(n) * 18);
    const repeated activation(x, static_cast<size_t>(m * k) * 4);
    const buffer output(static_cast<size_t>(m * n) * 2, placement::exact);
    run<instances::gemv<E>>({.weights = weights.as<char>(),
                             .activation = activation.as<float>(),
                             .output = output.as<kq::f16>(),
                             .n = n,
                             .k = k,
                             .m = m});
    for (const int64_t j :
         {int64_t{0}, int64_t{1}, int64_t{65535}, int64_t{65536}, int64_t{67107}, m - 1}) {
        std::vector<kq::f16> y(static_cast<size_t>(n));
        gpu::check(cudaMemcpy(y.data(), output.as<kq::f16>() + j * n, y.size() * 2,
                              cudaMemcpyDeviceToHost),
                   "copy from the device");
        int64_t differences = 0;
        for (int64_t r = 0; r < n; ++r) {
            const auto at =
                static_cast<size_t>(j % distinct_batches * distinct_rows + r % distinct_rows);
            differences += y[static_cast<size_t>(r)].bits != kq::to_f16(expected[at]).bits;
        }
        INFO("activation row " << j);
        CHECK(differences == 0);
    }
}

TEST_CASE("every column of a batch of 2 to 8 gives the bits of its own product", "[large]") {
    samples::for_each_family<2>([]<class E>() {
        for (const int64_t n : {17408, 10240}) {
            const int64_t k = 5120, distinct = 67;
            const auto w = samples::random_weights<E>(distinct, k, 5);
            const auto x = samples::gaussian(8 * k, 6);
            const auto expected = host_product<E>(w.data(), x.data(), distinct, k, 8);
            const repeated weights(w, static_cast<size_t>(n) * (k / E::elements) *
                                          sizeof(typename E::block));
            const buffer activation(x, placement::exact);
            const auto compare = [&]<kq::policy Policy>(int64_t m) {
                const buffer output(static_cast<size_t>(m * n) * 4, placement::exact);
                run<instances::gemv<E, Policy>>({.weights = weights.template as<char>(),
                                                 .activation = activation.as<const float>(),
                                                 .output = output.as<float>(),
                                                 .n = n,
                                                 .k = k,
                                                 .m = m});
                const auto y = output.download<float>();
                int64_t differences = 0;
                for (int64_t i = 0; i < m * n; ++i) {
                    differences +=
                        y[static_cast<size_t>(i)] !=
                        expected[static_cast<size_t>(i / n * distinct + i % n % distinct)];
                }
                INFO(kq::name_of(Policy) << ", n " << n << ", m " << m);
                CHECK(differences == 0);
            };
            for (int64_t m = 2; m <= 8; ++m) {
                const auto try_policy = [&]<kq::policy Policy>() {
                    if constexpr (instances::has<E, Policy>) {
                        compare.template operator()<Policy>(m);
                    }
                };
                using namespace kq::policies;
                using enum kq::method;
                try_policy.template operator()<with_method(batch<2>, direct)>();
                try_policy.template operator()<with_method(batch<4>, bulk)>();
                try_policy.template operator()<with_method(batch<8>, bulk)>();
            }
        }
    });
}

TEST_CASE("144 experts, 6 a token with duplicates and unknown ids, give the bits of each expert's "
          "product",
          "[large]") {
    gpu::for_each_encoding_with<instances::bulk, kq::mappings::experts>([]<class E>() {
        const int64_t experts = 144, top_k = 6, n = 2048, k = 4096, distinct = 71;
        const auto w = samples::random_weights<E>(distinct, k, 7);
        const auto x = samples::gaussian(9 * top_k * k, 8);
        const auto products = host_product<E>(w.data(), x.data(), distinct, k, 9 * top_k);
        const repeated weights(w, static_cast<size_t>(experts * n) * (k / E::elements) *
                                      sizeof(typename E::block));
        const buffer activation(x, placement::exact);
        const auto compare = [&](int64_t tokens, kq::slot_activation rows) {
            const int64_t slots = tokens * top_k;
            std::vector<int32_t> ids;
            for (int64_t s = 0; s < slots; ++s) {
                // Slots 1 and 4 of each token meet the same expert; a token of three has two
                // unknown ids.
                const auto own = static_cast<int32_t>(s % top_k % 3 == 1 ? 143 : s * 37 % experts);
                const bool unknown = s / top_k % 3 == 1;
                ids.push_back(unknown && s % top_k == 2   ? -1
                              : unknown && s % top_k == 5 ? static_cast<int32_t>(experts)
                                                          : own);
            }
            const buffer device_ids(ids, placement::exact);
            const gpu::output output(slots * n);
            run<instances::gemv<E, instances::bulk, kq::mappings::experts>>(
                {.weights = weights.template as<char>(),
                 .activation = activation.as<const float>(),
                 .output = output.data(),
                 .expert_ids = device_ids.as<const int32_t>(),
                 .experts = experts,
                 .n = n,
                 .k = k,
                 .slots = slots,
                 .top_k = top_k,
                 .activation_rows = rows});
            std::vector<float> expected;
            for (int64_t s = 0; s < slots; ++s) {
                const int64_t id = ids[static_cast<size_t>(s)];
                const int64_t row = rows == kq::slot_activation::per_slot    ? s
                                    : rows == kq::slot_activation::per_token ? s / top_k
                                                                             : 0;
                for (int64_t r = 0; r < n; ++r) {
                    const bool known = id >= 0 && id < experts;
                    const auto at = static_cast<size_t>(row * distinct + (id * n + r) % distinct);
                    expected.push_back(known ? products[at] : 0);
                }
            }
            INFO(tokens << " tokens, activation rows " << static_cast<int>(rows));
            CHECK(output.holds(expected));
        };
        for (const int64_t tokens : {1, 2, 3, 9}) {
            compare(tokens, kq::slot_activation::per_slot);
            compare(tokens, kq::slot_activation::per_token);
            compare(tokens, kq::slot_activation::broadcast);
        }
    });
}

TEST_CASE("51865 rows in groups of four end where the weights end", "[large]") {
    constexpr kq::policy four_rows = with_method(kq::policies::multi_row<4>, kq::method::bulk);
    gpu::for_each_encoding_with<four_rows>([]<class E>() {
        const int64_t n = 51865, k = E::elements * 3;
        const auto w = samples::random_weights<E>(n, k, 9);
        const auto x = samples::gaussian(k, 10);
        const auto expected = host_product<E>(w.data(), x.data(), n, k, 1);
        const buffer weights(w, placement::before_hole);
        const buffer activation(x, placement::exact);
        const buffer output(static_cast<size_t>(n) * 4, placement::before_hole);
        run<instances::gemv<E, four_rows>>({.weights = weights.data(),
                                            .activation = activation.as<const float>(),
                                            .output = output.as<float>(),
                                            .n = n,
                                            .k = k});
        CHECK(output.download<float>() == expected);
    });
}

TEST_CASE("a thousand launches whose predecessor writes the activation give the host's bits",
          "[repeat]") {
    using E = kq::q4_k;
    // Each product's output is the next one's activation: y = scale * W y, n = k.
    const int64_t k = 256, launches = 1000;
    const auto w = samples::random_weights<E>(k, k, 11);
    const auto x = samples::gaussian(k, 12);
    const auto step = [&](const std::vector<float>& from, float scale) {
        std::vector<float> to(from.size());
        kq::check(gpu::launch_host_model<E>({.weights = w.data(),
                                             .activation = from.data(),
                                             .output = to.data(),
                                             .n = k,
                                             .k = k,
                                             .epilogue = {.scale = scale}}));
        return to;
    };
    const auto length = [](const std::vector<float>& v) {
        double squares = 0;
        for (const float e : v) {
            squares += double{e} * double{e};
        }
        return std::sqrt(squares);
    };
    // The scale that keeps the length of the chain's vector in the long run.
    double growth = 0;
    std::vector<float> y = x;
    for (int i = 0; i < 400; ++i) {
        const double before = length(y);
        y = step(y, static_cast<float>(1 / before));
        growth += i < 200 ? 0 : std::log(length(y)) / 200;
    }
    const auto scale = static_cast<float>(std::exp(-growth));
    std::vector<float> expected = x;
    for (int64_t i = 0; i < launches; ++i) {
        expected = step(expected, scale);
    }
    REQUIRE((length(expected) > 1e-9 && length(expected) < 1e9)); // the chain says something

    const buffer weights(w, placement::exact);
    const auto facts = gpu::device();
    for (int chain = 0; chain < 10; ++chain) {
        const buffer a(x, placement::exact), b(x, placement::exact);
        using gemv = instances::gemv<E>;
        kq::dense_arguments args{.weights = weights.data(),
                                 .activation = a.as<const float>(),
                                 .output = b.as<float>(),
                                 .n = k,
                                 .k = k,
                                 .epilogue = {.scale = scale}};
        const buffer space(gemv::workspace_bytes(args), placement::exact);
        for (int64_t i = 0; i < launches; ++i) {
            args.activation = (i % 2 == 0 ? a : b).as<const float>();
            args.output = (i % 2 == 0 ? b : a).as<float>();
            kq::check(gemv::launch(args, {space.data(), space.bytes()}, nullptr, facts));
        }
        gpu::check(cudaDeviceSynchronize(), "synchronize");
        REQUIRE(a.download<float>() == expected);
    }
}

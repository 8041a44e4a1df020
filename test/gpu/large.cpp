// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "gpu/memory.hpp"
#include "instances/instances.hpp"
#include "samples.hpp"

#include <kq/dot/dots.hpp>
#include <kq/gemv/host_model.hpp>

// Sizes beyond 2^31 and 2^16, and the shapes of real models. Weights and activations repeat a few
// random rows, so that the host can say what every output must be.

namespace {

using gpu::buffer;
using gpu::placement;

kq::device_facts device() {
    kq::device_facts facts;
    kq::check(instances::query_device(facts));
    return facts;
}

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

template <class Gemv>
void run(const typename Gemv::arguments& a) {
    const buffer space(Gemv::workspace_bytes(a), placement::exact);
    kq::check(Gemv::launch(a, {space.data(), space.bytes()}, nullptr, device()));
    gpu::check(cudaDeviceSynchronize(), "synchronize");
}

template <class E>
std::vector<float> on_host(const std::vector<typename E::block>& w, const std::vector<float>& x,
                           int64_t n, int64_t k, int64_t m) {
    std::vector<float> y(static_cast<size_t>(n * m));
    kq::check(kq::host_model<E>::launch(
        {.weights = w.data(), .activation = x.data(), .output = y.data(), .n = n, .k = k, .m = m}));
    return y;
}

} // namespace

TEST_CASE("more than 2^31 bytes of weights give the bits of their rows", "[large]") {
    using E = kq::q8_0;
    const int64_t k = 32768, n = 66001, distinct = 61;
    const auto w = samples::random_weights<E>(distinct, k, 1);
    const auto x = samples::gaussian(k, 2);
    const auto expected = on_host<E>(w, x, distinct, k, 1);
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
    const auto expected = on_host<E>(w, x, distinct_rows, k, distinct_batches);
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
    samples::for_each_encoding([]<class E>() {
        for (const int64_t n : {17408, 10240}) {
            const int64_t k = 5120, distinct = 67;
            const auto w = samples::random_weights<E>(distinct, k, 5);
            const auto x = samples::gaussian(8 * k, 6);
            const auto expected = on_host<E>(w, x, distinct, k, 8);
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
                compare.template operator()<instances::policies[6]>(m); // batch<2>
                compare.template operator()<instances::policies[7]>(m); // batch<4>
                compare.template operator()<instances::policies[8]>(m); // batch<8>
            }
        }
    });
}

TEST_CASE("144 experts, 6 a token with duplicates, give the bits of each expert's product",
          "[large]") {
    samples::for_each_encoding([]<class E>() {
        const int64_t experts = 144, top_k = 6, n = 2048, k = 4096, distinct = 71;
        const auto w = samples::random_weights<E>(distinct, k, 7);
        const auto x = samples::gaussian(9 * top_k * k, 8);
        const repeated weights(w, static_cast<size_t>(experts * n) * (k / E::elements) *
                                      sizeof(typename E::block));
        const buffer activation(x, placement::exact);
        for (const int64_t tokens : {1, 2, 3, 9}) {
            const int64_t slots = tokens * top_k;
            std::vector<int32_t> ids;
            for (int64_t s = 0; s < slots; ++s) {
                ids.push_back(static_cast<int32_t>(s % 5 == 1 ? 143 : (s * 37) % experts));
            }
            const buffer device_ids(ids, placement::exact);
            const auto expected = on_host<E>(w, x, distinct, k, tokens);
            const buffer output(static_cast<size_t>(slots * n) * 4, placement::exact);
            run<instances::gemv<E, instances::bulk, kq::mappings::grouped>>(
                {.weights = weights.template as<char>(),
                 .activation = activation.as<const float>(),
                 .output = output.as<float>(),
                 .expert_ids = device_ids.as<const int32_t>(),
                 .experts = experts,
                 .n = n,
                 .k = k,
                 .slots = slots,
                 .top_k = top_k,
                 .activation_rows = kq::slot_activation::per_token});
            const auto y = output.download<float>();
            int64_t differences = 0;
            for (int64_t s = 0; s < slots; ++s) {
                for (int64_t r = 0; r < n; ++r) {
                    const int64_t row = (ids[static_cast<size_t>(s)] * n + r) % distinct;
                    differences += y[static_cast<size_t>(s * n + r)] !=
                                   expected[static_cast<size_t>(s / top_k * distinct + row)];
                }
            }
            INFO(tokens << " tokens");
            CHECK(differences == 0);
        }
    });
}

TEST_CASE("51865 rows in groups of four end where the weights end", "[large]") {
    samples::for_each_encoding([]<class E>() {
        const int64_t n = 51865, k = E::elements * 3;
        const auto w = samples::random_weights<E>(n, k, 9);
        const auto x = samples::gaussian(k, 10);
        const auto expected = on_host<E>(w, x, n, k, 1);
        const buffer weights(w, placement::before_hole);
        const buffer activation(x, placement::exact);
        const buffer output(static_cast<size_t>(n) * 4, placement::before_hole);
        run<instances::gemv<E, instances::policies[3]>>({.weights = weights.data(), // multi_row<4>
                                                         .activation = activation.as<const float>(),
                                                         .output = output.as<float>(),
                                                         .n = n,
                                                         .k = k});
        CHECK(output.download<float>() == expected);
    });
}

TEST_CASE("a thousand launches whose predecessor writes the activation are bit-stable",
          "[repeat]") {
    using E = kq::q4_k;
    // Each product's output is the next one's activation: y = W y, n = k.
    const int64_t k = 512;
    const auto w = samples::random_weights<E>(k, k, 11);
    const auto x = samples::gaussian(k, 12);
    const buffer weights(w, placement::exact);
    using gemv = instances::gemv<E>;
    std::vector<float> first;
    int changed = 0;
    for (int chain = 0; chain < 20; ++chain) {
        const buffer a(x, placement::exact), b(x, placement::exact);
        kq::dense_arguments args{.weights = weights.data(),
                                 .activation = a.as<const float>(),
                                 .output = b.as<float>(),
                                 .n = k,
                                 .k = k,
                                 .epilogue = {.scale = 0.01f}};
        const buffer space(gemv::workspace_bytes(args), placement::exact);
        const auto facts = device();
        for (int i = 0; i < 50; ++i) {
            args.activation = (i % 2 == 0 ? a : b).as<const float>();
            args.output = (i % 2 == 0 ? b : a).as<float>();
            kq::check(gemv::launch(args, {space.data(), space.bytes()}, nullptr, facts));
        }
        gpu::check(cudaDeviceSynchronize(), "synchronize");
        const auto y = a.download<float>();
        first = chain == 0 ? y : first;
        changed += std::memcmp(y.data(), first.data(), y.size() * 4) != 0;
    }
    CHECK(changed == 0);
}

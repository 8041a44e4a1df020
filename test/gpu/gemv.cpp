// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "families.hpp"
#include "gpu/products.hpp"
#include "shapes.hpp"

#include <kq/reference/reference.hpp>

#include <cmath>
#include <limits>

namespace {

using gpu::buffer;
using gpu::bytes;
using gpu::device;
using gpu::placement;
using gpu::placements;
using gpu::weights_type;
using kq::element_type;
using gemv_launcher = instances::launcher<kq::dense_arguments>;

/// A block that gives whoever adds it up a NaN.
template <class E>
bytes nan_block() {
    auto block = samples::uniform_block<E>(0xff);
    if constexpr (requires { block.d = kq::f16{}; }) {
        block.d = kq::f16{0x7e00};
    }
    if constexpr (requires { block.set_d(kq::f16{}); }) {
        block.set_d(kq::f16{0x7e00});
    }
    if constexpr (requires { block.e; }) {
        block.e = 0xff; // or what is far too large
    }
    return gpu::bytes_of(std::vector{block});
}

/// Memory full of elements of a type that is chosen at run time.
class elements {
public:
    elements(element_type type, size_t count, float value)
        : type_(type), bytes_(count * static_cast<size_t>(kq::size_of(type))) {
        for (size_t i = 0; i < count; ++i) {
            set(i, value);
        }
    }

    void set(size_t i, float value) {
        switch (type_) {
        case element_type::f32:
            return store(i, value);
        case element_type::f16:
            return store(i, kq::to_f16(value));
        case element_type::bf16:
            return store(i, kq::to_bf16(value));
        }
    }
    unsigned char* at(size_t i) { return bytes_.data() + i * static_cast<size_t>(size()); }
    bytes& all() { return bytes_; }

    /// Elements whose bits differ, any NaN counting as equal to any NaN.
    int64_t count_differences(elements& other) {
        int64_t differences = 0;
        for (size_t i = 0; i < bytes_.size() / static_cast<size_t>(size()); ++i) {
            differences += std::memcmp(at(i), other.at(i), static_cast<size_t>(size())) != 0 &&
                           !(std::isnan(get(i)) && std::isnan(other.get(i)));
        }
        return differences;
    }

private:
    int size() const { return kq::size_of(type_); }

    template <class T>
    void store(size_t i, T element) {
        std::memcpy(at(i), &element, sizeof(T));
    }
    template <class T>
    float load(size_t i) {
        T element;
        std::memcpy(&element, at(i), sizeof(T));
        return kq::to_f32(element);
    }
    float get(size_t i) {
        return type_ == element_type::f32   ? load<float>(i)
               : type_ == element_type::f16 ? load<kq::f16>(i)
                                            : load<kq::bf16>(i);
    }

    element_type type_;
    bytes bytes_;
};

/// Where things lie and how far apart rows are, beyond the shape.
struct layout {
    placement weights = placement::exact;
    int64_t activation_gap = 0; ///< elements between activation rows
    int64_t output_gap = 0;     ///< elements between output rows
    int64_t weight_gap = 0;     ///< blocks between weight rows
};

/// Of activation and output.
struct types {
    element_type in = element_type::f32;
    element_type out = element_type::f32;
};

/// Runs the product on the GPU and in the host model, into outputs pre-filled with a pattern, and
/// counts the elements that differ, gaps between rows included. `guard` elements on either side of
/// the output must keep the pattern.
/// `between`: a block, of which the gaps between weight rows are full.
int64_t count_differences(const weights_type& e, const bytes& between, const gemv_launcher& gemv,
                          const bytes& w, const std::vector<float>& values, samples::shape s,
                          layout l, types t) {
    constexpr int64_t guard = 64;
    const int64_t x_stride = s.k + l.activation_gap;
    const int64_t y_stride = s.n + l.output_gap;
    elements x(t.in, static_cast<size_t>((s.m - 1) * x_stride + s.k), 1e9f);
    for (int64_t j = 0; j < s.m; ++j) {
        for (int64_t i = 0; i < s.k; ++i) {
            x.set(static_cast<size_t>(j * x_stride + i), values[static_cast<size_t>(j * s.k + i)]);
        }
    }
    const int64_t row_blocks = s.k / e.elements;
    const int64_t pitch = row_blocks + l.weight_gap;
    bytes spread;
    for (int64_t r = 0; r < s.n; ++r) {
        const auto row = w.begin() + r * row_blocks * e.block_bytes;
        spread.insert(spread.end(), row, row + row_blocks * e.block_bytes);
        for (int64_t i = 0; i < l.weight_gap && r + 1 < s.n; ++i) {
            spread.insert(spread.end(), between.begin(), between.end());
        }
    }
    const auto y_elements = static_cast<size_t>((s.m - 1) * y_stride + s.n);
    elements expected(t.out, y_elements + 2 * guard, -12345.0f);
    elements y = expected;

    kq::dense_arguments a{.weights = spread.data(),
                          .activation = {x.at(0), t.in},
                          .output = {expected.at(guard), t.out},
                          .n = s.n,
                          .k = s.k,
                          .m = s.m,
                          .weight_pitch = pitch * e.block_bytes,
                          .activation_stride = x_stride,
                          .output_stride = y_stride};
    kq::check(e.launch_host_model(a));

    const buffer weights(spread, l.weights);
    const buffer activation(x.all(), placement::exact);
    const buffer output(y.all(), placement::exact);
    a.weights = weights.data();
    a.activation = {activation.data(), t.in};
    a.output = {output.as<unsigned char>() + guard * kq::size_of(t.out), t.out};
    const buffer space(gemv.workspace_bytes(a), placement::exact);
    kq::check(gemv.launch(a, {space.data(), space.bytes()}, nullptr, device(), {}));
    gpu::check(cudaDeviceSynchronize(), "synchronize");
    y.all() = output.download<unsigned char>();
    return y.count_differences(expected);
}

template <class E, kq::policy Policy>
int64_t count_differences(const std::vector<typename E::block>& w, const std::vector<float>& values,
                          samples::shape s, layout l, types t = {}) {
    return count_differences(gpu::weights_type_of<E>, nan_block<E>(),
                             instances::launcher_of<instances::gemv<E, Policy>>, gpu::bytes_of(w),
                             values, s, l, t);
}

/// Pairs of types to go round, so that a loop over shapes covers each.
constexpr types all_types[] = {{element_type::f32, element_type::f32},
                               {element_type::f16, element_type::f16},
                               {element_type::bf16, element_type::bf16},
                               {element_type::f16, element_type::f32},
                               {element_type::f32, element_type::bf16}};

template <class E, kq::policy Policy>
void compare_shapes(const std::vector<samples::shape>& shapes) {
    int turn = 0;
    for (const samples::shape s : shapes) {
        INFO("m " << s.m << ", n " << s.n << ", k " << s.k << ", turn " << turn);
        const layout l{placements[turn % 3], turn % 2 * 5, turn % 4 == 3 ? 3 : 0,
                       turn % 4 == 2 ? 2 : 0};
        const auto w = samples::random_weights<E>(s.n, s.k, 21);
        const auto x = samples::gaussian(s.m * s.k, 22);
        REQUIRE(count_differences<E, Policy>(w, x, s, l, all_types[turn % 5]) == 0);
        ++turn;
    }
}

} // namespace

TEST_CASE("the direct kernel gives the host model's bits for every m, n, k and element type") {
    samples::for_each_encoding(
        []<class E>() { compare_shapes<E, instances::direct>(samples::shapes<E>(40, 65)); });
}

TEST_CASE("the bulk kernel gives the host model's bits for every m, n, k and element type") {
    samples::for_each_encoding(
        []<class E>() { compare_shapes<E, instances::bulk>(samples::shapes<E>(40, 65)); });
}

TEST_CASE(
    "both kernels give the host model's bits for up to 512 activation rows and 513 weight rows",
    "[large]") {
    samples::for_each_family<0>([]<class E>() {
        compare_shapes<E, instances::direct>(samples::shapes<E>());
        compare_shapes<E, instances::bulk>(samples::shapes<E>());
    });
}

TEST_CASE("weights that begin or end at an unmapped page give the host model's bits by both "
          "methods, at several starts modulo 16") {
    samples::for_each_encoding([]<class E>() {
        int turn = 0; // each method meets every n with every placement, at one of two k
        for (const int64_t k : {int64_t{E::elements}, int64_t{3 * E::elements}}) {
            for (const int64_t n : {1, 2, 3, 5, 8}) { // different ends modulo 16
                const auto w = samples::random_weights<E>(n, k, 31);
                const auto x = samples::gaussian(k, 32);
                for (const placement where : placements) {
                    INFO("n " << n << ", k " << k << ", placement " << static_cast<int>(where));
                    REQUIRE((turn % 2 == 0
                                 ? count_differences<E, instances::direct>(w, x, {1, n, k}, {where})
                                 : count_differences<E, instances::bulk>(w, x, {1, n, k},
                                                                         {where})) == 0);
                    ++turn;
                }
            }
        }
    });
}

TEST_CASE("weights that start inside an allocation give the host model's bits at every offset") {
    samples::for_each_encoding([]<class E>() {
        const int64_t n = 5, k = 5 * E::elements;
        const auto w = samples::random_weights<E>(n, k, 33);
        const auto x = samples::gaussian(k, 34);
        std::vector<float> expected(static_cast<size_t>(n));
        kq::dense_arguments a{
            .weights = w.data(), .activation = x.data(), .output = expected.data(), .n = n, .k = k};
        kq::check(gpu::launch_host_model<E>(a));
        const size_t bytes = w.size() * sizeof(w[0]);
        const buffer activation(x, placement::exact);
        for (int offset = 0; offset < 16; offset += kq::block_alignment<E>) {
            INFO("offset " << offset);
            const buffer memory(bytes + static_cast<size_t>(offset), placement::exact);
            gpu::check(
                cudaMemcpy(memory.as<char>() + offset, w.data(), bytes, cudaMemcpyHostToDevice),
                "copy");
            const buffer output(std::vector<float>(static_cast<size_t>(n), -1), placement::exact);
            a.weights = memory.as<char>() + offset;
            a.activation = activation.as<const float>();
            a.output = output.as<float>();
            const auto run = [&]<kq::policy Policy>() {
                using gemv = instances::gemv<E, Policy>;
                const buffer space(gemv::workspace_bytes(a), placement::exact);
                kq::check(gemv::launch(a, {space.data(), space.bytes()}, nullptr, device()));
                CHECK(output.download<float>() == expected);
            };
            run.template operator()<instances::direct>();
            run.template operator()<instances::bulk>();
        }
    });
}

TEST_CASE("NaN, infinities, subnormals and values beyond f16 give the host model's bits") {
    samples::for_each_encoding([]<class E>() {
        const samples::shape s{7, 17, 1024};
        const auto w = samples::random_weights<E>(s.n, s.k, 41);
        auto x = samples::gaussian(s.m * s.k, 42);
        x[5] = std::numeric_limits<float>::quiet_NaN();
        x[1024 + 700] = -std::numeric_limits<float>::infinity();
        for (int i = 0; i < 1024; ++i) {
            x[2048 + i] *= 1e-40f;  // subnormal
            x[3072 + i] *= 1e38f;   // up to overflow
            x[4096 + i] = 0;        // nothing at all
            x[5120 + i] *= 65504.f; // the f16 range and beyond
            x[6144 + i] *= 1e-36f;  // products of scales are subnormal
        }
        CHECK(count_differences<E, instances::direct>(w, x, s, {}) == 0);
        CHECK(count_differences<E, instances::bulk>(w, x, s, {}) == 0);
        CHECK(count_differences<E, instances::bulk>(w, x, s, {}, {.out = element_type::f16}) == 0);
    });
}

TEST_CASE("a row too long for shared memory goes by the direct kernel and gives the same bits") {
    samples::for_each_family<0>([]<class E>() {
        const samples::shape s{1, 3, 262144};
        const auto w = samples::random_weights<E>(s.n, s.k, 51);
        const auto x = samples::gaussian(s.k, 52);
        CHECK(count_differences<E, kq::policies::warp>(w, x, s, {}) == 0);
    });
}

TEST_CASE("k of zero stores zeros, and n or m of zero launches nothing") {
    using E = kq::q4_k;
    const std::vector<float> pattern{7, 7, 7, 7};
    const auto run = [&]<kq::policy Policy>(int64_t n, int64_t m, int64_t k) {
        const buffer output(pattern, placement::exact);
        const kq::dense_arguments a{
            .output = output.as<float>(), .n = n, .k = k, .m = m, .output_stride = 2};
        kq::check(instances::gemv<E, Policy>::launch(a, {}, nullptr, device()));
        gpu::check(cudaDeviceSynchronize(), "synchronize");
        return output.download<float>();
    };
    const auto check_all = [&]<kq::policy Policy>() {
        CHECK(run.template operator()<Policy>(2, 2, 0) == std::vector<float>{0, 0, 0, 0});
        CHECK(run.template operator()<Policy>(1, 1, 0) == std::vector<float>{0, 7, 7, 7});
        CHECK(run.template operator()<Policy>(0, 2, 256) == pattern);
        CHECK(run.template operator()<Policy>(2, 0, 256) == pattern);
    };
    check_all.template operator()<kq::policies::warp>();
    check_all.template operator()<instances::direct>();
    check_all.template operator()<instances::bulk>();
}

TEST_CASE("large products agree with the reference on sampled rows", "[large]") {
    samples::for_each_encoding([]<class E>() {
        const int64_t n = 14336, k = 4096;
        const auto w = samples::random_weights<E>(n, k, 61);
        const auto x = samples::gaussian(k, 62);
        const buffer weights(w, placement::exact);
        const buffer activation(x, placement::exact);
        const buffer output(static_cast<size_t>(n) * 4, placement::exact);
        const kq::dense_arguments a{.weights = weights.data(),
                                    .activation = activation.as<const float>(),
                                    .output = output.as<float>(),
                                    .n = n,
                                    .k = k};
        using gemv = instances::gemv<E>;
        const buffer space(gemv::workspace_bytes(a), placement::exact);
        kq::check(gemv::launch(a, {space.data(), space.bytes()}, nullptr, device()));
        const auto y = output.download<float>();
        std::vector<typename E::activation::block> blocks;
        for (int64_t at = 0; at < k; at += E::activation::elements) {
            blocks.push_back(kq::quantize_block<typename E::activation>(x.data() + at));
        }
        std::vector<float> sampled;
        std::vector<double> expected;
        for (int64_t r = 0; r < n; r += 67) {
            sampled.push_back(y[static_cast<size_t>(r)]);
            expected.push_back(kq::reference::dot<E>(w.data() + r * (k / E::elements),
                                                     blocks.data(), k / E::elements));
        }
        CHECK(samples::nmse(sampled, expected) <= 1e-6);
    });
}

TEST_CASE("a captured graph replays with a changed activation, bit for bit") {
    using E = kq::q4_k;
    const samples::shape s{2, 65, 2048};
    const auto w = samples::random_weights<E>(s.n, s.k, 71);
    const buffer weights(w, placement::exact);
    const buffer activation(static_cast<size_t>(s.m * s.k) * 4, placement::exact);
    const buffer output(static_cast<size_t>(s.m * s.n) * 4, placement::exact);
    kq::dense_arguments a{.weights = weights.data(),
                          .activation = activation.as<const float>(),
                          .output = output.as<float>(),
                          .n = s.n,
                          .k = s.k,
                          .m = s.m};
    using gemv = instances::gemv<E>;
    const buffer space(gemv::workspace_bytes(a), placement::exact);
    cudaStream_t stream = nullptr;
    gpu::check(cudaStreamCreate(&stream), "create stream");
    gpu::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "begin capture");
    kq::check(gemv::launch(a, {space.data(), space.bytes()}, stream, device()));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    gpu::check(cudaStreamEndCapture(stream, &graph), "end capture");
    gpu::check(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
    for (uint64_t seed = 72; seed < 75; ++seed) {
        const auto x = samples::gaussian(s.m * s.k, seed);
        gpu::check(cudaMemcpy(activation.data(), x.data(), x.size() * 4, cudaMemcpyHostToDevice),
                   "copy");
        gpu::check(cudaGraphLaunch(executable, stream), "launch graph");
        gpu::check(cudaStreamSynchronize(stream), "synchronize");
        std::vector<float> expected(static_cast<size_t>(s.m * s.n));
        kq::dense_arguments host = a;
        host.weights = w.data();
        host.activation = x.data();
        host.output = expected.data();
        kq::check(gpu::launch_host_model<E>(host));
        CHECK(output.download<float>() == expected);
    }
    gpu::check(cudaGraphExecDestroy(executable), "destroy graph");
    gpu::check(cudaGraphDestroy(graph), "destroy graph");
    gpu::check(cudaStreamDestroy(stream), "destroy stream");
}

TEST_CASE("a thousand runs give the same bits", "[repeat]") {
    samples::for_each_family<1>([]<class E>() {
        const samples::shape s{1, 513, 4096};
        const auto w = samples::random_weights<E>(s.n, s.k, 81);
        const auto x = samples::gaussian(s.k, 82);
        const buffer weights(w, placement::exact);
        const buffer activation(x, placement::exact);
        const buffer output(static_cast<size_t>(s.n) * 4, placement::exact);
        const kq::dense_arguments a{.weights = weights.data(),
                                    .activation = activation.as<const float>(),
                                    .output = output.as<float>(),
                                    .n = s.n,
                                    .k = s.k};
        using gemv = instances::gemv<E>;
        const buffer space(gemv::workspace_bytes(a), placement::exact);
        std::vector<float> first;
        int changed = 0;
        for (int run = 0; run < 1000; ++run) {
            kq::check(gemv::launch(a, {space.data(), space.bytes()}, nullptr, device()));
            const auto y = output.download<float>();
            first = run == 0 ? y : first;
            changed += y != first;
        }
        CHECK(changed == 0);
    });
}

TEST_CASE("a refused call launches and writes nothing") {
    using E = kq::q4_k;
    const buffer weights(samples::random_weights<E>(4, 256, 91), placement::exact);
    const buffer activation(samples::gaussian(256, 92), placement::exact);
    const std::vector<float> pattern(4, 3.0f);
    const buffer output(pattern, placement::exact);
    const buffer space(4096, placement::exact);
    kq::dense_arguments a{.weights = weights.data(),
                          .activation = activation.as<const float>(),
                          .output = output.as<float>(),
                          .n = 4,
                          .k = 256};
    const auto refused = [&](kq::workspace lent) {
        const kq::status s = instances::gemv<E>::launch(a, lent, nullptr, device());
        CHECK(instances::gemv<E>::can_implement(a, lent, device()).subject() == s.subject());
        return s;
    };
    CHECK(refused({space.data(), 16}).subject() == std::string("workspace"));
    CHECK(refused({nullptr, 4096}).subject() == std::string("workspace"));
    a.k = 255;
    CHECK(refused({space.data(), 4096}).subject() == std::string("k"));
    a.k = 256;
    a.weights = weights.as<char>() + 8;
    CHECK(refused({space.data(), 4096}).subject() == std::string("weights"));
    gpu::check(cudaDeviceSynchronize(), "synchronize");
    CHECK(output.download<float>() == pattern);
}

TEST_CASE("a CUDA error comes back with its name", "[error]") {
    using E = kq::q4_k;
    const buffer weights(samples::random_weights<E>(4, 256, 93), placement::exact);
    const buffer activation(samples::gaussian(256, 94), placement::exact);
    const buffer output(16, placement::exact);
    const buffer space(4096, placement::exact);
    const kq::dense_arguments a{.weights = weights.data(),
                                .activation = activation.as<const float>(),
                                .output = output.as<float>(),
                                .n = 4,
                                .k = 256};
    kq::device_facts larger = device(); // claims more shared memory than there is
    larger.shared_bytes_per_block = 1 << 20;
    const kq::status s =
        instances::gemv<E>::multiply({.weights = weights.data(),
                                      .activation = activation.as<const float>(),
                                      .output = output.as<float>(),
                                      .n = 4,
                                      .k = int64_t{256} * 2048},
                                     {space.data(), size_t{1} << 40}, nullptr, larger);
    CHECK(s.code() == kq::error::cuda);
    CHECK(std::string(s.rule()).rfind("cudaError", 0) == 0);
    CHECK(cudaGetLastError() == cudaSuccess); // the status carries it, nothing is left behind
    CHECK(instances::gemv<E>::launch(a, {space.data(), space.bytes()}, nullptr, device()).ok());
}

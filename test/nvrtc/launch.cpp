// SPDX-License-Identifier: Apache-2.0
#include "catch.hpp"
#include "gpu/memory.hpp"
#include "nvrtc/products.hpp"
#include "nvrtc/program.hpp"
#include "samples.hpp"

#include <kq/core/check.hpp>
#include <kq/gemv/host_model.hpp>

using gpu::buffer;
using gpu::placement;
using gpu::detail::check_driver;
using gpu::detail::driver;

namespace {

kq::device_facts device() {
    const auto attribute = [](cudaDeviceAttr which) {
        int current = 0;
        int value = 0;
        gpu::check(cudaGetDevice(&current), "current device");
        gpu::check(cudaDeviceGetAttribute(&value, which, current), "attribute");
        return value;
    };
    return {.compute_capability = 10 * attribute(cudaDevAttrComputeCapabilityMajor) +
                                  attribute(cudaDevAttrComputeCapabilityMinor),
            .multiprocessors = attribute(cudaDevAttrMultiProcessorCount),
            .shared_bytes_per_block = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)};
}

/// A program on the device.
class loaded {
public:
    explicit loaded(const nvrtc::program& p) {
        gpu::check(cudaFree(nullptr), "create context");
        check_driver(
            driver<decltype(&cuModuleLoadData)>("cuModuleLoadData")(&module_, p.cubin().data()),
            "load");
    }
    ~loaded() { driver<decltype(&cuModuleUnload)>("cuModuleUnload")(module_); }
    loaded(const loaded&) = delete;
    loaded& operator=(const loaded&) = delete;

    CUfunction kernel(const std::string& symbol) const {
        CUfunction function = nullptr;
        check_driver(driver<decltype(&cuModuleGetFunction)>("cuModuleGetFunction")(
                         &function, module_, symbol.c_str()),
                     "kernel");
        return function;
    }

private:
    CUmodule module_ = nullptr;
};

template <class Parameters>
void launch(CUfunction kernel, kq::kernel_launch<Parameters> l) {
    if (l.shape.grid == 0) {
        return;
    }
    check_driver(
        driver<decltype(&cuFuncSetAttribute)>("cuFuncSetAttribute")(
            kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, l.shape.most_shared_bytes),
        "shared memory");
    CUlaunchAttribute dependent{};
    dependent.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    dependent.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config{};
    config.gridDimX = static_cast<unsigned>(l.shape.grid);
    config.gridDimY = static_cast<unsigned>(l.shape.grid_y);
    config.gridDimZ = 1;
    config.blockDimX = static_cast<unsigned>(l.shape.threads);
    config.blockDimY = 1;
    config.blockDimZ = 1;
    config.sharedMemBytes = static_cast<unsigned>(l.shape.shared_bytes);
    config.attrs = &dependent;
    config.numAttrs = l.shape.dependent ? 1 : 0;
    void* arguments[] = {&l.parameters};
    check_driver(driver<decltype(&cuLaunchKernelEx)>("cuLaunchKernelEx")(&config, kernel, arguments,
                                                                         nullptr),
                 "launch");
}

/// The product by the host model, whose bits depend on the order only.
template <class Encoding>
void multiply_on_host(const kq::policy& p, const kq::dense_arguments& a) {
    kq::check(p.order == kq::order{8}    ? kq::host_model<Encoding, kq::order{8}>::launch(a)
              : p.order == kq::order{16} ? kq::host_model<Encoding, kq::order{16}>::launch(a)
                                         : kq::host_model<Encoding>::launch(a));
}

/// The product by kernels of the loaded program: bit-equal to the host model's?
template <class Encoding>
void compare(const kq::policy& policy, CUfunction quantize, CUfunction multiply, int64_t n,
             int64_t k, int64_t m, bool dependent) {
    using gemv = kq::run_time_gemv<Encoding>;
    const auto w = samples::random_weights<Encoding>(n, k, 71);
    std::vector<kq::f16> x;
    for (const float v : samples::gaussian(m * k, 72)) {
        x.push_back(kq::to_f16(v));
    }
    std::vector<float> expected(static_cast<size_t>(m * n), -1);
    kq::dense_arguments a{.weights = w.data(),
                          .activation = x.data(),
                          .output = expected.data(),
                          .n = n,
                          .k = k,
                          .m = m};
    multiply_on_host<Encoding>(policy, a);

    const buffer weights(w, placement::before_hole), activation(x, placement::exact);
    const buffer output(std::vector<float>(expected.size(), -1), placement::exact);
    const buffer space(gemv::workspace_bytes(a), placement::exact);
    a.weights = weights.data();
    a.activation = activation.as<const kq::f16>();
    a.output = output.as<float>();
    typename gemv::launches l;
    kq::check(gemv::plan(policy, a, {space.data(), space.bytes()}, device(), l,
                         {.dependent = dependent}));
    REQUIRE(l.method == policy.method);
    launch(quantize, l.quantize);
    launch(multiply, l.multiply);
    gpu::check(cudaDeviceSynchronize(), "synchronize");
    const auto y = output.download<float>();
    CHECK(std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)) == 0);
}

} // namespace

TEST_CASE("kernels that NVRTC compiled give the host model's bits") {
    const kq::device_facts facts = device();
    for (const nvrtc::product& p : nvrtc::products) {
        if (p.policy.method == kq::method::bulk && facts.compute_capability < 90) {
            continue;
        }
        nvrtc::with_encoding(p, [&]<class Encoding>() {
            using gemv = kq::run_time_gemv<Encoding>;
            const std::string multiply = gemv::kernel_name(p.policy, p.policy.method);
            const std::string quantize = gemv::quantizer_name(kq::element_type::f16);
            const nvrtc::program program(gemv::source(), {multiply, quantize},
                                         facts.compute_capability);
            const loaded module(program);
            for (const int64_t n : {1, 61, 1031}) {
                for (const int64_t m : {1, 4}) {
                    for (const bool dependent : {false, true}) {
                        INFO(multiply << ", n " << n << ", m " << m << ", dependent " << dependent);
                        compare<Encoding>(p.policy, module.kernel(program.lowered(quantize)),
                                          module.kernel(program.lowered(multiply)), n, 1792, m,
                                          dependent);
                    }
                }
            }
        });
    }
}

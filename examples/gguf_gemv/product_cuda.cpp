// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"
#include "instances/instances.hpp"
#include "policies.hpp"
#include "product.hpp"

#include <kq/dot/dots.hpp>
#include <kq/gemv/dispatch.hpp>

#include <cuda/cmath>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

namespace gguf_gemv {
namespace {

constexpr std::size_t most_copies = 2048;
constexpr std::size_t least_launches = 8; ///< of a graph, so that its own launch counts little
constexpr int warm_up_replays = 3;
constexpr int timed_replays = 15;
constexpr double most_seconds = 2; ///< of replays, after the first

void require(cudaError_t code, const char* call) {
    if (code != cudaSuccess) {
        kq::check(kq::status::cuda_failure(call, cudaGetErrorName(code)));
    }
}

template <auto Destroy>
struct destroyer {
    template <class Object>
    void operator()(Object* object) const {
        Destroy(object);
    }
};
template <class Handle, auto Destroy>
using owned = std::unique_ptr<std::remove_pointer_t<Handle>, destroyer<Destroy>>;

using device_memory = owned<void*, cudaFree>;
using stream_handle = owned<cudaStream_t, cudaStreamDestroy>;
using event_handle = owned<cudaEvent_t, cudaEventDestroy>;
using graph_handle = owned<cudaGraph_t, cudaGraphDestroy>;
using executable_handle = owned<cudaGraphExec_t, cudaGraphExecDestroy>;

device_memory allocate(std::size_t bytes) {
    void* data = nullptr;
    require(cudaMalloc(&data, bytes), "cudaMalloc");
    return device_memory(data);
}

stream_handle make_stream() {
    cudaStream_t stream = nullptr;
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    return stream_handle(stream);
}

event_handle make_event() {
    cudaEvent_t event = nullptr;
    require(cudaEventCreate(&event), "cudaEventCreate");
    return event_handle(event);
}

/// Three times the bytes of the current device's L2 cache.
std::size_t cold_bytes() {
    int device = 0;
    int bytes = 0;
    require(cudaGetDevice(&device), "cudaGetDevice");
    require(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device),
            "cudaDeviceGetAttribute");
    return 3 * static_cast<std::size_t>(bytes);
}

/// How many copies of the weights make the L2 cache forget each before its next use, while
/// `other_bytes` of activation and output pass too.
std::size_t copies_for(std::size_t weight_bytes, std::size_t other_bytes) {
    const std::size_t missing = cold_bytes() - std::min(cold_bytes(), other_bytes);
    return std::clamp(cuda::ceil_div(missing, weight_bytes), std::size_t{1}, most_copies);
}

kq::device_facts current_device() {
    kq::device_facts facts;
    kq::check(instances::query_device(facts));
    return facts;
}

/// A product in device memory, with copies of its weights to rotate over.
template <class Encoding, kq::transport Via>
class gpu_product {
    using gemv = instances::gemv<Encoding, Via>;

public:
    explicit gpu_product(const product& p)
        : arguments_(p.arguments),
          weight_bytes_(p.weight_bytes),
          pitch_(cuda::round_up(p.weight_bytes, std::size_t{256})),
          activation_bytes_(static_cast<std::size_t>(p.arguments.m * p.arguments.k) * 4),
          output_bytes_(static_cast<std::size_t>(p.arguments.m * p.arguments.n) * 4),
          copies_(copies_for(p.weight_bytes, activation_bytes_ + output_bytes_)),
          workspace_bytes_(gemv::workspace_bytes(p.arguments)),
          weights_(allocate(copies_ * pitch_)),
          activation_(allocate(activation_bytes_)),
          output_(allocate(output_bytes_)),
          workspace_(allocate(workspace_bytes_)) {
        copy(weights_of(0), p.arguments.weights, weight_bytes_);
        copy(activation_.get(), p.arguments.activation.data, activation_bytes_);
        for (std::size_t i = 1; i < copies_; ++i) {
            copy(weights_of(i), weights_of(0), weight_bytes_);
        }
        arguments_.activation = static_cast<const float*>(activation_.get());
        arguments_.output = static_cast<float*>(output_.get());
    }

    /// Computes once into memory full of NaNs.
    std::vector<float> output() {
        require(cudaMemsetAsync(output_.get(), 0xff, output_bytes_, stream_.get()),
                "cudaMemsetAsync");
        launch(0);
        std::vector<float> numbers(output_bytes_ / sizeof(float));
        copy(numbers.data(), output_.get(), output_bytes_);
        return numbers;
    }

    /// The median time of a launch.
    double seconds() {
        const std::size_t launches = cuda::ceil_div(least_launches, copies_) * copies_;
        const executable_handle graph = capture(launches);
        const event_handle start = make_event();
        const event_handle stop = make_event();
        std::vector<double> times;
        double spent = 0;
        for (int i = 0; i < warm_up_replays + timed_replays && spent < most_seconds; ++i) {
            require(cudaEventRecord(start.get(), stream_.get()), "cudaEventRecord");
            require(cudaGraphLaunch(graph.get(), stream_.get()), "cudaGraphLaunch");
            require(cudaEventRecord(stop.get(), stream_.get()), "cudaEventRecord");
            require(cudaEventSynchronize(stop.get()), "cudaEventSynchronize");
            float milliseconds = 0;
            require(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()),
                    "cudaEventElapsedTime");
            spent += milliseconds / 1e3;
            // Replays that are long need no warm-up.
            if (i >= warm_up_replays || spent >= most_seconds) {
                times.push_back(milliseconds / 1e3 / static_cast<double>(launches));
            }
        }
        return median(times);
    }

    bool is_cold() const {
        return copies_ * weight_bytes_ + activation_bytes_ + output_bytes_ >= cold_bytes();
    }

private:
    unsigned char* weights_of(std::size_t copy) const {
        return static_cast<unsigned char*>(weights_.get()) + copy * pitch_;
    }

    void copy(void* to, const void* from, std::size_t bytes) {
        require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get()),
                "cudaMemcpyAsync");
        require(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
    }

    void launch(std::size_t copy) {
        kq::dense_arguments a = arguments_;
        a.weights = weights_of(copy);
        kq::check(gemv::launch(a, {workspace_.get(), workspace_bytes_}, stream_.get(), facts_));
    }

    executable_handle capture(std::size_t launches) {
        require(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal),
                "cudaStreamBeginCapture");
        for (std::size_t i = 0; i < launches; ++i) {
            launch(i % copies_);
        }
        cudaGraph_t captured = nullptr;
        require(cudaStreamEndCapture(stream_.get(), &captured), "cudaStreamEndCapture");
        const graph_handle graph(captured);
        cudaGraphExec_t executable = nullptr;
        require(cudaGraphInstantiate(&executable, graph.get(), 0), "cudaGraphInstantiate");
        return executable_handle(executable);
    }

    kq::dense_arguments arguments_;
    std::size_t weight_bytes_;
    std::size_t pitch_;
    std::size_t activation_bytes_;
    std::size_t output_bytes_;
    std::size_t copies_;
    std::size_t workspace_bytes_;
    kq::device_facts facts_ = current_device();
    stream_handle stream_ = make_stream();
    device_memory weights_;
    device_memory activation_;
    device_memory output_;
    device_memory workspace_;
};

template <kq::transport Via>
product_result multiply_by(const product& p) {
    product_result result{};
    kq::check(kq::dispatch(p.encoding, [&]<class Encoding>() {
        gpu_product<Encoding, Via> on_gpu(p);
        result.output = on_gpu.output();
        result.seconds = on_gpu.seconds();
        result.cold = on_gpu.is_cold();
    }));
    return result;
}

template <std::size_t... Indices>
product_result multiply_by_one_of(const product& p, std::size_t policy,
                                  std::index_sequence<Indices...>) {
    constexpr product_result (*functions[])(const product&) = {
        multiply_by<known_policies[Indices].via>...};
    return functions[policy](p);
}

} // namespace

gpu_presence find_gpu() {
    int count = 0;
    if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess) {
        return {"", cudaGetErrorName(code)};
    }
    if (count == 0) {
        return {"", cudaGetErrorName(cudaErrorNoDevice)};
    }
    cudaDeviceProp properties{};
    if (const cudaError_t code = cudaGetDeviceProperties(&properties, 0); code != cudaSuccess) {
        return {"", cudaGetErrorName(code)};
    }
    return {properties.name, ""};
}

product_result multiply_on_gpu(const product& p, std::size_t policy) {
    return multiply_by_one_of(p, policy, std::make_index_sequence<known_policies.size()>{});
}

} // namespace gguf_gemv

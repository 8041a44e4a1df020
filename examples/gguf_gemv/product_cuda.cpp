// SPDX-License-Identifier: Apache-2.0
#include "common/graph.hpp"
#include "device.hpp"
#include "instances/instances.hpp"
#include "policies.hpp"
#include "product.hpp"

#include <kq/dot/all.hpp>
#include <kq/gemv/dispatch.hpp>

#include <cuda/cmath>
#include <cuda_runtime_api.h>

#include <utility>

namespace gguf_gemv {
namespace {

using common::require;

constexpr std::size_t most_copies = 2048;
constexpr std::size_t least_launches = 8; ///< of a graph, so that its own launch counts little
constexpr int warm_up_replays = 3;
constexpr int timed_replays = 15;
constexpr double most_seconds = 2; ///< of replays, after the first

kq::device_facts current_device() {
    kq::device_facts facts;
    kq::check(instances::query_device(facts));
    return facts;
}

/// A product in device memory, with copies of its weights to rotate over.
template <class Arguments>
class gpu_product {
public:
    gpu_product(const product& p, const instances::launcher<Arguments>& gemv,
                const kq::device_facts& facts)
        : gemv_(gemv),
          arguments_(arguments_of<Arguments>(p)),
          read_bytes_(p.bytes_read()),
          up_at_(p.is_merged    ? static_cast<std::size_t>(offset_of_up(p))
                 : p.is_gated() ? cuda::round_up(p.weight_bytes, alignment)
                                : 0),
          copied_bytes_((p.is_merged ? 0 : up_at_) + p.weight_bytes),
          pitch_(cuda::round_up(copied_bytes_, alignment)),
          activation_bytes_(static_cast<std::size_t>(p.m * p.k) * 4),
          output_bytes_(static_cast<std::size_t>(p.m * p.n) * 4),
          copies_(common::copies_for(read_bytes_, pitch_, most_copies,
                                     activation_bytes_ + output_bytes_)),
          workspace_bytes_(gemv.workspace_bytes(arguments_)),
          facts_(facts),
          weights_(common::allocate(copies_ * pitch_)),
          activation_(common::allocate(activation_bytes_)),
          ids_(common::allocate(p.ids.size_bytes())),
          scales_(common::allocate(p.scales.size_bytes())),
          up_scales_(common::allocate(p.up_scales.size_bytes())),
          output_(common::allocate(output_bytes_)),
          workspace_(common::allocate(workspace_bytes_)) {
        copy(weights_of(0), p.weights, p.weight_bytes);
        if (p.is_gated() && !p.is_merged) {
            copy(weights_of(0) + up_at_, p.up_weights, p.weight_bytes);
        }
        copy(activation_.get(), p.activation, activation_bytes_);
        for (std::size_t i = 1; i < copies_; ++i) {
            copy(weights_of(i), weights_of(0), copied_bytes_);
        }
        arguments_.activation = static_cast<const float*>(activation_.get());
        arguments_.output = static_cast<float*>(output_.get());
        copy(scales_.get(), p.scales.data(), p.scales.size_bytes());
        copy(up_scales_.get(), p.up_scales.data(), p.up_scales.size_bytes());
        const auto floats = [](const common::device_memory& memory, bool any) {
            return any ? static_cast<const float*>(memory.get()) : nullptr;
        };
        set_scales(arguments_, floats(scales_, !p.scales.empty()),
                   floats(up_scales_, !p.up_scales.empty()));
        if constexpr (requires { arguments_.expert_ids; }) {
            copy(ids_.get(), p.ids.data(), p.ids.size_bytes());
            arguments_.expert_ids = static_cast<const std::int32_t*>(ids_.get());
        }
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
        int device = 0;
        require(cudaGetDevice(&device), "cudaGetDevice");
        const common::device_stream on[] = {{device, stream_.get()}};
        const auto graphs = common::capture(on, [&] {
            for (std::size_t i = 0; i < launches; ++i) {
                launch(i % copies_);
            }
        });
        const common::event_handle start = common::make_event();
        const common::event_handle stop = common::make_event();
        std::vector<double> times;
        double spent = 0;
        for (int i = 0; i < warm_up_replays + timed_replays && spent < most_seconds; ++i) {
            require(cudaEventRecord(start.get(), stream_.get()), "cudaEventRecord");
            require(cudaGraphLaunch(graphs.front().get(), stream_.get()), "cudaGraphLaunch");
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
        return copies_ * read_bytes_ + activation_bytes_ + output_bytes_ >= common::cold_bytes();
    }

private:
    static constexpr std::size_t alignment = 256;

    static std::ptrdiff_t offset_of_up(const product& p) {
        return static_cast<const unsigned char*>(p.up_weights) -
               static_cast<const unsigned char*>(p.weights);
    }

    unsigned char* weights_of(std::size_t copy) const {
        return static_cast<unsigned char*>(weights_.get()) + copy * pitch_;
    }

    void copy(void* to, const void* from, std::size_t bytes) {
        require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get()),
                "cudaMemcpyAsync");
        require(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
    }

    void launch(std::size_t copy) {
        auto a = arguments_;
        a.weights = weights_of(copy);
        a.up_weights = up_at_ != 0 ? weights_of(copy) + up_at_ : nullptr;
        kq::check(gemv_.launch(a, {workspace_.get(), workspace_bytes_}, stream_.get(), facts_, {}));
    }

    instances::launcher<Arguments> gemv_;
    Arguments arguments_;
    std::size_t read_bytes_;   ///< of the weights, in a launch
    std::size_t up_at_;        ///< where the second set of a copy begins; 0 if there is none
    std::size_t copied_bytes_; ///< of all sets
    std::size_t pitch_;        ///< bytes from copy to copy
    std::size_t activation_bytes_;
    std::size_t output_bytes_;
    std::size_t copies_;
    std::size_t workspace_bytes_;
    kq::device_facts facts_;
    common::stream_handle stream_ = common::make_stream();
    common::device_memory weights_;
    common::device_memory activation_;
    common::device_memory ids_;
    common::device_memory scales_;
    common::device_memory up_scales_;
    common::device_memory output_;
    common::device_memory workspace_;
};

template <class Arguments>
product_result multiply_by(const instances::launcher<Arguments>& gemv, const product& p,
                           const kq::device_facts& facts) {
    kq::launch_plan plan;
    kq::check(gemv.describe(arguments_of<Arguments>(p), facts, plan, {}));
    gpu_product<Arguments> on_gpu(p, gemv, facts);
    product_result result{on_gpu.output(), 0, on_gpu.is_cold(), plan};
    result.seconds = on_gpu.seconds();
    return result;
}

template <class Encoding, std::size_t Policy>
constexpr instances::launcher<kq::dense_arguments> launcher_by_policy() {
    if constexpr (known_policies[Policy]) {
        return instances::launcher_of<instances::gemv<Encoding, *known_policies[Policy]>>;
    } else {
        return instances::launcher_of<instances::gemv<Encoding, instances::tuned<Encoding>>>;
    }
}

template <class Encoding, std::size_t... Policies>
instances::launcher<kq::dense_arguments> dense_launcher(std::size_t policy,
                                                        std::index_sequence<Policies...>) {
    constexpr instances::launcher<kq::dense_arguments> launchers[] = {
        launcher_by_policy<Encoding, Policies>()...};
    return launchers[policy];
}

/// Chooses among what examples/instances compiles.
template <class Encoding>
product_result multiply(const product& p, const kq::device_facts& facts, std::size_t policy) {
    using namespace kq::mappings;
    using namespace kq::epilogues;
    using instances::gemv;
    using instances::launcher_of;
    constexpr auto tuned = instances::tuned<Encoding>;
    if (p.has_experts()) {
        return multiply_by(p.is_gated() ? launcher_of<gemv<Encoding, tuned, experts, gated>>
                                        : launcher_of<gemv<Encoding, tuned, experts, store>>,
                           p, facts);
    }
    return multiply_by(
        p.is_gated()
            ? launcher_of<gemv<Encoding, tuned, dense, gated>>
            : dense_launcher<Encoding>(policy, std::make_index_sequence<known_policies.size()>{}),
        p, facts);
}

} // namespace

gpu_presence find_gpu() {
    if (const common::gpu_presence found = common::find_gpus(); found.count == 0) {
        return {"", found.absence};
    }
    cudaDeviceProp properties{};
    if (const cudaError_t code = cudaGetDeviceProperties(&properties, 0); code != cudaSuccess) {
        return {"", common::absence_of(code)};
    }
    kq::device_facts facts;
    if (const kq::status s = instances::query_device(facts); !s.ok()) {
        return {"", std::string(properties.name) + " of compute capability " +
                        std::to_string(properties.major) + "." + std::to_string(properties.minor) +
                        " cannot run kernels that are compiled for " KQ_ARCHITECTURES ": " +
                        kq::message(s)};
    }
    return {properties.name, ""};
}

product_result multiply_on_gpu(const product& p, std::size_t policy) {
    const kq::device_facts facts = current_device();
    product_result result{};
    kq::check(kq::dispatch(
        p.encoding, [&]<class Encoding>() { result = multiply<Encoding>(p, facts, policy); }));
    return result;
}

} // namespace gguf_gemv

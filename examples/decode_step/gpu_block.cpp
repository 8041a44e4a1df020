// SPDX-License-Identifier: Apache-2.0
#include "gpu_block.hpp"

#include "common/graph.hpp"
#include "instances/instances.hpp"

#include <algorithm>

namespace decode_step {
namespace {

using common::require;

constexpr std::size_t most_copies = 2048;
constexpr std::size_t least_steps = 16; ///< of a graph, so that its own launch counts little
constexpr std::size_t alignment = 256;  ///< of each matrix, as cudaMalloc would

/// kq::gemv by the measured policies, where examples/instances has them.
template <class Encoding, template <int> class Mapping, class Epilogue>
using gemv = instances::gemv<Encoding, instances::tuned<Encoding>, Mapping, Epilogue>;

/// Products by the kernels. Each quantizes its activation on the stream first.
struct gpu_products {
    kq::workspace space;
    cudaStream_t stream;
    const kq::device_facts& facts;
    kq::launch_options options;

    template <template <int> class Mapping, class Epilogue>
    kq::status launch(kq::encoding e,
                      const typename Mapping<Epilogue::weight_sets>::arguments& a) const {
        return kq::dispatch(e, [&]<class Encoding>() {
            return gemv<Encoding, Mapping, Epilogue>::launch(a, space, stream, facts, options);
        });
    }
};

/// Computes nothing, but finds the workspace that serves every product of a step.
struct workspace_size {
    std::size_t& bytes;

    template <template <int> class Mapping, class Epilogue>
    kq::status launch(kq::encoding e,
                      const typename Mapping<Epilogue::weight_sets>::arguments& a) const {
        return kq::dispatch(e, [&]<class Encoding>() {
            bytes = std::max(bytes, gemv<Encoding, Mapping, Epilogue>::workspace_bytes(a));
        });
    }
};

std::size_t padded(const matrix& m) {
    return cuda::round_up(m.bytes(), alignment);
}
std::size_t pitch_of(const block& b) {
    return padded(b.gate) + padded(b.up) + padded(b.down);
}

kq::device_facts current_device() {
    kq::device_facts facts;
    kq::check(instances::query_device(facts));
    return facts;
}

/// Copies numbers on the stream that will read them: it does not wait for copies on another one.
template <class T>
common::device_memory upload(const std::vector<T>& numbers, cudaStream_t stream) {
    const std::size_t bytes = numbers.size() * sizeof(T);
    common::device_memory memory = common::allocate(bytes);
    if (bytes != 0) {
        require(
            cudaMemcpyAsync(memory.get(), numbers.data(), bytes, cudaMemcpyHostToDevice, stream),
            "cudaMemcpyAsync");
    }
    return memory;
}

template <class T>
T* as(const common::device_memory& memory) {
    return static_cast<T*>(memory.get());
}

} // namespace

gpu_block::gpu_block(const block& b, const token& t)
    : b_(b),
      turns_(static_cast<std::size_t>(b.gate.experts / b.slots())),
      copies_(common::copies_for(turns_ * b.bytes_read(), pitch_of(b), most_copies)),
      facts_(current_device()),
      weights_(common::allocate(copies_ * pitch_of(b))),
      x_(upload(t.x, stream_.get())),
      inner_(common::allocate(static_cast<std::size_t>(b.slots() * b.inner()) * sizeof(float))),
      y_(common::allocate(t.x.size() * sizeof(float))),
      ids_(upload(t.ids, stream_.get())),
      term_weights_(upload(t.term_weights, stream_.get())) {
    auto* const first = as<std::byte>(weights_);
    to_device(b.gate, first, stream_.get());
    to_device(b.up, first + padded(b.gate), stream_.get());
    to_device(b.down, first + padded(b.gate) + padded(b.up), stream_.get());
    for (std::size_t i = 1; i < copies_; ++i) {
        require(cudaMemcpyAsync(first + i * pitch_of(b), first, pitch_of(b),
                                cudaMemcpyDeviceToDevice, stream_.get()),
                "cudaMemcpyAsync");
    }
    require(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
    kq::check(run_step(b, {}, workspace_size{workspace_bytes_}));
    workspace_ = common::allocate(workspace_bytes_);
}

std::vector<float> gpu_block::output(kq::launch_options options) {
    std::vector<float> y(static_cast<std::size_t>(b_.hidden()));
    // NaNs, so that an output that is not written is not right by chance.
    require(cudaMemsetAsync(y_.get(), 0xff, y.size() * sizeof(float), stream_.get()),
            "cudaMemsetAsync");
    launch(0, options);
    require(cudaMemcpyAsync(y.data(), y_.get(), y.size() * sizeof(float), cudaMemcpyDeviceToHost,
                            stream_.get()),
            "cudaMemcpyAsync");
    require(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
    return y;
}

double gpu_block::seconds(kq::launch_options options) {
    const std::size_t cycle = copies_ * turns_;
    const std::size_t steps = cuda::ceil_div(least_steps, cycle) * cycle;
    int device = 0;
    require(cudaGetDevice(&device), "cudaGetDevice");
    const common::device_stream on[] = {{device, stream_.get()}};
    const auto graphs = common::capture(on, [&] {
        for (std::size_t step = 0; step < steps; ++step) {
            launch(step, options);
        }
    });
    return common::replay_seconds(on, graphs) / static_cast<double>(steps);
}

bool gpu_block::is_cold() const {
    return copies_ * turns_ * b_.bytes_read() >= common::cold_bytes();
}

void gpu_block::launch(std::size_t step, kq::launch_options options) const {
    const auto* const copy = as<std::byte>(weights_) + step / turns_ % copies_ * pitch_of(b_);
    const std::size_t first_slot = step % turns_ * static_cast<std::size_t>(b_.slots());
    const step_memory memory{.gate = copy,
                             .up = copy + padded(b_.gate),
                             .down = copy + padded(b_.gate) + padded(b_.up),
                             .x = as<float>(x_),
                             .inner = as<float>(inner_),
                             .y = as<float>(y_),
                             .ids = as<std::int32_t>(ids_) + first_slot,
                             .term_weights = as<float>(term_weights_)};
    kq::check(run_step(
        b_, memory,
        gpu_products{{workspace_.get(), workspace_bytes_}, stream_.get(), facts_, options}));
}

} // namespace decode_step

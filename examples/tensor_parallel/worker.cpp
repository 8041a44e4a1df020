// SPDX-License-Identifier: Apache-2.0
#include "worker.hpp"

#include "common/fill_noise.hpp"
#include "gguf/types.hpp"
#include "instances/instances.hpp"

#include <kq/gemv/dispatch.hpp>

namespace tensor_parallel {
namespace {

using common::require;

constexpr std::size_t alignment = 256; ///< of each copy, as cudaMalloc would

const gguf::type_info& type_of(kq::encoding e) {
    return *gguf::find_type(static_cast<std::uint32_t>(e)); // the same numbers
}

kq::device_facts current_device() {
    kq::device_facts facts;
    kq::check(instances::query_device(facts));
    return facts;
}

/// A stream of a device, which becomes the current one.
common::stream_handle stream_on(int device) {
    require(cudaSetDevice(device), "cudaSetDevice");
    return common::make_stream();
}

common::device_memory allocate_floats(std::size_t count) {
    return common::allocate(count * sizeof(float));
}

/// Copies numbers on the stream that will read them: it does not wait for copies on another one.
common::device_memory upload(const std::vector<float>& numbers, cudaStream_t stream) {
    common::device_memory memory = allocate_floats(numbers.size());
    require(cudaMemcpyAsync(memory.get(), numbers.data(), numbers.size() * sizeof(float),
                            cudaMemcpyHostToDevice, stream),
            "cudaMemcpyAsync");
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); // then they may go
    return memory;
}

/// Calls `f` with the launcher of an encoding.
template <class F>
kq::status with_gemv(kq::encoding e, F&& f) {
    return kq::dispatch(e, [&]<class Encoding>() {
        return f.template operator()<instances::gemv<Encoding, instances::tuned<Encoding>>>();
    });
}

} // namespace

std::int64_t problem::elements() const {
    return type_of(encoding).block_elements;
}

std::size_t problem::bytes() const {
    return static_cast<std::size_t>(n * row_blocks()) * type_of(encoding).block_bytes;
}

part_product::part_product(const problem& p, range rows, range blocks, const float* x, float* y,
                           cudaStream_t stream)
    : encoding_(p.encoding),
      arguments_{.activation = x + blocks.first * p.elements(),
                 .output = y,
                 .n = rows.count,
                 .k = blocks.count * p.elements()},
      stream_(stream),
      facts_(current_device()),
      bytes_(static_cast<std::size_t>(rows.count * blocks.count) * type_of(p.encoding).block_bytes),
      copies_(common::copies_for(bytes_, cuda::round_up(bytes_, alignment), launches)),
      weights_(common::allocate(copies_ * cuda::round_up(bytes_, alignment))) {
    kq::check(with_gemv(encoding_, [&]<class Gemv>() {
        workspace_bytes_ = Gemv::workspace_bytes(arguments_);
        return kq::status();
    }));
    workspace_ = common::allocate(workspace_bytes_);
    kq::check(kq::dispatch(encoding_, [&]<class Encoding>() {
        const common::noise_part noise{.seed = p.seed,
                                       .scale = common::noise_scale<Encoding>(p.k),
                                       .row_blocks = p.row_blocks(),
                                       .first_row = rows.first,
                                       .rows = rows.count,
                                       .first_block = blocks.first,
                                       .blocks = blocks.count};
        for (std::size_t i = 0; i < copies_; ++i) {
            common::fill_noise(Encoding::id, noise,
                               static_cast<std::byte*>(weights_.get()) +
                                   i * cuda::round_up(bytes_, alignment),
                               stream);
        }
    }));
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

void part_product::launch(std::size_t number) const {
    kq::dense_arguments a = arguments_;
    a.weights = static_cast<const std::byte*>(weights_.get()) +
                number % copies_ * cuda::round_up(bytes_, alignment);
    kq::check(with_gemv(encoding_, [&]<class Gemv>() {
        return Gemv::launch(a, {workspace_.get(), workspace_bytes_}, stream_, facts_);
    }));
}

worker::worker(const problem& p, int ranks, int rank, int device)
    : device_(device),
      rank_(rank),
      n_(static_cast<std::size_t>(p.n)),
      rows_of_rank_(static_cast<std::size_t>(part_size(p.n, ranks))),
      gathered_count_(static_cast<std::size_t>(ranks) * rows_of_rank_),
      stream_(stream_on(device)),
      x_(upload(common::gaussian(p.k, p.seed), stream_.get())),
      gathered_(allocate_floats(gathered_count_)),
      sum_(allocate_floats(n_)),
      expected_(allocate_floats(n_)),
      rows_(p, part_of(p.n, ranks, rank), {0, p.row_blocks()}, as_floats(x_), own_rows(),
            stream_.get()),
      columns_(p, {0, p.n}, part_of(p.row_blocks(), ranks, rank), as_floats(x_), sum(),
               stream_.get()) {
    if (rank == 0) {
        all_.emplace_back(p, range{0, p.n}, range{0, p.row_blocks()}, as_floats(x_), expected(),
                          stream_.get());
    }
}

worker::~worker() {
    cudaSetDevice(device_); // whose memory goes now
}

void worker::enter() const {
    require(cudaSetDevice(device_), "cudaSetDevice");
}

void worker::multiply_rows(std::size_t number) const {
    enter();
    rows_.launch(number);
}
void worker::multiply_columns(std::size_t number) const {
    enter();
    columns_.launch(number);
}
void worker::multiply_all(std::size_t number) const {
    enter();
    all_.front().launch(number);
}

float* worker::own_rows() const {
    return gathered() + static_cast<std::size_t>(rank_) * rows_of_rank_;
}

void worker::clear() const {
    enter();
    require(cudaMemsetAsync(gathered(), 0xff, gathered_count_ * sizeof(float), stream_.get()),
            "cudaMemsetAsync");
    require(cudaMemsetAsync(sum(), 0xff, n_ * sizeof(float), stream_.get()), "cudaMemsetAsync");
    require(cudaMemsetAsync(expected(), 0xff, n_ * sizeof(float), stream_.get()),
            "cudaMemsetAsync");
}

std::vector<float> worker::download(const float* numbers) const {
    enter();
    std::vector<float> copy(n_);
    require(cudaMemcpyAsync(copy.data(), numbers, n_ * sizeof(float), cudaMemcpyDeviceToHost,
                            stream_.get()),
            "cudaMemcpyAsync");
    require(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
    return copy;
}

} // namespace tensor_parallel

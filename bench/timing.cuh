// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

/// What the benchmarks share: device memory, and the time of launches over a cold second-level
/// cache.
namespace bench {

inline void check(cudaError_t e, const char* what) {
    if (e != cudaSuccess) {
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(e));
    }
}

/// The stream of everything that runs. A second one would be felt in the times: once launches had
/// changed a few times between this one and the default stream, every ordinary launch in every
/// graph took 0.2 to 0.4 us longer, until the process ended (H200, driver 580).
inline cudaStream_t stream() {
    static const cudaStream_t one = [] {
        cudaStream_t created = nullptr;
        check(cudaStreamCreateWithFlags(&created, cudaStreamNonBlocking), "create stream");
        return created;
    }();
    return one;
}

/// Device memory, freed with its owner.
class device_buffer {
public:
    explicit device_buffer(size_t bytes) { check(cudaMalloc(&data_, bytes), "cudaMalloc"); }

    /// A copy of these.
    template <class T>
    explicit device_buffer(const std::vector<T>& values)
        : device_buffer(values.size() * sizeof(T)) {
        check(cudaMemcpyAsync(data_, values.data(), values.size() * sizeof(T),
                              cudaMemcpyHostToDevice, stream()),
              "copy");
        check(cudaStreamSynchronize(stream()), "copy");
    }
    ~device_buffer() { cudaFree(data_); }
    device_buffer(const device_buffer&) = delete;
    device_buffer& operator=(const device_buffer&) = delete;

    unsigned char* get() const { return static_cast<unsigned char*>(data_); }

private:
    void* data_ = nullptr;
};

/// Median and quartiles of the time of one launch, in seconds.
struct launch_time {
    double median;
    double lower_quartile;
    double upper_quartile;
};

/// Captures `launch(i, stream)` for i = 0 ... launches - 1 in a graph and times its replays with
/// events. The launch is to read the bytes of its place in a `rotation`.
template <class Launch>
launch_time time_launches(int launches, int replays, Launch&& launch) {
    const cudaStream_t stream = bench::stream();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin capture");
    for (int i = 0; i < launches; ++i) {
        launch(i, stream);
    }
    check(cudaStreamEndCapture(stream, &graph), "end capture");
    check(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
    cudaEvent_t start = nullptr;
    cudaEvent_t stop = nullptr;
    check(cudaEventCreate(&start), "create event");
    check(cudaEventCreate(&stop), "create event");
    std::vector<double> seconds;
    for (int r = -2; r < replays; ++r) { // two to warm up
        check(cudaEventRecord(start, stream), "record");
        check(cudaGraphLaunch(executable, stream), "launch graph");
        check(cudaEventRecord(stop, stream), "record");
        check(cudaEventSynchronize(stop), "synchronize");
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, start, stop), "elapsed time");
        if (r >= 0) {
            seconds.push_back(milliseconds * 1e-3 / launches);
        }
    }
    check(cudaEventDestroy(start), "destroy event");
    check(cudaEventDestroy(stop), "destroy event");
    check(cudaGraphExecDestroy(executable), "destroy graph");
    check(cudaGraphDestroy(graph), "destroy graph");
    std::sort(seconds.begin(), seconds.end());
    return {seconds[seconds.size() / 2], seconds[seconds.size() / 4],
            seconds[seconds.size() * 3 / 4]};
}

} // namespace bench

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/cuda.hpp"

#include <span>
#include <vector>

namespace common {

/// A stream and its device.
struct device_stream {
    int device;
    cudaStream_t stream;
};

/// Ends a capture whose graph nobody wants.
inline void abandon_capture(cudaStream_t stream) {
    cudaGraph_t captured = nullptr;
    cudaStreamEndCapture(stream, &captured);
    const graph_handle unwanted(captured);
}
using open_capture = owned<cudaStream_t, abandon_capture>;

/// Captures what `enqueue()` puts on the streams: a graph for each of them. No stream captures
/// afterwards, even if it throws.
template <class Enqueue>
std::vector<executable_handle> capture(std::span<const device_stream> on, Enqueue&& enqueue) {
    std::vector<open_capture> open;
    open.reserve(on.size()); // a capture that has begun finds its place
    for (const device_stream& each : on) {
        require(cudaSetDevice(each.device), "cudaSetDevice");
        require(cudaStreamBeginCapture(each.stream, cudaStreamCaptureModeThreadLocal),
                "cudaStreamBeginCapture");
        open.emplace_back(each.stream);
    }
    enqueue();
    // All captures end before the first graph is made executable: a thread that captures may not.
    std::vector<graph_handle> graphs;
    for (open_capture& each : open) {
        cudaGraph_t captured = nullptr;
        require(cudaStreamEndCapture(each.release(), &captured), "cudaStreamEndCapture");
        graphs.emplace_back(captured);
    }
    std::vector<executable_handle> executables;
    for (std::size_t i = 0; i < on.size(); ++i) {
        require(cudaSetDevice(on[i].device), "cudaSetDevice");
        cudaGraphExec_t executable = nullptr;
        require(cudaGraphInstantiate(&executable, graphs[i].get(), 0), "cudaGraphInstantiate");
        executables.emplace_back(executable);
    }
    return executables;
}

/// The median time of replaying the graphs together, in seconds; that of the slowest stream counts.
///
/// The number of replays is fixed, so that processes whose graphs meet in collectives agree on it.
/// `meet()` puts on the streams what is to end before time is taken, such as a collective that
/// brings processes together.
template <class Meet>
double replay_seconds(std::span<const device_stream> on, std::span<const executable_handle> graphs,
                      Meet&& meet) {
    constexpr int warm_up_replays = 3;
    constexpr int timed_replays = 15;
    std::vector<event_handle> starts;
    std::vector<event_handle> stops;
    for (const device_stream& each : on) {
        require(cudaSetDevice(each.device), "cudaSetDevice");
        starts.push_back(make_event());
        stops.push_back(make_event());
    }
    std::vector<double> times;
    for (int replay = 0; replay < warm_up_replays + timed_replays; ++replay) {
        meet();
        for (std::size_t i = 0; i < on.size(); ++i) {
            require(cudaSetDevice(on[i].device), "cudaSetDevice");
            require(cudaEventRecord(starts[i].get(), on[i].stream), "cudaEventRecord");
            require(cudaGraphLaunch(graphs[i].get(), on[i].stream), "cudaGraphLaunch");
            require(cudaEventRecord(stops[i].get(), on[i].stream), "cudaEventRecord");
        }
        float slowest = 0;
        for (std::size_t i = 0; i < on.size(); ++i) {
            float milliseconds = 0;
            require(cudaEventSynchronize(stops[i].get()), "cudaEventSynchronize");
            require(cudaEventElapsedTime(&milliseconds, starts[i].get(), stops[i].get()),
                    "cudaEventElapsedTime");
            slowest = std::max(slowest, milliseconds);
        }
        if (replay >= warm_up_replays) {
            times.push_back(slowest / 1e3);
        }
    }
    std::nth_element(times.begin(), times.begin() + timed_replays / 2, times.end());
    return times[timed_replays / 2];
}

/// The same, where nobody is to be met.
inline double replay_seconds(std::span<const device_stream> on,
                             std::span<const executable_handle> graphs) {
    return replay_seconds(on, graphs, [] {});
}

} // namespace common

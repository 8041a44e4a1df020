// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <kq/core/check.hpp>

#include <cuda/cmath>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

/// What the examples share.
namespace common {

/// Throws kq::cuda_error if a call of the CUDA runtime failed.
inline void require(cudaError_t code, const char* call) {
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

inline device_memory allocate(std::size_t bytes) {
    void* data = nullptr;
    require(cudaMalloc(&data, bytes), "cudaMalloc");
    return device_memory(data);
}

inline stream_handle make_stream() {
    cudaStream_t stream = nullptr;
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    return stream_handle(stream);
}

inline event_handle make_event() {
    cudaEvent_t event = nullptr;
    require(cudaEventCreate(&event), "cudaEventCreate");
    return event_handle(event);
}

/// The GPUs that the CUDA runtime sees.
struct gpu_presence {
    int count = 0;
    std::string absence; ///< why there is none, for people
};

/// A version of CUDA as it is written: 13.0 for 13000.
inline std::string cuda_version(int number) {
    return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

/// Why the CUDA runtime sees no GPU.
inline std::string absence_of(cudaError_t code) {
    int driver = 0;
    if (code == cudaErrorNoDevice) {
        return "the NVIDIA driver shows none";
    }
    if (code != cudaErrorInsufficientDriver) {
        return std::string(cudaGetErrorString(code)) + " (" + cudaGetErrorName(code) + ")";
    }
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
        return "there is no NVIDIA driver";
    }
    return "the NVIDIA driver is for CUDA " + cuda_version(driver) + ", this program needs " +
           cuda_version(CUDART_VERSION);
}

inline gpu_presence find_gpus() {
    gpu_presence found;
    const cudaError_t code = cudaGetDeviceCount(&found.count);
    if (code != cudaSuccess || found.count == 0) {
        return {0, absence_of(code != cudaSuccess ? code : cudaErrorNoDevice)};
    }
    return found;
}

/// The name of the current device.
inline std::string device_name() {
    int device = 0;
    cudaDeviceProp properties{};
    require(cudaGetDevice(&device), "cudaGetDevice");
    require(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    return properties.name;
}

/// Three times the bytes of the current device's L2 cache.
inline std::size_t cold_bytes() {
    int device = 0;
    int bytes = 0;
    require(cudaGetDevice(&device), "cudaGetDevice");
    require(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device),
            "cudaDeviceGetAttribute");
    return 3 * static_cast<std::size_t>(bytes);
}

/// How many copies of something make the L2 cache forget each before its next use; at most `most`,
/// and as many as fit into half of the free memory.
/// `pitch`: bytes of a copy. `used_bytes`: those of them that pass the cache before the next copy.
/// `other_bytes`: of memory that passes the cache too, the same with every copy.
inline std::size_t copies_for(std::size_t used_bytes, std::size_t pitch, std::size_t most,
                              std::size_t other_bytes = 0) {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    require(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
    const std::size_t missing = cold_bytes() - std::min(cold_bytes(), other_bytes);
    const std::size_t copies = cuda::ceil_div(missing, std::max(used_bytes, std::size_t{1}));
    return std::max(std::min({copies, most, free_bytes / 2 / std::max(pitch, std::size_t{1})}),
                    std::size_t{1});
}

} // namespace common

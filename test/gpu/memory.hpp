// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

/// Device memory for tests, placed so that a stray access is caught.
namespace gpu {

inline void check(cudaError_t e, const char* what) {
    if (e != cudaSuccess) {
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(e));
    }
}

/// Where a buffer's bytes lie.
enum class placement {
    exact,       ///< an allocation of exactly the right size, for compute-sanitizer
    before_hole, ///< the last byte is followed by an unmapped page
    after_hole,  ///< the first byte is preceded by an unmapped page
};

namespace detail {

/// A driver function, found through the runtime so that no executable needs the driver to start.
template <class Function>
Function driver(const char* name) {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    check(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found),
          name);
    return reinterpret_cast<Function>(function);
}

inline void check_driver(CUresult r, const char* what) {
    if (r != CUDA_SUCCESS) {
        throw std::runtime_error(std::string(what) + ": driver error " + std::to_string(r));
    }
}

} // namespace detail

/// Bytes of device memory.
class buffer {
public:
    buffer(size_t bytes, placement where) : bytes_(bytes), where_(where) {
        if (where == placement::exact) {
            check(cudaMalloc(&start_, bytes == 0 ? 1 : bytes), "cudaMalloc");
            return;
        }
        check(cudaFree(nullptr), "create context");
        CUmemAllocationProp properties{};
        properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        size_t page = 0;
        detail::check_driver(detail::driver<decltype(&cuMemGetAllocationGranularity)>(
                                 "cuMemGetAllocationGranularity")(&page, &properties,
                                                                  CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                             "granularity");
        mapped_ = (bytes + page - 1) / page * page;
        mapped_ = mapped_ == 0 ? page : mapped_;
        reserved_ = mapped_ + 2 * page;
        detail::check_driver(detail::driver<decltype(&cuMemAddressReserve)>("cuMemAddressReserve")(
                                 &reservation_, reserved_, 0, 0, 0),
                             "reserve");
        detail::check_driver(detail::driver<decltype(&cuMemCreate)>("cuMemCreate")(
                                 &handle_, mapped_, &properties, 0),
                             "create");
        map_ = reservation_ + page;
        detail::check_driver(
            detail::driver<decltype(&cuMemMap)>("cuMemMap")(map_, mapped_, 0, handle_, 0), "map");
        CUmemAccessDesc access{};
        access.location = properties.location;
        access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        detail::check_driver(
            detail::driver<decltype(&cuMemSetAccess)>("cuMemSetAccess")(map_, mapped_, &access, 1),
            "set access");
        const CUdeviceptr at = where == placement::before_hole ? map_ + mapped_ - bytes : map_;
        start_ = reinterpret_cast<void*>(at);
    }

    buffer(const void* source, size_t bytes, placement where) : buffer(bytes, where) {
        check(cudaMemcpy(start_, source, bytes, cudaMemcpyHostToDevice), "copy to the device");
    }

    template <class T>
    buffer(const std::vector<T>& elements, placement where)
        : buffer(elements.data(), elements.size() * sizeof(T), where) {}

    ~buffer() {
        if (where_ == placement::exact) {
            cudaFree(start_);
            return;
        }
        detail::driver<decltype(&cuMemUnmap)>("cuMemUnmap")(map_, mapped_);
        detail::driver<decltype(&cuMemRelease)>("cuMemRelease")(handle_);
        detail::driver<decltype(&cuMemAddressFree)>("cuMemAddressFree")(reservation_, reserved_);
    }
    buffer(const buffer&) = delete;
    buffer& operator=(const buffer&) = delete;

    void* data() const { return start_; }
    template <class T>
    T* as() const {
        return static_cast<T*>(start_);
    }
    size_t bytes() const { return bytes_; }

    template <class T>
    std::vector<T> download() const {
        std::vector<T> elements(bytes_ / sizeof(T));
        check(cudaMemcpy(elements.data(), start_, elements.size() * sizeof(T),
                         cudaMemcpyDeviceToHost),
              "copy from the device");
        return elements;
    }

private:
    size_t bytes_ = 0;
    placement where_;
    void* start_ = nullptr;
    CUdeviceptr reservation_ = 0;
    CUdeviceptr map_ = 0;
    size_t reserved_ = 0;
    size_t mapped_ = 0;
    CUmemGenericAllocationHandle handle_ = 0;
};

} // namespace gpu

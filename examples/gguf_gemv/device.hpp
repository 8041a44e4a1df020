// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gguf_gemv {

/// Where the user wants a product to be computed.
enum class device_choice {
    automatic, ///< on the GPU if there is one, else on the host
    cuda,      ///< on the GPU
    host,      ///< on the CPU, by kq's host model
};

/// What the CUDA runtime says about its current device.
struct gpu_presence {
    std::string name;    ///< empty if there is none, or none that the kernels run on
    std::string absence; ///< why there is none
};

/// Looks for a GPU that can be used.
gpu_presence find_gpu();

/// Where products are computed.
struct device {
    bool is_gpu;
    std::string name;   ///< of the GPU, or how many threads of the host
    std::string reason; ///< why the host, if the GPU would have been preferred; else empty
};

/// Settles a choice.
/// Throws input_error if it asks for a GPU and there is none.
device choose_device(device_choice choice);

} // namespace gguf_gemv

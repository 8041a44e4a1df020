// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

#include "input_error.hpp"
#include "threads.hpp"

namespace gguf_gemv {

device choose_device(device_choice choice) {
    const device host{false, std::to_string(thread_count()) + " threads", ""};
    if (choice == device_choice::host) {
        return host;
    }
    const gpu_presence gpu = find_gpu();
    if (!gpu.name.empty()) {
        return {true, gpu.name, ""};
    }
    if (choice == device_choice::cuda) {
        throw input_error("device", "cuda needs a GPU that can be used: " + gpu.absence);
    }
    return {false, host.name, "no GPU: " + gpu.absence};
}

} // namespace gguf_gemv

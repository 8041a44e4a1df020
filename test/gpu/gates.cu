// SPDX-License-Identifier: Apache-2.0
#include "gpu/gates.hpp"
#include "gpu/memory.hpp"

#include <kq/gemv/epilogue/epilogue.hpp>

namespace {

__global__ void apply(kq::gate_form form, const float* gate, const float* up, float* out, int n) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) {
        out[i] = kq::apply_gate(form, gate[i], up[i]);
    }
}

} // namespace

std::vector<float> gpu::apply_gate(const kq::gate_form& form, const std::vector<float>& gate,
                                   const std::vector<float>& up) {
    const buffer g(gate, placement::exact);
    const buffer u(up, placement::exact);
    const buffer out(gate.size() * sizeof(float), placement::exact);
    const int n = static_cast<int>(gate.size());
    apply<<<(n + 255) / 256, 256>>>(form, g.as<const float>(), u.as<const float>(), out.as<float>(),
                                    n);
    check(cudaGetLastError(), "apply");
    return out.download<float>();
}

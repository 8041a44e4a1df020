// SPDX-License-Identifier: Apache-2.0
// A unit of a program, SEE its one function: multiplies by the host model; nvcc adds kernels.
#include "unit.hpp"

#include <kq/core/check.hpp>
#include <kq/core/version.hpp>
#include <kq/dot/all.hpp>
#include <kq/gemv/host_model.hpp>

#if defined(__CUDACC__)
#    include <kq/gemv/gemv.cuh>

template class kq::gemv<kq::q4_k, kq::policies::prefetch<2>>; // one kernel and the quantizers
#endif

sight SEE() {
    const kq::q8_0::block weights[] = {{.d = {0x3c00}, .q = {2}}}; // 1 * 2
    const float activation[32] = {127};
    float product = 0;
    const kq::status done = kq::host_model<kq::q8_0>::launch(
        {.weights = weights, .activation = activation, .output = &product, .n = 1, .k = 32});
    return {KQ_VERSION_MINOR, product, kq::message(done)};
}

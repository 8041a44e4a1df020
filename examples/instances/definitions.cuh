// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instances/instances.hpp"

#include <kq/kq.cuh>

namespace instances {

template <class Encoding, kq::transport Via>
using composed = kq::gemv<Encoding, kq::by(kq::policies::warp, Via)>;

template <class Encoding, kq::transport Via>
size_t gemv<Encoding, Via>::workspace_bytes(const kq::dense_arguments& a) {
    return composed<Encoding, Via>::workspace_bytes(a);
}

template <class Encoding, kq::transport Via>
kq::status gemv<Encoding, Via>::can_implement(const kq::dense_arguments& a, kq::workspace space,
                                              const kq::device_facts& device) {
    return composed<Encoding, Via>::can_implement(a, space, device);
}

template <class Encoding, kq::transport Via>
kq::status gemv<Encoding, Via>::quantize(const kq::dense_arguments& a, kq::workspace space,
                                         cudaStream_t stream, const kq::device_facts& device) {
    return composed<Encoding, Via>::quantize(a, space, stream, device);
}

template <class Encoding, kq::transport Via>
kq::status gemv<Encoding, Via>::multiply(const kq::dense_arguments& a, kq::workspace space,
                                         cudaStream_t stream, const kq::device_facts& device) {
    return composed<Encoding, Via>::multiply(a, space, stream, device);
}

template <class Encoding, kq::transport Via>
kq::status gemv<Encoding, Via>::launch(const kq::dense_arguments& a, kq::workspace space,
                                       cudaStream_t stream, const kq::device_facts& device) {
    return composed<Encoding, Via>::launch(a, space, stream, device);
}

} // namespace instances

// SPDX-License-Identifier: Apache-2.0
#include "gpu/products.hpp"

#include <kq/gemv/host_model.hpp>

template <class E>
kq::status gpu::launch_host_model(const kq::dense_arguments& a) {
    return kq::host_model<E>::launch(a);
}

#define KQ_ENTRY(name, gguf_type)                                                                  \
    template kq::status gpu::launch_host_model<kq::name>(const kq::dense_arguments&);
KQ_ENCODINGS(KQ_ENTRY)

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instances/instances.hpp"

#include <kq/gemv/gemv.cuh>

namespace instances {

template <class Encoding, auto Choice, template <int> class Mapping, class Epilogue>
size_t
gemv<Encoding, Choice, Mapping, Epilogue>::workspace_bytes(const arguments& a) requires compiled {
    return kq::gemv<Encoding, Choice, Mapping, Epilogue>::workspace_bytes(a);
}

template <class Encoding, auto Choice, template <int> class Mapping, class Epilogue>
kq::status gemv<Encoding, Choice, Mapping, Epilogue>::can_implement(
    const arguments& a, kq::workspace space, const kq::device_facts& device) requires compiled {
    return kq::gemv<Encoding, Choice, Mapping, Epilogue>::can_implement(a, space, device);
}

template <class Encoding, auto Choice, template <int> class Mapping, class Epilogue>
kq::status gemv<Encoding, Choice, Mapping, Epilogue>::describe(
    const arguments& a, const kq::device_facts& device, kq::launch_plan& plan,
    kq::launch_options options) requires compiled {
    return kq::gemv<Encoding, Choice, Mapping, Epilogue>::describe(a, device, plan, options);
}

template <class Encoding, auto Choice, template <int> class Mapping, class Epilogue>
kq::status gemv<Encoding, Choice, Mapping, Epilogue>::quantize(
    const arguments& a, kq::workspace space, cudaStream_t stream, const kq::device_facts& device,
    kq::launch_options options) requires compiled {
    return kq::gemv<Encoding, Choice, Mapping, Epilogue>::quantize(a, space, stream, device,
                                                                   options);
}

template <class Encoding, auto Choice, template <int> class Mapping, class Epilogue>
kq::status gemv<Encoding, Choice, Mapping, Epilogue>::multiply(
    const arguments& a, kq::workspace space, cudaStream_t stream, const kq::device_facts& device,
    kq::launch_options options) requires compiled {
    return kq::gemv<Encoding, Choice, Mapping, Epilogue>::multiply(a, space, stream, device,
                                                                   options);
}

template <class Encoding, auto Choice, template <int> class Mapping, class Epilogue>
kq::status gemv<Encoding, Choice, Mapping, Epilogue>::launch(
    const arguments& a, kq::workspace space, cudaStream_t stream, const kq::device_facts& device,
    kq::launch_options options) requires compiled {
    return kq::gemv<Encoding, Choice, Mapping, Epilogue>::launch(a, space, stream, device, options);
}

} // namespace instances

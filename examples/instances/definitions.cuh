// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instances/instances.hpp"

#include <kq/kq.cuh>

#include <kq/gemv/tuned.cuh>

#include <type_traits>

namespace instances {

template <class Encoding, kq::policy Policy, template <int> class Mapping, class Epilogue>
using launcher = std::conditional_t<Policy == tuned, kq::tuned_gemv<Encoding, Mapping, Epilogue>,
                                    kq::gemv<Encoding, Policy, Mapping, Epilogue>>;

template <class Encoding, kq::policy Policy, template <int> class Mapping, class Epilogue>
size_t gemv<Encoding, Policy, Mapping, Epilogue>::workspace_bytes(const arguments& a) {
    return launcher<Encoding, Policy, Mapping, Epilogue>::workspace_bytes(a);
}

template <class Encoding, kq::policy Policy, template <int> class Mapping, class Epilogue>
kq::status
gemv<Encoding, Policy, Mapping, Epilogue>::can_implement(const arguments& a, kq::workspace space,
                                                         const kq::device_facts& device) {
    return launcher<Encoding, Policy, Mapping, Epilogue>::can_implement(a, space, device);
}

template <class Encoding, kq::policy Policy, template <int> class Mapping, class Epilogue>
kq::status gemv<Encoding, Policy, Mapping, Epilogue>::describe(const arguments& a,
                                                               const kq::device_facts& device,
                                                               kq::description& out,
                                                               kq::launch_options options) {
    return launcher<Encoding, Policy, Mapping, Epilogue>::describe(a, device, out, options);
}

template <class Encoding, kq::policy Policy, template <int> class Mapping, class Epilogue>
kq::status gemv<Encoding, Policy, Mapping, Epilogue>::quantize(const arguments& a,
                                                               kq::workspace space,
                                                               cudaStream_t stream,
                                                               const kq::device_facts& device,
                                                               kq::launch_options options) {
    return launcher<Encoding, Policy, Mapping, Epilogue>::quantize(a, space, stream, device,
                                                                   options);
}

template <class Encoding, kq::policy Policy, template <int> class Mapping, class Epilogue>
kq::status gemv<Encoding, Policy, Mapping, Epilogue>::multiply(const arguments& a,
                                                               kq::workspace space,
                                                               cudaStream_t stream,
                                                               const kq::device_facts& device,
                                                               kq::launch_options options) {
    return launcher<Encoding, Policy, Mapping, Epilogue>::multiply(a, space, stream, device,
                                                                   options);
}

template <class Encoding, kq::policy Policy, template <int> class Mapping, class Epilogue>
kq::status gemv<Encoding, Policy, Mapping, Epilogue>::launch(const arguments& a,
                                                             kq::workspace space,
                                                             cudaStream_t stream,
                                                             const kq::device_facts& device,
                                                             kq::launch_options options) {
    return launcher<Encoding, Policy, Mapping, Epilogue>::launch(a, space, stream, device, options);
}

} // namespace instances

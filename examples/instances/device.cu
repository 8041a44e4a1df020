// SPDX-License-Identifier: Apache-2.0
#include "instances/instances.hpp"

#include <kq/gemv/launch.cuh>

kq::status instances::query_device(kq::device_facts& facts) {
    return kq::query_device(facts);
}

// SPDX-License-Identifier: Apache-2.0
#include "mpi.hpp"

#include <cstdlib>

namespace tensor_parallel::mpi {

bool is_there() {
    return false;
}
process start() {
    std::abort();
}
void finish() {}
void abort(int) {}
void broadcast(std::span<std::byte>) {}

} // namespace tensor_parallel::mpi

// SPDX-License-Identifier: Apache-2.0
#include "group.hpp"

#include <kq/core/check.hpp>

#include <string>

namespace tensor_parallel {

void require(ncclResult_t code, const char* call) {
    if (code != ncclSuccess) {
        // The last error says more, such as which rank has the GPU of another one.
        throw kq::cuda_error(std::string(call) + ": " + ncclGetErrorString(code) + " (" +
                             ncclGetLastError(nullptr) + ")");
    }
}

group in_one_process(int ranks) {
    std::vector<ncclComm_t> comms(static_cast<std::size_t>(ranks));
    require(ncclCommInitAll(comms.data(), ranks, nullptr), "ncclCommInitAll");
    group g{ranks, {}};
    for (int rank = 0; rank < ranks; ++rank) {
        g.members.push_back({rank, rank, communicator(comms[static_cast<std::size_t>(rank)])});
    }
    return g;
}

group as_one_rank(int ranks, int rank, int device, const ncclUniqueId& id) {
    common::require(cudaSetDevice(device), "cudaSetDevice");
    ncclComm_t comm = nullptr;
    require(ncclCommInitRank(&comm, ranks, id, rank), "ncclCommInitRank");
    group g{ranks, {}};
    g.members.push_back({rank, device, communicator(comm)});
    return g;
}

} // namespace tensor_parallel

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/cuda.hpp"

#include <nccl.h>

#include <vector>

namespace tensor_parallel {

using communicator = common::owned<ncclComm_t, ncclCommDestroy>;

/// Throws kq::cuda_error if a call of NCCL failed.
void require(ncclResult_t code, const char* call);

/// A rank that this process drives.
struct member {
    int rank;
    int device;
    communicator comm;
};

/// A number of ranks, each with a GPU, of which this process drives all or one.
struct group {
    int ranks;
    std::vector<member> members;
};

/// All ranks in this process, rank r on device r.
group in_one_process(int ranks);

/// One rank in this process. Returns when all processes have called.
group as_one_rank(int ranks, int rank, int device, const ncclUniqueId& id);

/// Puts a collective of every member on its stream: `call(member number)` returns NCCL's result
/// and does not throw.
template <class Call>
void collective(const group& g, const char* name, Call&& call) {
    require(ncclGroupStart(), "ncclGroupStart");
    ncclResult_t code = ncclSuccess;
    for (std::size_t i = 0; code == ncclSuccess && i < g.members.size(); ++i) {
        code = call(i);
    }
    const ncclResult_t ended = ncclGroupEnd(); // in any case: an open group takes in what follows
    require(code, name);
    require(ended, name);
}

} // namespace tensor_parallel

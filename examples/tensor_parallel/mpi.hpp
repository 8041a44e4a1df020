// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

/// The little of MPI that the example uses: mpi.cpp, or no_mpi.cpp where there is no MPI.
namespace tensor_parallel::mpi {

/// Whether the program was built with MPI; nothing else may be called otherwise.
bool is_there();

/// A process among those that mpirun has started.
struct process {
    int ranks;
    int rank;
    int local_rank; ///< among those of the same host
};

/// Starts MPI; finish() ends it.
process start();
void finish();

/// Ends all processes, if this one has started MPI and not ended it.
void abort(int code);

/// Gives every process the bytes of rank 0.
void broadcast(std::span<std::byte> bytes);

} // namespace tensor_parallel::mpi

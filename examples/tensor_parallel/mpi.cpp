// SPDX-License-Identifier: Apache-2.0
#include "mpi.hpp"

#include <mpi.h>

#include <cstdio>

// MPI ends the program itself where a call fails.
namespace tensor_parallel::mpi {

bool is_there() {
    return true;
}

process start() {
    MPI_Init(nullptr, nullptr);
    process p{};
    MPI_Comm_size(MPI_COMM_WORLD, &p.ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    MPI_Comm host = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &p.local_rank);
    MPI_Comm_free(&host);
    return p;
}

void finish() {
    MPI_Finalize();
}

void abort(int code) {
    int started = 0;
    int finished = 0;
    MPI_Initialized(&started);
    MPI_Finalized(&finished);
    if (started != 0 && finished == 0) {
        std::fflush(nullptr); // MPI_Abort does not
        MPI_Abort(MPI_COMM_WORLD, code);
    }
}

void broadcast(std::span<std::byte> bytes) {
    MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
}

} // namespace tensor_parallel::mpi

// SPDX-License-Identifier: Apache-2.0
#define CATCH_CONFIG_RUNNER
#include "catch.hpp"

#include <cuda_runtime_api.h>

#include <cstdio>

int main(int argc, char** argv) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("There is no GPU here: the GPU tests are skipped.");
        return 77; // what ctest knows as Skipped
    }
    return Catch::Session().run(argc, argv);
}

#!/usr/bin/env bash
# Sets up, builds everything and runs all tests, those of host code again with sanitizers. Tests that
# need a GPU are skipped where none is.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/install-dependencies.sh test

cmake --preset all
cmake --build --preset all
ctest --preset all

cmake --preset sanitizers
cmake --build --preset sanitizers
ctest --preset sanitizers

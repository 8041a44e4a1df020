#!/usr/bin/env bash
# Makes sure that what the build needs is here: checks for nvcc, installs missing Debian packages.
# Sourced by demo.sh and test.sh, so that nvcc is on their PATH too.

if ! command -v nvcc > /dev/null && [ -x /usr/local/cuda/bin/nvcc ]; then
    export PATH="/usr/local/cuda/bin:$PATH"
fi
if ! command -v nvcc > /dev/null; then
    echo "kq needs the CUDA toolkit: nvcc is neither on PATH nor in /usr/local/cuda/bin" >&2
    exit 1
fi

missing=()
for package in g++ cmake ninja-build catch2 libcli11-dev nlohmann-json3-dev libbenchmark-dev \
    doxygen pkgconf clang libclang-rt-dev; do
    dpkg-query -W -f '${Status}' "$package" 2> /dev/null | grep -q 'ok installed' ||
        missing+=("$package")
done
if [ ${#missing[@]} -ne 0 ]; then
    echo "Installing ${missing[*]}"
    as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        as_root=(sudo)
        if ! command -v sudo > /dev/null; then
            echo "kq needs these packages, and installing them needs root: ${missing[*]}" >&2
            exit 1
        fi
    fi
    "${as_root[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends \
        "${missing[@]}"
fi

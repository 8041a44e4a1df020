#!/usr/bin/env bash
# Makes sure that what the build needs is here: checks for nvcc, installs missing Debian packages.
#   source scripts/install-dependencies.sh demo|test
# Sourced by demo.sh and test.sh, so that nvcc is on their PATH too. demo: what the preset gpu needs;
# test: also what the benchmarks and the tests need.

if ! command -v nvcc > /dev/null && [ -x /usr/local/cuda/bin/nvcc ]; then
    export PATH="/usr/local/cuda/bin:$PATH"
fi
if ! command -v nvcc > /dev/null; then
    echo "kq needs the CUDA toolkit: nvcc is neither on PATH nor in /usr/local/cuda/bin" >&2
    exit 1
fi

packages=(g++ cmake ninja-build catch2 libcli11-dev nlohmann-json3-dev)
case ${1:-} in
demo) ;;
test) packages+=(libbenchmark-dev libopenmpi-dev doxygen pkgconf clang libclang-rt-dev) ;;
*)
    echo "install-dependencies.sh: say for what, demo or test" >&2
    exit 1
    ;;
esac

missing=()
for package in "${packages[@]}"; do
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

# PyTorch's headers, for the test that compiles its operator; without them it is skipped. Debian's are
# too old; PyPI's wheel for macOS has them in 62 MB, that for Linux is far larger. Nothing of it is run.
if [ "$1" = test ] && ! [ -d build/pytorch ] &&
    ! python3 -c 'import importlib.util as u; exit(not u.find_spec("torch"))' 2> /dev/null; then
    python3 -m pip install -q --root-user-action ignore --no-deps --no-compile \
        --target build/pytorch --platform macosx_11_0_arm64 --python-version 3.11 \
        --only-binary :all: torch==2.4.1 ||
        echo "There is no PyTorch here: the test that compiles its operator will be skipped"
fi

# The package gguf, for the test that compares with it; without it that test is skipped.
if [ "$1" = test ] && ! [ -d build/gguf ] &&
    ! python3 -c 'import importlib.util as u; exit(not u.find_spec("gguf"))' 2> /dev/null; then
    python3 -m pip install -q --root-user-action ignore --no-compile --target build/gguf gguf ||
        echo "There is no Python package gguf here: the test that compares with it will be skipped"
fi

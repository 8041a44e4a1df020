#!/usr/bin/env bash
# cccl.sh WHAT SOURCE WORK CCCL [CMAKE_OPTION...]: passes where kq from the folder SOURCE takes the
# right headers of CCCL. WHAT: toolkit (the CUDA toolkit's, not those in some prefix), old (neither
# CMake nor a compiler takes older ones than kq needs) or other (nvcc gets those in a folder that is
# not the toolkit's; CCCL is their folder). CXX and CUDACXX are the compilers. All of it happens in the
# folder WORK.
set -euo pipefail
what=$1
source=$2
work=$3
cccl=$4
options=("${@:5}" -DKQ_CUDA=OFF -DKQ_TESTS=OFF -DKQ_EXAMPLES=OFF)
consumer=$(dirname "$(readlink -f "$0")")/consumer

must_say() { # must_say WORDS COMMAND...: the command fails and says the words
    local output
    if output=$("${@:2}" 2>&1) || ! tr -s ' \n' ' ' <<< "$output" | grep -qF "$1"; then
        printf 'does not fail with "%s": %s\n%s\n' "$1" "${*:2}" "$output"
        exit 1
    fi
}

rm -rf "$work"
mkdir -p "$work"
cd "$work"
case $what in
toolkit)
    mkdir -p prefix/include/{nv,cuda/std}
    touch prefix/include/nv/target prefix/include/cuda/std/version
    cmake -S "$source" -B build "${options[@]}" -DCMAKE_PREFIX_PATH="$PWD/prefix" > output
    found=$(sed -n 's/^KQ_CCCL_INCLUDE_DIR:PATH=//p' build/CMakeCache.txt)
    echo "found $found"
    [ -n "$found" ] && [ "${found#"$PWD"}" = "$found" ]
    ;;
old)
    mkdir -p old/cuda/std/__cccl
    echo '#define CCCL_VERSION 2008002' > old/cuda/std/__cccl/version.h
    echo '#include <cuda/std/__cccl/version.h>' > old/cuda/std/version
    must_say "kq needs CCCL 3.0.1 or newer" cmake -S "$source" -B build "${options[@]}" \
        -DKQ_CCCL_INCLUDE_DIR="$PWD/old"
    echo '#include <kq/dot/all.hpp>' > unit.cpp
    must_say 'error: #error "kq: needs CCCL 3.0.1 or newer' \
        "$CXX" -std=c++20 -fsyntax-only -I "$source/include" -isystem old unit.cpp
    ;;
other)
    ln -s "$cccl" "other cccl"
    cmake -S "$consumer" -B build "${@:5}" -DKQ_BY=subdirectory -DKQ_SOURCE="$source" \
        -DKQ_CCCL_INCLUDE_DIR="$PWD/other cccl" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON > output
    # As nvcc's own is found before a system folder, this must be none.
    grep -F device.cu build/compile_commands.json | grep -qF -- "-I$PWD/other cccl"
    ;;
*)
    echo "unknown: $what"
    exit 1
    ;;
esac

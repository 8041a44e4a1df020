#!/usr/bin/env bash
# consume.sh HOW SOURCE WORK CCCL [CMAKE_OPTION...]: passes where a project that gets kq from the
# folder SOURCE compiles and runs. HOW it gets it: package, subdirectory, fetch_content, pkg_config
# or nvcc. All of it happens in the folder WORK. CXX and CUDACXX are the compilers; without CUDACXX
# only host code is compiled. CCCL: the folder of its headers, which only pkg_config has to be told.
set -eu
how=$1
source=$2
work=$3
cccl=$4
options=("${@:5}")
consumer=$(dirname "$(readlink -f "$0")")/consumer

step() { # step COMMAND...: says what failed, and then with what output
    local output
    if ! output=$("$@" 2>&1); then
        printf 'failed: %s\n%s\n' "$*" "$output"
        exit 1
    fi
}

# Paths with spaces, and no more of the project than its users need.
rm -rf "$work"
mkdir -p "$work/kq source"
cp -r "$consumer" "$work/a consumer"
cp -r "$source/CMakeLists.txt" "$source/cmake" "$source/include" "$work/kq source"
cd "$work"

install_kq() {
    step cmake -S "kq source" -B "kq build" "${options[@]}" -DKQ_CUDA=OFF -DKQ_TESTS=OFF \
        -DKQ_EXAMPLES=OFF
    step cmake --install "kq build" --prefix "$PWD/first prefix"
    mv "first prefix" "moved prefix"
}

build_with_cmake() { # build_with_cmake OPTION...
    step cmake -S "a consumer" -B "a build" "${options[@]}" "$@" \
        -DCONSUMER_CUDA="$([ -n "${CUDACXX:-}" ] && echo ON || echo OFF)"
    step cmake --build "a build"
}

case $how in
package)
    install_kq
    build_with_cmake -DKQ_BY=package -DCMAKE_PREFIX_PATH="$PWD/moved prefix"
    ;;
subdirectory | fetch_content)
    build_with_cmake -DKQ_BY="$how" -DKQ_SOURCE="$PWD/kq source"
    ;;
pkg_config)
    install_kq
    mkdir "a build"
    export PKG_CONFIG_PATH="$PWD/moved prefix/share/pkgconfig"
    flags=$(pkg-config --cflags --define-variable=cccl="$cccl" kq)
    # Its output is meant for a shell, where a space in a path is escaped.
    eval "flags=($flags)"
    step "$CXX" "${flags[@]}" -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Werror \
        "a consumer/host.cpp" -o "a build/host"
    ;;
nvcc)
    mkdir "a build"
    step "$CUDACXX" -I"kq source/include" -std=c++20 "a consumer/device.cu" -o "a build/device"
    ;;
*)
    echo "unknown: $how"
    exit 1
    ;;
esac
for program in "a build"/host "a build"/device; do
    [ ! -x "$program" ] || "$program"
done

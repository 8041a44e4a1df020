#!/usr/bin/env bash
# hidden_kernels.sh INCLUDE WORK NVCC [OPTION...]: passes where a shared library with kernels of kq
# exports none, although it exports whatever its compiler was not told to hide.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
include=$1
work=$2
compile=("${@:3}")
# nvcc 13 hides kernels by itself unless it is told not to; older ones know no such options.
help=$("$3" --help)
for option in -static-global-template-stub -device-entity-has-hidden-visibility; do
    if grep -qe "($option)" <<< "$help"; then
        compile+=("$option=false")
    fi
done

rm -rf "$work"
mkdir -p "$work"
cd "$work"
"${compile[@]}" -I "$include" -DSEE=see_this -shared -Xcompiler=-fPIC "$here/unit.cpp" -o library.so
nm -C --defined-only library.so > held
nm -C --defined-only -D library.so > exported
grep -q ' see_this' exported
for kernel in gemv_kernel quantize_kernel; do
    grep -q "::$kernel<" held
    if grep "::$kernel<" exported; then
        echo "is exported"
        exit 1
    fi
done

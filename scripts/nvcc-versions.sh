#!/usr/bin/env bash
# Compiles kq's kernels, warnings as errors, with older and newer nvcc and NVRTC than the build's.
#   scripts/nvcc-versions.sh FOLDER [nvcc-12.4|nvcc-13.x|nvrtc-12.x|nvrtc-13.x ...]
# FOLDER keeps what is downloaded: packages for Python, of which only files are used, and for 12.4,
# whose Python packages lack nvcc itself, one of Debian 13's "non-free". Needed: Debian, pip, g++,
# Catch2. No GPU is needed, nothing is installed.
set -euo pipefail
folder=$(mkdir -p "$1" && readlink -f "$1")
shift
[ $# -ne 0 ] || set -- nvcc-12.4 nvcc-13.5 nvrtc-12.3 nvrtc-13.5
cd "$(dirname "$0")/.."
failed=0

pip_into() { # pip_into TARGET PACKAGE...
    python3 -m pip install --quiet --root-user-action=ignore --disable-pip-version-check \
        --no-deps --target "$@"
}

debian_into() { # debian_into TARGET SUITE PACKAGE: from where this machine's own packages come
    local apt="$1.apt" uri
    uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
        'Label: Debian' | awk 'NR == 1')
    mkdir -p "$apt"/{sources,lists/partial,archives/partial}
    : > "$apt/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $2 non-free" \
        > "$apt/sources/one.list"
    cat > "$apt/apt.conf" << END
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$apt/sources";
Dir::State::lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt";
APT::Sandbox::User "root";
END
    APT_CONFIG="$apt/apt.conf" apt-get update -qq
    (cd "$apt" && APT_CONFIG="$apt/apt.conf" apt-get download -qq "$3")
    dpkg-deb -x "$apt/$3"_*.deb "$1"
}

get_nvcc() { # get_nvcc VERSION TARGET: leaves a toolkit in TARGET, as far as nvcc needs it
    case $1 in
    12.4) # CCCL: the oldest that kq compiles with, CUDA 12's are older
        debian_into "$2/debian" trixie nvidia-cuda-toolkit
        pip_into "$2" "nvidia-cuda-nvcc-cu12==$1.*" "nvidia-cuda-runtime-cu12==$1.*"
        pip_into "$2/cccl" 'nvidia-cuda-cccl==13.0.*'
        mkdir -p "$2"/{bin,nvvm/bin,include}
        mv "$2"/debian/usr/bin/{cudafe++,fatbinary,ptxas,nvlink} "$2/bin"
        mv "$2"/debian/usr/lib/nvidia-cuda-toolkit/bin/{nvcc,crt} "$2/bin"
        mv "$2/debian/usr/lib/nvidia-cuda-toolkit/bin/cicc" "$2/nvvm/bin"
        mv "$2/nvidia/cuda_nvcc/nvvm/libdevice" "$2/nvvm"
        cp -r "$2"/nvidia/cuda_{nvcc,runtime}/include/. "$2/include"
        mv "$2/cccl/nvidia/cu13/include/cccl" "$2/include/cccl"
        cat > "$2/bin/nvcc.profile" << 'END'
TOP                = $(_HERE_)/..
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
PATH              += $(TOP)/nvvm/bin:$(_HERE_):
INCLUDES          += "-I$(TOP)/include" $(_SPACE_)
END
        ;;
    *) # packages of other versions fit each other by their first two numbers; CCCL has its own
        pip_into "$2" "nvidia-cuda-nvcc==$1.*" "nvidia-nvvm==$1.*" "nvidia-cuda-crt==$1.*" \
            "nvidia-cuda-runtime==$1.*" nvidia-cuda-cccl
        mv "$2"/nvidia/cu13/* "$2"
        chmod +x "$2"/bin/* "$2"/nvvm/bin/*
        ;;
    esac
}

get_nvrtc() { # get_nvrtc VERSION TARGET: leaves NVRTC's headers and library in TARGET, and CCCL
    case $1 in
    12.*)
        pip_into "$2" "nvidia-cuda-nvrtc-cu12==$1.*" 'nvidia-cuda-cccl==13.0.*'
        mv "$2/nvidia/cu13/include" "$2/include"
        cp -r "$2"/nvidia/cuda_nvrtc/{include,lib} "$2"
        ;;
    *)
        pip_into "$2" "nvidia-cuda-nvrtc==$1.*" "nvidia-cuda-runtime==$1.*" \
            "nvidia-cuda-crt==$1.*" nvidia-cuda-cccl
        mv "$2"/nvidia/cu13/* "$2"
        ;;
    esac
}

try() { # try WHAT COMMAND...
    local output
    if output=$("${@:2}" 2>&1); then
        echo "$1: passed, $SECONDS s"
    else
        printf '%s: failed\n%s\n' "$1" "$output"
        failed=1
    fi
    SECONDS=0
}

# The host compiler's folders, but those where another toolkit's headers are.
system=()
folders=$(LC_ALL=C g++ -E -v -x c++ /dev/null 2>&1 | sed -n '/#include </,/^End/s/^ //p')
for directory in $folders; do
    [ -e "$directory/cuda_runtime_api.h" ] || system+=(-isystem "$directory")
done

for what in "$@"; do
    toolkit=$folder/$what
    if [ ! -e "$toolkit/complete" ]; then
        rm -rf "$toolkit" "$toolkit".*
        "get_${what%-*}" "${what#*-}" "$toolkit"
        touch "$toolkit/complete"
    fi
    cccl=$toolkit/include/cccl
    echo "$what, CCCL $(sed -n 's/^#define CCCL_VERSION //p' "$cccl/cuda/std/__cccl/version.h")"
    SECONDS=0
    case $what in
    nvcc-*)
        compile=("$toolkit/bin/nvcc" -std=c++20 -Werror=all-warnings
            "-Xcompiler=-Wall,-Wextra,-nostdinc" "${system[@]}" -I "$cccl" -I include -c
            -o "$toolkit/object.o")
        "${compile[0]}" --version | sed -n 's/.*release/release/p'
        try "four products for sm_90" "${compile[@]}" -arch=sm_90 test/headers/four_products.cu
        try "one product for sm_75" "${compile[@]}" -arch=sm_75 test/headers/one_product.cu
        ;;
    nvrtc-*)
        rm -f "$toolkit/test"
        try "the test's compilation" g++ -std=c++20 -nostdinc "${system[@]}" -I "$cccl" \
            -I "$toolkit/include" -I include -I test \
            -DKQ_CCCL_INCLUDE_DIR="\"$cccl\"" test/main.cpp test/nvrtc/compile.cpp \
            "$toolkit"/lib/libnvrtc.so.* -o "$toolkit/test"
        try "test/nvrtc/compile.cpp" env LD_LIBRARY_PATH="$toolkit/lib" "$toolkit/test"
        ;;
    esac
done
exit $failed

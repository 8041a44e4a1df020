#!/usr/bin/env bash
# cpp17.sh INCLUDE COMPILER [OPTION...]: passes where no header of kq compiles as C++17, and every
# line that the compiler calls an error says that kq needs C++20.
set -u
include=$1
compile=("${@:2}")
for header in host.hpp core/status.hpp core/element.hpp blocks/q4_k.hpp dot/q4_k.hpp \
              gemv/policy/policy.hpp gemv/host_model.hpp; do
    if errors=$(LC_ALL=C "${compile[@]}" -std=c++17 -fsyntax-only -I "$include" -x c++ - \
                <<< "#include <kq/$header>" 2>&1); then
        echo "$header compiles as C++17"
        exit 1
    fi
    errors=$(grep -E 'error: ' <<< "$errors")
    echo "$errors"
    if ! grep -qF 'kq: needs C++20' <<< "$errors" || grep -vqF 'needs C++20' <<< "$errors"; then
        echo "$header does not only say what it needs"
        exit 1
    fi
done

#!/usr/bin/env bash
# refused.sh NVCC INCLUDE FILE: passes where FILE does not compile, and the first error is the line
# that FILE announces as "// refused: ...".
set -u
expected=$(sed -n 's|^// refused: ||p' "$3")
if errors=$("$1" -std=c++20 -arch=sm_90 -I "$2" -c "$3" -o /dev/null 2>&1); then
    echo "$3 compiles, but should be refused: $expected"
    exit 1
fi
first=$(grep -m 1 'error' <<< "$errors")
echo "$first"
grep -qF "kq: $expected" <<< "$first"

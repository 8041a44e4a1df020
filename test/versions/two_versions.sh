#!/usr/bin/env bash
# two_versions.sh INCLUDE WORK COMPILER [OPTION...]: passes where one program holds two versions of
# kq, each unit runs the functions of its own, and every symbol of kq is in a version's namespace.
# The next version is kq from the folder INCLUDE with another number, and one function that says
# something else. All of it happens in the folder WORK.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
include=$1
work=$2
compile=("${@:3}")

edit() { # edit FILE EXPRESSION: fails where that changes nothing
    sed -i.before "$2" "$1"
    ! cmp -s "$1" "$1.before" || { echo "$1 is not as it was expected"; exit 1; }
}

rm -rf "$work"
mkdir -p "$work"
cd "$work"
cp -r "$include" "this kq"
cp -r "$include" "next kq"
minor=$(sed -n 's/^#define KQ_VERSION_MINOR //p' "next kq/kq/core/version.hpp")
edit "next kq/kq/core/version.hpp" "s/^\(#define KQ_VERSION_MINOR\) .*/\1 $((minor + 1))/"
edit "next kq/kq/core/check.hpp" 's/std::string("ok")/std::string("ok of the next")/'

units=()
for unit in this next; do
    "${compile[@]}" -I "$unit kq" -DSEE="see_$unit" -c "$here/unit.cpp" -o "$unit.o" &
    units+=($!)
done
"${compile[@]}" -c "$here/program.cpp" -o program.o
for unit in "${units[@]}"; do
    wait "$unit"
done
"${compile[0]}" this.o next.o program.o -o program
./program

nm -C --defined-only program > symbols
versions=$(grep -oE 'kq::v[0-9]+_[0-9]+_[0-9]+::' symbols | sort | uniq -c)
echo "$versions"
[ "$(wc -l <<< "$versions")" -eq 2 ]
if sed -E 's/kq::v[0-9]+_[0-9]+_[0-9]+::/versioned::/g' symbols | grep -E '\<kq::'; then
    echo "are symbols of kq outside of a version's namespace"
    exit 1
fi

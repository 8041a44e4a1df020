#!/usr/bin/env bash
# doxygen.sh OUTPUT: passes where Doxygen documents the headers without a warning. Exit code 77 where
# there is no Doxygen. Run from the project's root.
set -euo pipefail
if ! command -v doxygen > /dev/null; then
    echo "there is no doxygen"
    exit 77
fi
mkdir -p "$1"
{
    cat docs/Doxyfile
    echo "OUTPUT_DIRECTORY = \"$1\""
} | doxygen -

#!/usr/bin/env bash
# count_kernels.sh EXECUTABLE MOST: fails where the executable holds more than MOST kernels of kq.
set -euo pipefail
# nvcc leaves a host function of each kernel's name; its clones are the host compiler's.
count=$(nm -C "$1" | grep -E ' [TtWw] void kq::v[0-9_]+::[a-z][a-z_]*_kernel<' | grep -vc '\[clone' || true)
echo "$count kernels, at most $2 allowed"
[ "$count" -gt 0 ] && [ "$count" -le "$2" ]

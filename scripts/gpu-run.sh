#!/usr/bin/env bash
# Runs what was built in BIN (build/all/bin) on a machine with a GPU. OUT: the folder for results.
#   scripts/gpu-run.sh tests|sanitizers|benchmarks|tune ...
set -u
cd "$(dirname "$0")/.." || exit 1
bin=${BIN:-build/all/bin}
out=${OUT:-out}
mkdir -p "$out"
export LD_LIBRARY_PATH="$bin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
failed=0

run() { # run NAME COMMAND...: keeps the output, prints its end
    local name=$1
    shift
    echo "== $name"
    "$@" > "$out/$name.txt" 2>&1
    local code=$?
    tail -n 6 "$out/$name.txt"
    echo "exit code $code"
    [ $code -eq 0 ] || failed=1
}

for what in "$@"; do
    case $what in
    tests)
        run gpu-tests "$bin/kq_test_gpu" --durations yes
        run gpu-tests-fast-math "$bin/kq_test_gpu_fast_math"
        ;;
    sanitizers)
        for tool in memcheck racecheck initcheck synccheck; do
            run "sanitizer-$tool" timeout 600 compute-sanitizer --tool "$tool" --error-exitcode 9 \
                "$bin/kq_test_gpu" '~[large]~[repeat]~[error]'
        done
        ;;
    benchmarks)
        run gemv-benchmark "$bin/gemv_benchmark" --benchmark_out="$out/gemv.json" \
            --benchmark_out_format=json --benchmark_counters_tabular=true
        ;;
    tune)
        run tune "$bin/kq_tune" --batches 1,2,4,8 --csv "$out/tune.csv" --header "$out/rows.inc"
        ;;
    *)
        echo "unknown: $what" >&2
        failed=1
        ;;
    esac
done
exit $failed

#!/usr/bin/env bash
# Runs what was built in BIN on a machine with a GPU. OUT: the folder for results.
#   scripts/gpu-run.sh tests|sanitizers|benchmarks|counters|tune ...
# BIN is build/all/bin for tests and sanitizers, else build/benchmarks/bin, whose programs have the
# measured policies and candidates of all encodings; those of preset all have not, and refuse.
# BATCHES: what to tune, by default what the table holds.
set -u
cd "$(dirname "$0")/.." || exit 1
bin=${BIN:-build/all/bin}
measuring=${BIN:-build/benchmarks/bin}
out=${OUT:-out}
mkdir -p "$out"
export LD_LIBRARY_PATH="$bin:$measuring${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
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
        run gpu-tests-nvrtc "$bin/kq_test_nvrtc_gpu"
        run gpu-tests-older-code "$bin/kq_test_gpu_older_code"
        ;;
    sanitizers) # side by side and in shards: their work is on the CPU, racecheck's is the most
        tests='~[large]~[repeat]~[error]'
        # Commas separate names, but not those that are escaped.
        "$bin/kq_test_gpu" --list-test-names-only "$tests" | sed 's/,/\\,/g' > "$out/tests"
        sanitize() { # sanitize TOOL SHARD
            timeout 590 compute-sanitizer --tool "$1" --error-exitcode 9 "$bin/kq_test_gpu" \
                --input-file "$out/tests-$1.$2" > "$out/sanitizer-$1-$2.txt" 2>&1
            echo $? > "$out/sanitizer-$1-$2.code"
        }
        for tool in ${TOOLS:-memcheck initcheck synccheck racecheck}; do
            shards=$([ "$tool" = racecheck ] && echo 8 || echo 3)
            awk -v to="$out/tests-$tool." -v n="$shards" '{ print > (to NR % n) }' "$out/tests"
            for ((shard = 0; shard < shards; shard++)); do
                sanitize "$tool" "$shard" &
            done
        done
        wait
        for code in "$out"/sanitizer-*.code; do
            echo "== $(basename "${code%.code}")"
            tail -n 3 "${code%.code}.txt"
            echo "exit code $(cat "$code")"
            [ "$(cat "$code")" = 0 ] || failed=1
        done
        ;;
    benchmarks)
        run gemv-benchmark "$measuring/gemv_benchmark" --benchmark_out="$out/gemv.json" \
            --benchmark_out_format=json --benchmark_counters_tabular=true
        ;;
    counters) # what limits a product: instructions, pipes, waits, bytes
        for encoding in q2_k q3_k q4_k q5_k q6_k q8_0 iq2_xxs iq2_xs iq3_xxs iq1_s iq3_s iq2_s iq4_xs tq1_0 \
            tq2_0 mxfp4 nvfp4 q1_0 q2_0; do
            for shape in 129280x7168 14336x4096; do
                ncu --clock-control none --csv --kernel-name regex:gemv_kernel --launch-count 1 \
                    --metrics "$(tr -d '\n ' <<< '
                        gpu__time_duration.sum,
                        dram__bytes_read.sum,
                        smsp__inst_executed.sum,
                        smsp__issue_active.avg.pct_of_peak_sustained_active,
                        sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active,
                        sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active,
                        sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active,
                        l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed,
                        sm__cycles_active.avg,
                        sm__cycles_elapsed.max')" \
                    "$measuring/gemv_benchmark" \
                    --benchmark_filter="^$encoding/$shape/multiply/m1/plain" 2> /dev/null |
                    grep '^"' | sed "s|^|\"$encoding/$shape\",|"
            done
        done > "$out/counters.csv"
        echo "== counters"; wc -l "$out/counters.csv"
        ;;
    tune)
        tuner=$measuring/kq_tune
        if [ ! -x "$tuner" ]; then
            echo "$tuner is not there: cmake --preset benchmarks && cmake --build --preset benchmarks" >&2
            failed=1
            continue
        fi
        run tune "$tuner" --encodings all --batches "${BATCHES:-1,2,4,8}" --csv "$out/tune.csv" \
            --header "$out/rows.inc"
        ;;
    *)
        echo "unknown: $what" >&2
        failed=1
        ;;
    esac
done
exit $failed

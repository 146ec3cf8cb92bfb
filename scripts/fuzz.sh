#!/bin/bash
# Runs the random tests on all cores: fuzz.sh N SEED FAULTS PROGRAM...
# Each PROGRAM is called as `PROGRAM N SEED [faults]` once per core, with seeds SEED, SEED+1, ...,
# so that the failing seed of the output is all one needs to see a failure again. Exit 1 if any failed.
set -u
n=$1 seed=$2 faults=$([ "$3" = 1 ] && echo faults)
shift 3
if [ $# = 0 ]; then
    echo 'there is no fuzz program yet (tests/fuzz/fuzz_*.c)' >&2
    exit 1
fi
cores=${ML_JOBS:-$(nproc)}
bad=0
for p in "$@"; do
    pids=() program=$p
    case $p in /*) ;; *) program=./$p ;; esac
    for ((k = 0; k < cores; k++)); do
        echo "fuzz: $p $((n / cores + 1)) $((seed + k)) $faults"
        # shellcheck disable=SC2086
        "$program" $((n / cores + 1)) $((seed + k)) $faults </dev/null &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || bad=1
    done
done
exit $bad

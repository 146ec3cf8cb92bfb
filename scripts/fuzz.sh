#!/bin/bash
# Runs the random tests on all cores: fuzz.sh N SEED FAULTS PROGRAM...
# Each PROGRAM is called as `PROGRAM N SEED [faults]` once per core, with seeds SEED, SEED+1, ...,
# so that the failing seed of the output is all one needs to see a failure again. Exit 1 if any failed.
# A tenth of N for three of them: a session is some 24 lines typed, a program of fuzz_lower is
# lowered after each of its steps and run after each pass (some 50 runs), a candidate of fuzz_space is
# compiled and run twice. So N is about what each does.
# FZ_PROGRESS: seconds between two lines of progress (30; 0: none).
set -u
export FZ_PROGRESS=${FZ_PROGRESS:-30}
n=$1 seed=$2 faults=$([ "$3" = 1 ] && echo faults)
shift 3
if [ $# = 0 ]; then
    echo 'there is no fuzz program yet (tests/fuzz/fuzz_*.c)' >&2
    exit 1
fi
cores=${ML_JOBS:-$(nproc)}
bad=0
started=$SECONDS
out=$(mktemp -d) || exit 1
pids=()
trap 'rm -rf "$out"' EXIT
trap 'kill "${pids[@]}" 2>/dev/null; exit 143' TERM HUP

# The counts per primitive of all seeds together.
sum_counts() { # FILE...
    awk '
        /^primitive +tried/ { table = 1; next }
        /^seed / { table = 0 }
        table && NF >= 4 {
            if (!($1 in tried)) order[n++] = $1
            tried[$1] += $2; accepted[$1] += $3
            for (k = 5; k + 1 <= NF; k += 2) {
                if (!(($1, $k) in times)) codes[$1] = codes[$1] " " $k
                times[$1, $k] += $(k + 1)
            }
        }
        END {
            if (n) printf "all seeds together\n%-26s %9s %9s %5s  %s\n", "primitive", "tried", "accepted", "%", "refused"
            for (k = 0; k < n; k++) {
                p = order[k]
                printf "%-26s %9d %9d %5.1f ", p, tried[p], accepted[p], 100 * accepted[p] / tried[p]
                m = split(codes[p], c, " ")
                for (j = 1; j <= m; j++) printf " %s %d", c[j], times[p, c[j]]
                print ""
            }
        }' "$@"
}

for p in "$@"; do
    pids=() program=$p
    case $p in /*) ;; *) program=./$p ;; esac
    case $p in *fuzz_session | *fuzz_lower | *fuzz_space) each=$((n / 10 / cores + 1)) ;; *) each=$((n / cores + 1)) ;; esac
    for ((k = 0; k < cores; k++)); do
        echo "fuzz: $p $each $((seed + k)) $faults"
        # shellcheck disable=SC2086
        "$program" $each $((seed + k)) $faults </dev/null > >(tee "$out/${p##*/}.$k") &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || bad=1
    done
done
# Versions printed as C, each a compiler's time.
for p in "$@"; do
    case $p in *fuzz_schedule) ;; *) continue ;; esac
    case $p in /*) program=$p ;; *) program=./$p ;; esac
    for cc in gcc clang; do
        [ -z "$faults" ] && command -v $cc >/dev/null || continue
        echo "fuzz: $p $((n / 100 + 1)) $seed compile=2, printed for $cc"
        FZ_CC=$cc "$program" $((n / 100 + 1)) "$seed" compile=2 </dev/null || bad=1
    done
done
[ "$n" -lt 100 ] || sum_counts "$out"/fuzz_schedule.* 2>/dev/null
echo "fuzz: $n of each (lowered programs, sessions and design spaces: a tenth) in $((SECONDS - started)) s: $([ $bad = 0 ] && echo 'nothing found' || echo 'FAILURES, see above')"
exit $bad

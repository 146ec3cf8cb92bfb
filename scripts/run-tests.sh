#!/bin/bash
# Runs test programs and prints one line for each, what those that failed had to say, right below it
# and once more at the end, the reasons of those that were skipped, and last the plain line
# `N passed, N failed` (`, N skipped`):
#   run-tests.sh OUT PROGRAM...        OUT: the build folder, for logs and for the tests' variables
# test_*.sh prints `ok NAME`, `not ok NAME`, `skip NAME: reason`; any other program is a cmocka
# program, counted by its own lines. A program that crashes, stops early, runs over its time limit,
# runs no test, or fails without naming a test counts as one failure: silence is never a pass.
# Programs run in parallel, except test_*_alone.*, which come last, one at a time (timing).
# Of several programs those that failed run once more when nothing runs beside them, with three times the
# limit where it was that, and what they do then counts: a machine may be too busy for a test. It is told as
# `again NAME: failed beside others, passed alone`. No load excuses a sanitizer's report or a crash, and
# where more than ML_AGAIN (8) failed none is run again: that is no disturbance.
# From the environment: ML_LIMIT seconds for each program (900), ML_JOBS, ML_BUILT=no when the
# build broke, ML_SAN the sanitizers, ML_SUPP another suppression file.
set -u

count_cmocka() { # LOG -> "passed failed skipped", then a `failed NAME` or `skip NAME: reason` each
    awk '
        function named(mark) { return substr($0, index($0, mark) + length(mark)) }
        function unfinished() { if (test != "") { failed++; list = list "failed " test " (did not finish)\n" } test = "" }
        /\[==========\] Running [0-9]+ test/ {
            match($0, /Running [0-9]+/); announced += substr($0, RSTART + 8, RLENGTH - 8)
        }
        /\[ RUN      \] / { unfinished(); test = named("[ RUN      ] "); said = ""; next }
        test != "" && /\[       OK \] / { passed++; test = ""; next }
        test != "" && /\[  FAILED  \] / { failed++; list = list "failed " test "\n"; test = ""; next }
        test != "" && /\[  SKIPPED \] / {
            skipped++; test_said = (said == "" ? "no reason given" : said)
            sub(/^skip: */, "", test_said)
            list = list "skip " test ": " test_said "\n"; test = ""; next
        }
        NF { said = $0 }
        END {
            unfinished()
            lost = announced - passed - failed - skipped
            if (lost > 0) { failed += lost; list = list "failed " lost " test(s) that never ran\n" }
            printf "%d %d %d\n%s", passed, failed, skipped, list
        }' "$1"
}

count_shell() { # LOG -> the same
    awk '
        /^ok / { passed++ }
        /^not ok / { failed++; list = list "failed " substr($0, 8) "\n" }
        /^skip / { skipped++; list = list $0 "\n" }
        END { printf "%d %d %d\n%s", passed, failed, skipped, list }' "$1"
}

# What a log says beside the tests that passed; a passing test's name goes, what it printed stays.
complaint() { # LOG HEAD TAIL: so many of its first and last lines, and how many were cut
    tr -d '\000' <"$1" | awk -v head="$2" -v tail="$3" -v log_="$1" '
        function keep(line) { kept[++n] = substr(line, 1, 2000) }
        function flush_test() { if (test != "") { keep(test); for (k = 1; k <= m; k++) keep(said[k]) } test = ""; m = 0 }
        /\[ RUN      \] / { flush_test(); test = $0; next }
        test != "" && /\[       OK \] / { for (k = 1; k <= m; k++) keep(said[k]); test = ""; m = 0; next }
        /^ok / || /\[  PASSED  \]/ || /\[==========\] Running / { next }
        test != "" { said[++m] = $0; next }
        { keep($0) }
        END {
            flush_test()
            cut = n - head - tail
            for (k = 1; k <= n; k++) {
                if (cut <= 1 || k <= head || k > head + cut) print "    " kept[k]
                else if (k == head + 1) printf "    ... %d lines are left out here, see %s ...\n", cut, log_
            }
        }'
}

name_of() { # OUT PROGRAM
    local name=${2#"$1"/}
    echo "${name#tests/}"
}
stem_of() { # OUT PROGRAM: of its files
    local name
    name=$(name_of "$@")
    echo "$1/test-logs/${name//\//.}"
}

run_one() { # OUT PROGRAM: runs it and leaves NAME.log, NAME.sum and, after a failure, NAME.bad
    local out=$1 prog=$2 name stem status started ms counts passed failed skipped list why=''
    local limit=${ML_LIMIT:-900}
    name=$(name_of "$out" "$prog") stem=$(stem_of "$out" "$prog")

    started=$(date +%s%N)
    local -x TMPDIR=${TMPDIR:-/tmp}
    TMPDIR=$(mktemp -d "$TMPDIR/ml-test.XXXXXX") || exit 1
    case $prog in
    *.sh) timeout -k 5 "$limit" bash "$prog" </dev/null >"$stem.log" 2>&1 ;;
    /*) timeout -k 5 "$limit" "$prog" </dev/null >"$stem.log" 2>&1 ;;
    *) timeout -k 5 "$limit" "./$prog" </dev/null >"$stem.log" 2>&1 ;;
    esac
    status=$?
    rm -rf "$TMPDIR"
    ms=$((($(date +%s%N) - started) / 1000000))

    case $prog in
    *.sh) counts=$(count_shell "$stem.log") ;;
    *) counts=$(count_cmocka "$stem.log") ;;
    esac
    read -r passed failed skipped <<<"${counts%%$'\n'*}"
    list=${counts#*$'\n'}
    [ "$list" = "$counts" ] && list=''

    if [ "$status" = 124 ] || [ "$status" = 137 ] && [ "$ms" -ge $((limit * 1000)) ]; then
        why="over the time limit of $limit s"
    elif [ "$status" -gt 128 ]; then
        why="killed by signal $((status - 128)) ($(kill -l $((status - 128)) 2>/dev/null))"
    elif [ "$status" != 0 ] && [ "$failed" = 0 ]; then
        why="exit status $status without a failed test"
    elif [ $((passed + failed + skipped)) = 0 ]; then
        why='ran no test'
    fi
    # Dying is a failure of its own, unless the test that died has been counted already.
    if [ -n "$why" ] && [ "$failed" = 0 ]; then
        failed=1
        list="failed $name: $why"$'\n'$list
    fi

    printf '%s %s %s\n%s\n' "$passed" "$failed" "$skipped" "$list" >"$stem.sum"
    # one test speaks at a time
    exec 8>>"$out/test-logs/lock" && flock 8
    printf '%-4s %-44s %4d passed%s%s%s  %d.%02d s\n' "$([ "$failed" = 0 ] && echo ok || echo FAIL)" "$name" "$passed" \
        "$([ "$failed" = 0 ] || echo ", $failed failed")" "$([ "$skipped" = 0 ] || echo ", $skipped skipped")" \
        "${why:+  ($why)}" $((ms / 1000)) $((ms % 1000 / 10))
    if [ "$failed" != 0 ]; then
        printf '%s\n' "$name" >"$stem.bad"
        complaint "$stem.log" 0 60
    fi
    exec 8>&-
}

# What goes wrong for reasons of its own, however busy the machine is.
crashed() { # STEM
    grep -q '^failed .*: killed by signal' "$1.sum" ||
        grep -qE 'ERROR: (Address|Leak)Sanitizer|WARNING: ThreadSanitizer|: runtime error: |internal error: SIG' "$1.log"
}

run_again() { # OUT PROGRAM: alone
    local name stem limit=${ML_LIMIT:-900}
    name=$(name_of "$@") stem=$(stem_of "$@")
    grep -q '^failed .*: over the time limit' "$stem.sum" && limit=$((3 * limit))
    mv "$stem.log" "$stem.first.log"
    rm "$stem.bad" "$stem.sum"
    ML_LIMIT=$limit run_one "$@"
    [ -e "$stem.bad" ] || echo "again $name: failed beside others, passed alone" | tee "$stem.again"
}

if [ "${1:-}" = --one ]; then
    run_one "$2" "$3"
    exit 0
fi

out=$1
shift
built=${ML_BUILT:-yes}
unset ML_BUILT
if [ $# = 0 ] && [ "$built" = yes ]; then
    echo 'no test matches' >&2
    echo '0 passed, 1 failed'
    exit 1
fi
rm -rf "$out/test-logs"
mkdir -p "$out/test-logs" || exit 1

export ML_OUT=$PWD/$out
case $out in /*) ML_OUT=$out ;; esac
export MOONLOOP=$ML_OUT/moonloop MOONLOOP_DRAW=$ML_OUT/moonloop-draw
export ML_SAN=${ML_SAN:-} LC_ALL=C.UTF-8
supp=${ML_SUPP:-$PWD/tests/lsan.supp}
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1:${ASAN_OPTIONS:-}
export LSAN_OPTIONS=suppressions=$supp:print_suppressions=0:${LSAN_OPTIONS:-}
export UBSAN_OPTIONS=print_stacktrace=1:${UBSAN_OPTIONS:-}
export TSAN_OPTIONS=suppressions=$PWD/tests/tsan.supp:print_suppressions=0:${TSAN_OPTIONS:-}
export MOONLOOP_WORKER=$ML_OUT/moonloop
# What programs keep between runs (measured peaks) is kept here, not in the user's home.
export XDG_CACHE_HOME=$ML_OUT/test-cache XDG_DATA_HOME=$ML_OUT/test-data
export XDG_STATE_HOME=$ML_OUT/test-state
unset MAKEFLAGS MAKELEVEL MFLAGS MOONLOOP_PATH LUA_PATH LUA_CPATH LUA_INIT

together=() alone=() missing=()
for p in "$@"; do
    if [ ! -f "$p" ]; then
        missing+=("$p")
    elif [[ $p == *_alone || $p == *_alone.sh ]]; then
        alone+=("$p")
    else
        together+=("$p")
    fi
done
[ ${#together[@]} = 0 ] || printf '%s\0' "${together[@]}" |
    xargs -0 -n 1 -P "${ML_JOBS:-$(nproc)}" bash "$0" --one "$out"
for p in ${alone[@]+"${alone[@]}"}; do
    run_one "$out" "$p"
done

again=()
for p in ${together[@]+"${together[@]}"} ${alone[@]+"${alone[@]}"}; do
    stem=$(stem_of "$out" "$p")
    [ ! -e "$stem.bad" ] || crashed "$stem" || again+=("$p")
done
if [ $((${#together[@]} + ${#alone[@]})) -gt 1 ] && [ ${#again[@]} -le "${ML_AGAIN:-8}" ]; then
    for p in ${again[@]+"${again[@]}"}; do
        run_again "$out" "$p"
    done
fi

passed=0 failed=0 skipped=0
for sum in "$out"/test-logs/*.sum; do
    [ -f "$sum" ] || continue
    read -r p f s <"$sum"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done

for bad in "$out"/test-logs/*.bad; do
    [ -f "$bad" ] || continue
    printf '\n==== %s failed; what it said beside the tests that passed:\n' "$(cat "$bad")"
    complaint "${bad%.bad}.log" 80 120
done
grep -hs '^skip ' "$out"/test-logs/*.sum | sed '1s/^/\n/'
cat "$out"/test-logs/*.again 2>/dev/null | sed '1s/^/\n/'
if [ "$failed" != 0 ]; then
    echo
    grep -Hs '^failed ' "$out"/test-logs/*.sum | sed "s|^$out/test-logs/||; s|\.sum:failed |: |; s|^|not ok |"
fi
# A program that was to be there and is not, and a build that broke, are failures too.
for p in ${missing[@]+"${missing[@]}"}; do
    echo "not ok $p: was not built"
    failed=$((failed + 1))
done
if [ "$built" != yes ]; then
    echo 'not ok the build: see the messages of the compiler above'
    [ ${#missing[@]} != 0 ] || failed=$((failed + 1))
fi
echo "$passed passed, $failed failed$([ "$skipped" = 0 ] || echo ", $skipped skipped")"
[ "$failed" = 0 ]

#!/bin/bash
# Work in the background from outside: what jobs tell and leave behind, stopping and killing them,
# jobs that fail, and the end of the session. Source: interaction 9.
. tests/repl/session.sh
export XDG_DATA_HOME=$TMPDIR/data MOONLOOP_THREADS=1

mm='s = schedule(workload.matmul(64, 64, 64))'

# ---- what needs no compiler
typed "$mm" 'split("i", {auto, 8});' ':check --background' 'split("j", {auto, 8});' ':jobs --wait' ':versions'
[ "$status" = 0 ] && grep -q '^job 1: check on matmul v1; :jobs shows it, :stop 1 ends it$' out &&
    grep -q '^job 1: check of matmul v1: ok C equals v0 within ' err && grep -q '^  1  done .* matmul v1  check$' out &&
    grep -q 'v1 split ok ─ v2 split ◀' out
verdict 'a verdict goes to the version that was checked'
typed "$mm" 'cache_read("C", "A", "global"); unsafe_set_dtype("A_global", 0, "float16");' ':check --background --seed 3' \
    ':jobs --wait' ':jobs 1' ':versions'
grep -q '^job 1: check of matmul v2 failed: FAIL C: .* of 4,096 elements differ' err && grep -q '^  1  failed ' out && grep -q '     | .*seed 3$' out &&
    grep -q 'unsafe_set_dtype FAIL' out
verdict 'a check that fails is a job that failed'
typed "$mm" ':check --background --seed none' ':jobs --wait' ':jobs 1'
grep -q '^job 1: check of matmul v0 failed: error: --seed takes a number from 1, not none \[bad-argument\]$' err &&
    grep -q '     | error: --seed' out
verdict 'the error of a job is told and kept'
typed ':jobs' ':stop' 
[ "$status" = 1 ] && grep -q '^no jobs; :tune --background starts one$' out && grep -q 'no job runs .*\[bad-argument\]' err
verdict 'no jobs, nothing to stop'
typed "$mm" ':show --background'
[ "$status" = 1 ] && ! grep -q '^job' out
verdict 'a command that is done at once does not run apart'
typed "$mm" ':set seed 7' 'mark("x")' ':check --background --shape "a b=3"' ':jobs --wait' ':jobs 1'
grep -q '^  1  failed .* check --shape "a b=3"$' out && grep -q 'shape: .*a b' err
verdict 'words with blanks reach the job as they are'
"$ml" --job </dev/null >out 2>err
[ $? = 1 ] && grep -q '"code":"bad-file".*started by a session' err
verdict 'nobody else is served as a job'
"$ml" --job <"$ml" >out 2>err
[ $? = 1 ] && grep -q '"code":"bad-file"' err
verdict 'nonsense is no job'
cat >race.py <<'E'
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(8):
        with T.block("b"):
            v = T.axis.spatial(8, i)
            B[v // 2] = A[v]
E
typed ':open race.py' 's = schedule(focus(), {enable_check = false})' 'parallel("i");' ':check --background' ':jobs --wait'
grep -q '^job 1: check of main v1 failed: error: iterations 0 and 1 of i conflict on B \[race\]$' err
verdict 'steps that were not checked are not checked in the job'

# ---- a session that goes on meanwhile, told by its lines
mkfifo in
exec 9<>in
"$ml" --keep-going <in >out 2>err &
session=$!
say() { printf '%s\n' "$@" >&9; }
there_or_over() { grep -q -- "$1" "$2" || ! kill -0 "$session" 2>/dev/null; }
await() { # PATTERN FILE: until it is there
    within there_or_over "$@" && grep -q -- "$1" "$2"
}
children() { cat "/proc/$session/task/$session/children" 2>/dev/null; }
say 's = schedule(workload.matmul(128, 128, 128))' ':tune --background --trials 100000 --db r.db' 'print("began")'
await '^began$' out
verdict 'the session goes on while a search runs'
if grep -q 'no-target' err; then
    echo 'skip searches in the background: libLLVM 19 is not there'
    say ':quit'
    wait "$session"
    exit 0
fi
looks() { say ':jobs' && grep -q 'trials .*/s .*best' out; }
searching() { within looks; } # until the job has told how far it is
searching
verdict 'a running search tells how far it is'
say ':stop' ':jobs --wait' 'print("stopped")'
await '^stopped$' out && grep -q '^job 1: tune of matmul stopped: [0-9]* of 100000 trials, best .*, record [0-9]*; :adopt makes it a branch$' err &&
    grep -q '^  1  stopped ' out
verdict 'a search that is stopped keeps what it has found'
say ':adopt --db r.db' ':versions' 'print("adopted")'
await '^adopted$' out && grep -q '^branch tuned-1: ' out
verdict 'its records are there for the session'
say 't = schedule(workload.matmul(8, 8, 8))' ':tune --background --trials 900 --db small.db' ':jobs --wait' 'print("exhausted")'
await '^exhausted$' out && grep -q '^job 2: tune of matmul: [0-9]* of 900 trials (the design space has no further program), best .*, first of [0-9]* measured by turns.*, record [0-9]*; :adopt' err &&
    grep -q '^     tune of matmul: .*no further program' out
verdict 'a search that finds no further program says so'
say 'focus(s)'
: >out
say ':tune --background --trials 100000 --seed 2 --db r.db' 'print("again")'
await '^again$' out
pid=$(children | tr ' ' '\n' | tail -n 2 | tr -d '\n ')
searching
kill -9 "$pid"
say ':jobs --wait' 'print("killed")'
await '^killed$' out && grep -q '^job 3: tune of matmul killed: ended by SIGKILL' err && grep -q '^  3  killed ' out
verdict 'a job that was killed is reported'
say ':tune --background --trials 100000 --seed 3 --db r.db' 'print("third")'
await '^third$' out
pid=$(children | tr ' ' '\n' | tail -n 2 | tr -d '\n ')
[ -n "$pid" ] && kill -0 "$pid"
verdict 'a third one runs'
say ':quit'
wait "$session"
status=$?
exec 9>&-
is_gone() { ! kill -0 "$pid" 2>/dev/null; }
gone() { within is_gone; }
[ "$status" -le 1 ] && gone
verdict 'jobs end with their session'

# ---- a session that is killed
mkfifo in2
exec 9<>in2
: >out
"$ml" <in2 >out 2>err &
session=$!
say 's = schedule(workload.matmul(128, 128, 128))' ':tune --background --trials 100000 --seed 4 --db r.db' 'print("fourth")'
await '^fourth$' out
pid=$(children | tr ' ' '\n' | tail -n 2 | tr -d '\n ')
kill -9 "$session"
wait "$session" 2>/dev/null
gone
verdict 'and with a session that is killed'
exec 9>&-

# ---- :time
typed "$mm" 'split("i", {auto, 8});' ':time --background' ':jobs --wait' ':versions' ':time'
[ "$status" = 0 ] && grep -q '^job 1: time of matmul v1: [0-9.]* .s, .*FLOP/s\( ±[0-9]* %\)*$' err && grep -q 'v1 split [0-9.]* .FLOP/s\( ±[0-9]* %\)* ◀' out
verdict 'a time goes to the version that was timed'
typed "$mm" ':set time-after-step on' 'split("i", {auto, 8});' ':versions'
[ "$status" = 0 ] && grep -q '^matmul v1   .* median of ' out && grep -q 'v1 split [0-9.]* .FLOP/s\( ±[0-9]* %\)* ◀' out
verdict 'with time-after-step each line that made steps is timed'
exit 0

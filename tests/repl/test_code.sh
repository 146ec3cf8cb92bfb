#!/bin/bash
# Machine code from outside: targets by setting, option and environment; what :time says beside the
# figures; programs for a GPU; what :asm shows of a loop and between versions.
# Source: interaction 2, 4, 8; lowering-and-codegen 12.
. tests/repl/session.sh
flags=(--no-init)
export XDG_DATA_HOME=$TMPDIR/data MOONLOOP_THREADS=1

# ---- targets
typed ':set target llvm -mcpu=haswell -num-cores=2' ':set target'
[ "$status" = 0 ] && grep -q '^target  *llvm -mcpu=haswell -num-cores=2 ' out
verdict 'a target needs no quotes'
typed ':set target "llvm -mcpu=haswell"' ':set target'
[ "$status" = 0 ] && grep -q '^target  *llvm -mcpu=haswell ' out
verdict 'a target may have quotes'
typed ':set target llvm -mcpu=nosuch' && [ "$status" = 3 ] && has err 'no x86-64 processor is named nosuch'
verdict 'a target that is none is refused'
typed ':set seed 3 4' && [ "$status" = 1 ] && has err ':set NAME VALUE'
verdict 'a number is one word'
export MOONLOOP_TARGET='llvm -mcpu=haswell'
"$ml" -b -e ':set target' >out 2>err && grep -q '^target  *llvm -mcpu=haswell ' out
verdict 'MOONLOOP_TARGET gives the target'
"$ml" -b --target 'llvm -mcpu=skylake' -e ':set target' >out 2>err && grep -q '^target  *llvm -mcpu=skylake ' out
verdict '--target stands above MOONLOOP_TARGET'
MOONLOOP_TARGET=nonsense "$ml" -b -e 'print(1)' >out 2>err
[ $? = 2 ] && grep -q 'no-target' err && grep -qx 'moonloop: MOONLOOP_TARGET is nonsense' err && [ ! -s out ]
verdict 'a MOONLOOP_TARGET that is no target is told'
unset MOONLOOP_TARGET

# ---- names in messages
cat >race.py <<'E'
@T.prim_func
def f(A: T.Buffer((64,), "float32"), B: T.Buffer((1,), "float32")):
    for i in T.parallel(64):
        with T.block("B"):
            vi = T.axis.opaque(64, i)
            B[0] = A[vi]
E
typed 'moon.check(moon.parse(io.open("race.py"):read("a")), moon.parse(io.open("race.py"):read("a")))'
grep -q '^error: iterations 0 and 1 of i conflict on B' err
verdict 'a race names its loop, without a schedule too'

# ---- programs for a GPU
gpu=('s = schedule(workload.matmul(16, 16, 16))' 'bind("i", "blockIdx.x")' 'bind("j", "threadIdx.x")')
for word in :time :ir :llvm :asm; do
    typed "${gpu[@]}" "$word"
    [ "$status" = 3 ] && has err 'loop i is bound to blockIdx.x: this is a program for a GPU' && grep -q 'no-device' err &&
        ! grep -q 'lower' err
    verdict "$word says that a program is for a GPU"
done
typed "${gpu[@]}" ':ir simplify' && [ "$status" = 0 ] && grep -q 'blockIdx.x' out
verdict 'the first passes show programs for a GPU'
for word in ':tune --trials 2' :time :asm; do
    typed 's = schedule(workload.matmul(16, 16, 16), {target = "cuda"})' "$word"
    [ "$status" = 3 ] && has err "the schedule's target is cuda"
    verdict "$word looks at the schedule's target"
done

"$ml" -b -e 's = schedule(workload.matmul(8, 8, 8))' -e ':llvm' >out 2>err
if grep -q 'no-target' err; then
    echo 'skip code: libLLVM 19 is not there'
    exit 0
fi

# ---- :time
cat >copy.py <<'E'
@T.prim_func
def f(A: T.Buffer((65536,), "int32"), B: T.Buffer((65536,), "int32")):
    for i in range(65536):
        with T.block("B"):
            vi = T.axis.spatial(65536, i)
            B[vi] = A[vi]
E
export XDG_CACHE_HOME=$TMPDIR/cache
typed ':open copy.py' ':time' ':time --cold'
[ "$status" = 0 ] && [ "$(grep -c '^ *[0-9.]* % of the [0-9.]* GB/s of [LMm]' out)" = 2 ] &&
    grep -q 'GB/s of memory$' out && grep -q "moves at least 524 kB" out
verdict ':time compares what moves with the bandwidth'
typed ':open copy.py' ':time --runs 3' ':set runs 2' ':time' 'print(moon.time(moon.focus(), {runs = 4}).runs)'
[ "$status" = 0 ] && grep -q 'median of 3 ' out && grep -q 'median of 2 ' out && grep -q '^4$' out
verdict ':time takes as many samples as --runs or :set runs say'
mm8='s = schedule(workload.matmul(8, 8, 8))'
for command in time profile; do
    typed "$mm8" ":$command --runs=2 --cold" && [ "$status" = 0 ]
    verdict ":$command takes --runs and --cold"
done
for words in 'time --what' 'profile --report' 'roofline --runs 2' 'profile --against x' 'roofline --colder'; do
    typed "$mm8" ":$words" && [ "$status" = 1 ] && has err ":${words%% *} has no option --[a-z]*; .*--cold"
    verdict "refuses :$words"
done
typed "$mm8" ':time --shape' && [ "$status" = 1 ] && has err 'shape n=127, not none'
verdict 'refuses --shape without a size'
typed ':open copy.py' ':time --runs 0' && [ "$status" = 1 ] && has err 'from 1 to 4096, not 0'
verdict 'a number of runs that is none is refused'
typed ':set runs 5000' && [ "$status" = 1 ] && has err 'from 1 to 4096, not 5000'
verdict 'a setting of too many runs is refused'
cat >sym.py <<'E'
@T.prim_func
def f(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,))
    B = T.match_buffer(b, (n,))
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] + T.float32(1)
E
typed ':open sym.py' ':time --shape n=8' ':time --shape n=8 --shape m=3'
[ "$status" = 1 ] && has err 'shape: there is no size m; the program has n' && [ "$(grep -c 'median of' out)" = 1 ]
verdict ':time refuses a size that there is none of'
typed 's = schedule(workload.matmul(64, 64, 64))' 'split("i", {auto, 8})' ':time' 'reorder("i_0", "k", "i_1", "j")' \
    'vectorize("j")' ':time' 'unroll("i_1")' ':time'
[ "$status" = 0 ] && [ "$(grep -c 'against v[0-9]*, the step before (' out)" = 1 ] && grep -q '^ *×[0-9.e+-]*\( ±[0-9]* %\)* against v3, the step before (' out
verdict ':time compares with the step before, when that was timed'

# ---- :asm
mm=('s = schedule(workload.matmul(64, 64, 64))' 'split("j", {auto, 16})' 'reorder("k", "j_1")' 'vectorize("j_1")')
typed "${mm[@]}" ':asm k'
[ "$status" = 0 ] && sed -n '/^hottest inner loop/,/^all of it/p' out | grep -q 'fmadd' && grep -q '^[0-9]* instructions an iteration' out
verdict ':asm of a loop shows its hottest loop'
typed "${mm[@]}" ':asm --diff'
[ "$status" = 0 ] && grep -q '^v2 .* scalar' out && grep -q '^v3 .*-bit vectors' out && grep -q '^ .* - ' out && grep -q '^ .* + ' out
verdict ':asm --diff compares with the step before'
typed "${mm[@]}" ':asm k --diff v1' ':asm --diff v3' ':mark here' ':asm --diff here k'
[ "$status" = 0 ] && grep -q '^v1 ' out && [ "$(grep -c '^the same instructions' out)" = 2 ]
verdict ':asm --diff takes a version, and a loop'
typed "${mm[@]}" ':asm --diff v9' && [ "$status" = 1 ] && has err 'bad-argument' &&
    typed "${mm[@]}" ':asm --what' && [ "$status" = 1 ] && has err ':asm has no option --what; it knows --diff' &&
    typed 's = schedule(workload.matmul(8, 8, 8))' ':asm --diff' && [ "$status" = 1 ] && has err 'no step before v0'
verdict ':asm --diff refuses what is no version'
typed "${mm[@]}" ':asm j_1 --diff v0' && [ "$status" = 1 ] && has err 'no line of v0 shows j_1'
verdict ':asm --diff says when the other version has no such loop'

# ---- :llvm and :ir of two versions
typed "${mm[@]}" ':llvm --diff' ':llvm --opt --diff v2'
[ "$status" = 0 ] && grep -q '^ .* - .*phi i64' out && grep -q '<16 x float>' out && ! grep -q '!dbg' out
verdict ':llvm --diff compares versions, without lines'
typed "${mm[@]}" ':ir --diff v2' ':mark here' ':ir --diff here' ':ir simplify --diff v0'
[ "$status" = 0 ] && grep -q '^v3 and v3 are the same here$' out && grep -q '^ .* + .*T.Ramp\|^ .* + .*vectorized' out
verdict ':ir --diff with a version compares that stage of both'
typed "${mm[@]}" ':ir --diff' && [ "$status" = 0 ] && grep -q '^ .* - ' out
verdict ':ir --diff alone shows what the pass changed'
typed "${mm[@]}" ':llvm --diff v9' && [ "$status" = 1 ] && has err 'no version v9' &&
    typed 's = schedule(workload.matmul(8, 8, 8))' ':llvm --diff' && [ "$status" = 1 ] && has err 'no step before v0'
verdict ':llvm --diff refuses what is no version'

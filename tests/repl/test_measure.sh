#!/bin/bash
# Facts about a program from outside: :memory with its progress and its interruption, :profile,
# :roofline, :asm with the lines of the program. Source: interaction 4, 8, 9.
. tests/repl/session.sh
flags=(--no-init)
export XDG_DATA_HOME=$TMPDIR/data XDG_CACHE_HOME=$TMPDIR/cache MOONLOOP_THREADS=1

# ---- :memory
run -b -e 's=schedule(workload("C2D-1"))' -e 'began = os.time()' -e ':memory Xp' -e 'print("took " .. os.time() - began)'
[ "$status" = 0 ] && has out 'loads 12,845,056 64 64 64' && has out 'stores 200,704 1 1 1' && has out 'redundant stores: none' &&
    has out 'h_1 56 229,376 224 704' && { grep -q '^took [0-2]$' out || grep -q '^memory Xp  .* %  ' err; }
verdict ':memory counts C2D-1 exactly, with progress when that takes long'
mm='s = schedule(workload.matmul(32, 32, 32))'
typed "$mm" 'parallel("j");' ':memory C --threads 4'
[ "$status" = 0 ] && has out 'thread 3 8,192 loads 8,448 stores C\[:, 24:32\]' && has out 'false sharing on 64'
verdict ':memory tells what threads touch, and false sharing'
typed "$mm" 'cache_read("C", "A", "global");' ':memory A_global'
[ "$status" = 0 ] && has out 'stores 1,024 1 1 1' && has out 'load in C: i 128 B, k 4 B'
verdict ':memory follows a cache'
typed "$mm" ':memory A --budget 10000'
[ "$status" = 0 ] && has out 'a part of the program: the first 2 of 32 iterations of i; .* accesses were walked'
verdict ':memory says what it walked of a long program'
typed 's = schedule(workload("C2D-1"))' ':memory Xp --budget 4e6' && [ "$status" = 0 ] && has out 'a part of the program' && has out 'redundant stores: none'
verdict 'what a part of a program does not load is not called redundant'
typed "$mm" ':memory nosuch' && [ "$status" = 1 ] && has err 'buffer-not-found' &&
    typed "$mm" ':memory' && has err 'which buffer' && typed "$mm" ':memory A --what' && has err ':memory has no option --what; it knows --threads, --shape, --budget' &&
    typed "$mm" ':memory A --threads 99' && has err 'from 1 to 32'
verdict ':memory refuses what it does not know'
cat >sym.py <<'E'
@T.prim_func
def f(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,))
    B = T.match_buffer(b, (n,))
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] + T.float32(1)
E
typed ':open sym.py' ':memory A --shape n=40' && [ "$status" = 0 ] && has out 'loads 40 1 1 1' && has out '3 of 3 lines touched' &&
    typed ':open sym.py' ':memory A' && [ "$status" = 1 ] && has err 'n'
verdict ':memory takes symbolic sizes'
for width in 40 80; do
    "$ml" -b --width "$width" --ascii -e "$mm" -e ':memory B' >"out.$width" 2>err
    ! LC_ALL=C grep -q '[^ -~]' "out.$width" || echo not ASCII >>err
done
cat out.40 out.80 >out
[ ! -s err ] && awk 'length > 40 && /^( *[0-9,]+ |  [ a-z]+  *[0-9])/ { bad = 1 } END { exit bad }' out.40
verdict 'the tables of :memory fit into 40 columns, in ASCII'
# It is at work on a line that takes long once it has used a second of the processor behind the line before it.
used() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$pid/stat"; } # in ticks
has_worked() { [ "$(used)" -gt $((before + $(getconf CLK_TCK))) ]; }
interrupted() { # ARGUMENTS: while :memory runs
    : >out
    bash -c 'trap - INT; exec "$@"' sh "$ml" "$@" >out 2>err &
    pid=$!
    within grep -q begins out && before=$(used) && within has_worked && kill -INT "$pid"
    wait "$pid" 2>/dev/null
    status=$?
}
set -m # background jobs take SIGINT
interrupted -b -e 's=schedule(workload("GMM-3"))' -e 'print("begins") io.stdout:flush()' -e ':memory X --budget 1e9' </dev/null
[ "$status" = 130 ] && [ "$(cat out)" = begins ]
verdict ':memory is ended by SIGINT in batch mode'
printf '%s\n' 's = schedule(workload("GMM-3"))' 'print("begins") io.stdout:flush()' ':memory X --budget 1e9' 'print(6 * 7)' >lines
interrupted --no-init --keep-going <lines
set +m
has err 'error: interrupted' && has out 42
verdict ':memory is interrupted, and the session goes on'

# ---- machine code: as far as there is a compiler
if ! "$ml" --features | grep -q '^llvm=[^n]'; then
    echo 'ok :profile, :roofline and :asm: no LLVM here'
    exit 0
fi
typed 's = schedule(workload("SFM-1"))' ':profile --runs 3'
[ "$status" = 0 ] && grep -q '^SFM-1 v0   4 nests   1 thread' out && grep -q '^i_1: exp  .* %  ' out && grep -q '^sum ' out &&
    grep -q '^whole ' out && grep -q '^no hardware counters: \|^of a call' out
verdict ':profile times each nest, and says what the processor counts'
typed "$mm" ':profile --what' && [ "$status" = 1 ] && has err ':profile has no option --what; it knows --runs, --cold, --shape'
verdict ':profile refuses what it does not know'
typed "$mm" ':time --runs 3' 'vectorize("j");' ':time --runs 3' ':roofline'
[ "$status" = 0 ] && grep -q '┤' out && grep -q '^v0 .* %' out && grep -q '^v1 ◀ .* %' out && grep -q 'FLOP/B$' out
verdict ':roofline shows the versions that were timed'
typed ':roofline' && [ "$status" = 0 ] && has out 'peak [0-9.]* GFLOP/s of float32' && ! grep -q 'version' out
verdict ':roofline shows the machine alone'
# The headline is of what limits: bytes of a sum, operations of a product.
typed 's = schedule(workload.add{m = 512, n = 512})' ':time --runs 3' ':roofline' ':versions' 'moon.cmd("time", "--runs", 3).byte_rate > 1e6' \
    "$mm" ':time --runs 3' ':roofline'
[ "$status" = 0 ] && grep -q '^add v0   .* median of 3 .*   [0-9.]* [MG]B/s' out && grep -q '^  *[0-9.]* % of the [0-9.]* GB/s of [Lm]' out &&
    grep -q ' FLOP/B: the bandwidth is the roof; at least [0-9.]* .s to compute, [0-9.]* .*s to move at the ' out &&
    grep -q '^  *[0-9.]* [MG]FLOP/s, [0-9.]* % of the measured peak, [0-9,]* GFLOP/s$' out && grep -qx true out &&
    grep -q 'FLOP/B: the bandwidth of .* is the roof, [0-9.]* GB/s or [0-9.]* GFLOP/s; the peak is [0-9]*$' out &&
    grep -q '^version  *time  *GB/s  of the bound$' out && grep -q '^v0 [0-9.]* [MG]B/s.* ◀$' out
verdict 'what the bandwidth limits is told in GB/s, its roof and the peak beside each other'
grep -q '^matmul v0   .* median of 3 .*   [0-9.]* [MG]FLOP/s' out && grep -q '% of the measured peak, [0-9,]* GFLOP/s (nominal' out &&
    grep -q ' FLOP/B: the peak is the roof; at least .* to compute, .* to move at the [0-9.]* GB/s of ' out &&
    grep -q 'FLOP/B: the peak is the roof, [0-9.]* GFLOP/s; the [0-9.]* GB/s of .* would allow [0-9]*$' out &&
    grep -q '^version  *time  *GFLOP/s  of the bound$' out
verdict 'what the peak limits is told in GFLOP/s'
typed 's = schedule(workload("GEL-0"))' ':time --runs 3' ':roofline' ':machine' && [ "$status" = 0 ] &&
    has out 'erf is the roof; at least .* to compute, .* of it erf, .* to move at the ' && has out 'the bound is .* by erf, [0-9]* thread.*: [0-9.]* % is reached' &&
    has out 'FLOP/B: erf is the roof, ' && grep -q '^the bound is .* by erf, ' out && grep -q '^results, G/s ' out && grep -q '^  erf ' out
verdict 'a function of floats is a roof of its own'
typed 's = schedule(workload.matmul(1, 1, 1))' ':time --runs 3' ':roofline' ':why-slow' && [ "$status" = 0 ] &&
    has out 'a run under 100 ns is mostly its call' && has out 'it is so short that most of its time is the call' && ! has out 'no cause is seen'
verdict 'of a run that is mostly its call no roof and no cause is told'
typed 's = schedule(workload("SFM-0"))' ':asm sum' && [ "$status" = 0 ] &&
    sed -n '/^of the program/,/^hottest/p' out | grep -q '^ *[0-9]* | .*sum\[vi\] + exp\[vi, vk\]' &&
    sed -n '/^all of it/,$p' out | grep -q '|     '
verdict ':asm shows the lines that the hottest loop came from, and the nest'

# ---- sizes: one reading of them for all commands
for c in ':time' ':profile' ':roofline' ':memory A'; do
    typed 's = schedule(workload.matmul(16, 16, 16))' "$c --shape =5"
    [ "$status" = 1 ] && grep -q -e '--shape n=127, not =5' err
    verdict "$c refuses a size without a name"
done

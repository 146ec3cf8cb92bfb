#!/bin/bash
# A program with symbolic sizes tuned for a list of them, from outside: :tune --shape, the kernel that it makes,
# a kill in the middle, Ctrl-C, what is refused. Source: interaction 11; auto-scheduler 18.
. tests/repl/session.sh
export XDG_DATA_HOME=$TMPDIR/data MOONLOOP_THREADS=1

records() { # FILE: how many there are
    timeout "$limit" "$ml" -b -e ":db $1" | sed -n 's/.* \([0-9]*\) records\{0,1\} (.*/\1/p'
}
cat >mm.py <<'PY'
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle):
    n = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (n, 64))
    B = T.match_buffer(b, (64, m))
    C = T.match_buffer(c, (n, m))
    D = T.alloc_buffer((n, m))
    for i, j, k in T.grid(n, m, 64):
        with T.block("D"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                D[vi, vj] = T.float32(0)
            D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(n, m):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.max(D[vi, vj], T.float32(0))
PY

typed ':open mm.py' ':tune --shape n=1,48,m=64 --trials 8 --db a.db' ':adopt --db a.db' ':check --shape n=1,m=64' \
    ':check --shape n=48,m=64' ':check --shape n=49,m=64' ':check --shape n=5,m=3' ':versions' ':save k.py' ':save k.so' ':save k.lua' ':best --db a.db'
if grep -q 'no-target' err; then
    echo 'skip tuning: libLLVM 19 is not there'
    exit 0
fi
[ "$status" = 0 ] && grep -q '^tune mm for 2 sizes  llvm ' err && grep -Eq '^sizes +GFLOP/s +us alone +in kernel +trials$' out &&
    grep -Eq '^n=1,m=64 +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9]+$' out && grep -Eq '^n=48,m=64 +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9]+$' out &&
    grep -q '^8 of 8 trials (' out && has out 'one kernel: 2 sizes with steps of their own, all others ' &&
    has out 'record 9; :adopt 9 makes it a branch' && grep -q '^branch tuned-1: 3 steps from record 9$' out
verdict 'tunes each of the sizes and keeps them as one kernel, a record of the program'
[ "$(grep -c '^ok   C equals v0' out)" = 4 ]
verdict 'which computes what the program does, for sizes that are listed and for others'
typed ':open mm.py' ':adopt --db a.db' ':check'
[ "$status" = 0 ] && grep -q '^ok   n=1,m=64: C equals v0' out && grep -q '^ok   n=48,m=64: C equals' out && grep -q '^ok   n=2,m=65: C equals' out &&
    [ "$(grep -c '^ok   n=[0-9]*,m=[0-9]*: C equals v0' out)" = 5 ]
verdict ':check without sizes draws them: those of the arms, some beside, some others'
typed ':open mm.py' 'specialize("n=1,m=64")' 'specialize("n=2,m=65")' ':check'
[ "$status" = 0 ] && grep -q '^ok   n=2,m=65: ' out && [ "$(sed -n 's/^ok   \(n=[^:]*\):.*/\1/p' out | sort | uniq -d)" = '' ] &&
    [ "$(grep -c '^ok ' out)" = 4 ]
verdict 'and none of them twice'
typed ':open mm.py' ':adopt --db a.db' ':versions' ':best --db a.db'
grep -q 'v1 specialize ─ v2 specialize ─ v3 specialize \[tuned-1\]' out && has out 'n=1,m=64, n=48,m=64, others'
verdict 'by steps that one can read'
typed ':open mm.py' ':best --db a.db' ':best --by shape --db a.db' ':adopt --db a.db' ':versions'
[ "$status" = 0 ] && grep -Eq '^rank +run +GFLOP/s ' out && grep -Eq '^ +- +[0-9.]+ +9 +1 +1  n=1,m=64, n=48,m=64, others$' out &&
    grep -Eq 'tuned-1\] [0-9.]+ GFLOP/s' out && ! has out 'not known'
verdict 'whose speed is a rate, and whose sizes are told'
typed ':open k.py' ':check --shape n=48,m=64' ':time --runs 3 --shape n=48,m=64' ':time --runs 3 --shape n=7,m=7'
[ "$status" = 0 ] && [ -s k.so ] && grep -q '^ok ' out && [ "$(grep -c 'median of 3' out)" = 2 ]
verdict 'its text is read back, and runs at any size'
timeout "$limit" "$ml" -b k.lua >out 2>err
verdict 'its steps rebuild it'

typed ':open mm.py' ':tune --shape n=1,48,m=64 --trials 10 --db a.db'
[ "$status" = 0 ] && has out '10 of 10 trials' && has out '; 8 of them earlier'
verdict 'counts the records of before'

for width in 80 40 20; do
    run --width $width -b -e ':open mm.py' -e ':tune --shape n=1,48,m=64 --trials 10 --db a.db'
    [ "$status" = 0 ] && grep -Eq '^n=48,m=(64|…) ' out && [ "$(sed '/trials (/,$d' out | wc -L)" -le $width ]
    verdict "the table of sizes fits $width columns"
done

# ---- the list: combinations, further options of the same names and of others
sizes() { # WORDS: the sizes that were tuned
    typed ':open mm.py' ":tune $1 --trials 1 --db l.db"
    sed -n 's/^\(n=[0-9]*,m=[0-9]*\) .*/\1/p' out | tr '\n' ' '
}
[ "$(sizes '--shape n=2,3,m=4,5')" = 'n=2,m=4 n=2,m=5 n=3,m=4 n=3,m=5 ' ] &&
    [ "$(sizes '--shape n=2,m=4 --shape n=3,m=5')" = 'n=2,m=4 n=3,m=5 ' ] &&
    [ "$(sizes '--shape n=2,3 --shape m=4')" = 'n=2,m=4 n=3,m=4 ' ] && [ "$(sizes '--shape=n=2, 3 m=4')" = 'n=2,m=4 n=3,m=4 ' ]
verdict 'values are combined, options of the same names add to the list'

refused() { # WHAT IT SAYS, WORDS
    typed ':open mm.py' ":tune $2"
    [ "$status" = 1 ] && grep -q 'bad-argument' err && has err "$1"
    verdict "refuses :tune $2"
}
refused 'has no symbolic size k; it has n, m' '--shape k=3,m=4'
refused 'the size m is not given: m=127' '--shape n=3'
refused 'n is a whole number from 1, not 0' '--shape n=0,m=1'
refused 'n is a whole number from 1, not -1' '--shape n=-1,m=1'
refused 'n is a whole number from 1, not x' '--shape n=x,m=1'
refused 'n=3,m=4 is given twice' '--shape n=3,3,m=4'
refused 'n=3,m=4 is given twice' '--shape n=3,m=4 --shape n=3,m=4'
refused 'does not fit int32' '--shape n=99999999999,m=4'
refused 'buffer C would be too large' '--shape n=2000000000,m=2000000000'
refused 'n=1,16 or n=1,16,m=64' '--shape'
refused 'n stands beside' '--shape n=3 --shape n=4,m=4'
refused 'a kernel has at most 64' "--shape m=1 --shape n=$(seq -s, 1 65)"
refused 'for several sizes of one; only one of them' '--shape n=3,m=4 --all'
refused 'space is the name of one (.*stock.*not .nope.' '--shape n=3,m=4 --space nope'
refused ':tune --shape knows' '--shape n=3,m=4 --compare'
typed 's = schedule(workload.matmul(8, 8, 8))' ':tune --shape n=3' && [ "$status" = 1 ] && has err 'has no symbolic sizes'
verdict 'refuses a program whose sizes are constants'
typed ':open mm.py' ':tune --shape n=2000000,m=2000000 --shape n=8,m=64 --trials 2 --db big.db'
[ "$status" = 0 ] && has err 'n=2000000,m=2000000: not tuned: ' && has out 'one kernel: 1 size with steps of its own'
verdict 'sizes that cannot be tuned are named, the others go on'

# ---- killed half way, and gone on with: the same records, none twice
timeout "$limit" "$ml" -b -e ':open mm.py' -e ':tune --shape n=1,48,m=64 --trials 60 --db k.db' >out 2>err &
victim=$!
for _ in $(seq 400); do
    [ "$(records k.db 2>/dev/null || echo 0)" -ge 3 ] 2>/dev/null && break
    sleep 0.1
done
kill -9 "$(pgrep -P $victim | head -1)" 2>/dev/null
wait $victim 2>/dev/null
before=$(records k.db)
typed ':open mm.py' ':tune --shape n=1,48,m=64 --trials 60 --db k.db'
"$ml" - k.db <<'EOF' >twice
local seen, n = {}, 0
for _, r in ipairs(moon.db(arg[1]):records()) do
    local key = r.workload .. r.trace
    n = n + (seen[key] and 1 or 0)
    seen[key] = true
end
print(n)
EOF
[ "$status" = 0 ] && [ "$before" -ge 3 ] && [ "$before" -lt 60 ] && has out "; $before of them earlier" && [ "$(cat twice)" = 0 ]
verdict 'goes on after kill -9: none twice'

# ---- Ctrl-C keeps everything, the kernel too
timeout "$limit" "$ml" -b -e ':open mm.py' -e ':tune --shape n=1,48,m=64 --trials 5000 --db c.db' >out 2>err &
victim=$!
for _ in $(seq 400); do
    [ "$(records c.db 2>/dev/null || echo 0)" -ge 20 ] 2>/dev/null && break
    sleep 0.1
done
kill -INT "$(pgrep -P $victim | head -1)"
wait $victim
[ $? = 130 ] && has out 'stopped after [0-9]* of 5000 trials' && has out 'all records are kept, the same line goes on' &&
    has out 'one kernel: 2 sizes' && typed ':open mm.py' ':adopt --db c.db' ':check --shape n=48,m=64' && grep -q '^ok ' out
verdict 'Ctrl-C keeps everything, and puts together what is known'

# ---- a full disk
(ulimit -f 120 && trap '' XFSZ && exec timeout "$limit" "$ml" -b -e ':open mm.py' -e ':tune --shape n=1,48,m=64 --trials 40 --db full.db' \
    -e ':adopt' -e ':check --shape n=48,m=64' -e ':best --db full.db') >out 2>err
[ $? = 0 ] && has err 'full.db: .*; the kernel is kept in memory for this session' && has out 'record 1; :adopt 1 makes it a branch' &&
    grep -q '^branch tuned-1: 3 steps' out && grep -q '^ok ' out && has out 'n=1,m=64, n=48,m=64, others' && [ "$(records full.db)" -gt 0 ]
verdict 'a full disk is told, the kernel stays in the session'

run -b --json -e ':open mm.py' -e ':tune --shape n=1,48,m=64 --trials 4 --db j.db'
grep -q '"record":' out && grep -q '"sizes":\[{"sizes":"n=1,m=64","seconds":' out && grep -q '"other":"' out
verdict 'tells it as data'

cat >t.lua <<'EOF'
local m = moon.open("mm.py")
local r = moon.tune(m, { shape = { n = { 1, 40 }, m = 64 }, trials = 6, db = ":memory:", threads = 1 })
assert(r.done == 6 and r.state == "done" and #r.sizes == 2 and #r.tasks == 2 and r.record == r.best.id)
assert(r.sizes[1].text == "n=1,m=64" and r.sizes[2].values.n == 40 and r.sizes[2].seconds > 0 and r.sizes[2].best_seconds > 0)
local s = r.schedule()
for _, n in ipairs { 1, 2, 40, 41 } do assert(moon.check(s, { shape = { n = n, m = 64 } }).ok) end
local t = moon.tune(m, { shape = "n=1,m=64;n=7,m=9", trials = 2, db = ":memory:", threads = 1 })
assert(t.sizes[2].text == "n=7,m=9")
for _, bad in ipairs { {}, { 3 }, { n = {} }, { n = "x", m = 1 }, { n = 1 }, { n = 1.5, m = 1 }, 7, "", { n = 1, m = 1, k = 1 } } do
    local ok, e = pcall(moon.tune, m, { shape = bad, trials = 1, db = ":memory:" })
    assert(not ok and e.code == "bad-argument", tostring(e))
end
for _, o in ipairs { { each = 3 }, { rule = "gradient" }, { shape = "n=3,m=3", on_record = print } } do
    local ok, e = pcall(moon.tune, m, o)
    assert(not ok and e.code == "bad-argument", tostring(e))
end
assert(not pcall(moon.draft, m, { shape = "n=3,m=3" }))
print("all well")
EOF
timeout "$limit" "$ml" t.lua >out 2>err
[ $? = 0 ] && grep -qx 'all well' out
verdict 'moon.tune{shape =} does what it says'

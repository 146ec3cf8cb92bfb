#!/bin/bash
# Tuning from outside: :tune in a pipe and in a terminal, what is counted and resumed, Ctrl-C, a
# kill in the middle, databases that cannot be used, and what is done with the records.
# Source: interaction 9, 11, 15 E; auto-scheduler 17.
. tests/repl/session.sh
export XDG_DATA_HOME=$TMPDIR/data MOONLOOP_THREADS=1
db=$XDG_DATA_HOME/moonloop/db/tuning.db

records() { # FILE: what is in it, by the program itself
    timeout "$limit" "$ml" -b -e ":db $1" | sed -n 's/.* \([0-9]*\) records\{0,1\} (.*/\1/p'
}
mm='s = schedule(workload.matmul(64, 64, 64))'

typed "$mm" ':tune --trials 6'
if grep -q 'no-target' err; then
    echo 'skip tuning: libLLVM 19 is not there'
    exit 0
fi

# ---- counting and resuming
[ "$status" = 0 ] && grep -q '^6 of 6 trials (' out && grep -q '^best   [0-9.]* GFLOP/s.*, first of 5 measured by turns, record [0-9]*; :adopt makes it a branch$' out &&
    grep -q '^tune matmul  llvm .*  seed 1  1 thread$' err && [ "$(records "$db")" = 6 ]
verdict 'tunes and keeps the records'
typed "$mm" ':graph search' ':graph search curve.svg' ':graph search curve.txt' ':graph search --db none.db'
[ "$status" != 0 ] && grep -q '^a  seed 1: [0-9.]* after 6$' out && grep -q ' 1 to 6 trials, ' out && grep -q '^wrote curve.svg' out &&
    grep -q 'matmul: best so far' curve.svg && grep -q '^a  seed 1' curve.txt && grep -q 'no database at .*none.db' err &&
    [ "$(grep -c '^error' err)" = 1 ]
verdict ':graph search draws the curves of the records'
typed 's = schedule(workload.matmul(8, 8, 8))' ':graph search'
[ "$status" != 0 ] && grep -q 'nothing was searched for matmul in this session' err
verdict ':graph search says when nothing was searched'
typed "$mm" ':tune --trials 9'
[ "$status" = 0 ] && grep -q '^9 of 9 trials (.*; 6 of them earlier;' out && [ "$(records "$db")" = 9 ]
verdict 'counts the records of before'
typed "$mm" ':tune'
[ "$status" = 0 ] && grep -q '^9 of 9 trials (.*; 9 of them earlier' out && [ "$(records "$db")" = 9 ]
verdict 'a bare :tune remembers the number'
typed "$mm" ':tune --trials 4'
[ "$status" = 0 ] && [ "$(records "$db")" = 9 ]
verdict 'does not measure more than was asked for'
typed "$mm" ':tune --trials 3 --seed 2' && [ "$status" = 0 ] && [ "$(records "$db")" = 12 ]
verdict 'another seed has its own number'
typed "$mm" ':tune --trials 5 --fresh' ':tune'
[ "$status" = 0 ] && [ "$(records "$db")" = 17 ] && grep -q '^5 of 5 trials (.*; 5 of them earlier' out
verdict 'begins anew with --fresh, and stays so'

# ---- strategies
for with in evolve beam greedy random replay-func; do
    typed "$mm" ":tune --trials 6 --with $with --db $TMPDIR/$with.db" && grep -q '^6 of 6 trials (' out && [ "$(records "$TMPDIR/$with.db")" = 6 ]
    verdict "tunes with $with"
done
refused() { # WHAT, options of :tune
    typed "$mm" ":tune --trials 2 $2"
    [ "$status" != 0 ] && grep -qE "$3" err
    verdict "$1"
}
refused 'a strategy that is none is refused with those that are' '--with evlove' 'no strategy is named evlove: there are .*evolve'
refused 'several strategies without --compare are refused' '--with evolve,beam' 'several with --compare'
refused 'a strategy that is compared with itself is refused' '--compare --with beam,beam' 'beam is there twice'
refused 'a model that is none is refused' '--with evolve --model oracle' 'no model is named oracle'
typed "$mm" ':tune --trials 20 --compare --with evolve,random' ':best 40 --db none.db'
[ "$(grep -cE '^(evolve|random) +20 +[0-9.]+ +[0-9-]+ +[0-9.]+ +0$' out)" = 2 ] && grep -q '100 % ┤' out && grep -qx 'a evolve   b random' out
verdict 'compares strategies by turns and draws their curves'
timeout "$limit" "$ml" -b --json -e "$mm" -e ':tune --trials 5 --compare --with greedy,random' >out 2>err
grep -q '"strategies":\[{"with":"greedy","done":5,"best_seconds":[0-9.e-]*,.*"curve":\[[^]]*\]},{"with":"random"' <(tr -d ' ' <out)
verdict 'tells curves as data'

# ---- what is done with records
typed "$mm" ':best 3'
[ "$status" = 0 ] && [ "$(grep -c '^ *[1-3] ' out)" = 3 ] && grep -q '^   1 .* 100.0 %' out
verdict 'lists the best records'
grep -q '^rank .* design$' out && [ "$(grep -Ec ' (i|j|k)=[0-9]+×[0-9]+(×[0-9]+)*(, |$)' out)" = 3 ] && ! grep -qF '[[' out
verdict 'tells what a record chose by loops and their parts'
typed "$mm" ':best 20' && [ "$status" = 0 ] && has out 'ranks and shares hold within one run'
verdict 'says what ranks mean where there are several runs'
typed "$mm" ':adopt' ':check' ':versions' ':undo'
[ "$status" = 0 ] && grep -q '^branch tuned-1: [0-9]* steps from record [0-9]*$' out && grep -q '^ok   C equals v0' out &&
    grep -q '→ v0   the start' err
verdict 'adopts the best as a branch of steps that can be undone'
grep -qE '^(v0 ─.*|● v[0-9]+ .*)\[tuned-1\] [0-9.]+ .FLOP/s ok ◀' out
verdict ':versions shows the measured speed of what was adopted'
run --keep-going < <(printf '%s\n' "$mm" ':adopt' ':goto 0' 'split("i", {auto, 8}) split("nix", {1})' ':versions' ':goto tuned-1' 'print(focus():version() > 1)')
grep -qE 'split «failed»' out && grep -qx true out
verdict 'a line that fails at the start takes no label of an adopted branch along'
typed "$mm" 'split("i", {auto, 8});' ':adopt 1' ':adopt 2'
[ "$status" = 0 ] && grep -q '^branch tuned-1: .* record 1$' out && grep -q '^branch tuned-2: .* record 2$' out
verdict 'adopts a record by its number, beside other work'
run --keep-going < <(printf '%s\n' "$mm" ':set threads 2' ':adopt' ':adopt 1' ':set threads 1' ':adopt 1')
grep -q 'matmul has no record measured with 2 threads here; the best with 1 is [0-9]*: :adopt [0-9]* takes it' <(tr -s '\n ' ' ' <err) &&
    [ "$(grep -c 'note: record 1 was measured' err)" = 1 ] &&
    grep -q 'note: record 1 was measured with 1 thread, [0-9.]* .FLOP/s; it has no parallel loop: with the 2 of now expect the same\. :time' err
verdict 'a record of other threads says so when it is adopted'
typed 's = schedule(workload.matmul(256, 256, 256))' ':set threads 2' ':tune --trials 2 --db two.db' ':set threads 1' ':adopt 1 --db two.db' ':versions' \
    'print(moon.cmd("adopt", 1, "--db", "two.db").expected > 0)' ':set threads 2' ':adopt 1 --db two.db'
[ "$status" = 0 ] && [ "$(grep -c 'note: record 1 was measured with 2 threads, [0-9.]* .FLOP/s; with the 1 of now expect about [0-9.]* .FLOP/s\. :time' err)" = 2 ] &&
    grep -q '\[tuned-1\] ◀' out && grep -qx true out
verdict 'and what may be expected where its loops are parallel; it is no time of this version'
typed "$mm" 'bind("i", "blockIdx.x")' ':tune --trials 1' ':tune --trials 1 --background' ':stop 1'
[ "$(grep -c 'note: loop i is bound to blockIdx.x, which only a GPU has; what is tuned is the start, v0, on the CPU' <(tr -s '\n ' ' ' <err | sed 's/note: /\n&/g'))" = 2 ]
verdict 'says of what is bound to threads that the start is tuned on the CPU'
typed "$mm" ':adopt 999'
[ "$status" = 1 ] && grep -q 'no record 999' err
verdict 'a record that is not there is named'
typed 's = schedule(workload.matmul(8, 8, 8))' ':best'
[ "$status" = 1 ] && grep -q 'has no records' err
verdict 'a program without records is told so'
for words in '--trials 0' '--trials x' '--seconds -1' '--seed 0' '--what' '--db'; do
    typed "$mm" ":tune $words"
    [ "$status" = 1 ] && grep -q 'bad-argument' err
    verdict "refuses :tune $words"
done

# ---- Lua
cat >t.lua <<'E'
local p = moon.workload.matmul(48, 48, 48)
local n = 0
local r = moon.tune(p, { trials = 5, db = "lua.db", threads = 1, on_record = function() n = n + 1 end })
assert(n == 5 and #r.records == 5 and r.best and r.best.min > 0)
assert(r.final_of == 5 and r.final_turns >= 2 and r.best.median > 0)
assert(moon.check(r.schedule()).ok)
local db = moon.db("lua.db")
assert(#db:records() == 5 and #db:records { program = p, limit = 2 } == 2)
assert(db:best(p).id == r.best.id)
for _, x in ipairs(db:records { program = p, valid = true }) do assert(x.median >= r.best.median) end
assert(moon.apply_best(p, db):hash() == r.schedule():hash())
assert(moon.check(moon.draft(p)).ok)
assert(db:export("x") == 5)
local other <close> = moon.db(":memory:")
assert(other:import("x") == 5 and #other:records { valid = true } == #db:records { valid = true })
local n, skipped = other:import("x")
assert(n == 0 and skipped == 0 and #other:records() == 5)
assert(db:import("x") == 0 and #db:records() == 5)
assert(other:best(p, db:best(p).target) == nil or other:best(p, db:best(p).target).min <= r.best.min)
assert(not pcall(moon.tune, p, { trails = 5 }))
-- what the usual space begins with computes the same, and has one of each kind
local seen = {}
for _, id in ipairs { "GMM-0", "C1D-1" } do
    for _, threads in ipairs { 1, 2 } do
        local list = moon.space.sketches(workload(id), { threads = threads })
        assert(#list.refused == 0, id)
        for _, sketch in ipairs(list) do
            seen[sketch.name] = true
            assert(moon.check(sketch.schedule).ok, id .. ": " .. sketch.name)
        end
    end
end
assert(seen["product, packed, panels outermost"] and seen["product, in place, rows outermost"] and seen["panels of weights"])
-- a design space of one's own
local mine = function(program)
    local s = moon.schedule(program)
    local l = s:get_loops(s:get_block("C"))
    s:split(l[2], { moon.auto, s:sample_categorical({ 4, 8, 16 }, { 0.3, 0.3, 0.4 }, 0) })
    return { { name = "mine", schedule = s } }
end
local own = moon.tune(p, { trials = 10, space = mine, db = "lua.db", threads = 1 })
assert(own.exhausted and own.done == 3)
print("all well")
E
timeout "$limit" "$ml" t.lua >out 2>err
[ $? = 0 ] && grep -qx 'all well' out
verdict 'moon.tune, moon.db, moon.draft and moon.apply_best do what they say'

cat >two.py <<'PY'
@I.ir_module
class Module:
    @T.prim_func
    def foo(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(64):
            with T.block("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + T.float32(1)

    @T.prim_func
    def bar(A: T.Buffer((64, 256), "int8"), B: T.Buffer((64, 256), "int8")):
        for i, j in T.grid(64, 256):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
PY
typed ':open two.py' 's = schedule(focus(), {func = "bar"})' ':tune --trials 3' ':adopt' ':check'
[ "$status" = 0 ] && grep -q '^3 of 3 trials' out && grep -q '^branch tuned-1' out && grep -q '^ok   bar: B equals\|^ok   B equals' out
verdict 'tunes one function of several'
cat >sym.py <<'PY'
@T.prim_func
def f(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,))
    B = T.match_buffer(b, (n,))
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] + T.float32(1)
PY
typed ':open sym.py' ':tune --trials 3'
[ "$status" = 1 ] && grep -q 'not-supported' err && grep -q 'symbolic sizes is tuned for some of them' err && ! grep -q 'give its size' err
verdict 'a program without sizes is refused, and no option is advised'
cat >endless.py <<'PY'
@T.prim_func
def f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = T.int32(1)
            while B[vi] > 0:
                B[vi] = T.max(B[vi] & 3, A[vi] & 1) | 1
PY
typed ':open endless.py' ':tune --trials 2'
[ "$status" = 1 ] && grep -q 'the start version ran longer than 10 s' err
verdict 'a start version that does not end is given up'
cat >space.lua <<'E'
local p = moon.workload.matmul(8, 8, 8)
for said, space in pairs { ["'nosuch'"] = "nosuch", ["a table"] = {}, ["a number"] = 3 } do
    local ok, e = pcall(moon.tune, p, { space = space, db = moon.db(":memory:") })
    assert(not ok and e.code == "bad-argument", e)
    assert(e.message:find(moon.space.name, 1, true) and e.message:find("not " .. said, 1, true), e.message)
end
for name, wrong in pairs { trials = 0, seconds = 0, model = "nosuch" } do
    local ok, e = pcall(moon.tune, p, { [name] = wrong, db = ":memory:" })
    assert(not ok and (e.code == "bad-argument" or e.code == "unknown-name"), e)
end
assert(#moon.tune(p, { space = moon.space.name, trials = 2, db = ":memory:" }).records == 2)
print("all well")
E
timeout "$limit" "$ml" space.lua >out 2>err
[ $? = 0 ] && grep -qx 'all well' out
verdict 'a space that there is none of is refused with the names there are'

# ---- databases that are not there
: >empty.db
for words in ':db none/no.db' ':best --db none/no.db' ':adopt --db none/no.db' ':db empty.db' ':best --db empty.db' ':adopt --db empty.db'; do
    typed "$mm" "$words"
    [ "$status" = 3 ] && grep -q "no database at ${words##* } yet: :tune makes one" err && [ ! -e none ] && [ ! -s empty.db ]
    verdict "$words makes nothing"
done
for word in :db :best :adopt; do
    XDG_DATA_HOME=$TMPDIR/nodata typed "$mm" "$word"
    [ "$status" = 3 ] && tr -s '\n ' ' ' <err | grep -q 'no database at .*/nodata/moonloop/db/tuning.db yet' && [ ! -e "$TMPDIR/nodata" ]
    verdict "$word does not make the usual database"
done
typed "$mm" ':tune --trials 1 --db none/no.db'
[ "$status" = 3 ] && has err 'none/no.db: there is no folder none' && ! has err 'in memory' && [ ! -e none ]
verdict ':tune makes no folder that it is given'
mkdir mine
XDG_DATA_HOME=$TMPDIR/nodata typed "$mm" ':tune --trials 3 --db mine/m.db' ':best' ':adopt' ':db' ':tune --trials 4' ':db mine/m.db'
[ "$status" = 0 ] && grep -q '^rank' out && grep -q '^branch tuned-1' out &&
    grep -q '^mine/m.db .* 3 records' out && grep -q '^mine/m.db .* 4 records' out && [ ! -e "$TMPDIR/nodata" ]
verdict 'the database of the last :tune is the one of the session'

# ---- --safe
cat >safe.lua <<'E'
local db = moon.db(":memory:")
for what, f in pairs {
    db = function() moon.db("safe.db") end,
    export = function() db:export("safex") end,
    save = function() moon.build(moon.workload.matmul(4, 4, 4)):save("safe.o") end,
    tune = function() moon.tune(moon.workload.matmul(4, 4, 4), { db = "safe.db" }) end,
} do
    local ok, e = pcall(f)
    assert(not ok and e.code == "not-supported" and e.message:find("--safe", 1, true), what)
end
assert(#db:records() == 0)
print("all well")
E
timeout "$limit" "$ml" --safe safe.lua >out 2>err
[ $? = 0 ] && grep -qx 'all well' out && [ ! -e safe.db ] && [ ! -e safex ] && [ ! -e safe.o ]
verdict 'under --safe Lua opens no database by path and saves no kernel'

# ---- databases that cannot be used
echo 'this is no database, it is a text that is long enough to be one' >bad.db
cp bad.db bad.copy
typed "$mm" ':tune --trials 3 --db bad.db' ':best --db bad.db' ':adopt --db bad.db'
[ "$status" = 0 ] && grep -q 'bad.db: .*not a database' err && grep -q 'in memory' err && cmp -s bad.db bad.copy &&
    grep -q '^branch tuned-1' out && grep -q '^3 of 3 trials' out
verdict 'a corrupt database is named and left, and the session goes on'
run --keep-going < <(printf '%s\n' "$mm" ':tune --trials 3 --db /proc/none/t.db' 'print(s:version())')
grep -q 'error: /proc/none/t.db: there is no folder /proc/none .*no-file' err && ! grep -q trials out && grep -q '^0$' out
verdict 'a folder that is not there is named, nothing is tuned, and the session goes on'
(ulimit -f 120 && trap '' XFSZ && exec timeout "$limit" "$ml" -e "$mm" -e ':tune --trials 40 --db full.db' -e ':best 2 --db full.db') >out 2>err
[ $? = 0 ] && grep -q 'full.db' err && [ "$(grep -c 'in memory' err)" = 1 ] && grep -q '^40 of 40 trials' out &&
    [ "$(records full.db)" -gt 0 ]
verdict 'a full disk is told once, what was stored is kept, and the session goes on'

# ---- Ctrl-C and kill
holds() { [ "$(records "$1" 2>/dev/null || echo 0)" -ge "$2" ] 2>/dev/null; } # FILE COUNT: of records, at least
set -m # background jobs take SIGINT
bash -c 'trap - INT; exec "$@"' sh "$ml" -b -e "$mm" -e ':tune --trials 5000 --db int.db' >out 2>err </dev/null &
pid=$!
within holds int.db 5
kill -INT "$pid"
wait "$pid"
status=$?
n=$(records int.db)
[ "$status" = 130 ] && grep -q "^stopped after $n of 5000 trials (.*); $n records kept; :tune continues to 5000$" out &&
    grep -q '^best ' out
verdict 'Ctrl-C ends a search and keeps what was measured'
"$ml" -b -e "$mm" -e ':tune --trials 60 --db lost.db' >out 2>err </dev/null &
pid=$!
within holds lost.db 5
pkill -KILL -P "$pid" # its workers
wait "$pid"
[ $? = 0 ] && grep -q '^60 of 60 trials' out && [ "$(records lost.db)" = 60 ] && ! grep -q '^failed' out
verdict 'workers that are killed cost no candidate'
"$ml" -b -e "$mm" -e ':tune --trials 5000 --db kill.db' >out 2>err </dev/null &
pid=$!
within holds kill.db 5
kill -KILL "$pid"
wait "$pid" 2>/dev/null
set +m
n=$(records kill.db)
typed "$mm" ":tune --trials $((n + 3)) --db kill.db"
[ "$n" -ge 5 ] && [ "$status" = 0 ] && grep -q "^$((n + 3)) of $((n + 3)) trials (.*; $n of them earlier" out &&
    [ "$(records kill.db)" = $((n + 3)) ]
verdict 'kill -9 in the middle loses no record, and a search goes on from there'

# ---- a terminal
. "$root/tests/repl/terminal.sh"
open_terminal 'tuning in a terminal' sh || exit 0
line "'$ml' --no-init"
within matches '^>' && line "$mm" && within matches '^matmul v0>' && line ':tune --trials 4000 --db term.db' &&
    within matches '^tune matmul .* [0-9]*/4000 trials .*eta ' && within matches '^best [0-9.]* GFLOP/s .*record ' &&
    within matches '^ *2 .* instead of \| with' && matches '^p pause  s stop'
verdict 'shows its board below the line'
keys '?' && sees 'what is at work is finished' && keys Escape && loses 'what is at work is finished' &&
    keys f && sees 'candidate' && keys Escape && keys c && sees 'predicted against measured' && keys Escape && sees 'p pause' &&
    keys Down Enter && sees '== trace, against rank 1' && keys q && sees 'p pause' && keys d && sees '== program, against rank 1' &&
    keys q && sees 'p pause'
verdict 'its keys open pages, and the search goes on behind them'
keys p && sees 'p go on' && matches ' paused' && keys a && sees 'branch tuned-1: ' && keys p && sees 'p pause' &&
    loses 'branch tuned-1' && keys p && sees 'p go on'
verdict 'p pauses and goes on, a makes a branch meanwhile'
resize 40 12 && sees 'p go on' && within matches '^best ' && resize 120 36 && sees 'c scatter  ? help' && matches 'design$' &&
    resize 80 24 && sees 'c scatter  ? help'
verdict 'follows the size of its window'
keys s
within matches '^stopped after [0-9]* of 4000 trials' && within matches '^best .*:adopt makes it a branch' &&
    within matches '^matmul:tuned-1 v[0-9]*> *$' && lacks 'p go on' && line ':tune --trials 4000 --db term.db' && sees 'p pause'
verdict 's gives the prompt back, and the same line goes on'
keys C-c
within lacks 's stop' && within matches '^stopped after [0-9]* of 4000 trials' && within matches '^best .*:adopt makes it a branch' &&
    within matches '^matmul:tuned-1 v[0-9]*> *$'
verdict 'Ctrl-C gives the prompt back'
line ':adopt'
within matches '^branch tuned-2: ' && within matches '^matmul:tuned-2 v[0-9]*> *$'
verdict 'a record becomes the next branch'
line ':open endless.py' && within matches '^endless v0>' && line ':tune --trials 3' && within matches '^tune endless ' &&
    within pgrep -P "$(child)" >/dev/null && keys C-c && within matches '^stopped after 0 of 3 trials'
verdict 'Ctrl-C while the start version runs is told on a line of its own'

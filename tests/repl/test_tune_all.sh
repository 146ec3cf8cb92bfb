#!/bin/bash
# Several programs under one budget from outside: :tune --all over lists, modules and the focus, its
# table, a kill in the middle, Ctrl-C, what is refused. Source: interaction 11; auto-scheduler 18.
. tests/repl/session.sh
export XDG_DATA_HOME=$TMPDIR/data MOONLOOP_THREADS=1

records() { # FILE: how many there are
    timeout "$limit" "$ml" -b -e ":db $1" | sed -n 's/.* \([0-9]*\) records\{0,1\} (.*/\1/p'
}
twice() { # FILE: programs of a workload that were measured twice
    timeout "$limit" "$ml" - "$1" <<'EOF'
local seen, n = {}, 0
for _, r in ipairs(moon.db(arg[1]):records()) do
    local key = r.workload .. r.trace
    n = n + (seen[key] and 1 or 0)
    seen[key] = true
end
print(n)
EOF
}
three='{workload.matmul(64, 64, 64), {workload = workload.matmul(96, 64, 64), weight = 5, name = "heavy one"}, workload.matmul(64, 64, 64)}'

typed ":tune --all --trials 12 --db a.db $three"
if grep -q 'no-target' err; then
    echo 'skip tuning: libLLVM 19 is not there'
    exit 0
fi
[ "$status" = 0 ] && grep -q '^12 of 12 trials (.*; sum of weighted times [0-9.]* ms$' out && grep -q '^tune 2 tasks  llvm ' err &&
    grep -Eq '^ +id  name +FLOP +weight +GFLOP/s +us +weighted +trials +done$' out &&
    grep -Eq '^ +0  matmul +524 k +2 +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9]+ *$' out && grep -q '^ *1  heavy one  *786 k  *5 ' out && [ "$(records a.db)" = 12 ]
verdict 'tunes a list under one budget, equal programs as one'
typed ":tune --all --trials 15 --db a.db $three"
[ "$status" = 0 ] && grep -q '^15 of 15 trials (.*; 12 of them earlier;' out && [ "$(records a.db)" = 15 ]
verdict 'counts the records of before'
typed ":tune --all --trials 6 --db a.db $three"
[ "$status" = 0 ] && grep -q '^6 trials were asked for, 15 are done (.*; 15 of them earlier;' out
verdict 'says what is so where earlier records are more than was asked for'
for width in 80 40 20; do
    run --width $width -b -e ":tune --all --trials 15 --db a.db {workload.matmul(64, 64, 64), {workload = workload.matmul(96, 64, 64), name = 'a name much longer than the room that there is for it in a row of this table'}}"
    [ "$status" = 0 ] && grep -q '^ *1  a na.*… ' out && [ "$(sed '/trials/,$d' out | wc -L)" -le $width ]
    verdict "the table of tasks fits $width columns, names are cut"
done
typed ":tune --all --trials 4 --db w.db --with evolve --model random $three" && [ "$status" = 0 ] && [ "$(records w.db)" = 4 ] &&
    typed ":tune --all --with nix --db x.db $three" && [ "$status" = 1 ] && has err 'no strategy is named nix: there are mutate, evolve' &&
    typed ":tune --all --model foo --db x.db $three" && [ "$status" = 1 ] && has err 'model is xgb, analytic or random'
verdict ':tune --all takes a strategy and a model, and refuses unknown ones at once'
typed 's = schedule(workload.matmul(8, 8, 8))' ':tune --each 3' && [ "$status" = 1 ] && has err 'several programs or sizes under one budget: :tune --all --each, :tune --shape n=1,16 --each' &&
    typed 's = schedule(workload.matmul(8, 8, 8))' ':tune --compare --db x.db' && [ "$status" = 1 ] && has err 'compare keeps its records in memory' && [ ! -e x.db ]
verdict 'options that have nothing to say are refused with the reason'
typed 'moon.tune.space{name = "none", postprocs = {{name = "bad post", run = function() error("boo") end}}}' \
    's = schedule(workload.matmul(8, 8, 8))' ':tune --space none --trials 2 --db p.db' ":tune --all --space none --trials 2 --db p.db {s}"
[ "$(grep -c '^note: postprocessor bad post left out [0-9]* candidates: .*boo$' err)" = 2 ]
verdict 'a postprocessor that leaves candidates out is named at the end, with its reason'
typed 'moon.tune.rule{name = "no luck", apply = function() error("no luck") end}' ":tune --all --space post-order-apply --trials 2 --db p.db $three"
[ "$(grep -c '^warning: rule no luck fails at block .* and is left out: .*no luck$' err)" = 1 ]
verdict 'a rule that fails in several tasks is named once'
typed 's = schedule(workload.matmul(64, 64, 64))' ':best 1 --db a.db' ':adopt --db a.db' ':check'
[ "$status" = 0 ] && grep -q '^ok ' out
verdict 'what it found is a record like any other'

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
    def done(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        T.func_attr({"tir.is_scheduled": True})
        for i in range(64):
            with T.block("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + T.float32(2)

    @T.prim_func
    def open(a: T.handle, b: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] + T.float32(1)
PY
typed ':open two.py' ':tune --all --trials 2 --db b.db'
[ "$status" = 0 ] && grep -q '^tune 2 tasks ' err && grep -q '^ *0  foo ' out && ! grep -q '^ *[0-9]  done ' out &&
    grep -q '^note: open: not tuned: a program with symbolic sizes' <(tr -s '\n ' ' ' <err | sed 's/note: /\n&/g')
verdict 'tunes the functions of the focus; one that cannot be is named, one that is scheduled left out'

for words in '--trials 0' '--each x' '--rule best' '--space nope' '--what'; do
    typed ":tune --all $words $three"
    [ "$status" = 1 ] && grep -q 'bad-argument' err
    verdict "refuses :tune --all $words"
done
typed ':tune --all {}' && [ "$status" = 1 ] && grep -q 'nothing to tune' err
typed ':tune --all' && [ "$status" = 1 ] && grep -q 'takes a list of programs' <(tr -s '\n ' ' ' <err)
typed ':tune --all 7' && [ "$status" = 1 ] && grep -q 'a module, a program, or a list' <(tr -s '\n ' ' ' <err)
typed ':tune --all moon.net(' && [ "$status" = 1 ]
verdict 'refuses what gives no programs'

# ---- killed half way, and gone on with: the same records, none twice
timeout "$limit" "$ml" -b -e ":tune --all --trials 120 --db k.db $three" >out 2>err &
victim=$!
for _ in $(seq 400); do
    [ "$(records k.db 2>/dev/null || echo 0)" -ge 3 ] 2>/dev/null && break
    sleep 0.1
done
kill -9 "$(pgrep -P $victim | head -1)" 2>/dev/null
wait $victim 2>/dev/null
before=$(records k.db)
"$ml" - k.db <<'EOF' >kept
for _, r in ipairs(moon.db(arg[1]):records()) do print(r.id, r.workload, r.trace) end
EOF
typed ":tune --all --trials 120 --db k.db $three"
"$ml" - k.db <<'EOF' >all
for _, r in ipairs(moon.db(arg[1]):records()) do print(r.id, r.workload, r.trace) end
EOF
[ "$status" = 0 ] && [ "$before" -ge 3 ] && [ "$before" -lt 120 ] && [ "$(records k.db)" = 120 ] && [ "$(twice k.db)" = 0 ] &&
    cmp -s kept <(head -n "$before" all) && grep -q "; $before of them earlier" out
verdict 'goes on after kill -9: the same records, none twice'

# ---- what one task has from earlier is not taken from the others
typed "s = schedule(workload.matmul(64, 64, 64))" ':tune --trials 6 --db e.db'
typed ":tune --all --trials 6 --db e.db $three"
[ "$status" = 0 ] && [ "$(records e.db)" -gt 6 ] && ! grep -q 'N/A\|without' out && grep -q '; 6 of them earlier' out
verdict 'a task that was tuned before leaves the others their first batch'

# ---- Ctrl-C keeps everything
timeout "$limit" "$ml" -b -e ":tune --all --trials 5000 --db c.db $three" >out 2>err &
victim=$!
for _ in $(seq 400); do
    [ "$(records c.db 2>/dev/null || echo 0)" -ge 4 ] 2>/dev/null && break
    sleep 0.1
done
kill -INT "$(pgrep -P $victim | head -1)"
wait $victim
[ $? = 130 ] && grep -q '^stopped after [0-9]* of 5000 trials (.*; all records are kept, the same line goes on$' <(tr -s '\n ' ' ' <out | sed 's/stopped after/\n&/; s/ $//') &&
    [ "$(records c.db)" = "$(sed -n 's/^stopped after \([0-9]*\) of.*/\1/p' out)" ]
verdict 'Ctrl-C keeps everything'

cat >t.lua <<'EOF'
local r = moon.tune_all({ moon.workload.matmul(32, 32, 32), { workload = moon.workload.matmul(16, 32, 32), weight = 2 } },
    { trials = 6, db = "lua.db", threads = 1, rule = "round-robin" })
assert(r.done == 6 and r.state == "done" and #r.tasks == 2 and r.tasks[2].weight == 2)
for _, t in ipairs(r.tasks) do assert(moon.check(t.schedule()).ok and t.done == 3 and t.best_seconds > 0) end
assert(math.abs(r.weighted_seconds - r.tasks[1].best_seconds - 2 * r.tasks[2].best_seconds) < 1e-9)
assert(not pcall(moon.tune_all, moon.workload.matmul(8, 8, 8), { trails = 5 }))
assert(not pcall(moon.tune_all, { { weight = 1 } }))
assert(not pcall(moon.tune_all, { { workload = moon.workload.matmul(8, 8, 8), weight = 0 } }))
-- rules that raise are a task's end, not the run's
local bad = moon.tune_all({ moon.workload.matmul(8, 8, 8) }, { trials = 2, db = ":memory:", space = function() error("no rule") end })
assert(bad.tasks[1].refused:find("no rule") and bad.done == 0)
print("all well")
EOF
timeout "$limit" "$ml" t.lua >out 2>err
[ $? = 0 ] && grep -qx 'all well' out
verdict 'moon.tune_all does what it says'

# ---- :db merge, export, import
small='s = schedule(workload.matmul(16, 16, 16))'
typed "$small" ':tune --trials 3 --db one.db' ':tune --trials 2 --seed 2 --db two.db' ':db merge one.db two.db' ':db merge one.db two.db' ':db two.db' ':best 1 --db two.db'
[ "$status" = 0 ] && grep -q '^3 records of one.db came into two.db$' out && grep -q '^0 records of one.db came into two.db$' out && [ "$(records two.db)" = 5 ]
verdict ':db merge takes what another database has, once'
typed "$small" ':db export lines two.db' ':db import lines three.db'
[ "$status" = 0 ] && grep -q '^5 records of two.db written to lines$' out && grep -q '^5 records came into three.db; 0 lines passed over$' out && [ "$(records three.db)" = 5 ]
verdict ':db export and :db import go through the two files of lines'
printf '["1", "eyJyb290IjogMX0="]\n' >lines/database_workload.json
typed ':db import lines four.db'
[ "$status" = 1 ] && has err 'line 1: the program is none that moonloop reads, another system has written it' && [ ! -e four.db ]
verdict 'a program of another system is refused where none is told for it'
typed "$small" ':db import lines four.db' && [ "$status" = 0 ] && [ "$(records four.db)" = 5 ]
verdict 'and is the focus where there is one'
typed 's = schedule(workload.matmul(16, 16, 8))' ':db import lines five.db' && [ "$status" = 1 ] && has err 'has the arguments' && [ ! -e five.db ]
verdict 'whose arguments must be those of the records'
for line in ':db merge nowhere.db new.db' ':db import nowhere new.db' ':db export nolines new.db'; do
    typed "$line" && [ "$status" != 0 ] && [ ! -e new.db ] && [ ! -e nolines ]
    verdict "leaves nothing behind: $line"
done
cat >much.lua <<'E'
local db <close> = moon.db("much.db")
local s = moon.schedule(moon.workload.matmul(8, 8, 8))
for k = 1, 100 do s:split(s:get_loops("C")[1], { moon.auto, 1 }) end
for k = 1, 20 do db:put { program = moon.workload.matmul(8, 8, 8), trace = s:trace():json(), run_secs = { k }, target = '{"kind":"llvm"}' } end
E
timeout "$limit" "$ml" much.lua
(
    trap '' XFSZ
    ulimit -f 40
    typed ':db merge much.db new.db' ':db'
    [ "$status" != 0 ] && has err 'new.db'
) && [ "$(echo new.db*)" = 'new.db*' ]
verdict 'a merge into a new file on a full disk leaves none'
typed ':db merge nowhere.db two.db' && [ "$status" = 1 ] && has err 'no database at nowhere.db'
printf 'no database' >bad.db
typed ':db merge bad.db two.db' && [ "$status" = 1 ] && has err 'bad.db' && [ "$(records two.db)" = 5 ]
typed ':db merge two.db bad.db' && [ "$status" = 1 ] && [ "$(cat bad.db)" = 'no database' ]
typed ':db merge' && [ "$status" = 1 ] && has err ':db merge OTHER'
verdict 'what is no database is neither merged nor merged into'

# ---- :best --by
cat >by.lua <<'EOF'
local db <close> = moon.db("by.db")
for _, n in ipairs { 16, 32 } do
    local p = moon.workload.matmul(n, n, n)
    moon.tune(p, { trials = 3, db = db, threads = 1 })
    local r = db:records { program = p, best = true }[1]
    db:put { program = p, trace = r.trace, run_secs = { 1 }, target = '{"kind": "llvm", "mcpu": "other"}', args = "[]" }
end
EOF
timeout "$limit" "$ml" by.lua && typed "$small" ':best --by machine --db by.db' ':best --by target --db by.db' ':best --by shape --db by.db'
[ "$status" = 0 ] && grep -Eq ' 3 +1  x86.* cores$' out && grep -Eq ' 1 +1  not known$' out && grep -q '"mcpu": "other"' out &&
    grep -Eq ' 3 +1  \(16, 16\) float32, \(16, 16\) float32, \(16, 16\) float32$' out && grep -Eq ' 3 +1  \(32, 32\) float32' out
verdict ':best --by gives the best of each machine, target and shape'
typed 's = schedule(workload.matmul(24, 24, 24))' ':best --by shape --db by.db'
[ "$status" = 0 ] && grep -Eq ' 3 +1  \(16, 16\) float32' out && grep -Eq ' 3 +1  \(32, 32\) float32' out
verdict ':best --by shape tells of other sizes where the focus has no record'
typed "$small" ':best --by moon --db by.db' && [ "$status" = 1 ] && has err 'machine, target or shape'
verdict 'and of nothing else'

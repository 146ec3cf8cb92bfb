#!/bin/bash
# Every function and method that a script can reach is given values of any kind: it succeeds, or
# raises an error object of the catalogue that says why. Nothing of Lua's own words about the code
# of moonloop, no end of the process. ML_CALLS (rounds) and ML_SEED change the run.
. tests/repl/session.sh
limit=600
rounds=${ML_CALLS:-300}
[ -z "${ML_CALLS-}" ] && [ -n "${ML_QUICK-}" ] && rounds=40
{
    printf 'local per_call, seed = %d, %d\n' "$rounds" $((1 + ${ML_SEED:-20261122} % 2147483646))
    cat "$root/tests/repl/any_value.lua"
} >any.lua
run --private --no-init --safe -b any.lua </dev/null
why() { head -n 40 out; grep -A 20 'internal error' err; tail -n 3 err; }
[ "$status" -le 1 ] && grep -q '^[0-9]* calls of [0-9]* functions: .* 0 wrong$' out && [ "$(wc -l <out)" = 1 ]
verdict 'every function answers any values with an error of the catalogue'
[ "$(sed -nE 's/.* calls of ([0-9]+) functions.*/\1/p' out)" -ge 500 ]
verdict 'these are all of them'

cat >cyclic.lua <<'L'
local c, wide = {}, {}
c[1], c.kind = c, c
wide[1], wide[2] = wide, wide
local calls = {
    { "bad-argument", "shape", moon.te.compute, nil, print },
    { "bad-argument", "opts", moon.create_schedule, moon.workload.matmul(4, 4, 4), "global" },
    { "bad-argument", "opts", moon.verify, moon.workload.matmul(4, 4, 4), 3 },
    { "bad-argument", "threads is a number", moon.draft, moon.workload.matmul(4, 4, 4), { threads = {} } },
    { "bad-trace", "holds itself", moon.trace, { { kind = "Split", attrs = c } } },
    { "bad-trace", "holds itself", moon.trace, { { kind = "Split", attrs = wide } } },
    { "bad-trace", "instruction 1", moon.trace, { 7 } },
    { "bad-argument", "append", moon.schedule(moon.workload.matmul(4, 4, 4)):trace().append, 7 },
    { "bad-trace", "holds itself", moon.trace, { { kind = "Split", attrs = setmetatable({ c }, { __len = function() return 1 << 60 end }) } } },
    { "unknown-name", "", moon.explain, "nothing-like-it" },
    { "bad-argument", "db", moon.db(":memory:").close, "a text" },
    { "bad-argument", "a table is needed", pairs(moon.schedule(moon.workload.matmul(4, 4, 4))), "a text" },
}
for k, t in ipairs(calls) do
    local ok, e = pcall(table.unpack(t, 3, 5))
    assert(not ok and type(e) == "userdata" and e.code == t[1] and e.message:find(t[2], 1, true), k .. ": " .. tostring(e))
    assert(e.frames[#e.frames], k)
end
-- an error that a script has closed is told all the same
local ok, e = pcall(moon.trace, { 7 })
do local _ <close> = e end
assert(e.code == "bad-trace" and tostring(e):find("instruction 1", 1, true))
-- a long sum of numbers of a schedule is shown as far as it goes
local n = moon.schedule(moon.workload.matmul(4, 4, 4)):sample_perfect_tile("i", 2)[1]
for _ = 1, 100000 do n = n + 1 end
assert(tostring(n):find("...", 1, true))
-- what a function of the caller's raises goes on as it is
ok, e = pcall(moon.te.compute, { 4 }, function(_) error("mine") end)
assert(not ok and e:find("cyclic.lua:%d+: mine$"), tostring(e))
ok, e = pcall(moon.te.compute, { 4 }, function(_) error({}) end)
assert(not ok and e.code == "bad-argument", tostring(e))
-- and it may yield
local co = coroutine.wrap(function()
    return moon.te.compute({ 4 }, function(i) return i + 1 end)
end)
assert(co())
print("all well")
L
run --private --no-init -b cyclic.lua </dev/null
why() { cat out err; }
[ "$status" = 0 ] && [ "$(cat out)" = 'all well' ]
verdict 'says what is wrong with the argument, and leaves errors of the caller alone'

#!/bin/bash
# What is saved comes back: names that later steps go by, scripts that return their schedule, files of
# 0.1.0; and a full disk takes nothing away. Source: interaction 6.
. tests/repl/session.sh

cat >two.py <<'E'
@T.prim_func
def main(X: T.Buffer((4, 9), "int32"), Y: T.Buffer((4, 9), "int32")):
    B = T.alloc_buffer((4, 9), "int32")
    for i, j in T.grid(4, 9):
        with T.block("B"):
            v, w = T.axis.remap("SS", [i, j])
            B[v, w] = X[v, w] + 1
    for i, j in T.grid(4, 9):
        with T.block("Y"):
            v, w = T.axis.remap("SS", [i, j])
            Y[v, w] = B[v, w]
E
named=('s = schedule(moon.open("two.py"))' 's:transform_block_layout("B", "lambda p, q: (q, p)");'
    's:transform_layout("B", {"write", 0}, "lambda end, col: (col // 2, end, col % 2)", 1);'
    'loop_partition(s:get_loops("buffer_B_padding")[2], {1, auto});' 'add_unit_loop("buffer_B_padding_end0");')
typed "${named[@]}" ':save a.lua' ':save a.json' ':save all.lua --all' ':open a.lua' \
    ':diff v0' ':open a.json' ':open all.lua'
[ $status = 0 ] && [ "$(grep -c 'saved .* replays to main v4' out)" = 3 ] && [ "$(grep -c '^focus: .* v4' err)" = 3 ]
verdict 'a block called after a parameter of an index map is found again'

typed 's = schedule(workload.matmul(8, 8, 8))' 'split("i", {auto, 4});' ':save a.lua' ':save a.json'
[ "$(head -c 22 a.lua)" = '-- moonloop schedule: ' ] && [ "$(tail -n 1 a.lua)" = 'return sch' ]
verdict 'a saved script marks its first line and returns the schedule'
sed -e 1d -e '$d' a.lua >old.lua
for f in a.lua old.lua; do
    typed ":source $f" ':trace' && cp out source.out && typed ":open $f" ':trace' && cmp -s out source.out &&
        run -i "$f" < <(echo ':trace') && [ "$(tail -n 1 out)" = '[1] split("i", {auto, 4})' ] && tail -n 1 out | cmp -s - source.out
    verdict "$f is the focus by :source, :open and -i"
done
echo 'print(6 * 7)' >six.lua
typed ':source six.lua' ':open six.lua'
[ "$(grep -c 42 out)" = 2 ] && [ "$(grep -c 'it returns no schedule' err)" = 1 ] && ! grep -q focus: err
verdict 'a script that returns none changes no focus, and is not opened'

cat >unchecked.lua <<'E'
local s = moon.schedule(moon.workload.matmul(8, 8, 8), {enable_check = false})
s:reorder("k", "i")
s:decompose_reduction("C", "i")
return s
E
typed ':source unchecked.lua' ':save u.lua' ':save u.json' ':open u.lua' ':open u.json'
[ $status = 0 ] && [ "$(grep -c '^focus: .* v2' err)" = 3 ]
verdict 'a schedule without checks is saved as such'

cat >dotted.lua <<'E'
local s = moon.schedule(moon.workload.matmul(16, 16, 16))
s:cache_read("C", 0, "shared.dyn")
s:compute_at("A_shared.dyn", s:get_loops("C")[2])
local t = moon.schedule(s:mod()) -- whose start has a buffer that no text can name so
t:transform_layout("A_shared.dyn", {"write", 0}, "lambda i, j: (i // 3, i % 3, j)", 0.0)
t:unroll(t:get_loops("buffer_A_shared.dyn_padding")[1])
return t
E
typed ':source dotted.lua' ':save d.lua' ':save d.json' ':open d.lua' ':open d.json'
[ $status = 0 ] && [ "$(grep -c '^focus: .* v2' err)" = 3 ]
verdict 'a block called after a buffer with a dot in its name is found again'

# An intrinsic that is another one by now: the step cannot be made again.
cat >changed.lua <<'E'
local text = [[
@T.prim_func
def f(a: T.handle, c: T.handle):
    A = T.match_buffer(a, (4,), "float32", offset_factor=1)
    C = T.match_buffer(c, (4,), "float32", offset_factor=1)
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(C[0:4])
        for i in range(4):
            with T.block("f"):
                v = T.axis.spatial(4, i)
                C[v] = A[v] WHAT
]]
local function register(what)
    local m = moon.parse((text:gsub("WHAT", what)))
    moon.intrin("twice", m.f, m.f, {override = true})
end
register("* T.float32(2)")
local m = moon.parse([[
@T.prim_func
def main(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("C"):
            v = T.axis.spatial(4, i)
            C[v] = A[v] * T.float32(2)
]])
local s = moon.schedule(m)
s:tensorize("i", "twice")
register("* T.float32(3)")
return s
E
echo precious >kept.lua
typed ':source changed.lua' ':save kept.lua'
[ $status = 1 ] && ! grep -q saved out && has err "nothing was saved, for the steps would not replay" && [ "$(cat kept.lua)" = precious ]
verdict 'what would not replay is not said to be saved'

# ---- a full disk: no file may be larger than 1 kB

full() { # ARGUMENTS
    (
        ulimit -f 1
        timeout "$limit" "$ml" --private --no-init "$@" 2>&1
        echo "status $?"
    ) | cat >out
}
stays() { # FILE
    [ "$(cat "$1")" = precious ] && ! ls -a | grep -q '\.new$'
}
names=(t.npy s.lua s.json s.py to.txt more.txt g.dot k.s r.txt r.cast)
for f in "${names[@]}"; do echo precious >"$f"; done
full -b - <<'E'
local t = moon.tensor({4000}, "float32")
print(pcall(t.save, t, "t.npy"))
E
grep -q no-space out && stays t.npy
verdict 'tensor:save leaves the old file where there is no room'
big='s = schedule(workload.matmul(8, 8, 8)) for k = 1, 40 do annotate("C", "a" .. k, k) end'
for f in s.lua s.json s.py; do
    full < <(printf '%s\n' "$big;" ":save $f")
    grep -q no-space out && stays $f
    verdict ":save $f leaves the old file where there is no room"
done
full < <(printf '%s\n' "$big;" ':trace > to.txt')
grep -q no-space out && stays to.txt
verdict '> FILE leaves the old file where there is no room'
full < <(printf '%s\n' "$big;" ':trace >> more.txt')
grep -q no-space out && stays more.txt
verdict '>> FILE adds all or nothing'
full < <(printf '%s\n' "$big split(\"i\", {2, 2, 2}) split(\"j\", {2, 2, 2});" ':graph loops g.dot')
grep -q no-space out && stays g.dot
verdict ':graph FILE.dot leaves the old file where there is no room'
for f in r.txt r.cast; do
    full < <(printf '%s\n' ":record $f" "$big;" ':trace' ':trace' 'print(1)')
    grep -q 'the recording ends here: cannot write' out && stays $f
    verdict ":record $f leaves the old file where there is no room"
done
if "$ml" --features 2>/dev/null | grep -q '^llvm=none' || "$ml" --version | grep -q 'no LLVM'; then
    echo 'skip writes kernels: no LLVM'
else
    full -b - <<'E'
local k = moon.build(moon.workload.matmul(32, 32, 32), {inprocess = true})
print(pcall(k.save, k, "k.s"))
E
    grep -q no-space out && stays k.s
    verdict 'kernel:save leaves the old file where there is no room'
fi

# ---- what a picture is refused for

cat >wide.lua <<'E'
local p, n = {}, 600
for k = 1, n do p[k] = ("A%d: T.Buffer((4,), \"int32\")"):format(k) end
local t = {"@T.prim_func\ndef main(", table.concat(p, ", "), "):\n"}
for k = 1, n do
    t[#t + 1] = ("    for i in range(4):\n        with T.block(\"B%d\"):\n            v = T.axis.spatial(4, i)\n            A%d[v] = 1\n"):format(k, k)
end
return moon.schedule(moon.parse(table.concat(t)))
E
run --keep-going < <(printf '%s\n' ':source wide.lua' ':graph deps' ':graph deps x.nix' ':graph deps no/such/x.dot')
if grep -q 'moonloop-draw is not there' err; then
    echo 'skip draws: no Graphviz'
else
    has err 'the picture would take .*\[too-large\]' && has err 'a picture is written as .*\[bad-argument\]' &&
        has err 'cannot write no/such/x.dot.*\[no-file\]'
    verdict ':graph says by its code why there is no picture'
fi

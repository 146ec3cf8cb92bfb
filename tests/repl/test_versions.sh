#!/bin/bash
# What the prompt says of versions: the tree that :versions draws, at every width, in Unicode and
# in ASCII; marks. Source: interaction 6, 15.
. tests/repl/session.sh
examples=$root/examples

drawn() { # OPTIONS...: the tree of tree.txt, in out
    timeout "$limit" "$MOONLOOP" "$@" <tree.txt 2>err | sed -n '/^[^ ]* *v0\b/,$p' >out
}

cat >tree.txt <<'E'
s = schedule(workload.matmul(64, 64, 64))
split("j", {auto, 16}) reorder("i", "j_0", "k", "j_1") vectorize("j_1") parallel("i") decompose_reduction("C", "k");
:check
:mark tiled
:goto v2
parallel("i");
unroll("j_1");
:goto v6
vectorize("j_1");
:mark a
:goto v1
:mark a
:mark b
:mark b
parallel("i");
:goto v4
unroll("k");
:goto v6
split("k", {auto, 4});
:versions
E
drawn --width 40
diff out - >>err <<'E'
○ v0
○ v1 split «a, b»   j → j_0[4] j_1[16]
├─╮
│ ○ v9 parallel   i
○ v2 reorder   i, j_0, k, j_1
├─╮
│ ○ v3 vectorize   j_1
│ ○ v4 parallel   i
│ ├─╮
│ │ ○ v5 decompose_reduction «tiled» ok
│ ○ v10 unroll   k
○ v6 parallel   i
├─╮
│ ○ v7 unroll   j_1
├─╮
│ ○ v8 vectorize   j_1
● v11 split ◀   k → k_0[16] k_1[4]
E
verdict 'draws the branches, the current version, marks and checks'
[ "$(grep -c '^mark ' err)" = 1 ] && grep -qx 'mark a moved from v8 to v1' err
verdict 'says when a mark moves, and only then'
printf '%s\n' 's = schedule(workload.matmul(8, 8, 8))' 'parallel("i");' ':branch one' 'unroll("k");' ':goto v1' ':branch two' \
    'unroll("j");' ':goto v0' ':versions' | timeout "$limit" "$MOONLOOP" --no-init >out 2>err
diff out - >>err <<'E'
● v0 ◀
○ v1 parallel   i
├─╮
│ ○ v2 unroll [one]   k
○ v3 unroll [two]   j
E
verdict 'names branches where :goto leads by them'
branches() { # LINES...: the tree after them, in out; twice as long a history says where labels were
    printf '%s\n' 's = schedule(workload.matmul(16, 16, 16))' 'split("i", {auto, 4});' ':branch one' 'parallel("i_0");' "$@" ':versions' |
        timeout "$limit" "$MOONLOOP" --no-init --keep-going 2>err | sed -n '/^\([○●*] \)\?v0\b/,$p' >out
}
branches ':goto v1' 'split("j", {auto, 4}) split("nix", {1})' 'unroll("k");'
diff out - >>err <<'E'
○ v0
○ v1 split   i → i_0[4] i_1[4]
├─╮
│ ○ v2 parallel [one]   i_0
├─╮
│ ○ v3 split «failed»   j → j_0[4] j_1[4]
● v4 unroll ◀   k
E
verdict 'going back detaches from a branch'
branches 'unroll("k") split("nix", {1})'
diff out - >>err <<'E'
v0 ─ v1 split ─ v2 parallel [one] ◀ ─ v3 unroll «failed»
E
verdict 'a line that fails moves no label'
branches 'unroll("k");' ':undo' 'unroll("j");' ':undo' ':redo'
diff out - >>err <<'E'
○ v0
○ v1 split   i → i_0[4] i_1[4]
○ v2 parallel   i_0
├─╮
│ ○ v3 unroll   k
● v4 unroll [one] ◀   j
E
verdict 'a line that is undone takes the label back, and :redo forth'
branches ':branch two' ':goto one' 'unroll("k");'
diff out - >>err <<'E'
v0 ─ v1 split ─ v2 parallel [two] ─ v3 unroll [one] ◀
E
verdict 'of several labels at a version the one that was named is gone on with'
branches ':edit 2 error("no")' ':edit 2 unroll("i_0") error("no")' ':drop 1' 's:jump(1) error("no")' 'unroll("k");'
diff out - >>err <<'E'
○ v0
○ v1 split   i → i_0[4] i_1[4]
├─╮
│ ○ v3 unroll «failed»   i_0
○ v2 parallel   i_0
● v4 unroll [one] ◀   k
E
verdict 'a line that fails marks what it made, and no ancestor that it went to'
printf '%s\n' 's = schedule(workload.matmul(8, 8, 8))' ':set undo-limit 2' 'unroll("k");' ':branch one' ':goto 0' \
    'unroll("j") unroll("i") split("i", {2, 4}) split("j", {2, 4});' ':set undo-limit 2' ':goto one' 'print(focus():version())' |
    timeout "$limit" "$MOONLOOP" --no-init >out 2>err
[ "$(cat out)" = 1 ]
verdict 'the undo limit drops no version that a branch names'
drawn --width 20
diff out - >>err <<'E'
○ v0
○ v1 split «a, b»
├─╮
│ ○ v9 parallel
○ v2 reorder
├─╮
│ ○ v3 vectorize
│ ○ v4 parallel
│ ├─╮
│ │ ○ v5
│ │     decompose_r…
│ │     «tiled» ok
│ ○ v10 unroll
○ v6 parallel
├─╮
│ ○ v7 unroll
├─╮
│ ○ v8 vectorize
● v11 split ◀
E
verdict 'draws the tree in 20 columns'
drawn --width 40 --ascii
diff out - >>err <<'E'
* v0
* v1 split <a, b>   j -> j_0[4] j_1[16]
|\
| * v9 parallel   i
* v2 reorder   i, j_0, k, j_1
|\
| * v3 vectorize   j_1
| * v4 parallel   i
| |\
| | * v5 decompose_reduction <tiled> ok
| * v10 unroll   k
* v6 parallel   i
|\
| * v7 unroll   j_1
|\
| * v8 vectorize   j_1
* v11 split <   k -> k_0[16] k_1[4]
E
verdict 'draws the tree in ASCII'

cat >walk.lua <<'E'
-- A tree that grows by a walk: deep, wide, with long names. At no width may a line be too long,
-- and each version stands on the drawing once.
local seed = 1
local function pick(n)
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed // 65536 % n
end
local s = schedule(workload.matmul(64, 64, 64))
focus(s)
for k = 1, 120 do
    s:jump(math.max(0, s:version() - pick(3)))
    s:annotate(s:loops("C")[1], "key" .. k, k)
    if pick(9) == 0 then s:mark("mark_with_a_long_name_" .. k) end
end
for width = 20, 100 do
    moon.cmd("set", "width", width)
    moon.cmd("versions")
    print("width " .. width)
end
E
for how in --ascii --color=never; do
    timeout "$limit" "$MOONLOOP" -b $how walk.lua </dev/null >out 2>err && LC_ALL=C.UTF-8 sed 's/[─╮├│○●◀…«»→]/x/g' out | awk '
        /^width/ { if (longest > $2 || n != 121) bad = 1; longest = n = 0; split("", seen); widths++; next }
        length($0) > longest { longest = length($0) }
        { for (k = 1; k <= NF; k++) if ($k ~ /^v[0-9]+$/) { n++; if ($k in seen) bad = 1; seen[$k] = 1 } }
        END { exit bad || widths != 81 }' && grep -q '(from v' out || { false; break; }
done
verdict 'draws every version once, and no line wider than the screen'

cat >tree.txt <<'E'
s = schedule(workload.matmul(64, 64, 64))
:set undo_limit 2
annotate("i", "a", 1) annotate("i", "b", 1) annotate("i", "c", 1) annotate("i", "d", 1);
:versions
E
drawn
diff out - >>err <<'E'
v0 ─ v1..v2 dropped ─ v3 annotate ─ v4 annotate ◀
E
verdict 'shows the versions that the undo limit dropped as a row'

cat >tree.txt <<'E'
s = schedule(workload.matmul(64, 64, 64))
for k = 1, 300 do annotate("i", "key_" .. k, k) end
:versions
E
drawn --width 40
[ "$(wc -l <out)" = 301 ] && head -n 1 out | grep -qx '○ v0' && sed -n 2p out | grep -qx '○ v1 annotate   i, key_1, 1' &&
    tail -n 1 out | grep -qx '● v300 annotate ◀   i, key_300, 300'
verdict 'a line of work that is longer than a line goes down, a version a line'

# A step put among earlier ones: the later steps follow on another branch, and mean the same loops.
cat >pair.py <<'P'
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((32, 16), "float32"), C: T.Buffer((32, 16), "float32")):
    B = T.alloc_buffer((32, 16))
    for i, j in T.grid(32, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    for i, j in T.grid(32, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj]
P
cat >before.txt <<'E2'
:open pair.py
annotate("C/j", "x", 1);
compute_at("B", "C/i");
reorder("C/j", "C/i")
:before 2 reorder("C/j", "C/i")
:versions
:trace
:undo
:before 9 unroll("B/i")
:before 1
:before 1 split("C/j", {4, 4})
:versions
E2
timeout "$limit" "$MOONLOOP" --keep-going before.txt >out 2>err
grep -qF 'try    :before 2 reorder("C/j", "C/i")' err
verdict 'an earlier place of the step is offered'
grep -q '^[○│] .*v3 reorder' out && grep -q '^● v4 compute_at \[edited-1\] ◀' out &&
    grep -qx 'branch edited-1: v3 reorder ─ v4 compute_at' out
verdict 'puts a step before another one and repeats the later ones'
[ "$(grep -c 'does not lead to' err)" = 1 ] && grep -qF ':before N CODE' err
verdict 'a step that does not lead to the version is refused'
grep -qF 'are at v5, marked `failed`' err && grep -q '«failed»' out && grep -q '^● v2 compute_at ◀' out
verdict 'a later step that does not apply any more takes the line back'

# ---- steps left out, replaced, sought, replayed; all versions in one file
cat >edit.txt <<'E2'
s = schedule(workload.matmul(64, 64, 64))
split("j", {auto, 16}) reorder("i", "j_0", "k", "j_1") vectorize("j_1") parallel("i");
:mark first
:edit 1 split("j", {auto, 8})
:drop 6
:branch eights
:trace
:mark mine
:save all.lua --all
:save one.json
:bisect function(s) return s:version() < 7 end
:bisect local v = focus():version() return v < 7
:bisect nothing()
:bisect
:edit 7 unroll("i")
:drop 1
:drop
:edit 5
:save --all x.json
t = schedule(workload.matmul(32, 32, 32))
:replay one.json
:trace
E2
timeout "$limit" "$MOONLOOP" --keep-going edit.txt >out 2>err
grep -qxF '[5] split("j", {auto, 8})' out && grep -qxF '[9] vectorize("j_1")' out &&
    grep -qxF '[10] parallel("i")' out && ! grep -q '^.6. reorder(' out
verdict 'replaces a step, leaves one out, and repeats the later ones with what the new one made'
grep -qx 'v0 ok   v5 ok   v9 FAIL   v10 FAIL' out && grep -qxF 'first failing step: [9] vectorize("j_1")' out &&
    grep -qF 'v10 passes: there is nothing' out
verdict 'finds the first step that fails a function, or a check'
[ "$(grep -c '^first failing step: .9. vectorize' out)" = 2 ] && grep -qF "v0 fails already, test:1: attempt to call" out
verdict 'bisects by a chunk, and says by which error the start fails'
[ "$(grep -c 'does not lead to' err)" = 2 ] && [ "$(grep -c 'number of a step' err)" = 1 ] &&
    grep -qF ':edit N CODE' err && grep -qF 'a script alone' err
verdict 'says what is wrong with the number, the code or the file'
grep -qF 'replayed 5 of 5 instructions; matmul is at v3' out
verdict 'replays the trace of a file on another program'
grep -qxF '[1] split("j", {auto, 8})' out
verdict 'replayed steps do not show defaults that nobody typed'
cat >moved.txt <<'E2'
s = schedule(workload.matmul(30, 30, 30))
transform_layout("C", "A", "lambda i, j: (j // 16, i, j % 16)", 0.0)
split("i", {auto, 4});
:check
:bisect
:set verify-each on
transform_layout("C", {"write", 0}, "lambda i, j: (j, i)");
u = schedule(workload.matmul(100000, 100000, 100000))
split("i", {auto, 4});
:bisect
E2
timeout "$limit" "$MOONLOOP" --keep-going moved.txt >out 2>err
grep -q '^ok   C equals v0' out && grep -qF 'v2 passes: there is nothing' out &&
    [ "$(grep -c '^error' err)" = 1 ]
verdict 'checks and bisects steps that change the layout of a parameter'
! grep -q 'first failing step' out && grep -qF 'error: v1 cannot be judged: the program has 1000000000000000' err
verdict 'blames no step when the program is too large to check'
sed -i '/^return sch$/d' all.lua
cat >>all.lua <<'E2'
assert(sch:version() == 10 and #sch:trace():simplified() == 5)
sch:jump("first")
assert(sch:version() == 4 and sch:handle("j_1").alive)
sch:jump("mine")
assert(sch:version() == 10 and sch:branch() == "eights")
sch:jump(9)
assert(sch:branch() == nil)
E2
timeout "$limit" "$MOONLOOP" -b all.lua >out 2>err && printf ':source all.lua\n' | timeout "$limit" "$MOONLOOP" >out 2>err
verdict 'saves all versions, marks and branches as a script that makes them again'
cat >vector.py <<'P'
@T.prim_func
def main(A: T.Buffer((8, 16, 4)), C: T.Buffer((8,))):
    for i, j, k in T.grid(8, 16, 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SRR", [i, j, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vj, vk]
P
printf '%s\n' ':open vector.py' ':replay one.json' 'print(s == nil, focus():version(), #focus():trace())' ':replay nothing.json' \
    ':replay vector.py' >stop.txt
timeout "$limit" "$MOONLOOP" --keep-going stop.txt >out 2>err
grep -qF 'stopped after 3 of 5 instructions; vector is at v1' out && grep -q '^true	1	3$' out &&
    grep -qF 'while replaying instruction 3, Vectorize' err && grep -qF 'iter-not-parallel' err &&
    grep -qF 'nothing.json: No such file' err && grep -qF 'bad-trace' err
verdict 'stops a replay before the first step that does not apply, and explains it'

# ---- what TVM writes
timeout "$limit" "$MOONLOOP" -b "$examples/from_tvm.lua" >out 2>err && [ "$(grep -c '27 instructions, 16 of them found by the search$' out)" = 3 ] &&
    grep -q '^without a program: .*another system' out && grep -q '^3 records came, 1 line passed over$' out && grep -q '^ours, 16 trials: ' out &&
    grep -q 'T.sblock("C_update")' out && sed -n '/^# from tvm/,$p' out >newest.py &&
    printf '%s\n' ':open newest.py' 'print(#blocks())' | timeout "$limit" "$MOONLOOP" >out 2>err && grep -q '^3$' out
verdict 'replays records of TVM beside a search of our own and prints the program in the newest spelling'
cat >record.lua <<'E2'
local slow = '[[["GetBlock",[],["C","main"],["b0"]],["GetLoops",["b0"],[],["l1","l2","l3"]],["Split",["l1","None",16],[1],["l4","l5"]]],[]]'
local fast = slow:gsub(",16", ",4")
local out = assert(io.open("records.json", "w"))
out:write("[3, [", slow, ", [0.25, 0.5], {\"kind\": \"llvm\"}, []]]\n")
out:write("[3, [", fast, ", [0.125, 0.25], {\"kind\": \"llvm\"}, []]]\n")
out:write("[3, [", slow, ", null, {\"kind\": \"llvm\"}, []]]\n\n")
out:close()
for _, text in ipairs { slow, "[" .. slow .. ", [1], {}, []]", "[0, [" .. slow .. ", [1], {}, []]]" } do
    local s = moon.schedule(moon.workload.matmul(64, 64, 64))
    moon.trace(text):apply(s)
    assert(s:get("i_0").extent == 4 and s:get("i_1").extent == 16)
end
for _, text in ipairs { "[0, [[[]], []]]", "[[[1]], []]", "[1, 2]", "[[[], []]]", "[0, [" .. slow .. "]]", slow .. "\n" .. slow } do
    assert(not pcall(moon.trace, text), text)
end
E2
timeout "$limit" "$MOONLOOP" -b record.lua >out 2>err &&
    printf '%s\n' 's = schedule(workload.matmul(64, 64, 64))' ':replay records.json' 'print(s:get("i_1").extent)' |
    timeout "$limit" "$MOONLOOP" >out 2>err && grep -q '^4$' out
verdict 'takes the trace out of a tuning record, the fastest out of a file of them'

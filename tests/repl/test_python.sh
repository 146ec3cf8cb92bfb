#!/bin/bash
# Habits of Python at the prompt: a pasted piece of a schedule runs, whichever way it comes in; what is
# no piece of one gets a note how it is written here. Source: lua-api 7, interaction 7.
. tests/repl/session.sh
flags=(--private --no-init --keep-going --width=100)
mm='s = schedule(workload.matmul(64, 64, 64))'
steps() { sed -n '/^# steps/,$p' out; }

cat >trace.py <<'E'
# from tvm import tir
def apply_trace(sch: tir.Schedule) -> None:
  b0 = sch.get_block(name="C", func_name="main")
  l1, l2, l3 = sch.get_loops(block=b0)
  l4, l5 = sch.split(loop=l1, factors=[None, 8], preserve_unit_iters=True, disable_predication=False)
  v6, v7 = sch.sample_perfect_tile(loop=l2, n=2, max_innermost_factor=16, decision=[8, 8])
  l8, l9 = sch.split(loop=l2, factors=[v6, v7])
  sch.reorder(l4, l8, l5, l9)
  sch.annotate(block_or_loop=b0, ann_key="meta_schedule.tiling_structure", ann_val="SSRSRS")
  sch.transform_layout(block=b0, buffer=("write", 0), index_map=lambda i, j: (j, i), pad_value=None)
E
want='[1] split("i", {auto, 8}, true, false)
[2] split("j", {8, 8})
[3] reorder("i_0", "j_0", "i_1", "j_1")
[4] annotate("C", "meta_schedule.tiling_structure", "SSRSRS")
[5] transform_layout("C", {"write", 0}, function(i, j) return j, i end)'

typed "$mm" "$(cat trace.py)" '' 'print("# steps")' :trace
[ "$(steps | tail -n +2)" = "$want" ]
verdict 'a printed trace runs on the focus'
body=$(tail -n +3 trace.py | sed 's/^  //')
typed "$mm" 'sch = tvm.s_tir.Schedule(mod)' "$body" 'print("# steps")' :trace :focus
[ "$(steps | sed -n 2,6p)" = "$want" ] && grep -q '2 .*matmul v5' out && grep -q 'given no program; that of matmul' err
verdict 'so do its lines one by one, behind the line that makes a schedule'
for make in 'moon.tir.Schedule(mm)' 'tvm.tir.Schedule(mm, debug_mask="all")' 'Schedule(mm)' 'tir.Schedule(mod=mm)'; do
    [ "${make#*mod=}" = "$make" ] || continue
    typed 'mm = workload.matmul(64, 64, 64)' "sch = $make" "$body" 'print("# steps")' :trace
    [ "$(steps | sed -n 2,6p)" = "$want" ]
    verdict "sch = $make begins one, which is the focus"
done
typed "$mm" "$body" 'print("# steps")' :trace
[ "$(steps | tail -n +2)" = "$want" ]
verdict 'sch without more is the focus'
typed "$mm" 'import tvm' 'from tvm import tir' 'sch = tvm.tir.Schedule(mod)' "$body" '' 'print("# steps")' :trace
[ "$(steps | tail -n +2)" = "$want" ]
verdict 'imports stand before it'
typed "$mm" ':trace --python' >/dev/null
typed "$mm" 'split("i", {auto, 8}) reorder("j", "i_0") vectorize("k", 1)' 'split("i", {auto, 8}) unroll("i_1");' ':trace --python'
sed -n '/^# from/,$p' out >own.py
typed "$mm" "$(cat own.py)" '' ':trace --python'
sed -n '/^# from/,$p' out >again.py
[ -s own.py ] && cmp own.py again.py
verdict 'what :trace --python prints is read back'

cat >more.py <<'E'
import tvm
sch = tvm.tir.Schedule(mod)
i0, i1 = sch.split(
    "i",
    factors=[None, 16],
)
sch.fuse(*sch.get_loops("C")[:2])
sch.unroll(sch.get_loops("C")[-1])
sch.parallel(loop=sch.get_loops("C")[0])  # the outermost
sch.annotate("C", "a", {"x": [1, -2]})
sch.mod.show()
print(sch.mod["main"].name)
def last(s, b="C"):
    return s.get_loops(b)[1]

sch.vectorize(last(sch))
E
typed "$mm" "$(cat more.py)" '' 'print("# steps")' :trace
[ "$(sed '1,/^def last/d' more.py | wc -l)" -gt 0 ] && steps | grep -qxF '[2] fuse("i_0", "i_1")' && steps | grep -qxF '[3] unroll("k")' &&
    steps | grep -qF 'parallel("i_0_i_1_fused")' && steps | grep -qF 'annotate("C", "a", {x = {1, -2}})' && steps | grep -qF 'vectorize("j")' &&
    grep -qx main out && grep -q 'i_0_i_1_fused in T.parallel' out
verdict 'lines that go on, indices from 0, stars, dicts, functions'
typed "$mm" 'l = s:get_loops("C")' 'l[0]' 'l[-1]' 's.mod.names' 'l[4] == nil' 'table.unpack(l)'
[ "$(grep -c 'a list counts from 1' err)" = 2 ] && grep -q 'mod is a function; instead: s:mod().names' err && grep -qx true out
verdict 'an index from 0 and a method without brackets are told'

typed "$mm" 'split("i", factors=[8, 8])' 'split("j", factor=4)' 'split("k", nparts=4)' :trace
grep -qxF 'note: read as Python; in Lua it is split{"i", factors = {8, 8}}' err && [ "$(grep -c '^note' err)" = 1 ] &&
    grep -qF 'split("j", {auto, 4})' out && grep -qF 'split("k", {4, auto})' out
verdict 'named arguments and lists get one note'
typed "$mm" 's:split("i", [None, 8])' 's:split(loop="j", factors=[8, None])' :trace
[ "$(grep -c '^note: read as Python' err)" = 2 ] && grep -qF 'split("i", {auto, 8})' out && grep -qF 'split("j", {8, auto})' out
verdict 'so do those of a method that is called with a colon'
hint() { # LINE NOTE
    typed "$mm" "$1" 'print("next")'
    grep -qxF -- "  note   in Lua: $2" err && grep -qx next out
    verdict "$1 is told how it is written"
}
hint 'for l in s.get_loops(b):' 'for _, l in ipairs(s.get_loops(b)) do … end'
hint 'for k in range(n):' 'for k = 0, n - 1 do … end'
hint 'if x == 3:' 'if x == 3 then … end'
hint 'while x:' 'while x do … end'
hint 'x += 1' 'x = x + 1, in full'
hint 's[C].split(i, factor=4)' 's:split(loop, …): a step takes its block or loop, there are no stages'
hint 'if True: print(1)' 'if True then print(1) end'
hint 'for l in s.get_loops(b): print(l)' 'for _, l in ipairs(s.get_loops(b)) do print(l) end'
hint 'for k in range(2, n): print(k)' 'for k = 2, n - 1 do print(k) end'
hint 'for n, l in enumerate(loops): print(l)' 'for n, l in ipairs(loops) do print(l) end'
hint 'while s.ok(): go()' 'while s.ok() do go() end'
hint 'elif x:' 'elseif x then …'
hint 'try:' 'ok, e = pcall(f)'
hint 'x is None' 'x == nil'
hint 'y = x is not None' 'x ~= nil'
hint 'y = [l for l in loops]' 't = {} for _, l in ipairs(loops) do t[#t + 1] = l end'
hint 'i++' 'x = x + 1'
hint 'i -= 1' 'x = x + 1, in full'
hint 'del x' 'x = nil; of a list: table.remove(list, n)'
hint 'a = b = 3' 'b = 3; a = b'
hint '3 ** 2' 'x ^ 2 (a float), or x * x'
hint 'x != 3' 'x ~= y'
hint 'f(lambda x: x' 'function(x) return x + 1 end'
hint 'x ? a : b' 'x and a or b'
hint 'y = a if x else b' 'x and a or b'
hint 'print(f"{x} ms")' '("%d of %s"):format(n, name), or "a " .. n'
hint 'else if x' 'elseif x then, a word'
hint '// words' '-- a comment'
hint 'x && y' 'x and y'
hint 'x || y' 'x or y'
hint 'const n = 3' 'x = 3, without a type'
hint 'n: int = 3' 'x = 3, without a type'
hint 'raise x' 'error("what is wrong")'
typed 'if x' 'then' 'print(1)' 'end' 'if ("a"):rep(2) then' 'print(2)' 'end' 'while' 'false do end' 'for n = 1, 1' 'do print(3) end' 'goto on; ::on:: print(4)'
[ "$(tr '\n' ' ' <out)" = '2 3 4 ' ] && [ ! -s err ]
verdict 'blocks of Lua go on over lines'
typed 'f = lambda x, y: x + y' 'f(2, 3)' 'g = lambda i, j: (j, i)' 'print(g(1, 2))' 'h = lambda x: [7, x]' 'h(1)'
[ "$(tr '\n\t' '  ' <out)" = '5 2 1 {7, 1} ' ]
verdict 'a lambda that is assigned is a function'
printf 'import tvm\nsch = tvm.tir.Schedule(mod)\ni, j, k = sch.get_loops("C")\nsch.parallel(i)\n' >steps.py
typed "$mm" ':open steps.py' ':trace'
has out '\[1\] parallel("i")' && { run -b steps.py; [ $status = 1 ]; } && grep -q 'steps.py holds steps of a schedule and no program: :open its' err
verdict 'a file of steps runs on the focus, and says what it lacks'
typed 'from tvm import te' '' 'n = 16' 'A = te.placeholder((n, n), name="A")' 'B = te.placeholder((n, 8), dtype="float32", name="B")' 'k = te.reduce_axis((0, n), name="k")' \
    'C = te.compute((n, 8), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")' 's = schedule(te.func{A, B, C})' ':show' 'te.create_prim_func([A, B, C])'
has out 'C\[vi, vj\] = C\[vi, vj\] + A\[vi, vk\] \* B\[vk, vj\]' && [ "$(grep -c '^error' err)" = 1 ] && has err 'instead: moon.te.func{A, B, C}'
verdict 'a computation in TE, as it is written in Python'
typed "$mm" 'foo' 'import numpy as np' 'elif x:'
[ "$(grep -c '^error' err)" = 2 ]
verdict 'what never became complete is told behind a line that failed'
typed "$mm" 'split("i", {8, 8});' ':bisect function(s) return #s:get_loops("C") < 4 end' ':before 1 if 3 > 2 then split("k", {4, 16}) end;' 'print(#get_loops("C"))' \
    ':bisect > verdicts.txt'
grep -q '^v0 ok   v1 FAIL' out && grep -qx 5 out && [ -s verdicts.txt ] && [ ! -e 2 ] && [ ! -e 4 ]
verdict 'code of a command is no redirection'

typed "$mm" 'l = s:get_loops("C")' 'split(l, {8, 8})' '#l' '# word' 'print(s.get_loops("C")[1])' '# a comment' '' 'print("last")'
grep -q 'one is needed, and this is a list of 3: i, j = table.unpack(list)' err && grep -qx 3 out && grep -qx i out && grep -qx last out &&
    [ "$(grep -c '^error' err)" = 1 ]
verdict 'a list in the place of a loop is told; comments are none'
typed "$mm" 'split("i", {8, 8}' ')' 'function f(a)' 'return a' 'end' 'f(2)' 'split("j" 3)' 'f(factors=[' '8]' ')'
grep -qx 2 out && grep -q "split  i → i_0" out && [ "$(grep -c '^error' err)" = 1 ]
verdict 'lines of Lua go on as ever'

cat >whole.py <<'E'
@tvm.script.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
        for i, j in T.grid(64, 64):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
sch = tvm.tir.Schedule(Module)
b = sch.get_block("B")
i, j = sch.get_loops(b)
i0, i1 = sch.split(i, factors=[None, 16])
sch.parallel(i0)
E
typed "$(cat whole.py)" '' 'print("# steps")' :trace
[ "$(steps | tail -n +2)" = '[1] split("i", {auto, 16})
[2] parallel("i_0")' ]
verdict 'a program with its schedule behind it, in one paste'

for call in 'workload.conv2d(h=8, w=8, ci=3, co=8, k=3)' 'workload.matmul(m=4, n=4, k=4)' 'moon.workload.softmax(m=4, n=4)'; do
    typed "s = schedule($call)" && has err "it is s = schedule($(sed 's/(.*//; s/[.]/[.]/g' <<<"$call")({" && grep -q '^focus' err
    verdict "$call, with sizes as Python writes them, is called with a dot"
done
typed "$mm" 'for n in [1, 2]: print(n)' 'for n in x[0]: print(n)'
has err 'for _, n in ipairs({1, 2}) do print(n) end' && has err 'for _, n in ipairs(x\[0\]) do'
verdict 'a list that is walked is written as Lua has it'

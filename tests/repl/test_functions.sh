#!/bin/bash
# A module of two functions at the prompt, with none chosen and with one; what :check takes and
# moon.check gives; what each loop touches; the prompt's text. Source: interaction 3, 4, 5, 8.
. tests/repl/session.sh
flags=(--keep-going)

says() { # LINES...: each is a line of the output
    local l
    for l in "$@"; do grep -qxF -e "$l" out || return 1; done
}
fails() { # WORDS...: each stands in an error
    local w
    for w in "$@"; do grep -qF -e "$w" err || return 1; done
}

cat >two.py <<'E'
@I.ir_module
class Module:
    @T.prim_func
    def foo(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(64):
            with T.block("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] + T.float32(1)

    @T.prim_func
    def bar(A: T.Buffer((64,), "bool"), B: T.Buffer((64,), "bool")):
        for j in range(64):
            with T.block("B"):
                vi = T.axis.spatial(64, j)
                B[vi] = not A[vi]
E
split_foo='split(get_loops(get_block("B", "foo"))[1], {auto, 7});'
split_bar='split(get_loops(get_block("B", "bar"))[1], {auto, 7});'

typed ':open two.py' "$split_foo" ':where j' ':where i_1' ':where B' ':where zoo'
[ "$status" = 1 ] && says 'loop j of bar is there from the start' 'loop i_1 of foo was made by step 1: split("i", {auto, 7})' \
    'block B of foo is there from the start' 'buffer B of bar is there from the start' &&
    fails 'no loop, block or buffer is named zoo'
verdict 'tells where a name comes from in every function'
typed 's = schedule(workload.matmul(8, 8, 8))' 'cache_write("C", 0, "local");' ':where C_local' ':where ax0' ':where C/k'
says 'buffer C_local was made by step 1: cache_write("C", 0, "local")' \
    'block C_local was made by step 1: cache_write("C", 0, "local")' 'loop k is there from the start'
verdict 'tells which step made a buffer'
typed ':open two.py' ':focus' ':focus foo' ':focus zoo' 's = schedule(focus(), {func = "bar"})' ':focus' ':tree' ':where i'
says '* 1  two v0   functions foo, bar' '* 2  bar v0   function bar of foo, bar' 'loop i of foo is there from the start' &&
    grep -q '^bar  *bytes$' out && ! grep -q '^foo  *bytes' out &&
    fails 'foo is a function of two, no schedule; s = schedule(focus(), {func = "foo"})' 'no schedule is named zoo'
verdict 'lists the functions with the schedules'
typed ':open two.py' ':graph loops a.dot' ':graph deps b.dot' 's = schedule(focus(), {func = "bar"})' ':graph loops c.dot'
says 'wrote a.dot (4 nodes, 2 edges)' 'wrote b.dot (6 nodes, 4 edges)' 'wrote c.dot (2 nodes, 1 edge)' &&
    grep -q 'label="foo"' a.dot && grep -q 'label="bar"' b.dot && ! grep -q cluster c.dot
verdict 'draws every function when none is chosen'
typed ':open two.py' 'split("j", {auto, 7})' ':block B' 'get_block("B")' 'get_block("B", "zoo")'
[ "$(grep -c 'no function is chosen: the module has 2 functions (foo, bar)' err)" = 3 ] && fails unknown-function
verdict 'asks for the function where one is needed'
typed ':open two.py' "$split_foo" "$split_bar" ':trace' ':save a.lua' ':save a.json' ':source a.lua' ':open a.json' ':save a.py' \
    ':open a.py' ':diff v0 --tree'
[ "$(grep -c 'hash' out)" = 2 ] && says '[1] split("i", {auto, 7})' '[2] split("j", {auto, 7})' && [ "$(wc -l <err)" = 4 ]
verdict 'saves and replays steps of both functions'

# ---- :check and moon.check
typed ':open two.py' ':check'
[ "$(grep -c '^ok ' out)" = 2 ]
verdict 'checks every function when none is chosen and none has changed'
cat >all.lua <<'E'
local s = schedule(moon.open("two.py"))
local r = moon.check(s)
assert(r.ok and r.functions.foo.ok and r.functions.bar.ok and r.n_outputs == 2)
s:split(s:get_loops(s:get_block("B", "bar"))[1], {auto, 7})
r = moon.check(s)
assert(r.ok and r.functions.bar.ok and not r.functions.foo, "only what has changed")
assert(r.largest == r.functions.bar.largest and r.iterations == r.functions.bar.iterations)
assert(s:versions()[2].check == "ok")
local right = moon.open("two.py")
local wrong = moon.parse((right:script():gsub("T.float32%(1.0%)", "T.float32(2.0)")))
r = moon.check(wrong, right)
assert(not r.ok and r.functions.bar.ok and not r.functions.foo.ok)
assert(r.outside == 64 and r.functions.foo.outside == 64 and r.functions.bar.outside == 0)
assert(r.first_at == "foo: B[0]" and r.functions.foo.first_at == "B[0]" and r.largest == r.functions.foo.largest)
assert(moon.check(wrong, right, {func = "bar"}).ok and not moon.check(wrong, right, {func = "foo"}).ok)
local ok, e = pcall(moon.check, wrong:with("more", right.foo), right)
assert(ok and not e.ok)
ok, e = pcall(moon.check, right, wrong:with("more", right.foo))
assert(not ok and e.code == "bad-argument" and e.message:find("no function more", 1, true))
local one = moon.check(schedule(workload.matmul(8, 8, 8)))
assert(one.functions.main.ok and one.outside == one.functions.main.outside)
E
timeout "$limit" "$MOONLOOP" -b all.lua >out 2>err
verdict 'moon.check checks each function and tells of each'
cat >any.py <<'E'
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int64()
    k = T.int64()
    A = T.match_buffer(a, (n, k), "float32")
    B = T.match_buffer(b, (n, k), "float32")
    for i, j in T.grid(n, k):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
E
typed ':open any.py' ':check --shape m=3 --shape n=3' ':check --shape n=3 --shape k=4 --shape n=5' ':check --shape n=2.5' \
    ':check --shape n=1e300' ':check --shape n=nan' ':check --seed nan' ':check --shape n=3 --shape k=4' \
    'moon.check(focus(), {shape = {m = 3}})' ':open two.py' ':check --shape n=3'
[ "$(grep -c 'there is no size m; the program has n, k' err)" = 2 ] && [ "$(grep -c -e '--shape n=127, not' err)" = 3 ] &&
    fails 'the size n is given twice' '--seed takes a number from 1' 'there is no size n: every size of the program is a number' &&
    [ "$(grep -c ^ok out)" = 1 ] && grep -q ', 12 elements, seed 1$' out
verdict 'refuses sizes that the program does not have'

# ---- what each loop touches
typed 's = schedule(workload.matmul(1024, 1024, 1024))' \
    'split("j", {auto, 16}) split("i", {auto, 100}) reorder("i_0", "j_0", "k", "i_1", "j_1");' \
    'cache_read("C", "A", "global") compute_at("A_global", "k");' ':tree'
diff out - >>err <<'E'
matmul                           bytes
  loop                     FLOP          A   A_global          B          C
  i_0 11          2,147,483,648  4,194,304  4,194,304  4,194,304  4,194,304
    j_0 64        ≤ 209,715,200  ≤ 409,600  ≤ 409,600  4,194,304  ≤ 409,600
      k 1024        ≤ 3,276,800  ≤ 409,600  ≤ 409,600     65,536    ≤ 6,400
        ax0 100                      ≤ 400      ≤ 400
          A_global          reads A, writes A_global   where i_0 * 100 + ax0 < 1024
        i_1 100         ≤ 3,200                 ≤ 400         64    ≤ 6,400
          j_1 16           ≤ 32                   ≤ 4       ≤ 64       ≤ 64
            C                 reads A_global, B, writes C   where i_0 * 100 + i_1 < 1024
E
verdict 'shows what a loop computes and touches, as a bound where a guard cuts it'
cat >gaps.py <<'E'
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float16"), D: T.Buffer((), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi * 4] = T.Cast("float16", A[vi] * D[()])
    for i in range(16):
        with T.block("E"):
            vi = T.axis.spatial(16, i)
            B[vi] = T.Cast("float16", A[vi * 2])
E
typed ':open gaps.py' ':tree' ':set width 40' ':tree' ':set width 20' ':tree'
diff out - >>err <<'E'
gaps            bytes
  loop    FLOP   A  D   B
  i 16      16  64  4  32
    B                 reads A, D, writes B
  i_1 16        64     32
    E                 reads A, writes B
gaps      bytes
  loop     A  D   B
  i 16    64  4  32
    B   reads A, D, writes B
  i_1 16  64     32
    E   reads A, writes B
  … 1 more column: :counts has all
gaps      bytes
  loop     A  D   B
  i 16    64  4  32
    B   reads A, D,
        writes B
  i_1 16  64     32
    E   reads A,
        writes B
  … 1 more column:
    :counts has all
E
verdict 'counts what lies between gaps, and shows no more than fits'

# ---- the prompt's text
cat >lines <<'E'
_PROMPT = "my> "
print(
1)
_PROMPT = function(usual) return "\27[1m<" .. usual .. ">\27[0m " end
print(
2)
_PROMPT2 = ".. "
print(
3)
_PROMPT = function() error("bad\nthing") end
4
5
_PROMPT = function() return {} end
_PROMPT, _PROMPT2 = nil, nil
6
E
timeout "$limit" "$MOONLOOP" -i --no-init <lines 2>err | tail -n +2 | sed 's/\x1b\[[01]m/@/g' >out
diff out - >>err <<'E'
> _PROMPT = "my> "
my> print(
    1)
1
my> _PROMPT = function(usual) return "\27[1m<" .. usual .. ">\27[0m " end
@<> >@ print(
     2)
2
@<> >@ _PROMPT2 = ".. "
@<> >@ print(
.. 3)
3
@<> >@ _PROMPT = function() error("bad\nthing") end
> 4
4
> 5
5
> _PROMPT = function() return {} end
> _PROMPT, _PROMPT2 = nil, nil
> 6
6
E
[ $? = 0 ] && [ "$(wc -l <err)" = 2 ] && fails '_PROMPT: input:1: bad; the usual prompt is shown' \
    '_PROMPT: it must give a string, not a table; the usual prompt is shown'
verdict 'takes its text from _PROMPT and _PROMPT2, and complains once'

# ---- every method of a schedule works on the focus without it being named
typed 's = schedule(workload.matmul(32, 32, 32))' 'can_split("i", {4, 8})' 'print((can_split("i", {4, 4})))' \
    'l = tile_with_intrinsic("C", "dot_16x4_vnni");' 'print(l, version(), hash(8) == s:hash(8))' \
    'undo(1)' 'version()'
[ "$status" = 0 ] && says true false 'j_1	3	true' 2
verdict 'calls can_NAME, tile_with_intrinsic and every other method on the focus'
typed 's = schedule(workload.matmul(8, 8, 8))' 'can_spilt("i", {2, 4})' 'tre()'
[ "$status" = 1 ] && fails "'can_spilt'; did you mean can_split?" "'tre'; did you mean tree?"
verdict 'tells the nearest method of an unknown name'

# ---- what someone types who does not know the rules yet
typed help 'quit()' exit tree 's = schedule(workload.matmul(8, 8, 8))' 'tree();' 'check = 3' check ':undoo' ':set eco' 'moon.get("eco")'
[ "$status" = 1 ] && says 3 && [ "$(grep -c 'a command begins with a colon' err)" = 4 ] &&
    fails 'colon: :help' 'colon: :quit' 'colon: :tree' 'no command :undoo; did you mean :undo?' 'setting is called eco; did you mean echo?' &&
    [ "$(grep -c 'did you mean echo' err)" = 2 ]
verdict 'tells that a command begins with a colon, and the nearest one'
typed 's = schedule(workload.matmul(8, 8, 8))' 'split(i, {2, 4})' 'reorder(j, i)' 'parallel(i)' 'compute_inline(C)' 'decompose_reduction("C")' \
    'table.sort(nil)' 'version()'
[ "$status" = 1 ] && says 0 && fails 'a loop is named by a string: split("i", ...); without quotes i is a variable of Lua' \
    'reorder: argument 1 is nil: a loop is named by a string' 'by a string: parallel("i")' 'a block is named by a string: compute_inline("C")' \
    'by a string: decompose_reduction(..., "i");' "bad argument #1 to 'sort' (table expected, got nil)"
verdict 'tells that names are strings where a variable of Lua is nil'

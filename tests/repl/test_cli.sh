#!/bin/bash
# The program from outside: options, exit codes, where text goes, scripts and session text, and
# what must not matter: bad files, a full disk, a closed pipe, no terminal, a home that cannot be
# written. Source: interaction 2, 9, 16.
. tests/repl/session.sh
examples=$root/examples

matmul='s = schedule(workload.matmul(64, 64, 64))'

# ---- :set verify-each
cat >race.py <<'E'
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(8):
        with T.block("b"):
            v = T.axis.spatial(8, i)
            B[v // 2] = A[v]
E
typed ':set verify-each on' "$matmul" 'split("i", {auto, 7}); reorder("i_0", "j", "k", "i_1");' \
    'parallel("i_0");' ':set verify-each off' 'unroll("i_1");'
[ "$status" = 0 ]
verdict 'checks each step of right lines in silence'
typed ':open race.py' 's = schedule(focus(), {enable_check = false})' 'parallel("i");'
[ "$status" = 0 ] && typed ':open race.py' ':set verify-each on' \
    's = schedule(focus(), {enable_check = false})' 'parallel("i");'
[ "$status" = 1 ] && grep -qF 'iterations 0 and 1' err && grep -qF '[race]' err
verdict 'runs what a step made when verify-each is on'

# ---- :set stats
typed ':set stats on' "$matmul" 'annotate("C", "k", 1);' 'parallel("i");' ':undo' ':set stats off' \
    'parallel("i");'
[ "$status" = 0 ] && [ "$(grep -c analyses: out)" = 2 ] &&
    grep -q '^ *analyses: none was asked$' out &&
    grep -q '^ *analyses: .*child blocks [0-9]* asked, [0-9]* computed' out
verdict 'counts what a step asks of the analyses when stats is on'

# ---- what :check compares
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
        for i in range(64):
            with T.block("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = not A[vi]
E
typed ':open two.py' 'split(get_loops(get_block("B", "foo"))[1], {auto, 7});' ':check' \
    'split(get_loops(get_block("B", "bar"))[1], {auto, 7});' ':check'
[ "$status" = 0 ] && [ "$(grep -c '^ok   foo: B equals' out)" = 2 ] &&
    [ "$(grep -c '^ok   bar: B equals' out)" = 1 ]
verdict 'checks every function that a step changed'
typed ':open two.py' 'split("i", {auto, 8})'
[ "$status" = 1 ] && grep -qF 'functions foo, bar   choose one: s = schedule(focus(), {func = "foo"})' err &&
    grep -qF '2 functions (foo, bar)' err && grep -qF 'schedule(focus(), {func = "NAME"})' err
verdict 'says how to choose one of several functions'
typed ':open two.py' 's = schedule(focus(), {func = "bar"})' 'split("i", {auto, 8});' ':tree'
[ "$status" = 0 ] && grep -q '^  i_0 8 ' out && ! grep -q foo out
verdict 'works on the function that was chosen'
typed ':open two.py' ':tree'
[ "$status" = 0 ] && [ "$(grep -cE '^(foo|bar) +bytes$' out)" = 2 ]
verdict 'shows the loops of every function when none is chosen'
typed 'split(é, 4)'
grep -qF "unexpected symbol near 'é'; names of Lua are ASCII" err && grep -qx '     |       ^' err &&
    typed 'x = "宽宽" ! y' && [ "$status" = 1 ] && grep -qx '     |            ^' err
verdict 'says which letter Lua does not take, the caret in its column'
echo ':source itself.mls' >itself.mls
echo 'moon.cmd("source", "again.lua")' >again.lua
for file in itself.mls again.lua; do
    run "$file" </dev/null
    [ "$status" = 1 ] && grep -qF "$file is being read already: a file cannot run itself" err || { bad=$file; break; }
done
[ -z "${bad:-}" ]
verdict 'a file that runs itself is refused'
typed "$matmul" ':redo'
[ "$status" = 1 ] && grep -q 'nothing to redo' err && ! grep -q '^  rule' err && run -e 'schedule(1)' </dev/null && [ "$status" = 1 ] &&
    grep -q '^error: ' err && ! grep -q '^  rule' err
verdict 'adds no rule about arguments to an error of arguments'
cat >any.py <<'E'
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] + T.float32(1)
E
timeout "$limit" "$ml" --keep-going >out 2>err <<'E'
:open any.py
split("i", {auto, 4})
:check
:versions
:check --shape n=17
E
grep -q -e 'the size n is not given: --shape n=127, in Lua shape = {n = 127} *.bad-run-argument' err && ! grep -q checking: err && ! grep -q FAIL out &&
    grep -q '^v0 ─ v1 split ◀$' out && grep -q ', 17 elements, seed 1' out
verdict 'a check that could not run is no failed check, and says what it needs'
typed ':open any.py'
[ "$status" = 0 ] && grep -q '^focus: any v0   block B   loops i   n FLOP$' err
verdict 'counts the operations of a program whose size is not known in its symbols'
cat >tied.py <<'E'
@T.prim_func
def main(S: T.Buffer((8, 8), "int32")):
    for i, j in T.grid(7, 7):
        with T.block("S"):
            a, b = T.axis.remap("SS", [i, j])
            S[a + 1, b] = S[a, b + 1] + 1
E
typed ':open tied.py' 'reorder("j", "i")'
[ "$status" = 1 ] && grep -q '^note: instances of block S depend on each other: it [a-z]* S\[.*\] at i = ., j = ., and ' err &&
    grep -q 'S\[1, 1\] at i = 0, j = 1, and reads it at i = 1, j = 0' err
verdict 'tells of a program whose instances depend on each other, and refuses what would change their order'
sed '/n = T/d; s/(n,)/(T.int64(24),)/; s/range(n)/range(T.int64(24))/; s/(n, i)/(T.int64(24), i)/' any.py >wide.py
typed ':open wide.py' 'split("i", {auto, 8})' ':tree' ':block B' 'print(focus():tree())'
[ "$status" = 0 ] && grep -qF 'i → i_0[3] i_1[8]' out && [ "$(grep -c '^  i_0 3\( .*\)\?$' out)" = 2 ] &&
    grep -qF 'vi: spatial 24 =' out && grep -q ' 24 FLOP$' err
verdict 'shows extents without their type'

# ---- ways out
timeout "$limit" "$ml" --keep-going >out 2>err <<'E'
s = schedule(workload.matmul(64, 64, 64))
split("j", {4, auto}) split("k", {auto, 16}) reorder("j_0", "k_0", "i", "k_1", "j_1");
cache_read("C", "A", "global") compute_at("A_global", "k_0");
bind("j_0", "blockIdx.y")
bind("k_1", "blockIdx.y")
E
[ "$(grep -c 'would-race\]$' err)" = 1 ] && [ "$(grep -c 'iter-not-parallel\]$' err)" = 1 ] &&
    [ "$(grep -c 'threads cooperate in the reduction' err)" = 1 ]
verdict 'promises no cooperation where there is no reduction'

# ---- where a line is wrong
timeout "$limit" "$ml" --keep-going >out 2>err <<'E'
split"j", {auto, 16})
x = = 1 + 2
x = 1 ) 2
E
[ "$(grep -c '\^' err)" = 1 ] && grep -qF '     |       ^' err
verdict 'points at a token only where no other looks the same'

# ---- names of versions
timeout "$limit" "$ml" --keep-going >out 2>err <<'E'
s = schedule(workload.matmul(64, 64, 64))
split("i", {auto, 4});
:branch wide
split("j", {auto, 4});
:goto v0
split("k", {auto, 8});
:mark v1
:mark -1
:goto wide
print(s:version())
:where nothing
E
[ "$(grep -c 'reads as a version' err)" = 2 ] && grep -q '^2$' out &&
    grep -q 'no loop, block or buffer is named nothing' err
verdict 'branches are reached by name, marks do not hide versions'

# ---- options
run --version </dev/null
[ "$status" = 0 ] && [ "$(wc -l <out)" = 1 ] && grep -q '^moonloop [0-9]' out
verdict 'prints its version in one line'
run --help </dev/null
[ "$status" = 0 ] && grep -q -e --transcript out && grep -q -e --keep-going out
verdict 'prints its options'
run --features </dev/null
[ "$status" = 0 ] && grep -q '^lua=5.4' out && ! grep -v '^[a-z]*=' out
verdict 'prints its features as name=value'
run --codes </dev/null
[ "$status" = 0 ] && grep -q '^iter-not-parallel ' out && ! grep -q '^[^ ]*  *…$' out &&
    grep -q '^W403  *broken rule: thread tags are known$' out
verdict 'prints the error codes'
run -b -e ':explain merge-extent' -e ':explain E404' -e ':explain bad-handle' -e ':explain no-worker' </dev/null
[ "$status" = 0 ] && [ "$(grep -c '^  why    ' out)" = 4 ] && [ "$(grep -c '^  breaks it$' out)" = 3 ] &&
    grep -q '^    > merge("i", "j")$' out && grep -q 'step must be positive, got 0' out && grep -q 'There is no small example' out &&
    [ "$(grep -c '^    ok$' out)" = 2 ] && grep -q 'T.grid\|i_m in range(8)' out
verdict 'explains codes with an example that breaks the rule and one that does not, run now'
run --help-all </dev/null
[ "$status" = 0 ] && grep -q 'decompose_reduction' out && [ "$(wc -l <out)" -gt 200 ]
verdict 'prints the manual'
! awk '/^gives$/ { in_it = 1; n = 0; next } in_it && /^$/ { if (!n) print "nothing"; in_it = 0 } in_it { n++ }
    in_it && /error:/ && !/does not belong/ { print }' out | grep . && [ "$(grep -c '^gives$' out)" -ge 9 ]
verdict 'runs the examples of the calls that are not recorded'
cat >python.lua <<'E'
local sch = tir.Schedule(workload.matmul(64, 64, 64))
local b0 = sch.get_sblock{name="C", func_name="main"}
local l1, l2, l3 = table.unpack(sch.get_loops{block=b0})
local l4, l5 = table.unpack(sch.split{loop=l1, factors={None, 16}, preserve_unit_iters=True, disable_predication=False})
sch.unroll{loop=l5}
assert(s_tir.Schedule and sch:get(l4).extent == 4 and nothing == nil)
E
run -b python.lua </dev/null
[ "$status" = 0 ] && run -b -e 'sch = tir.Schedule(workload.matmul(64, 64, 64))' -e 'sch.split("i", {None, 4})' \
    -e 'assert(True and not False)' </dev/null && [ "$status" = 0 ]
verdict 'runs the text of a schedule in the style of Python, with local and tables'
run --frobnicate </dev/null
[ "$status" = 2 ] && [ "$(cat err)" = 'moonloop: unknown option --frobnicate; see moonloop --help' ] && [ ! -s out ]
verdict 'refuses an unknown option with status 2'
run --keep-going < <(printf '%s\n' ':set width 19' ':set width')
grep -q '^error: width is 0 or a number from 20, not 19: fewer' err && grep -qx 'width  *0  *.*' out && run --width=19 </dev/null && [ "$status" = 2 ]
verdict 'a width that holds nothing is refused'
typed ':set width 40' ':set width' ':set width 0' ':set width' && [ "$(grep -c . out)" = 3 ]
verdict ':set width 0 is the width from before'
run --keep-going < <(printf '%s\n' 's = schedule(workload.matmul(8, 8, 8))' ':focus 9' ':asm nosuch' ':tree --foo' ':mark --foo' ':ir --lst' ':best --dc x' \
    'moon.tensor({4, -1})' ':versions')
[ "$(grep -c '^error' err)" = 7 ] && has err 'no schedule has number 9; there is 1' && has err 'no block is named nosuch .* note no loop, either' &&
    has err ':tree takes no option, not --foo' && has err ':mark takes no option' && has err ':ir has no option --lst; did you mean --list?' &&
    has err ':best has no option --dc; did you mean --db?' && has err 'the extent of axis 1 is negative: -1' && ! grep -q foo out
verdict 'what is asked for and is not there is named as what it is'
run --width </dev/null
[ "$status" = 2 ] && run --width=abc </dev/null && [ "$status" = 2 ] && run --color=blue </dev/null && [ "$status" = 2 ] &&
    run --version=3 </dev/null && [ "$status" = 2 ] && run --seed=0 </dev/null && [ "$status" = 2 ] && [ -s err ]
verdict 'refuses a missing or wrong value with status 2'
run -e 'print(1)' -e ':set echo' -e 'print(2)' </dev/null
[ "$status" = 0 ] && [ "$(head -n 1 out)" = 1 ] && [ "$(tail -n 1 out)" = 2 ] && grep -q '^echo' out
verdict 'runs -e in order, commands too'
run -e 'io.write("a ") print("b") io.write("c\n") print("d")' </dev/null
[ "$status" = 0 ] && [ "$(cat out)" = $'a b\nc\nd' ]
verdict 'keeps what io.write and print say in order'
mkdir lib && echo 'return {answer = 42}' >lib/mine.lua
MOONLOOP_PATH=lib run -l mine -e 'print(mine.answer)' </dev/null
[ "$status" = 0 ] && [ "$(cat out)" = 42 ]
verdict 'requires -l NAME into a global'
printf 'print(...)\nprint(arg[0], arg[1], #arg)\n' >args.lua
run -- args.lua -x y </dev/null
[ "$status" = 0 ] && [ "$(cat out)" = $'-x\ty\nargs.lua\t-x\t2' ]
verdict 'gives a script its arguments'
run --safe -e 'print(io, os.execute, os.remove, debug, package.loadlib)' </dev/null
[ "$status" = 0 ] && [ "$(cat out)" = $'nil\tnil\tnil\tnil\tnil' ]
verdict 'takes away with --safe what reaches beyond the session'
echo 'print(6 * 7)' | timeout "$limit" "$ml" - >out 2>err
[ $? = 0 ] && [ "$(cat out)" = 42 ]
verdict 'runs - as Lua from standard input'
echo 'greeting = "hello"' >init.lua
run --init init.lua -e 'print(greeting)' </dev/null
[ "$(cat out)" = hello ] && run -b -e 'print(greeting)' </dev/null && [ "$(cat out)" = nil ]
verdict 'reads the init file that is named'
echo 'error("no")' >init.lua
run --init init.lua -e 'print(1)' </dev/null
[ "$status" = 0 ] && [ "$(cat out)" = 1 ] && grep -q 'no' err
verdict 'goes on after an error in the init file'

# ---- session text, results and errors
typed "$matmul" 'split("j", {auto, 16})' 'reorder("i","j_0","k","j_1")' 'vectorize("j_1")' ':check'
[ "$status" = 0 ] && [ "$(grep -c '^\[[123]\] ' out)" = 3 ] && grep -q '^ok   C equals v0' out && grep -q '^      3 +' out &&
    [ "$(grep -v '^check ' err)" = 'focus: matmul v0   block C   loops i, j, k   524 kFLOP' ]
verdict 'shows the diff of each step and the check'
run -b -e 'schedule(workload.matmul(64,64,64)):parallel("k")' </dev/null
[ "$status" = 1 ] && [ ! -s out ] && grep -q '^error: parallel: .*\[iter-not-parallel\]$' err && grep -q '\^ loop k$' err &&
    grep -q '\^^ reduction iter, bound to k$' err && grep -q '^  try    parallel("i")$' err
verdict 'explains an illegal step with the marked source, and ends with 1'
typed "$matmul" 'parallel("k")' 'print("after")'
[ "$status" = 1 ] && ! grep -q after out
verdict 'stops session text at the first error'
printf '%s\n' "$matmul" 'parallel("k")' 'print("after")' | timeout "$limit" "$ml" --keep-going >out 2>err
[ $? = 1 ] && grep -q after out
verdict 'goes on with --keep-going, and still ends with 1'
typed "$matmul" 'assert(false, "a test")'
[ "$status" = 1 ] && grep -q 'a test' err
verdict 'ends with 1 after a failed assert'
typed 'function f(x)' '  return 2 * x' 'end' 'f(21)'
[ "$status" = 0 ] && [ "$(cat out)" = 42 ]
verdict 'gathers the lines of a chunk'
typed 'x = 1 +'
[ "$status" = 1 ] && grep -q '<eof>' err
verdict 'tells the error of a line that never became whole'
typed "$matmul" 'split("j", {auto, 16}) parallel("k")' ':versions' ':goto failed' ':undo'
[ "$status" = 1 ]
verdict 'takes a failed line back as a whole'
printf '%s\n' "$matmul" 'split("j", {auto, 16}) parallel("k")' 'print(s:version())' ':goto failed' 'print(s:version())' |
    timeout "$limit" "$ml" --keep-going >out 2>err
grep -q '^0$' out && grep -q '^1$' out && grep -q 'marked `failed`' err
verdict 'keeps what a failed line had done under a mark'
typed "$matmul" 'split("j", {auto, 16});' 'reorder("i", "j_0", "k", "j_1");' ':undo' 'print(s:version())' ':undo' ':redo' \
    'print(s:version())' ':goto v2' 'print(s:version())' ':diff v0 v1'
[ "$status" = 0 ] && [ "$(grep -c '^[12]$' out)" = 3 ] && [ "$(grep '^[12]$' out | tr -d '\n')" = 112 ] && grep -q 'j_0 \* 16 + j_1' out
verdict 'goes back and forth between versions'
typed "$matmul" ':show > prog.py' ':show >> prog.py' ':tree | wc -l'
[ "$status" = 0 ] && [ "$(grep -c '^def main' prog.py)" = 2 ] && [ "$(cat out)" -ge 4 ]
verdict 'redirects what a command prints'
run -e "print(moon.cmd('set', 'echo').ok)" </dev/null
[ "$status" = 0 ] && [ "$(cat out)" = true ]
verdict 'gives every command as a function'
printf '%s\n' "$matmul" 'split("j", {auto, 16})' | timeout "$limit" "$ml" -i --no-init --private >out 2>&1
[ $? = 0 ] && grep -q '^> s = schedule' out && grep -q '^matmul v0> split("j", {auto, 16})$' out
verdict 'echoes prompts and lines with -i and no terminal'
printf '%s\n' ':set echo brief' 'one = 1' 'print(one + 1)' >lines.mls
run lines.mls </dev/null
[ "$status" = 0 ] && [ "$(cat out)" = 2 ]
verdict 'runs a file of session text'
printf '#!/usr/bin/env moonloop\nprint("script", ...)\n' >tool
run tool a </dev/null
[ "$status" = 0 ] && grep -q '^script' out
verdict 'runs a file without a suffix that begins with #! as Lua'

# ---- programs
printf '%s\n' ":open $examples/matmul.py" ':show > a.py' | timeout "$limit" "$ml" >out 2>err &&
    printf '%s\n' ':open a.py' ':show > b.py' | timeout "$limit" "$ml" >>out 2>>err && [ -s a.py ] && cmp a.py b.py >>out
verdict 'prints a program that reads back to the same text'
typed "$matmul" 'split("j", {auto, 16});' 'vectorize("j_1");' ':save mm.lua' ':save mm.json' ':save mm.py'
[ "$status" = 0 ] && run mm.lua </dev/null && [ "$status" = 0 ] && run -e ':open mm.json' -e ':show' </dev/null && [ "$status" = 0 ] &&
    cp out json.out && run -e ':open mm.py' -e ':show' </dev/null && [ "$status" = 0 ] && grep -q vectorized out && cmp out json.out
verdict 'saves a version as a script, as JSON, as a program, and takes each back'
if command -v lua5.4 >lua.path && [ -e "$ML_OUT/moonloop.so" ] && [ -z "${ML_SAN:-}" ]; then
    LUA_CPATH="$ML_OUT/?.so" timeout "$limit" lua5.4 -e 'local m = require"moonloop"; local s = m.schedule(m.workload.matmul(32, 32, 32));
        s:split("i", {m.auto, 8}); print(m.check(s).ok)' >out 2>err
    [ $? = 0 ] && [ "$(cat out)" = true ]
    verdict 'is a module of a stock lua5.4'
else
    echo 'skip is a module of a stock lua5.4: no lua5.4, or a build with sanitizers'
fi
if [ -x "${MOONLOOP_DRAW:-}" ]; then
    typed "$matmul" 'split("j", {auto, 16});' ':graph loops m.svg' ':graph deps d.png' ':graph loops m.dot' ':graph deps d.pdf'
    [ "$status" = 0 ] && grep -q '</svg>' m.svg && grep -q 'j_0' m.svg && [ "$(head -c 4 d.png | tail -c 3)" = PNG ] &&
        grep -q digraph m.dot && [ "$(head -c 5 d.pdf)" = %PDF- ]
    verdict 'draws loops and dependences'
else
    echo 'skip draws loops and dependences: moonloop-draw was not built'
fi

# ---- what is missing or broken
run nowhere.lua </dev/null
[ "$status" = 3 ] && grep -q 'nowhere.lua: No such file' err
verdict 'ends with 3 when the script is missing'
run nowhere.mls </dev/null
[ "$status" = 3 ]
verdict 'ends with 3 when the session text is missing'
run -b -e ':open nowhere.py' </dev/null
[ "$status" = 3 ] && grep -q 'nowhere.py' err
verdict 'ends with 3 when the program is missing'
mkdir folder.py
run -b -e ':open folder.py' </dev/null
[ "$status" -gt 0 ] && [ "$status" -lt 4 ] && [ -s err ]
verdict 'refuses a folder as a program'
run folder.py </dev/null && [ "$status" -gt 0 ] && [ "$status" -lt 4 ] && mkdir folder && run folder </dev/null &&
    [ "$status" -gt 0 ] && [ "$status" -lt 4 ] && [ -s err ]
verdict 'refuses a folder as FILE'
if [ "$(id -u)" != 0 ]; then
    echo 'print(1)' >secret.lua && chmod 000 secret.lua
    run secret.lua </dev/null
    [ "$status" = 3 ] && grep -q 'secret.lua' err
    verdict 'says that a file may not be read'
else
    echo 'skip says that a file may not be read: run as root'
fi
head -c 3000 "$ml" >binary.py && cp binary.py binary.mls && cp binary.py binary.lua && cp binary.py binary.json
bad=''
for f in binary.py binary.mls binary.lua binary.json; do
    run -b $f </dev/null
    { [ "$status" -gt 0 ] && [ "$status" -lt 4 ] && [ -s err ]; } || bad="$bad $f($status)"
done
run -b <binary.mls
{ [ "$status" = 1 ] && [ -s err ]; } || bad="$bad stdin($status)"
[ -z "$bad" ] || { echo "$bad" >>err && false; }
verdict 'refuses binary files of each kind'
printf 'for i in T.grid(\n' >broken.py
run -b broken.py </dev/null
[ "$status" = 1 ] && grep -q 'broken.py:1' err
verdict 'says where a program does not parse'
: >empty.py && : >empty.mls && : >empty.lua
run empty.mls </dev/null && [ "$status" = 0 ] && run empty.lua </dev/null && [ "$status" = 0 ] && run -b empty.py </dev/null && [ "$status" = 1 ]
verdict 'takes empty files as what they are'
printf ":set errors '\n:get errors\n" >quote.mls
run quote.mls </dev/null
[ "$status" = 1 ] && grep -q 'errors is one of: brief' err
verdict 'refuses an empty value of a setting'
run -b -e 'error({})' </dev/null && [ "$status" = 1 ] && run -b -e 'error()' </dev/null && [ "$status" = 1 ] &&
    run -b -e 'x.y.z = 1' </dev/null && [ "$status" = 1 ] && run -b -e 'local function f() return f() + 1 end f()' </dev/null &&
    [ "$status" = 1 ] && grep -q 'stack overflow' err
verdict 'reports errors of Lua of any kind'
printf 'local t = nil\n\nt.x = 1\n' >fault.lua
run fault.lua </dev/null
[ "$status" = 1 ] && grep -q 'fault.lua:3' err
verdict 'says the line of an error in a script'
run -b -e 'moon.set{["memory-limit"] = 64}' -e 't = {} for k = 1, 1e9 do t[k] = ("x"):rep(1000) .. k end' </dev/null
[ "$status" = 1 ] && grep -q 'out-of-memory' err
verdict 'stops Lua at the memory limit'
typed ':set memory-limit 64' "$matmul" 'for k = 1, 1e6 do split(loops("C")[1], {auto, 1}) undo(1) end' 'print(1)'
[ "$status" = 1 ] && grep -q 'the memory limit of 67108864 bytes is reached' err && ! grep -q 'Aborted' err
verdict 'stops a schedule at the memory limit'
run -b -e ':frobnicate' </dev/null && [ "$status" = 1 ] && grep -q 'no command :frobnicate' err
verdict 'says that there is no such command'
run -b -e ':check' </dev/null
[ "$status" = 1 ] && grep -q 'needs a schedule' err
verdict 'says that a command needs a schedule'

# ---- disks, pipes, terminals, homes
said=$( (ulimit -f 0 && printf '%s\n' "$matmul" ':save a.py' ':save b.py' ':save c.py' 'print("still here")' |
    timeout "$limit" "$ml" --keep-going --private 2>/dev/null) | tail -n 1)
[ "$said" = 'still here' ]
verdict 'files that may not grow are errors, however often they are met'
if [ -c /dev/full ]; then
    "$ml" --help-all >/dev/full 2>err </dev/null
    [ $? = 1 ] && grep -qi 'no space' err
    verdict 'ends with 1 when standard output is full'
    timeout "$limit" "$ml" -e 'for k = 1, 100000 do print(k) end' >/dev/full 2>err </dev/null
    [ $? = 1 ] && grep -qi 'no space' err
    verdict 'ends with 1 when print finds no space'
    typed "$matmul" ':show > /dev/full'
    [ "$status" = 1 ] && grep -q 'No space' err
    verdict 'tells of a full disk when a command writes'
    typed "$matmul" ':save /dev/full'
    [ "$status" = 1 ]
    verdict 'tells of a place that cannot be saved to'
fi
set -o pipefail
timeout "$limit" "$ml" -e 'for k = 1, 1e7 do print(k) end' 2>err </dev/null | head -n 1 >out
[ $? = 141 ] && [ "$(cat out)" = 1 ] && [ ! -s err ]
verdict 'ends quietly with 141 when the pipe is closed'
timeout "$limit" "$ml" -e 'for k = 1, 1000 do moon.cmd("set") end' -e ':help-all' -e 'for k = 1, 300 do io.write(("x"):rep(1000)) end' \
    2>err </dev/null | true
[ "${PIPESTATUS[0]}" != 4 ]
verdict 'does not crash when io.write has no reader'
timeout "$limit" "$ml" -e '!yes | head -n 1' >out 2>err </dev/null
[ $? = 0 ] && [ "$(cat out)" = y ] && [ ! -s err ]
verdict 'leaves the signal of a closed pipe to what it starts'
printf '%s\n' "$matmul" ':show' ':show' | timeout "$limit" "$ml" 2>err | true
[ "${PIPESTATUS[1]}" != 4 ]
verdict 'survives a reader that is not there'
set +o pipefail
run </dev/null
[ "$status" = 0 ] && [ ! -s out ] && [ ! -s err ]
verdict 'does nothing for no input'
timeout "$limit" "$ml" <&- >out 2>err
[ $? -lt 4 ]
verdict 'survives a closed standard input'
timeout "$limit" "$ml" -e 'print(1)' >&- 2>err </dev/null
[ $? = 1 ]
verdict 'ends with 1 for a closed standard output'
for variable in TERM=dumb TERM= TERM=vt100 TERM=nonsense LANG=C LC_ALL=C LC_ALL=nowhere; do
    printf '%s\n' "$matmul" 'split("j", {auto, 16})' ':check' | env "$variable" timeout "$limit" "$ml" >out 2>err
    [ $? = 0 ] && grep -q '^\[1\] split  j → j_0\[4\] j_1\[16\]' out
    verdict "prints the same with $variable in a pipe"
done
printf '%s\n' "$matmul" 'split("j", {auto, 16})' | timeout "$limit" "$ml" --ascii >out 2>err
[ $? = 0 ] && ! LC_ALL=C grep -q '[^ -~	]' out err && grep -q 'j -> j_0' out
verdict 'prints nothing outside ASCII with --ascii'
printf '%s\n' "$matmul" 'split("j", {auto, 16})' | timeout "$limit" "$ml" --color=always >out 2>err
grep -q $'\x1b\[' out && printf '%s\n' "$matmul" 'split("j", {auto, 16})' | NO_COLOR=1 CLICOLOR_FORCE=1 timeout "$limit" "$ml" >out 2>err &&
    ! grep -q $'\x1b' out err
verdict 'colours when told to, and not with NO_COLOR'
printf '%s\n' "$matmul" 'print(1)' | HOME=/nowhere XDG_STATE_HOME=/proc/none timeout "$limit" "$ml" -i >out 2>err
[ $? = 0 ] && grep -q '^1$' out
verdict 'runs without a home'
printf '%s\n' "$matmul" 'print(1)' | env -i timeout "$limit" "$ml" >out 2>err
[ $? = 0 ] && grep -q '^1$' out
verdict 'runs with an empty environment'
for k in 1 2; do
    printf '%s\n' "$matmul" 'split("j", {auto, 16})' ':set echo tree' 'reorder("i", "j_0", "k", "j_1")' ':show' ':trace' ':check' |
        timeout "$limit" "$ml" 2>&1 | sed 's/[0-9.]* ms$//' >same.$k
done
cmp same.1 same.2 >out 2>err && [ -s same.1 ]
verdict 'prints the same twice'

# ---- ending
ended_by() { # SIGNAL ARGUMENTS...: starts the program, sends the signal when it has printed
    local signal=$1 pid
    shift
    : >out
    bash -c 'trap - INT; exec "$@"' sh "$ml" "$@" >out 2>err </dev/null &
    pid=$!
    within grep -q ready out || { kill -9 $pid; return 1; }
    kill -s "$signal" $pid
    wait $pid 2>>err
    status=$?
}
loop='io.stdout:write("ready\n") io.stdout:flush() while true do end'
set -m # background jobs take SIGINT
ended_by INT -b -e "$loop"
[ "$status" = 130 ]
verdict 'ends with 130 by Ctrl-C in batch mode'
ended_by INT -e "$loop"
[ "$status" = 130 ] && grep -q '^error: interrupted' err
verdict 'ends with 130 by Ctrl-C while -e is at work'
ended_by TERM -b -e "$loop"
[ "$status" = 143 ]
verdict 'ends with 143 by SIGTERM'

# ---- Lua's names are the user's
typed 'moon = nil for k in pairs(package.loaded) do package.loaded[k] = nil end' ':help split' ':apropos fuse' 'print(7 * 6)'
[ "$status" = 0 ] && grep -q '^42$' out && grep -q 'cut a loop into nested loops' out
verdict 'tells of names without the global moon'

# ---- what a line or a name holds does not reach the screen as it is
typed 'error("\27[2Jboom")'
[ "$status" = 1 ] && grep -q '\\27\[2Jboom' err && ! LC_ALL=C grep -q "$(printf '\033')" err
verdict 'shows control characters of an error by their numbers'
printf 'x\001\033[2J = 3\n:open "\033[2J"\n' | timeout "$limit" "$ml" --keep-going >out 2>err
grep -q 'x??\[2J = 3' err && ! LC_ALL=C grep -q "$(printf '\033')" err
verdict 'shows control characters of a line as question marks'

#!/bin/bash
# Names that are nothing at the prompt, tables and functions that are typed, what an assignment leaves
# to be said. Source: interaction 4, 7.
. tests/repl/session.sh
flags=(--private --no-init --keep-going --width=100)
said() { # LINES... -- TEXTS...: the session says each text
    local lines=() text
    while [ "$1" != -- ]; do
        lines+=("$1")
        shift
    done
    shift
    typed "${lines[@]}"
    cat out err >all
    for text; do
        grep -qF -- "$text" all || { echo "missing: $text" >>err; return 1; }
    done
    ! grep -q 'lua-error\|0x[0-9a-f]\{6\}' all
}
mm='s = schedule(workload.matmul(64, 64, 64))'

said foo ls matmul workloads versons -- "nothing is named 'foo'" 'it in a shell: !ls' 'did you mean workload.matmul(m, n, k [, opts])?' \
    'instead: workload, which lists them' 'did you mean versions?'
verdict 'a name that is nothing says so, with what may be meant'
[ "$(grep -c 'unknown-name' all)" = 5 ]
verdict 'each is an error of the catalogue'
said "$mm" i C A 'spilt("i")' 'tile("i", 8)' 'parallelize("i")' 's:foo()' s.foo -- 'a loop is named in quotes: split("i", {auto, 4})' \
    'a block is named in quotes: get_loops("C")' 'a buffer is named in quotes' 'did you mean split?' 'split each loop, then reorder' \
    'instead: parallel("i")' 'a schedule has no method or field foo'
verdict 'names of the program and words of other schedulers lead somewhere'
said "$mm" 's.check()' 's:time()' 's:build()' :exit -- 'a schedule has no method or field check; a function has it: moon.check(s)' 'moon.time(s)' \
    'moon.build(s)' 'no command :exit; instead: :quit'
verdict 'what is no method but a function of moon says so, and :exit leads to :quit'
said "$mm" ':tree i' 'workload.softmax(64, 128)' 'schedule("matmul")' -- 'a version is meant here, not a loop or block' \
    'sizes are given by name, as in {m = 64, n = 128}' 'workload("GMM-0") makes'
verdict 'what is given in the place of another thing is told what is wanted'
typed "$mm" 's:split("i, 4)'
grep -qF 'the quote before `i, 4)` is not closed' err
verdict 'a forgotten quote is pointed at'
said "$mm" 'split("i", 8, 8)' -- 'preserve_unit_iters: true or false is needed' 'factors are one list: {auto, 8}'
verdict 'factors that stand side by side are told to be one list'
said 'workload.conv2d{h = 8, w = 8, ci = 3, co = 8, kernel = 3}' 'workload.matmul{4, 4, 4}' 'moon.einsum("ij,jk->ik", {4, 4}, {4, 4})' \
    'moon.einsum("ij,jk->ik", {4, 4})' -- 'no size is named kernel; there are ci, co, d, g, h, k,' 'no size is named 1; there are k, m, n' \
    'the shapes are one list: {{64, 32}, {32, 64}}' 'the shape of operand 1 is a list: {{64, 32}, …}'
verdict 'sizes and shapes in a form that is none say which there is'
typed "$mm" 'split("i", {auto, TILE})' 's:split("j", {auto, 4, TILE})' 'reorder({"k", TILE})' 'annotate("i", "x", {1, TILE})' 'split("i", {TILE})' \
    'for _, l in ipairs({"i", "j"}) do split(l, {auto, TILE}) end' 'print(#get_loops("C"))'
[ "$(grep -c "nothing is named 'TILE'.*unknown-name" err)" = 6 ] && grep -qx 3 out && ! grep -q '^\[[0-9]' out
verdict 'one that would be lost at the end of a list of a step is refused, and nothing is applied'
typed "$mm" 'if foo == nil then split("i", {auto, 4}) end' 'if not foo then foo = 8 split("j", {auto, foo}) end' 'x = x or 1' 'local t = {a, b}' \
    'local u = 2 split("k", {auto, u})' 'function set() W = 2 end' 'set() split("k_1", {auto, W})' 'if bar then split("i", {auto, bar}) end' \
    'y = {1, nosuch}' 'print(#get_loops("C"), x, #t, #y)'
! grep -q unknown-name err && has out '7.1.0.1'
verdict 'names that are asked for, assigned or in other tables stay as they are'

typed "$mm" 'pcall(function() split("i", {auto, T}) end)' 'function f() split("j", {auto, T}) end' 'f()' 'print(#get_loops("C"))' 'T = 4' 'f()' \
    'print(#get_loops("C"))' 'function g() if U == nil then split("k", {auto, U}) end end' 'g()'
[ "$(grep -c "nothing is named 'T'.*unknown-name" err)" = 1 ] && grep -q "^false.*nothing is named 'T'" out && [ "$(grep -x '[0-9]' out | tr '\n' ' ')" = '3 4 ' ] &&
    ! grep -q "'U'" err
verdict 'so is one in a function, whichever line calls it'
cat >lost.lua <<'E'
local s = moon.schedule(moon.workload.matmul(8, 8, 8))
local function tile(l) s:split(l, {moon.auto, TILE}) end
tile("i")
print(#s:get_loops("C"))
E
run lost.lua
[ $status = 1 ] && grep -q "nothing is named 'TILE'" err && grep -q 'lost.lua:2' err && [ ! -s out ]
verdict 'and one in a script'
(echo 'TILE = 4' && cat lost.lua) >set.lua
run set.lua
[ $status = 0 ] && [ "$(cat out)" = 4 ]
verdict 'unless it is assigned there'
flags=()
run -b -e "$mm" -e 'split("i", {auto, T})'
[ $status = 1 ] && grep -q "nothing is named 'T'" err
verdict 'and one behind -e'
flags=(--private --no-init --keep-going --width=100)

said "$mm" tmie sikp 'psilt("i")' pritn 's:get_lopos("C")' vesrions -- 'did you mean :time?' "nothing is named 'sikp'; :help" 'did you mean print?' \
    'did you mean get_loops?' 'did you mean versions?'
verdict 'letters that changed places are near, words that begin otherwise are not'
said "$mm" 'print(split)' 'print(s.split, s.tree)' 'print(s:get_loops("C"))' 'print(moon.te)' 'tostring(moon.check)' 'print({s}, blocks)' -- \
    'function split(loop, factors' 'function s:tree()' '{i, j, k}' 'moon.te: abs, acos' '"function moon.check(s [, opts])' '{schedule matmul v0}' 'function s:blocks()'
verdict 'what is of moonloop prints as what it is'
typed 'print({}, function() end)'
grep -q 'table: 0x.*function: 0x' out
verdict 'what is of the user prints as in Lua'
typed 'setmetatable(_G, nil)' '("x"):rep(9000)' '#_' '{1, 2}'
[ "$(wc -c <out)" -lt 6000 ] && has out 'bytes more; all of it: for k, v in pairs(_) do print(k, v) end' && has out '7002 bytes more; all of it: print(_)' &&
    grep -qx 9000 out && grep -qx '{1, 2}' out
verdict 'a value of pages is told by its beginning, with how to see all'
typed None 'None = nil' None 'True' 'True = 5' True
[ "$(tr '\n' ' ' <out)" = 'auto true 5 ' ] && grep -q "nothing is named 'None'; instead: nil" err
verdict 'names of Python can be taken back'
typed 'x = {}' 'x.append(3)' 'x:keys()' pass self.x null 'lambda(3)' 'try' 'for n, k in enumerate(x) do end'
[ "$(grep -c 'instead: ' err)" = 8 ] && grep -q "'append'; instead: t\[#t + 1\] = x" err
verdict 'words of Python lead somewhere'
said 's = schedule(workload.matmul(1e2, 64.0, 64))' 's:show()' 'moon.te.placeholder({4.0, 4}, "float32")' 'workload.matmul(1.5, 3, 3)' \
    'moon.set{runs = 5.0}' 'moon.get("runs")' 'moon.target{kind = "llvm", num_cores = 2.0}' -- 'T.Buffer((100, 64)' 'placeholder: float32[4, 4]' \
    'size m: an integer from 1' '"5"'
verdict 'a float that is an integer is one where an integer is wanted'

typed "$mm" 'save("a.lua")' 'check --seed 3' 'open mm.py' 'goto v0' 'set echo brief'
for text in 'save FILE' 'check \[--seed N\]' 'open mm.py' 'goto v0' 'set echo brief'; do has err "a command begins with a colon: :$text" || break; done &&
    [ "$(grep -c 'begins with a colon' err)" = 5 ]
verdict 'a command without its colon is told with it, whatever stands behind'

said 'x = {}' 'x:foo()' 'x.foo()' x.y 'f = nil' 'f()' -- "the value has no function 'foo'" nil "no function or primitive 'f'"
verdict 'calls of what a table has not are told without words of Lua'
typed 'load("mm.py")' 'load("return 3")()'
grep -qxF 'note: load compiles a text of Lua; instead: :open FILE' err && grep -qx 3 out
verdict 'load of a file leads to :open'
said ':tile' ':load x.py' ':help tile' ':apropos interchange' ':help load' -- 'no command :tile; instead: split each' 'no command :load; instead: :open FILE' \
    'tile    split each loop' 'reorder("i", "k", "j")' 'load    :open FILE'
verdict 'commands and help know these words too'

printf 'key q\n' >q.keys
typed "$mm" foo ':view --keys q.keys' foo ':set width' 'x = 1' && :
! grep -qx nil out && [ "$(grep -c 'nothing is named' err)" = 2 ] && run -e 3 -i <<<':set width' && ! grep -qx 3 out
verdict 'a command after a name that is nothing shows no value'
said "$mm" 'sch.mod.show()' 'sch.mod["main"]' 'sch.trace.show()' 'print(s.mod.script())' 's.mod()' 's.mod.a, s.mod.b' -- \
    'mod is a function; instead: sch:show()' 'instead: sch:mod()["main"]' 'instead: sch:trace():show()' 'instead: print(s:mod():script())' \
    'mod is a method, which a colon calls: x:mod()' 'mod is a function; instead: x:mod()'
verdict 'a method that is read like a field of Python is told with the line to type'
typed "$mm" 'foo < 1' 'for _, l in ipairs(foo) do end' 'string.len(foo)' 'x = {}' 'x.y < 1'
[ "$(grep -c "note   nothing is named 'foo'" err)" = 3 ] && [ "$(grep -c lua-error err)" = 4 ]
verdict 'a nil of Lua that was a name is told by its name'

said workload -- 'workload.matmul(m, n, k [, opts])' 'C = A B: A (m, k), B (k, n)' 'workload.softmax{m =, n =, scale =, mask =}' 'softmax along the rows'
verdict 'a table of moon shows names with arguments and a word each'
said moon moon.te moon.tir -- 'moon.check(s [, opts])' 'moon.te.placeholder(shape, dtype [, name])' 'moon.tir.Schedule(program [, opts])'
verdict 'so do moon and what is in it'
said string 'function f(a, b) end' f split moon.check '{f = f, 3, a = {1}}' moon.features.cuda load io -- 'string, a table of Lua: byte, char' \
    'function f(a, b)' 'split(loop, factors' 'moon.check(s [, opts])' '{3, a = {1}, f = function(a, b)}' false 'instead: :open FILE' 'io, a table of Lua'
verdict 'functions and tables of any kind show no address'

said 's = workload.matmul(8, 8, 8)' 's:split("i", {2, 4})' 'workload.matmul(8, 8, 8)' -- \
    's is a module, a program without steps: s = schedule(s) begins' 's = schedule(m), then s:split(…)' 'schedule(_) makes a schedule of it'
verdict 'a module is told from a schedule, with the next call'
typed 's = workload.matmul(8, 8, 8);' "$mm" 'n = 3' 's == nil'
[ "$(grep -c 'is a module' err)" = 0 ]
verdict 'what is not asked is not told'
typed "$mm" 'b = get_block("C")' 'i, j, k = s:get_loops(b) -- all' 'i, j, k = s:get_loops(b)' k 'i, j = s:get_loops(b)' i 'n, m = 1' m \
    'x, y = split(i, {8, 8});' y 'p, q = f("a") g("b")'
[ "$(grep '^→' out | tr '\n' ' ')" = '→ k → i → i_1 ' ] && has err 'In Lua: i, j, k = table.unpack(s:get_loops(b) -- all)' &&
    [ "$(grep -c '^note: the call gives one list' err)" = 1 ] && has err 'a list of 3, and 2 names stand before the =; nothing was assigned' &&
    has err "nothing is named 'm'" && has err "no function or primitive 'f'"
verdict 'a list that is taken for several values gives each its own, or nothing is assigned'
typed "$mm" 'c, d = split("j", {auto, 8}); print(c, d)' 'a, b = split("i", {auto, 8}) print(a, b)' 'x, y = 1, 2; print(x, y)'
grep -q '^j_0.j_1$' out && grep -q '^i_0.i_1$' out && grep -q '^1.2$' out
verdict 'nor are they where more stands on the line'

typed 'io.write("a\n")' 'print("b")' 'io.stdout:write("c", 1, "\n")' 'f = io.open("own", "w")' 'f:write("own")' 'f:close()' 'io.write({})' \
    ':record x.transcript'
[ "$(tr '\n' ' ' <out)" = 'a b c1 file true ' ] && [ "$(cat own)" = own ] && grep -q 'write: argument 1: a string or number' err &&
    [ "$(sed -n '/^> io.write("a/,/^> f = /p' x.transcript | grep -v '^>' | tr '\n' ' ')" = 'a b c1 ' ]
verdict 'io.write goes the way of print: in order, and into the transcript'
run <<<"io.output('other') io.write('x') io.output():close() io.output(io.stdout) io.write('y\n')"
[ "$(cat out)" = y ] && [ "$(cat other)" = x ]
verdict 'io.output is another file'

flags=()
XDG_STATE_HOME=$PWD/state run -i --no-init < <(printf '%s\n' "$mm" 'split("i", {8, 8});' 's2 = schedule(workload.matmul(8, 8, 8))' 'split("i", {2, 4});' :quit)
cat out err >all
grep -q '1 step of matmul (1), 1 step of matmul (2) are not saved' all
verdict 'unsaved steps of two schedules of one name are told apart'

#!/bin/bash
# What a file and a paste become: FILE at a terminal and in a pipe, programs by any of their
# decorators at the prompt, from files and from text, files that are no program, sizes that a program
# leaves open. Source: interaction 2, 4; script 3.
. tests/repl/session.sh

body='def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] * 2.0'
class="class Module:
    @T.prim_func
$(printf '%s\n' "$body" | sed 's/^/    /')"

# ---- programs, however they begin
n=0
program() { # HEAD, function or class: one more file
    n=$((n + 1))
    printf '%s\n%s\n' "$1" "$2" >"p$n.py"
}
program '@tvm.script.ir_module' "$class"
program '@ir_module' "$class"
program '@tvm.script.ir_module()' "$class"
program '@I.ir_module(check_well_formed=False)' "$class"
program '@tvm.script.tir.prim_func' "$body"
program '@prim_func' "$body"
program $'import tvm\nfrom tvm.script import ir as I\nfrom tvm.script import tir as T\n\n\n@tvm.script.ir_module' "$class"
program $'# from tvm.script import tir as TT\n\n@TT.prim_func' "${body//T./TT.}"
program $'from tvm import script as S, tir\nimport numpy as np\n@S.ir_module' "$class"
program $'from tvm.script import (\n    ir as I,\n    tir as T,\n)\n@I.ir_module' "$class"
program $'"""One line,\nand two."""\nfrom __future__ import annotations\nimport tvm as t\n@t.script.ir_module' "$class"
program $'# a comment\nshape, dtype = (16,), "float32"\n@T.prim_func' "$(sed 's/(16,)/shape/g; s/"float32"/dtype/g' <<<"$body")"
program '    @T.prim_func' "$(sed 's/^/    /' <<<"$body")"
program $'M = N = 16\n\n@T.prim_func' "${body//16/N}" # the last: its first line is Lua when it is typed alone
all_open() { # COMMAND...: all of them, FILE in its words
    local k
    for ((k = 1; k <= n; k++)); do
        run --private "${@//FILE/p$k.py}" </dev/null
        [ "$status" = 0 ] && grep -qF 'B[vi] = A[vi] * T.float32(2.0)' out && [ ! -s err ] || {
            cat "p$k.py"
            return 1
        }
    done
}
all_open -e ':open FILE' -e ':show'
verdict 'reads a program from a file by any decorator'
all_open -e 'schedule(moon.parse(io.open("FILE"):read("a")))' -e ':show'
verdict 'reads it from a text'
pasted() { # the lines as they are, none of them empty
    local k
    for ((k = 1; k < n; k++)); do
        run --private < <(
            grep -v '^$' "p$k.py"
            printf '\n:show\n'
        )
        [ "$status" = 0 ] && grep -qF 'B[vi] = A[vi] * T.float32(2.0)' out && grep -q '^focus: main v0' err || return 1
    done
}
pasted
verdict 'reads it line by line'
typed 'import tvm' '' 'from tvm.script import tir as TT' '' "${body//T./TT.}" '' "@TT.prim_func" "${body//T./TT.}" '' ':tree'
[ "$status" = 1 ] && grep -qF '`main` has no decorator' err
verdict 'says what a program without its decorator lacks'
typed 'import tvm' '' 'from tvm.script import tir as TT' '' "@TT.prim_func" "${body//T./TT.}" '' ':tree'
[ "$status" = 0 ] && [ "$(grep -c '^note: no program yet' err)" = 2 ] && grep -q '^focus: main v0' err
verdict 'keeps imports that were typed before a program'
typed '@TT.prim_func' "$body" ''
[ "$status" = 1 ] && grep -qF 'from tvm.script import tir as TT' err
verdict 'says which import a decorator wants'
typed '@tvm.script.ir_module' "$class" 'print(f"{Module}")' '' ':tree'
[ "$status" = 0 ] && grep -q '^note: other Python in <text> was passed over: line [0-9]*$' err && ! grep -q warning err && grep -q '^focus: main v0' err
verdict 'opens the program of a paste with other Python in it'
typed 'x = {1, 2}' '#x' '# x' 'class = 3' 'import = 4' 'from, def = 5, 6' 'class + import + from + def'
[ "$status" = 0 ] && [ "$(paste -s -d' ' out)" = '2 2 18' ]
verdict 'takes Lua with such words as Lua'

# ---- lines of Python that are no program
swallows_none() { # LINE
    typed "$1" 'print("r" .. "an")' ':set width' '' 'print("last")'
    [ "$status" = 0 ] && [ "$(grep -cx 'ran\|last' out)" = 2 ] && ! grep -q '^error' err
}
flags=(--private --no-init --keep-going)
each() { # FUNCTION VALUES...: of every one
    local value
    for value in "${@:2}"; do "$1" "$value" || return 1; done
}
each swallows_none '# two words' 'import tvm' 'from foo import bar' $'# of the tile\nimport tvm\nx = 4'
verdict 'runs what stands below a comment and an import'
ends_block() { # LINES
    typed "$1" ':help split' 'print("last")'
    [ "$(grep -c '^error' err)" = "$2" ] && grep -q '^ *split' out && grep -qx last out
}
ends_block '# two words' 0 && ends_block 'import tvm' 0 && ends_block 'def f(x):' 0 && ends_block 'class A:' 1 && ends_block $'class A:\n    x' 1
verdict 'runs a command below a block that it ends'
has err 'note: these lines were read as one program; none of them was run'
verdict 'says that nothing of such a block was run'
flags=()

# ---- files that are no program
cat >plain.py <<'P'
import os
x = os.getcwd()
for i in range(10):
    print(i)
def foo(a):
    return a + 1
P
cp "$root/src/repl/main.c" source.py
printf 'it is no "program, `at` all\n  $ ls\n' >prose.py
printf '\n\n' >blank.py
: >empty.py
is_none() {
    run "$1.py" </dev/null
    [ "$status" = 1 ] && [ "$(grep -c '^error' err)" = 1 ] && grep -q '^error.E612' err &&
        grep -qF -e "--> $1.py:" err && ! grep -q warning err && [ "$(wc -l <err)" -lt 9 ]
}
each is_none plain source prose blank empty
verdict 'says once that a file holds no program'
printf 'def outer(n):\n    @T.prim_func\n    def f(A: T.Buffer((n,), "int8")):\n        A[0] = n\nfor x in y:\n    print(x)\n' >closure.py
run closure.py </dev/null
[ "$status" = 1 ] && [ "$(grep -c '^error' err)" = 1 ] && ! grep -q warning err && grep -q 'depends on a Python closure' err
verdict 'says of a program inside a function why it is none'
{
    cat plain.py
    printf '@T.prim_func\ndef f(A: T.Buffer((4,), "int8")):\n    A[0] = zz\n'
} >half.py
run half.py </dev/null
[ "$status" = 1 ] && grep -q 'undefined name .zz' err && ! grep -q warning err
verdict 'tells no passed-over line beside an error'

# ---- lines that were not typed just now
printf 'x = 1\n\nfor i = 1, 2 do\n  nope(i)\nend\n' >lines.mls
cp lines.mls lines.md
run lines.mls </dev/null
[ "$status" = 1 ] && grep -qx '  at     lines.mls:3' err && ! grep -q 'read as lines' err
verdict 'tells which line of a file failed'
run lines.md </dev/null
[ "$status" = 1 ] && grep -qx '  at     lines.md:3' err && has err 'note: lines.md was read as lines of a session; :open reads it'
verdict 'and how it was read, where its suffix does not say so'
typed 'nope(3)'
[ "$status" = 1 ] && ! grep -q '  at ' err && run . </dev/null && [ "$status" = 3 ] && ! grep -q 'read as lines' err
verdict 'says neither where there is no such line'

# ---- what stands behind FILE
run plain.py -e ':show' </dev/null
[ "$status" = 2 ] && grep -q 'plain.py is opened and takes no arguments, but -e stands behind it' err
verdict 'refuses options behind a file that is opened'
printf 'print(...)\n' >args.lua
printf '#!/usr/bin/env moonloop\nprint(...)\n' >args
gets_them() { run "$1" one -e </dev/null && [ "$status" = 0 ] && [ "$(cat out)" = $'one\t-e' ]; }
each gets_them args.lua args
verdict 'gives a script its arguments, also one without a suffix'
printf 'x\0y' >zero.lua
run zero.lua </dev/null
[ "$status" = 1 ] && grep -q 'the file is no text' err
verdict 'says that a script is no text'

# ---- names of files
mkdir "$HOME/a home"
typed ':open p1.py' ':save ~/mine.lua' ':show > ~/mine.py' ':show >> "~/a home/mine.py"' ':open ~/mine.py' ':open ~/mine.lua' ':open "~/a home/mine.py"' \
    'open("~/mine.py")' ':mark x~/y' ':goto x~/y'
[ "$status" = 0 ] && cmp -s "$HOME/mine.py" "$HOME/a home/mine.py" && [ -s "$HOME/mine.lua" ] && [ "$(grep -c '^focus: ' err)" = 4 ]
verdict 'takes ~/ for the home, where the shell does'
home=$HOME HOME="$HOME/a home"
typed ':open ~/mine.py'
[ "$status" = 0 ] && grep -q '^focus: mine v0' err
verdict 'also one with a blank in its name'
HOME=$home
typed ':source p1.py'
[ "$status" = 0 ] && [ "$(cat err)" = 'focus: p1 v0   block B   loops i   16 FLOP' ]
verdict 'announces once what :source opens'
for_it() { has err 'No such file or directory; did you mean p1.py?'; }
typed ':open p1'
for_it && typed 'open("p1")' && for_it && run p1 </dev/null && [ "$status" = 3 ] && for_it && typed ':open p' && ! grep -q 'did you' err
verdict 'names the file that only lacks its suffix'
typed ':open p1.py p2.py'
[ "$status" = 1 ] && has err 'one at a time; a name with blanks in quotes'
verdict 'says that one file is opened at a time'
printf '[[["GetBlock", [], ["B", "main"], ["b0"]]], []]\n' >bare.json
typed 'open("args.lua")'
[ "$status" = 1 ] && has err 'args.lua is a script: :open runs it' && typed ':open bare.json' && has err 'open its program, then :replay bare.json' &&
    typed ':open p1.py' ':replay bare.json' && [ "$status" = 0 ]
verdict 'says how a script and a bare trace are read'

# ---- sizes
cat >open.py <<'P'
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int64()
    rows = T.int64()
    A = T.match_buffer(a, (n, rows), "float32")
    B = T.match_buffer(b, (n, rows), "float32")
    for i, j in T.grid(n, rows):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
P
says_sizes() {
    typed ':open open.py' "$1"
    [ "$status" = 1 ] && ! grep -q checking err &&
        has err 'the sizes n and rows are not given: --shape n=127,rows=127, in Lua shape = {n = 127, rows = 127}'
}
each says_sizes ':check' ':time' ':profile' ':memory B' 'moon.check(focus())' 'moon.time(focus())'
verdict 'says how open sizes are given, by their names'
typed ':open open.py' ':check --shape n=5'
[ "$status" = 1 ] && has err 'the size rows is not given: --shape n=5,rows=127'
verdict 'says it of those that are left, with the others as they were given'
takes_sizes() { typed ':open open.py' ":check --shape $1" && [ "$status" = 0 ] && grep -q ', 15 elements, seed 1' out; }
each takes_sizes 'n=5,rows=3' 'n=5 rows=3' 'n=5, rows=3' 'n=5 --shape rows=3'
verdict 'takes sizes behind commas and blanks'

# ---- indices of tensors
typed 'A = moon.te.placeholder({16, 16}, "float32", "A")' 'moon.te.compute({16}, function(i) return A[i, 0] end)'
[ "$status" = 1 ] && has err 'an element of a te tensor is A(i, j)'
verdict 'says how a tensor is indexed where Lua cannot read the line'

# ---- at a terminal
. "$root/tests/repl/terminal.sh"
open_terminal 'what FILE does at a terminal' sh || exit 0
"$ml" --private -e 's = schedule(workload.matmul(8, 8, 8))' -e 'split("i", {2, 4})' -e ':save s.lua' -e ':save s.json' </dev/null >/dev/null 2>&1
{
    echo '-- mine'
    cat s.lua
    echo
} >own.lua
opens() { # FILE PROMPT FOCUS
    clear_shell && line "'$ml' --private $1" && ends_in "$2" && sees ' · :help for help' && sees "$3" &&
        [ "$(filled | sed -n 2p | cut -c 1-8)" = moonloop ] && keys C-d && ends_in 'sh>'
}
opens p1.py 'p1 v0>' 'focus: p1 v0   block B   loops i' && opens s.json 's v1>' 'focus: s v1' &&
    opens s.lua 'matmul v1>' 'focus: matmul v1'
verdict 'goes on with what it opened'
ends() { # COMMAND LINE: nothing but the prompt of the shell, or that line
    clear_shell && line "$1; echo en''ded" && within eval '[ "$(filled | tail -n 1)" = "sh>" ]' && has_line ended &&
        lacks ':help for help' && { [ -z "${2-}" ] || sees "$2"; }
}
ends "'$ml' own.lua" && ends "'$ml' -b p1.py" && ends "'$ml' p1.py </dev/null" && ends "'$ml' p1.py | cat" &&
    ends "'$ml' -e 1 p1.py" && ends "'$ml' plain.py" 'error[E612]'
verdict 'ends as ever with a script, -b, -e, a pipe, and what cannot be opened'
clear_shell
line "'$ml' --private" && ends_in '>'
pastes p7.py && sees 'B[vi] = A[vi] * 2.0' && keys Enter && ends_in 'main v0>' && sees 'focus: main v0'
verdict 'takes a paste with empty lines whole'
line 'import tvm' && sees 'no program yet' && ends_in 'main v0>' && line '# two words' && ends_in 'main v0>'
verdict 'opens no continuation for an import and a comment'
keys C-d
ends_in 'sh>'

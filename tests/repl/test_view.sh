#!/bin/bash
# The visualiser: scripts of keys without a terminal, what is wrong with a script, and the same at
# terminals that tmux plays: colours or none, vt100, the mouse, sizes, Ctrl-Z, signals; the terminal
# is as it was found after all of them.
. tests/repl/session.sh
export LC_ALL=C.UTF-8
cat >mm.py <<'P'
from tvm.script import tir as T
@T.prim_func
def matmul(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128, 128), "float32"), C: T.Buffer((128, 128), "float32")):
    for i, j, k in T.grid(128, 128, 128):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
P
play() { # SIZE, script on standard input
    "$MOONLOOP" --no-init --private --view --size "$1" --keys - mm.py >out 2>err
}

# ---- the tour
for size in 80x24 120x36 40x10; do
    # of a machine that was not measured: what is known of it takes room
    XDG_CACHE_HOME=$TMPDIR/unmeasured-$size "$MOONLOOP" --no-init --private --view --keys "$root/tests/tui/tour.keys" --size $size >out 2>&1
    verdict "the tour goes well at $size"
    sed 's/^/    |/' out
done

# ---- scripts
play 80x24 <<'K'
# a remark
expect "1 Loops"
key j s
type 4, auto
wait idle
expect "✓ makes j_0[4] j_1[32]"
expect-not "mm v1"
key enter
expect "mm v1"
key u
expect "mm v0"
resize 40x10
expect-not "2 Program"
K
verdict 'a script of keys goes well'
[ ! -s out ] && [ ! -s err ]
verdict 'and says nothing'
play 80x24 <<'K'
key :
type split("i", {auto, 4});
key enter
wait idle
expect "mm v1"
key :
type n = 3
key enter
wait idle
key :
type ::undo
key enter
wait idle
expect "mm v0"
key :
type mark here
key enter
wait idle
expect "«here»"
key :
type for _, l in ipairs { "i", "j" } do split(l, {auto, 4}) end
key enter
wait idle
expect "mm v3"
key :
type local old = moon.cmd("goto", 0)
key enter
wait idle
expect "mm v0"
key :
type goto 2
key enter
wait idle
expect "mm v2"
K
verdict 'behind the colon stand commands, with one of their own too, and Lua'
play 120x26 <<'K'
key A
wait idle
expect "2 Program ─"
expect "A Assembly"
expect "▏8  vf"
key 2 end
expect " 7  "
expect "▏8  v"
key up
expect "▏7         C[vi, vj] = T.float32(0.0)"
expect "▏7  "
expect-not "▏8  v"
key tab end pgup pgup pgup home down down down
expect "A Assembly"
key L
wait idle
expect "L LLVM"
expect "= phi i64"
resize 80x24
wait idle
expect "2 Program LLVM"
expect-not "L LLVM"
key A
expect "assembly in the program's place; from 100x24 on it stands beside it"
wait idle
expect "2 Program assembly"
key A
expect "2 Program ─"
resize 120x26
expect-not "A Assembly"
K
verdict 'code stands beside the program where there is room, tied to its lines'
for size in 80x24 120x36; do
    play $size <<'K'
key A
wait idle
expect " instructions an iteration"
expect "spill"
expect "hottest inner loop"
key 2 end
wait idle
expect "spill"
resize 40x12
wait idle
expect " instructions an iteration"
expect-not "…"
key pgup pgup pgup pgup
expect-not "…"
key home
expect-not "…"
K
    verdict "at $size what code comes to stays above it, and no instruction is cut"
done
play 80x24 <<'K'
key :
type tune --trials 2 --db tuned.db --background
key enter
wait idle
expect "job 1 ended: :adopt"
key down
expect "; :adopt takes it, pane 7 shows it"
key p
expect "parallel"
expect "job 1 ended: :adopt"
key s
expect "job 1 ended: :adopt"
key esc ?
expect "; :adopt takes it, pane 7 shows it"
key esc 7
expect-not ":adopt takes it"
key 1
expect-not ":adopt takes it"
key :
type tune --trials 2 --db tuned.db --seed 2 --background
key enter
wait idle
key down
expect ":adopt takes it"
resize 40x10
expect "job 2 ended: :adopt"
resize 80x24
key :
type adopt --db tuned.db
key enter
expect "tuned-1"
key esc down
expect-not ":adopt takes it"
key :
type check --seed none --background
key enter
wait idle
key down
expect "failed, pane 7 shows it"
K
verdict 'how a tune ended, and that a job failed, is told until it has been seen'
if [ -x "${MOONLOOP%/*}/moonloop-draw" ]; then
    play 80x24 <<'K'
key g
wait idle
expect "└────┬────┘"
expect "│ i [128] │"
expect ":graph loops FILE.svg writes them"
key esc 4 g
expect ":graph deps FILE.svg"
expect "│ C │"
key esc
expect-not "│ C │"
K
    verdict 'g draws a picture of the pane in characters'
fi
play 80x24 <<'K'
expect "no such thing"
key j
expect-not "1 Loops"
key hyper-x
resize 80by24
snapshot Über
frobnicate
click 1
K
[ $? = 1 ] && grep -q '^-:1: the screen does not show no such thing$' err &&
    grep -q '^-:3: the screen shows 1 Loops$' err && grep -q '^-:4: there is no key hyper-x$' err &&
    grep -q '^-:5: resize takes WxH, not 80by24$' err && grep -q '^-:6: snapshot takes a name' err &&
    grep -q '^-:7: frobnicate is none of key' err && grep -q '^-:8: click takes X Y$' err
verdict 'each thing wrong with a script is told with its line, and the status is 1'
printf 'key ?\nsnapshot help\n' >k.keys
"$MOONLOOP" --no-init --view --keys k.keys --update mm.py && [ "$(wc -l <help-80x24.txt)" = 24 ] &&
    "$MOONLOOP" --no-init --view --keys k.keys mm.py
verdict 'a snapshot is written by --update and compared without'
sed -i 's/moving/MOVING/' help-80x24.txt
"$MOONLOOP" --no-init --view --keys k.keys mm.py 2>err
[ $? = 1 ] && grep -q 'differs from help-80x24.txt in row' err
verdict 'a snapshot that differs is told with its row'
"$MOONLOOP" --view --keys nothing.keys 2>err
[ $? != 0 ] && grep -q 'nothing.keys' err
verdict 'a script that is not there is told'
"$MOONLOOP" --keys k.keys 2>err
[ $? = 2 ] && grep -q 'goes with --view' err && "$MOONLOOP" --view --keys k.keys --size 80 2>err
[ $? = 2 ] && grep -q '80x24' err
verdict 'options that do not go together are told'
printf 'key :\ntype print(6 * 7)\nkey enter\nexpect "42"\nkey : backspace\ntype os.execute("echo from outside; echo to two >&2")\nkey enter 7\nexpect "from outside"\nexpect "to two"\n' >k.keys
sed -i 's/^key :$/key : backspace/' k.keys
"$MOONLOOP" --no-init --private --view --keys k.keys mm.py >out 2>&1 && [ ! -s out ]
verdict 'what programs print goes to pane 7 and never to the screen'
mkdir -p "$HOME/.config/moonloop"
echo 'bind_key("loops", "Z", "split")' >"$HOME/.config/moonloop/init.lua"
printf 'key Z\nexpect "split i[128] into"\n' | "$MOONLOOP" --private --view --keys - mm.py
verdict 'the init file binds keys'
echo 'bind_key("loops", "Z")' >"$HOME/.config/moonloop/init.lua"
"$MOONLOOP" --private -e ':set echo' </dev/null 2>&1 | grep -q 'bind_key takes the pane, the key and the request'
verdict 'and hears what is wrong with a binding'
rm "$HOME/.config/moonloop/init.lua"
TERM=dumb "$MOONLOOP" --view mm.py 2>err </dev/null
[ $? != 0 ] && grep -q 'TERM is dumb' err
verdict 'TERM=dumb is refused'
LC_ALL=C "$MOONLOOP" --no-init --private --ascii --view --keys - mm.py <<<'print' | grep -q '^+- 1 Loops -*+- 2 Program -*+$'
verdict 'without Unicode boxes are ASCII'

# ---- terminals
. "$root/tests/repl/terminal.sh"
open_terminal 'the visualiser in a terminal' 'bash --norc --noprofile' || exit 0
line 'stty -a >found.new; mv found.new found' && within test -s found
clear_shell

has_style() { within eval 'styled | grep -q $'"'\\e\\\\[$1'"; }
for term in tmux-256color screen vt100; do
    line "TERM=$term '$MOONLOOP' --no-init --private --view mm.py; echo status \$?"
    sees '1 Loops' && sees '[0] the start' && sees 's·split'
    verdict "$term: the panes show"
    keys j s && text '4,auto' && sees '✓ makes j_0[4] j_1[32]'
    verdict "$term: arguments are checked as they are typed"
    keys Enter && sees 'mm v1' && sees '[1] split'
    verdict "$term: Enter makes the step"
    keys Down && keys Up && keys u && sees 'mm v0'
    verdict "$term: u takes it back"
    case $term in
    vt100) has_style '[0-9;]*7' && ! styled | grep -qE $'\e\\[([0-9;]*;)?[34][0-8](;[0-9;]*)?m' ;;
    tmux-256color) has_style '[0-9;]*38;5;' ;;
    screen) has_style '[0-9;]*3[0-7]' ;;
    esac
    verdict "$term: as many colours as it has"
    keys Q
    has_line 'status 0' && within at_shell && lacks '1 Loops' && lacks 's·split'
    verdict "$term: nothing of the panes stays"
    restored
    verdict "$term: Q leaves the terminal as it was"
done

line "NO_COLOR=1 '$MOONLOOP' --no-init --private --view mm.py"
sees '1 Loops' && sees 's·split' && has_style '[0-9;]*7' && ! styled | grep -q $'\e\\[[0-9;]*38;5;'
verdict 'NO_COLOR: bold, underline and reverse alone'
rests() { # by what the kernel says, twenty times
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        grep -q '^State:.S' "/proc/$(child)/status" || return 1
    done
}
keys 8 z && sees 'A  loads 128 an element' && keys z 3 1 && sees '3 Block i' && within rests
verdict 'pane 8 is counted when the keys rest, and then nothing is at work'
keys Q && clear_shell
echo 'moon.theme{name = "mine", ["border.in"] = "#102030"} moon.set{theme = "mine"}' >theme.lua
line "TERM=tmux-256color COLORTERM=truecolor '$MOONLOOP' --init=theme.lua --private --view mm.py"
sees '1 Loops' && sees 's·split' && has_style '\\([0-9;]*;\\)\\?38;5;23[0-9]\\(;[0-9;]*\\)\\?m'
verdict 'a theme of the init file shows, rounded to what the terminal has'
keys : && text 'set theme mono' && keys Enter && within eval '! styled | grep -q "38;5;"'
verdict ':set theme shows at once'
keys Q && clear_shell
line "NO_COLOR=1 '$MOONLOOP' --no-init --private --view mm.py"
sees '1 Loops' && sees 's·split'
resize 120 36 && sees '6 Performance' && sees '4 Dataflow'
verdict 'a larger window shows six panes'
resize 50 12 && loses '2 Program' && sees '1 Loops'
verdict 'a small one shows one'
resize 20 5 && sees '20x5 is too small' && resize 80 24 && sees '2 Program'
verdict 'one that is too small says so'
keys : && text "${mark}repeat local f = io.open('go') until f" && keys Enter && begun
resize 120 36 && sees '4 Dataflow' && sees 'still at work'
verdict 'a window that grows while a line runs shows six panes at once'
keys C-z && sees 'Stopped' && within at_shell && line 'fg' && sees '4 Dataflow' && sees 'still at work'
verdict 'and is drawn again after Ctrl-Z'
touch go && loses 'still at work' && sees 's·split' && resize 80 24 && sees '2 Program' && loses '4 Dataflow'
verdict 'the line ends, and the panes with it'
text $'\e[<0;8;6M\e[<0;8;6m' && sees '3 Block k'
verdict 'a click selects'
text $'\e[<64;8;6M' && text $'\e[<0;3;24M\e[<0;3;24m' && sees 'split k[128] into'
verdict 'a click on a key of the bottom line presses it'
keys Escape && loses 'split k[128] into'
verdict 'Esc leaves the line'
keys C-c && sees 'q leads back to the prompt'
verdict 'Ctrl-C ends nothing'
within rests
verdict 'it sleeps while nothing is to be done'
suspends() { # ^Z also while it draws
    for _ in 1 2 3 4 5; do
        keys C-c C-z && sees 'Stopped' && within at_shell && restored && line 'fg' && sees '3 Block k' && sees '5 Steps' || return 1
    done
}
suspends
verdict 'Ctrl-Z gives the terminal back, and fg takes it again'
keys q && ends_in 'mm v0>'
verdict 'q returns to the prompt'
line 'split("i", {auto, 4});' && ends_in 'mm v1>' && line ':view' && sees '[1] split'
verdict ':view shows what was typed'
keys u && sees 'mm v0 ' && keys q && ends_in 'mm v0>' && keys C-d && within at_shell && line 'echo status $?' && has_line 'status 0' && restored
verdict 'and the prompt what was done there'

for signal in TERM HUP SEGV; do
    if [ $signal = SEGV ] && [ -n "${ML_SAN-}" ]; then
        echo 'skip the terminal is put back after SIGSEGV: the address sanitizer takes that signal'
        continue
    fi
    line "'$MOONLOOP' --no-init --private --view mm.py & fg; echo; echo ended"
    sees '5 Steps' && kill -$signal "$(child)" &&
        { [ $signal != SEGV ] || sees '(_start+'; } && # the last line of what a crash tells
        has_line ended && loses '5 Steps' && within at_shell && restored
    verdict "the terminal is put back after SIG$signal"
done
line "echo | '$MOONLOOP' --no-init --private --view mm.py | cat"
sees '5 Steps' && keys Q && within at_shell && restored
verdict 'in a pipe it works at the terminal'

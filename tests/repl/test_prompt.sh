#!/bin/bash
# The line while it is typed, in a terminal played by tmux: hints, what a trial says, colours, the
# suggestion from history, completion with reasons, lists of factors, searching, odd sizes and
# terminals.
. tests/repl/session.sh
. "$root/tests/repl/terminal.sh"
open_terminal 'the line while it is typed' sh || exit 0

fresh() { keys C-e C-u C-l && within eval '[ "$(screen | grep -vc "^$")" -le 2 ]'; }
start() { # ENVIRONMENT [OPTIONS [PROMPT]]: the program on a matmul
    clear_shell
    line "$1 '$MOONLOOP' --no-init ${2-} -e 's = schedule(workload.matmul(96, 64, 32))' -i"
    ends_in "${3-matmul v0>}" && { [ -n "${3-}" ] || fresh; } # vi has other keys
}
quit() { keys C-c && ends_in 'matmul v0>' && keys C-d && ends_in 'sh>'; }

start ''
keys -l 'split("'
has_line 'split(loop, factors, ...)  the loop to cut'
verdict 'shows the signature of the call that is typed'
keys -l 'i", {auto, '
sees 'split(loop, factors, ...)  extents of the new loops, outermost first'
verdict 'goes on to the next parameter'
keys -l '50})'
has_line '✓ makes i_0[2] i_1[50], adds a guard i_0 * 50 + i_1 < 96'
verdict 'says what a complete call would do'
keys BSpace BSpace BSpace BSpace && keys -l '})' && has_line '✓ makes i_0[96]'
verdict 'tries again when the line changes'
keys C-e C-u
loses '✗' && ends_in 'matmul v0>'
verdict 'shows nothing below an empty line'
keys -l 'vectorize("k")'
has_line '✗ loop k drives the reduction iter vk of block C  [iter-not-parallel]'
verdict 'says why a call would fail'
keys C-e C-u && keys -l 'split("i", {auto, 16})' && sees '✓' && keys Enter && sees '[1] split  i' && ends_in 'matmul v1>' && lacks '✓' &&
    lacks 'split(loop'
verdict 'leaves nothing of the hint behind when the line runs'
line ':undo'
ends_in 'matmul v0>' && line ':set preview off' && ends_in 'matmul v0>' && fresh && keys -l 'split("j", {auto, 16})' &&
    keys C-a C-f C-f C-f C-f C-f C-f && sees 'split(loop' && lacks '✓'
verdict 'tries nothing when preview is off'
keys C-e C-u && line ':set preview on' && ends_in 'matmul v0>'

# ---- suggestions
fresh
keys -l 'spl'
has_line 'matmul v0> split("i", {auto, 16})' && within cursor_is 14
verdict 'suggests the newest entry that begins like the line'
keys M-f
within cursor_is 16 && keys C-e && within cursor_is 33 && has_line 'matmul v0> split("i", {auto, 16})' && sees '✓'
verdict 'takes a word of it, and all of it'
keys C-e C-u && keys -l 'spl' && within cursor_is 14 && keys Right && within cursor_is 33 && keys C-_ && within cursor_is 14
verdict 'takes it with Right, and undoes that'
keys C-e C-u && keys -l 'spl' && within cursor_is 14 && keys Left && has_line 'matmul v0> spl'
verdict 'suggests nothing in the middle of a line'
fresh
keys -l 'split("q", {auto, 16})' && keys Enter && sees '[no-such-loop]' && ends_in 'matmul v0>' && fresh && keys -l 'spl' &&
    has_line 'matmul v0> split("i", {auto, 16})' && keys Up && within cursor_is 33 && has_line 'matmul v0> split("q", {auto, 16})'
verdict 'suggests no line that failed; Up finds it'
fresh
keys C-r && keys -l 'undo' && has_line '(reverse-i-search)`undo'"'"': :undo' && keys C-g && ends_in 'matmul v0>'
verdict 'searches the history and returns'

# ---- completion
fresh
keys -l 'vectorize("' && keys Tab Tab && sees 'k  ✗ loop k drives the reduction iter vk of block C' && has_line 'j  loop of 64'
verdict 'lists what would be refused with the reason'
fresh
keys -l 'split("k", {' && keys Tab && has_line 'matmul v0> split("k", {auto, 16}' && has_line '✓ makes k_0[2] k_1[16]' && keys Tab &&
    has_line 'matmul v0> split("k", {auto, 8}' && has_line '✓ makes k_0[4] k_1[8]'
verdict 'goes through whole lists of factors with Tab'
keys -l ')' && has_line '✓ makes k_0[4] k_1[8]' && has_line 'matmul v0> split("k", {auto, 8})'
verdict 'takes one of them'
keys C-e C-u && resize 60 8 && fresh
keys -l ':' && keys Tab Tab && sees '--More--' && keys Space && loses 'apropos' && sees '--More--' && keys q && loses '--More--' &&
    within cursor_is 12
verdict 'pages a long list'
keys BSpace && keys -l ':' && keys Tab Tab && sees '--More--' && keys C-c && loses '--More--' && ends_in 'matmul v0>'
verdict 'ends the list with Ctrl-C'

# ---- sizes
fresh
keys -l 'split("i", {auto, 16})' && sees '✓' && resize 24 8 && within eval '[ "$(screen | grep -c "matmul v0>")" = 1 ]' &&
    has_line 'matmul v0> split("i", {a' && has_line 'uto, 16})' && has_line '✓ makes i_0[6] i_1[16]'
verdict 'finds the line again in a narrower window'
resize 60 2
has_line 'matmul v0> split("i", {auto, 16})' && keys C-e C-u && keys -l 'print(11 * 11)' && has_line 'matmul v0> print(11 * 11)' && keys Enter &&
    sees 121 && ends_in 'matmul v0>'
verdict 'works in a window of two rows'
resize 20 10
keys -l 'print("一二三四五六七八九十", 1)' && has_line 'matmul v0> print("一' && has_line '二三四五六七八九十",' && keys Enter &&
    has_line '一二三四五六七八九十' && ends_in 'matmul v0>'
verdict 'wraps wide characters whole'
resize 80 24
keys C-c

# ---- what lines mean
fresh
line 'io.write("no end");'
sees 'no end%' && ends_in 'matmul v0>'
verdict 'keeps output that does not end its line'
fresh
line 'local kept = 40'
line 'print(kept + 2)'
sees 42 && ends_in 'matmul v0>' && fresh && line 'kept + 3;' && ends_in 'matmul v0>' && lacks 43
verdict 'keeps locals, and prints no result before a semicolon'
fresh
line 'fuse?'
sees 'fuse(' && sees 'loop' && { keys q && ends_in 'matmul v0>'; }
verdict 'asks for help behind the name'
keys C-e C-u && line ':set pager off' && fresh && line '?fuse' && sees 'example: fuses two loops' && ends_in 'matmul v0>' && fresh &&
    line '??fuse' && sees 'example: fuses two loops' && ends_in 'matmul v0>'
verdict 'asks for help before the name'
line ':set keys vi' && ends_in 'matmul v0>' && keys -l 'x10 + 8' && within cursor_is 18 && keys Escape && within cursor_is 17 && keys -l '0x' &&
    has_line 'matmul v0> 10 + 8' && keys Enter && sees 18 && ends_in 'matmul v0>' && line ':set keys inputrc' && ends_in 'matmul v0>' && keys -l 'ab' &&
    keys C-a && within cursor_is 11 && keys C-k && ends_in 'matmul v0>'
verdict 'edits with the keys that :set keys says'
line '_PROMPT = "\27[32mmine\27[0m> "'
ends_in 'mine>' && within eval 'styled | grep -q "$(printf "\\033")\\[32mmine"' && line '_PROMPT = nil' && ends_in 'matmul v0>'
verdict 'keeps the colours of a prompt of the user'"'"'s own'
fresh
printf 'for k = 1, 2 do\n\tprint(k)\nend' >paste
pastes paste && sees 'print(k)' && lacks '1 ' && keys Enter && has_line 2 && ends_in 'matmul v0>' && keys Up &&
    within eval '[ "$(screen | grep -c "print(k)")" = 2 ]' && keys C-c && ends_in 'matmul v0>'
verdict 'runs a paste at Enter and recalls it whole'
fresh
keys -l 'fuse("i", "j")' && sees '✓' && keys C-z && ends_in 'sh>' && lacks '✓' && line fg && has_line 'matmul v0> fuse("i", "j")'
verdict 'takes the hint away before it stops, and shows the line again'
quit

# ---- what happens meanwhile
if "$MOONLOOP" --features | grep -q '^llvm=none'; then
    echo 'skip what is announced while a line is typed: no LLVM'
else
    start ''
    line ':tune --trials 1 --background'
    sees 'job 1: tune' && keys -l 'fuse("i", "j")' && has_line 'matmul v0> fuse("i", "j")' && for _ in 1 2 3 4 5 6; do
        sees 'job 1: tune of matmul: 1 of 1 trial' && break
    done
    shows 'job 1: tune of matmul: 1 of 1 trial' && within eval 'screen | grep -v "^$" | tail -n 2 | head -n 1 | grep -qxF "matmul v0> fuse(\"i\", \"j\")"' &&
        [ "$(screen | grep -c 'fuse(')" = 1 ] && keys Enter && sees '[1] fuse' && sees 'takes it, :jobs shows it' &&
        line ':jobs' && ends_in 'matmul v1>' && line ':undo' && ends_in 'matmul v0>'
    verdict 'announces what ended above the line, which stays'
    quit
fi

# ---- colours, other terminals
start ''
keys -l 'fuse("i", "j")' && sees '✓' && within eval 'styled | grep -q "fuse.*;[0-9]*m"'
verdict 'colours the line'
quit
start 'NO_COLOR=1'
keys -l 'fuse("i", "j")' && sees '✓' && ! styled | grep -qE '\[(3[0-8]|9[0-7]|4[0-8])[;m]'
verdict 'uses no colour when that is wanted'
quit
start 'TERM=vt100'
keys -l 'fus' && keys -l 'e("i", "j")' && sees '✓' && has_line 'matmul v0> fuse("i", "j")' && keys Enter && sees '[1] fuse' && ends_in 'matmul v1>' &&
    line ':undo' && ends_in 'matmul v0>'
verdict 'works on an old terminal'
quit
start 'TERM=nonsense'
keys -l 'fuse("i", "j")' && sees '✓' && has_line 'matmul v0> fuse("i", "j")' && keys Enter && sees '[1] fuse' && ends_in 'matmul v1>' &&
    line ':view' && sees 'does not know this terminal (TERM=nonsense)' && line ':undo' && ends_in 'matmul v0>'
verdict 'counts a terminal without an entry as one of the relatives of xterm'
quit
start '' --ascii
keys -l 'fuse("i", "j")' && has_line 'ok: makes i_j_fused[6144]' && ! screen | LC_ALL=C grep -q '[^ -~]'
verdict 'shows nothing outside ASCII'
quit
printf '%s\n' 'set editing-mode vi' 'set show-mode-in-prompt on' >inputrc
start 'INPUTRC=inputrc' '' '(ins)matmul v0>'
keys Escape && keys -l 'ifuse("i", "j")' && has_line '(ins)matmul v0> fuse("i", "j")' && keys Escape && has_line '(cmd)matmul v0> fuse("i", "j")' &&
    keys -l '0x' && has_line '(cmd)matmul v0> use("i", "j")' && keys u && has_line '(cmd)matmul v0> fuse("i", "j")' && keys Enter && sees '[1] fuse'
verdict 'edits in the manner of vi'

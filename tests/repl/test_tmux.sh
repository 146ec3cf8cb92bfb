#!/bin/bash
# The prompt in a terminal of 80 by 24, typed by tmux: the sessions A, B, C of the manual,
# completion, undo, Ctrl-C at work and at the prompt, a paste, history, a resize, Ctrl-Z, the end.
. tests/repl/session.sh
. "$root/tests/repl/terminal.sh"
open_terminal 'the prompt in a terminal' sh || exit 0 # a plain shell: its end and exit status can be seen
fresh() { keys C-l && within eval '[ "$(filled | wc -l)" -le 2 ]'; }

line "'$MOONLOOP'"
sees 'moonloop ' && ends_in '>'
verdict 'starts with a banner and a prompt'

# ---- session A
line 's = schedule(workload.matmul(128, 128, 128))'
sees 'focus: matmul v0   block C   loops i, j, k   4.19 MFLOP' && ends_in 'matmul v0>'
verdict 'focuses the new schedule'
line 'split("j", {auto, 16})'
sees '[1] split  j → j_0[8] j_1[16]' && sees '      3 +     for i, j_0, j_1, k in T.grid(128, 8, 16, 128):' &&
    ends_in 'matmul v1>' && shows '→ j_0, j_1'
verdict 'shows the diff of a step'
fresh
line 'reorder("i", "j_0", "k", "j_1")'
sees 'for i, j_0, k, j_1 in T.grid(128, 8, 128, 16)' && ends_in 'matmul v2>'
verdict 'shows the diff of the next step'
line ':set echo brief'
line 'vectorize("j_1") parallel("i") decompose_reduction("C", "k")'
sees '[5] decompose_reduction' && ends_in 'matmul v5>' && line ':check' && sees 'ok   C equals v0 within 4.6e-05'
verdict 'runs three steps of one line, and the check'
line ':mark tiled'
line ':save mm.lua'
sees 'saved mm.lua: 5 steps, replays to matmul v5' && line '!tail -n 2 mm.lua' && sees 'assert(sch:hash(8) == "'
verdict 'saves a script, and runs the shell'

# ---- completion, undo
fresh
keys -l ':und'
keys Tab
has_line 'matmul v5> :undo'
verdict 'completes a command with Tab'
keys Enter
ends_in 'matmul v2>'
verdict 'undoes the whole line'
line ':redo'
ends_in 'matmul v5>' && keys Up && ends_in 'matmul v5> :redo' && keys Up && ends_in 'matmul v5> :undo'
verdict 'recalls earlier lines'
keys C-c
ends_in 'matmul v5>' && fresh && keys -l 'unroll("j_' && keys Tab Tab && sees 'loop of 16, vectorized' && sees 'loop of 8'
verdict 'lists the loops of a parameter with an explanation each'
keys -l '0'
keys Tab
has_line 'matmul v5> unroll("j_0"' && keys ')' Enter && sees '[6] unroll  j_0'
verdict 'completes a loop and closes the string'
line ':goto ti'
sees 'error' || true
keys -l ':goto ti'
keys Tab Enter
ends_in 'matmul v5>'
verdict 'completes a mark'

# ---- Ctrl-C
fresh
keys -l 'this is not run'
ends_in 'matmul v5> this is not run'
keys C-c
sees 'matmul v5> this is not run^C' && ends_in 'matmul v5>' && ! shows error
verdict 'clears the line with Ctrl-C'
line 'for k = 1, 3 do'
sees 'for k = 1, 3 do' && keys C-c
line 'print(900 + 9)'
sees 909 && ends_in 'matmul v5>'
verdict 'drops an unfinished entry with Ctrl-C'
fresh
# Each says when it is at work: a Ctrl-C before that drops the line. What catches the error of one says that
# it did: the next is another then, not the same once more.
back() { last_line_is 'matmul v5>'; }
caught_or_back() { test -e begun || back; }
pressed() { rm -f begun && keys C-c && within caught_or_back && back; }
stubborn="while true do pcall(function() while true do end end) $mark end"
line 'print(70 + 7) while true do end'
has_line 77 && keys C-c && sees 'interrupted' && ends_in 'matmul v5>' && ! shows '^Cerror' && line 'print(s:version() + 1000)' && sees 1005
verdict 'returns from an endless loop with Ctrl-C, the session intact'
fresh
line "print(80 + 8) $stubborn"
has_line 88 && within pressed
verdict 'returns from an endless loop that catches errors with a second Ctrl-C'
sees 'error: interrupted' && sees '[interrupted]' && ! shows '^Cerror'
verdict 'says so on a line of its own'
fresh
line "print(90 + 9) coroutine.wrap(function() $stubborn end)()"
has_line 99 && within pressed
verdict 'the same in a coroutine'
line ':check'
sees 'ok   C equals v0' && ends_in 'matmul v5>'
verdict 'works on after an interruption'

# ---- :record of what is done in the panes
fresh
line ':view'
sees '1 Loops' && keys -l 'U' && sees 'lua  unroll("i")' && keys s && sees 'split i' && keys -l 'auto, 4' && keys Enter &&
    sees 'lua  split("i", {auto, 4})' && keys u && sees ' :undo' && keys -l q && within eval '! shows "1 Loops"' &&
    line ':record panes.transcript stop' && sees 'wrote panes.transcript' &&
    grep -A 6 '^matmul v5> -- in the panes: :view$' panes.transcript | grep -v … | cut -c 12- | paste -s -d+ |
    grep -qx -- '-- in the panes: :view+unroll("i")+split("i", {auto, 4})+:undo' && line ':goto v5' && ends_in 'matmul v5>'
verdict 'records what was done in the panes as lines'
timeout "$limit" "$MOONLOOP" --transcript panes.transcript >replayed 2>&1
[ $? = 0 ] || { cat replayed && false; }
verdict 'and the record of a session with panes and Ctrl-C replays'

# ---- pastes, long lines, a resize
fresh
printf 'function twice(x)\n  return 2 * x\nend\nprint(twice(21))' >paste
pastes paste
sees 'print(twice(21))' && ! shows 42
verdict 'does not run a paste before Enter'
keys Enter
sees 42 && ends_in 'matmul v5>'
verdict 'runs a paste of several lines'
keys Up
within eval '[ "$(screen | grep -c "^             return 2 \\* x$")" = 2 ]'
verdict 'recalls an entry of several lines with each line under the first'
sees 'return 2 * x' && keys Enter && within eval '[ "$(screen | grep -c "^42$")" = 2 ]'
verdict 'recalls an entry of several lines whole'
fresh
printf '%s\n' '@T.prim_func' 'def twice(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):' \
    '    for i in T.serial(8):' '        with T.block("Y"):' '            vi = T.axis.spatial(8, i)' \
    '            Y[vi] = X[vi] * T.float32(2)' | head -c -1 >paste
pastes paste
sees 'X[vi] * T.float32(2)' && keys Enter && sees 'focus: twice v0   block Y   loops i' && ends_in 'twice v0>'
verdict 'opens a pasted program'
keys -l ':focus matmul'
keys Enter
ends_in 'matmul v5>' && fresh
resize 60 20
line 'print(("="):rep(10))'
sees '==========' && ends_in 'matmul v5>'
verdict 'goes on after a resize'
keys -l 'print("a line that is longer than the sixty columns of the window now", 1 + 1)'
keys Enter
sees 'a line that is longer than the sixty columns of the window n' && ends_in 'matmul v5>'
verdict 'edits a line longer than the window'
resize 80 24

# ---- session B
line ':set echo diff'
line 's = schedule(workload.matmul(1024, 1024, 1024))'
ends_in 'matmul v0>' && fresh && line 'split("i", {10, 100})' && sees 'factors 10 × 100 = 1000 do not cover loop i, extent 1024' &&
    sees '^ loop i' && sees 'split("i", {16, 64})          exact' && ends_in 'matmul v0>'
verdict 'explains factors that are too small'
fresh
line 'split("i", {64, nil})'
sees 'in Lua {64, nil} is {64}' && sees 'split("i", {64, auto})        64 × 16, exact'
verdict 'explains nil in a list'
fresh
line 'parallel("k")'
sees 'loop k drives the reduction iter vk of block C' && sees '^^ reduction iter, bound to k' && sees 'try    parallel("i")'
verdict 'explains a reduction loop'
fresh
line 'l = loops("C")'
line 'split(l[2], {auto, 16});'
ends_in 'matmul v1>' && line 'split(l[2], {auto, 4})' && sees 'loop j ended at step 1' && sees 'now    j_0 (64), j_1 (16)'
verdict 'explains an expired handle'
line "spilt(\"i\", {auto, 8})"
sees "did you mean split?" && ends_in 'matmul v1>'
verdict 'offers the name that was meant'

# ---- session C: versions, the culprit
line ':set echo brief'
line 's = schedule(workload.matmul(64, 64, 64))'
line 'split("j", {auto, 16}) reorder("i", "j_0", "k", "j_1")'
ends_in 'matmul v2>' && line 'vectorize("j_1") parallel("i") decompose_reduction("C", "k")' && ends_in 'matmul v5>' &&
    line ':mark tiled' && line 'cache_read("C_update", "B", "global")' && ends_in 'matmul v6>' && fresh &&
    line 'unsafe_set_dtype("B_global", 0, "float16")' && sees '[7] unsafe_set_dtype  B_global float32 → float16' &&
    sees 'note: this primitive may change results' && line ':check' && sees 'FAIL C' && ends_in 'matmul v7>'
verdict 'says what may change results, and checks it'
fresh
line ':bisect'
sees 'v3 ok   v5 ok   v6 ok   v7 FAIL' && sees 'first failing step: [7] unsafe_set_dtype("B_global", 0, "float16")'
verdict 'finds the step'
line ':undo'
ends_in 'matmul v6>' && line ':versions' && sees '○ v5 decompose_reduction «tiled»' && sees '● v6 cache_read ◀' && sees '○ v7 unsafe_set_dtype FAIL'
verdict 'draws the versions'
line ':diff tiled --tree'
sees '+       B_global          reads B, writes B_global' && sees '~           C_update          reads C, A, B → B_global'
verdict 'compares trees'
line ':goto tiled'
ends_in 'matmul v5>' && fresh && line ':edit 1 split("j", {auto, 32})' &&
    sees 'branch edited-1: v8 split ─ v9 reorder ─ v10 vectorize ─ v11 parallel ─ v12' && ends_in 'matmul:edited-1 v12>'
verdict 'edits a step and repeats the later ones on another branch'
line 's = schedule(workload.matmul(1024, 1024, 1024))'
line 'split("j", {auto, 16});'
ends_in 'matmul v1>'
verdict 'begins anew'

# ---- the pager, Ctrl-Z, the end
fresh
line ':help'
ends_in 'Space more, b back, /TEXT searches, q quits' && keys q && ends_in 'matmul v1>'
verdict 'pages long text and returns'
fresh
keys C-z
ends_in 'sh>' && line 'stty -a | tr " " "\n" | grep -x -e "-\?echo" -e "-\?icanon"' && sees icanon && ! shows -icanon &&
    shows echo && ! shows -echo
verdict 'restores the terminal when stopped with Ctrl-Z'
line fg
ends_in 'matmul v1>' && line 'print(800 + 8)' && sees 808
verdict 'goes on in the foreground'
keys C-d
ends_in 'sh>' && line 'echo status $?' && sees 'status 0'
verdict 'ends with Ctrl-D'
line 'stty -a | tr " " "\n" | grep -x -e "-\?echo" -e "-\?icanon" | paste -s -d+'
within eval 'screen | grep -qx "icanon+echo\|echo+icanon"'
verdict 'leaves the terminal as it was'
history=$HOME/.local/state/moonloop/history
[ "$(stat -c %a "$history")" = 600 ] && grep -qx 'parallel("k")' "$history" &&
    grep -qF 'function twice(x)\n  return 2 * x\nend\nprint(twice(21))' "$history" && ! grep -q 'not run' "$history"
verdict 'keeps the history in a file of its own'

# ---- Ctrl-Z at work
clear_shell
line "'$MOONLOOP' --no-init -i -e 's = schedule(workload.matmul(64, 64, 64))'"
ends_in 'matmul v0>' && line "$mark"'while true do end'
begun && keys C-z && within last_line_is 'sh>' && line fg && within shows moonloop && keys C-c && sees 'interrupted' &&
    ends_in 'matmul v0>' && line ':quit' && within last_line_is 'sh>'
verdict 'is stopped by Ctrl-Z while a line runs'
clear_shell
shell=$t
t=$(tm new-session -d -P -F '#{pane_id}' -x 80 -y 24 "'$MOONLOOP' --no-init --private")
sees 'help' && line "$mark"'while true do end' && begun && keys C-z && sees 'no shell stands behind this program' && keys C-c && sees '[interrupted]'
verdict 'says why Ctrl-Z cannot stop it'
tm kill-pane -t "$t"
t=$shell

# ---- narrow terminals
clear_shell
resize 20 24
line "'$MOONLOOP' --no-init -e 's = schedule(workload.matmul(64, 64, 64))' -i"
ends_in 'matmul v0>' && line ':set pager off' && fresh && line ':block C' && sees '  iter    vi:' &&
    sees '          spatial' && sees '  writes  C[vi, vj]' && ends_in 'matmul v0>'
verdict 'folds lines between words in 20 columns'
fresh
line ':set pager on'
line ':help'
ends_in 'Space more, q ends' && keys G && ends_in 'the end, q ends' && keys q && ends_in 'matmul v0>'
verdict 'says in 20 columns that the pager is open, and its keys'
line ':set pager off'
fresh
line ':tree'
sees '        C   reads A,' && sees '        B, writes C' && sees '      k 64' && ends_in 'matmul v0>'
verdict 'shows the tree in 20 columns'
line ':quit'
ends_in 'sh>'
resize 80 24

# ---- what ended in the background
tuned='tune of matmul ended, best [0-9.]* GFLOP/s; :adopt takes it, :jobs shows it'
clear_shell
line "'$MOONLOOP' --no-init -e 's = schedule(workload.matmul(64, 64, 64))' -i"
ends_in 'matmul v0>' && line ':tune --trials 2 --db tuned.db --background' && within matches "^$tuned$" && fresh &&
    line 'x = 1' && within matches "^$tuned$" && line ':jobs' && sees ' 1  done' && ends_in 'matmul v0>' && line ':quit' &&
    ends_in 'sh>'
verdict 'tells below an empty line how a tune ended until it has been seen'
clear_shell
line "TERM=dumb '$MOONLOOP' --no-init -e 's = schedule(workload.matmul(64, 64, 64))' -i"
ends_in 'matmul v0>' && line ':tune --trials 2 --db tuned.db --seed 2 --background' && sees ':adopt' && matches '^job 1: tune of matmul: ' && ends_in 'matmul v0>' &&
    line 'print(6 * 7)' && within matches "^$tuned$" && line ':adopt --db tuned.db' && sees 'branch tuned-1' &&
    within matches '^matmul:tuned-1 v[0-9]*>' && line ':quit' && ends_in 'sh>'
verdict 'and above it where no row is below'

# ---- other terminals and homes
clear_shell
line "TERM=dumb '$MOONLOOP' --no-init"
ends_in '>' && line 'print(6 * 7)' && sees 42 && keys C-c && line 'print(6 * 8)' && sees 48 && keys C-d &&
    ends_in 'sh>'
verdict 'reads plain lines on a dumb terminal'
clear_shell
line "HOME=/proc/nowhere '$MOONLOOP'"
sees 'no history is kept' && ends_in '>' && line 'print(6 * 7)' && sees 42 && line ':quit' && ends_in 'sh>'
verdict 'warns once of a home that cannot be written'
clear_shell
line "LC_ALL=C '$MOONLOOP' -e 's = schedule(workload.matmul(64, 64, 64))' -i"
ends_in 'matmul v0>' && line 'split("j", {auto, 16})' && sees 'split  j -> j_0[4] j_1[16]' && line ':quit' &&
    ends_in 'sh>'
verdict 'prints nothing outside ASCII in the C locale'
clear_shell
line "LC_ALL=C MOONLOOP_PAGER=cat '$MOONLOOP' -e 's = schedule(workload(\"C2D-2\")); s:compute_inline(\"Xp\")' -i"
ends_in 'C2D-2 v1>' && line ':set pager on' && fresh && line ':diff' && sees '      ... 1 line' && ! screen | LC_ALL=C grep -q '[^ -~]' &&
    shows '        -                 vw + vt, vc] * W[vr, vt, vc, vo]' && shows '      8 +             Y[vn, vh, vw, vo] = Y[vn, vh, vw, vo] \' &&
    line ':quit' && ends_in 'sh>'
verdict 'folds a long line of a diff behind its gutter, also for a pager without Unicode'
clear_shell
line "'$MOONLOOP' --private"
ends_in '>' && line 'x = 1 -- private' && keys C-d && ends_in 'sh>' && ! grep -q private "$history"
verdict 'keeps nothing of a private session'
clear_shell
line "'$MOONLOOP' --private"
ends_in '>' && line 's = schedule(workload.matmul(64, 64, 64))' && ends_in 'matmul v0>' && line 'split("j", {auto, 16})' &&
    ends_in 'matmul v1>' && line ':quit' && sees '1 step of matmul is not saved, and --private keeps nothing' && ends_in 'matmul v1>' &&
    line 'print(6 * 7)' && sees 42 && fresh && keys C-d && sees 'once more leaves' && ends_in 'matmul v1>' && keys C-d && ends_in 'sh>'
verdict 'asks once before steps of a private session are lost'
clear_shell
line "'$MOONLOOP'"
ends_in '>' && line 's = schedule(workload.matmul(64, 64, 64))' && ends_in 'matmul v0>' && line 'split("j", {auto, 16})' &&
    ends_in 'matmul v1>' && keys C-d && sees '1 step of matmul is not saved; :recover brings it back' && ends_in 'sh>'
verdict 'says on leaving that steps can be brought back'
printf '%s\n' '$if moonloop' '"\C-t": "print(6 * 9)"' '$endif' >inputrc
clear_shell
line "INPUTRC=inputrc EDITOR='sed -i s/9/7/' '$MOONLOOP'"
ends_in '>' && keys C-t && ends_in '> print(6 * 9)' && keys C-x C-e &&
    ends_in '> print(6 * 7)' && keys Enter && sees 42 && line ':quit' && ends_in 'sh>'
verdict 'takes keys from inputrc, and lines from the editor'
clear_shell
line "'$MOONLOOP'"
ends_in '>' && keys Up && ends_in '> :quit'
verdict 'shares the history with the next session'
keys C-c
kill -TERM "$(child)" && sees Terminated && within at_shell
line 'stty -a | tr " " "\n" | grep -x -e "-\?echo" -e "-\?icanon" | paste -s -d+'
within eval 'screen | grep -v "^$" | tail -n 4 | grep -qx "icanon+echo\|echo+icanon"'
verdict 'restores the terminal when it is ended'

# ---- the terminal disappears
line "'$MOONLOOP'"
ends_in '>' && pid=$(child) && tm kill-server && within eval '! kill -0 $pid 2>/dev/null'
if [ $? = 0 ]; then echo 'ok ends when the terminal disappears'; else echo 'not ok ends when the terminal disappears'; fi

#!/bin/bash
# Ctrl-C where something looks for it nowhere: the second says what the third does, the third ends the
# program with 130, and :recover brings the session back. Elsewhere no number of them ends it.
. tests/repl/session.sh
. "$root/tests/repl/terminal.sh"
open_terminal 'Ctrl-C in a terminal' sh || exit 0
hours='("x"):rep(10000000):find(".-.-.-y")'
finalizer='setmetatable({}, {__gc = function() while true do end end}) collectgarbage()'

start() { # a session with one step
    clear_shell
    line "'$MOONLOOP' --no-init -i $* -e 's = schedule(workload.matmul(64, 64, 64))'"
    ends_in 'matmul v0>' && line 'split("j", {auto, 16})' && ends_in 'matmul v1>' && keys C-l
}
goes_on() { line 'print(800 + 8)' && has_line 808 && ends_in "${1-matmul v1>}"; }
# A Ctrl-C is a fact once the terminal has shown it and the program has taken the signal: bit 2 of what
# is pending is off. One that is answered with text is a fact once that is seen: it may not be shown.
taken() { ! grep -q '^ShdPnd:.*[2367abef]$' "/proc/$(child)/status" 2>/dev/null; }
carets() { screen | grep -o '\^C' | wc -l; }
more_carets() { [ "$(carets)" -gt "$1" ]; }
press() {
    local n
    n=$(carets)
    keys C-c && within more_carets "$n" && within taken
}
hangs() { line "$mark$1" && begun; }
warnings() { screen | grep -c 'Once more within'; }
second() { press && keys C-c && sees 'Once more within three seconds'; }
third() { # on a slow machine one that comes too late is another second one
    local n
    n=$(warnings)
    keys C-c && within eval 'at_shell || [ "$(warnings)" -gt "$n" ]' && { at_shell || third; }
}
ended() { # with 130, the terminal as it was, and the session comes back
    within at_shell && line 'echo status $?' && has_line 'status 130' && restored
}
comes_back() {
    line "'$MOONLOOP' --no-init" && sees ':recover' && line ':recover' && sees 'brought back 1 step of matmul' &&
        ends_in 'matmul v1>' && line ':quit' && line ':quit' && within at_shell && rm -r "$HOME/.local/state/moonloop/sessions"
}

# ---- what hangs
line 'stty -a >found' && clear_shell
start
hangs "print($hours)" && second && sees 'ends moonloop; the session is autosaved, and :recover brings it back.' && ! at_shell
verdict 'says at the second Ctrl-C what the third does'
third && sees 'moonloop: ended by Ctrl-C.' && sees 'The session is saved in'
verdict 'ends with the third, and names the autosave'
ended
verdict 'with status 130, and the terminal as it was'
comes_back
verdict 'and :recover brings the session back'

for where in "$finalizer" "coroutine.wrap(function() return $hours end)()" "while true do pcall(function() $hours end) end"; do
    start
    hangs "$where" && second && third && ended && comes_back
    verdict "ends ${where%%(*} with the third"
done

start
hangs "print($hours)" && second && since=$SECONDS && within eval '[ $SECONDS -gt $((since + 4)) ]' && keys C-c &&
    within eval '[ "$(warnings)" = 2 ]' && third && ended && comes_back
verdict 'counts one that comes later than three seconds as another second one'

# ---- in the panes
start
line ':view'
sees '1 Loops' && for _ in 1 2 3 4 5; do keys C-c; done && shows '1 Loops' && keys : && text "$mark$finalizer" && keys Enter && begun &&
    kill -INT "$(child)" && within taken && keys C-c && sees 'Ctrl-C again ends; :recover brings back' && keys C-c && ended && comes_back
verdict 'ends in the panes with the third, where idle ones count for nothing'

# ---- where nothing was typed yet, or nothing is kept
clear_shell
echo "$mark$finalizer" >hang.lua
line "'$MOONLOOP' --no-init hang.lua"
begun && second && sees 'nothing of this session is autosaved' && third && sees 'moonloop: ended by Ctrl-C.' && ended
verdict 'ends a script with the third'
clear_shell
line "'$MOONLOOP' --no-init -i hang.lua"
begun && second && sees 'nothing of this session is autosaved' && third && ended
verdict 'and one that a prompt was to follow'
start --private
hangs "$finalizer" && second && sees 'nothing of this session is autosaved' && third && ended
verdict 'says under --private that nothing is kept'
clear_shell
echo "$mark$hours" >hang.lua
line "'$MOONLOOP' --no-init --batch hang.lua"
begun && keys C-c && ended
verdict 'ends in batch mode with the first'

# ---- what the terminal shows of those that come while the report is written
# The report goes to a second terminal, whose output Ctrl-S has stopped: cat has read what was typed behind it.
heard=$PWD/heard
echoes() { case " $(stty -F "$tty" -a) " in *" -echo "*) false ;; esac; }
silent() { ! echoes; }
waits() { grep '^voluntary' "/proc/$(child)/status"; } # how often the program has begun to wait
waits_anew() { [ -z "$since" ] || [ "$(waits)" != "$since" ]; } # some kernels do not count
clear_shell
read -r report report_tty < <(tm new-session -d -P -F '#{pane_id} #{pane_tty}' -x 80 -y 24 "exec cat >'$heard'")
line "'$MOONLOOP' --no-init -i 2>$report_tty"
ends_in '>' && tm send-keys -t "$report" C-s x Enter && within test -s "$heard" && hangs 'while true do end' && keys C-c && within silent &&
    since=$(waits) && keys C-b C-c && within waits_anew && tm send-keys -t "$report" C-q && ends_in '>' && line 'print(800 + 8)' &&
    has_line 808 && [ "$(carets)" -le 1 ] && lacks '^B' &&
    tm capture-pane -p -t "$report" | grep -qx 'error: interrupted  *\[interrupted\]' && line ':quit' && within at_shell && restored
verdict 'shows no key while it says that a line was interrupted'
tm kill-pane -t "$report"

# ---- where no number of them ends it
start
for _ in 1 2 3 4 5 6; do press; done
ends_in 'matmul v1>' && goes_on
verdict 'goes on after any number of Ctrl-C at an idle prompt'
keys C-l
line ':set pager on'
line ':help'
ends_in 'Space more, b back, /TEXT searches, q quits' && for _ in 1 2 3 4; do keys C-c; done && keys q && ends_in 'matmul v1>' && goes_on
verdict 'in a pager'
line ':set pager off'
keys C-l
line '!touch begun; exec sleep 100'
begun && keys C-c && ends_in 'matmul v1>' && has_line 'error: interrupted                                                 [interrupted]' && goes_on
verdict 'ends a child with the first'
keys C-l
line ':show | sh -c "touch begun; exec sleep 100"'
begun && keys C-c && ends_in 'matmul v1>' && has_line 'error: interrupted                                                 [interrupted]' && goes_on
verdict 'and one that a command writes to with the first'
# What takes no notice of it goes on until it is told to end.
stubborn='trap "" INT; touch begun; until test -e go; do sleep 0.02; done; rm go'
keys C-l
line "!$stubborn"
begun && press && press && press && press && touch go && ends_in 'matmul v1>' && goes_on
verdict 'waits for a child that takes no notice'
keys C-l
line "print(moon.cmd('shell', '$stubborn').ok)"
begun && press && press && press && press && touch go && sees 'true' && ends_in 'matmul v1>' && goes_on
verdict 'for one whose output Lua asked for'
keys C-l
line ":versions | $stubborn"
begun && press && press && press && press && touch go && ends_in 'matmul v1>' && goes_on
verdict 'and for one that a command writes to'
keys C-l
line 's = schedule(workload.matmul(1024, 1024, 1024))' && line ':time --runs 4096'
within eval 'pgrep -P "$(child)" >/dev/null' && keys C-c && sees interrupted && ends_in 'matmul v0>' && goes_on 'matmul v0>'
verdict 'ends the work of a worker with the first'
line ':quit' && line ':quit' && within at_shell

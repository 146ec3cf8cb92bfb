#!/bin/bash
# Boards of searches in a terminal: pane 7 of the visualiser while one runs in the background, :tune --all
# below its line, and names that hold escape sequences. Source: interaction 10, 11.
. tests/repl/session.sh
export XDG_DATA_HOME=$TMPDIR/data MOONLOOP_THREADS=1
mm='s = schedule(workload.matmul(128, 128, 128))'
typed 's = schedule(workload.matmul(8, 8, 8))' ':tune --trials 1 --db one.db'
if grep -q 'no-target' err; then
    echo 'skip tuning: libLLVM 19 is not there'
    exit 0
fi
records() { timeout "$limit" "$ml" -b -e ":db $1" | sed -n 's/.* \([0-9]*\) records\{0,1\} (.*/\1/p'; }

. "$root/tests/repl/terminal.sh"
open_terminal 'boards in a terminal' sh || exit 0

# ---- pane 7
line "'$ml' --no-init"
within matches '^>' && line "$mm" && within matches '^matmul v0>' && line ':tune --background --trials 4000 --with evolve --db pane.db' &&
    sees 'job 1: tune' && line ':view' && sees '1 Loops' && keys 7 z && within matches 'tune matmul .* [0-9]*/4000 trials' &&
    within matches 'best [0-9.]* GFLOP/s .*record ' && within matches ' *2 .* instead of \| with' && sees 'p·pause s·stop a·adopt'
verdict 'pane 7 shows the board of a search in the background'
keys p && sees 'job 1 is paused' && within matches ' paused' && sees 'p·go on'
verdict 'p pauses it'
stands() { local n; n=$(records pane.db) && sleep 1 && [ "$n" = "$(records pane.db)" ]; }
within stands
verdict 'what is paused measures nothing'
keys f && sees 'candidate' && keys Escape && loses 'what a code means' && keys c && sees 'predicted against measured' && keys Escape &&
    loses 'predicted against measured'
verdict 'its keys open pages'
chosen() { screen | grep -q '^│ *2 .*◀│$' || { keys Down && false; }; }
within chosen && keys Enter && sees '== trace, against rank 1' && keys Escape && loses '== trace' && keys d && sees '== program, against rank 1' &&
    keys Escape && loses '== program'
verdict 'Enter tells what is known of a record, d how its program differs'
keys a && sees ':adopt ' && sees 'matmul:tuned-1' && keys p && sees 'job 1 goes on' && within matches ' eta '
verdict 'a makes a branch while it is at work, p goes on'
resize 120 36 && sees '7 Jobs' && resize 40 12 && sees '7 Jobs' && resize 20 10 && sees 'too small' && resize 80 24 && within matches 'best [0-9.]* GFLOP/s'
verdict 'follows the size of its window'
keys C-c && sees 'job 1: tune of matmul stopped: ' && within matches ' ended' && keys 1 && keys s && sees '] into:' && keys Escape && loses '] into:'
verdict 'Ctrl-C stops it, and keys of other panes are what they were'
keys q && within matches '^matmul:tuned-1 v[0-9]*>' && line ':jobs' && within matches '^  1  stopped ' &&
    [ "$(records pane.db)" -ge 2 ]
verdict 'all that was measured is kept'

# ---- :tune --all
line ':tune --all --trials 3000 --db all.db {workload.matmul(64, 64, 64), {workload = workload.matmul(96, 64, 64), weight = 5, name = "heavy"}, workload.matmul(32, 96, 64)}' &&
    within matches '^tune 3 tasks .*/3000 trials' && within matches '^sum of weighted times [0-9.]* .s$' &&
    within matches '^  task  *weight  trials  GFLOP/s  of roof  gain ms  hope ms$' && within matches '^▶ ' &&
    within matches 'is expected to' && matches '^p pause  s stop'
verdict ':tune --all shows its tasks, whose turn it is and why'
keys p && sees 'p go on' && matches ' paused' && keys Home Down k && sees 'heavy is skipped' && within matches '^\(-\|▶\) heavy' && keys Up + &&
    sees 'counts ×2 from now on' && keys Enter && sees '== matmul' && within matches '^counted  *×2$' && keys Escape && keys '?' &&
    sees 'it gets no further batch' && keys Escape && loses 'it gets no further batch'
verdict 'its keys pause, skip a task, shift the budget and tell of one'
resize 20 12 && within matches '^tune 3 tasks' && resize 120 36 && sees 'p go on  s stop  ↑ ↓ choose' && resize 80 24 && keys p && sees 'p pause'
verdict 'and follows the size of its window'
keys C-c
within matches '^stopped after [0-9]* of 3000 trials' && within matches '^ *1  heavy ' && within matches '^matmul:tuned-1 v[0-9]*> *$'
verdict 'Ctrl-C gives the prompt and the table'

# ---- names from anywhere
clear_screen() { keys C-l && within eval '[ "$(filled | wc -l)" -le 2 ]'; }
clear_screen
line 's = schedule(workload.matmul(8, 8, 8), {name = "odd\27[2J\27]0;title\7\27[5;5H\155name"})'
sees 'focus: odd^[[2J^[]0;title^G^[[5;5H<9b>name v0'
verdict 'escape sequences of a name are shown, not obeyed'
line 'print("a\27[7A\rb")' && within line_is 'a^[[7A^Mb' && line 'error("no\27[2Jluck")' && within matches 'no.*2Jluck'
verdict 'nor are those that Lua prints'
line ':tune --trials 2 --db odd.db' && within matches '^2 of 2 trials' && within matches ' v0> *$' && clear_screen && line ':db odd.db' && within matches '^  odd^\[\[2J'
verdict 'nor those of a database'
[ "$(tm display-message -p -t "$t" '#{pane_title}')" != title ]
verdict 'the title of the window is what it was'

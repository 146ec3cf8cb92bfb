# A terminal of 80 by 24 that tmux plays, with a shell in it. Sourced behind session.sh:
#   . "$root/tests/repl/terminal.sh"
#   open_terminal 'what is not tested without' sh || exit 0
# $t is its pane for `tm`, $tty its device, $pane its shell. (A name is no target: the pane of a second
# session may be found by it, while its window is called after the program that it begins with.)
# Keys go there at once, what they do is seen later: a step waits for what it wants to see, never for
# a time. What was typed is on the screen too, so what is waited for must not stand in it.
tm() { tmux -L ml -f /dev/null "$@"; }

open_terminal() { # WHAT SHELL...
    if ! command -v tmux >/dev/null; then
        echo "skip $1: no tmux"
        return 1
    fi
    # a server of its own; the name of a socket is short
    TMUX_TMPDIR=$TMPDIR
    [ ${#TMPDIR} -lt 70 ] || TMUX_TMPDIR=$(mktemp -d /tmp/ml-tmux.XXXXXX) || exit 1
    export TMUX_TMPDIR
    trap close_terminal EXIT
    if ! tm set -g default-terminal tmux-256color \; set -g history-limit 0 \; \
        new-session -d -P -F '#{pane_id} #{pane_tty} #{pane_pid}' -x 80 -y 24 \
        "env -u TMUX -u TMUX_PANE PS1='sh> ' LC_ALL=C.UTF-8 ${*:2}" >"$TMPDIR/opened" 2>"$TMPDIR/why"; then
        echo "skip $1: tmux opens none: $(head -n 1 "$TMPDIR/why")"
        return 1
    fi
    read -r t tty pane <"$TMPDIR/opened"
    why() { screen; }
    within at_shell
}
close_terminal() {
    tm kill-server 2>/dev/null
    [ "$TMUX_TMPDIR" = "$TMPDIR" ] || rm -rf "$TMUX_TMPDIR"
}

# ---- the screen
screen() { tm capture-pane -p -t "$t"; }
styled() { tm capture-pane -pe -t "$t"; }
filled() { screen | grep -v '^$'; }
shows() { screen | grep -qF -e "$1"; }
lacks() { ! shows "$1"; }
matches() { screen | grep -q -e "$1"; }
line_is() { screen | grep -qxF -e "$1"; }
last_line_is() { [ "$(filled | tail -n 1)" = "$1" ]; }
at_shell() { last_line_is 'sh>'; }
cursor_is() { [ "$(tm display-message -p -t "$t" '#{cursor_x}')" = "$1" ]; }
sees() { within shows "$1"; }
loses() { within lacks "$1"; }
has_line() { within line_is "$1"; }
ends_in() { within last_line_is "$1"; }

# ---- keys
changed() { [ "$(screen)" != "$before" ]; }
keys() { tm send-keys -t "$t" "$@"; }
text() { case $1 in *\;) keys -l -- "${1%;}\;" ;; *) keys -l -- "$1" ;; esac; } # a last ; is tmux's own
line() { # TEXT: and Enter; some of it is on the screen then, so that what stood there does not answer
    local before
    before=$(screen)
    text "$1" && keys Enter && within changed
}
# What hangs says first that it has begun: a Ctrl-C that comes sooner takes back the line that is typed.
mark='io.open("begun", "w"):close(); '
begun() { within test -e begun && rm begun; }
clear_shell() {
    within at_shell && { [ "$(filled)" = 'sh>' ] || line clear; } && within eval '[ "$(filled)" = "sh>" ]'
}
restored() { # the terminal is as this shell found it
    line 'stty -a | diff found - && echo as" "found' && has_line 'as found' && clear_shell
}
pastes() { tm load-buffer "$1" && tm paste-buffer -p -t "$t"; } # FILE

# ---- the window, and who is in it
size_is() { [ "$(stty -F "$tty" size)" = "$1" ]; }
resize() { tm resize-window -t "$t" -x "$1" -y "$2" && within size_is "$2 $1"; } # tmux takes its time
child() { pgrep -P "$pane" | tail -n 1; }

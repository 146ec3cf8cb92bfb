# What the tests of the program share. A test sources it first, in the root of the tree:
#   . tests/repl/session.sh
# It then stands in an empty folder with a home of its own, and the user's environment says nothing
# of colours, widths or places. $root is the tree, $ml the program, $status what it ended with.
set -u
[ -x "${MOONLOOP-}" ] || { echo "not ok $(basename "$0" .sh): the program was not built"; exit 1; }
root=$PWD ml=$MOONLOOP
mkdir "$TMPDIR/w" "$TMPDIR/home" && cd "$TMPDIR/w" || exit 1
mkfifo "$TMPDIR/never" || exit 1
export HOME=$TMPDIR/home
unset NO_COLOR CLICOLOR_FORCE COLORTERM COLUMNS LINES TMUX INPUTRC MOONLOOP_TARGET XDG_CONFIG_HOME XDG_STATE_HOME
flags=()    # of each session, for `run` and `typed`
limit=250    # seconds until one counts as hanging: no test is about how fast a machine is
patience=120 # seconds that are waited for something; only what fails takes them

# Of a chain `a && b && c` the clause that failed is the last one that ran. Each command notes itself as
# LINE: COMMAND, by how deep in functions it stands, and the one before it there. (A subshell notes
# nothing: in a chain it is a function.)
declare -a under_way=() ran_before=()
set -o functrace
trap 'ran_before[${#BASH_SOURCE[@]}]=${under_way[${#BASH_SOURCE[@]}]-} under_way[${#BASH_SOURCE[@]}]="$LINENO: $BASH_COMMAND"' DEBUG

why() { cat out err 2>/dev/null; } # what is shown below a failure
explain() { # CLAUSE: its line and words, and the values in it where they can be had again
    local words=${1#*: }
    printf '    |failed: line %s\n' "${1%%$'\n'*}"
    case $words in
    *\$[0-9@*#]*) ;; # arguments of a function that is left
    '[ '*\$*) printf '    |that is: %s\n' "$(eval "printf '%s ' $words" 2>&1)" ;;
    *[\<\>\|\;\&\(\`]*) ;;
    *\$*) printf '    |that is: %s\n' "$(eval "printf '%s ' $words" 2>&1)" ;;
    esac
}
verdict() { # NAME: ok when the command before it was
    if [ $? = 0 ]; then
        echo "ok $1"
    else
        echo "not ok $1"
        explain "${ran_before[${#BASH_SOURCE[@]} - 1]}"
        why | tail -n 60 | sed 's/^/    |/'
        patience=20 # the rest will hardly go better
    fi
}
run() { # ARGUMENTS, standard input from the caller: leaves status, out, err
    timeout "$limit" "$ml" ${flags[@]+"${flags[@]}"} "$@" >out 2>err
    status=$?
}
typed() { # LINES...: a session from a pipe
    run < <(printf '%s\n' "$@")
}
has() { tr -s '\n ' ' ' <"$1" | grep -q -e "$2"; } # FILE TEXT, however its lines are broken
within() { # CONDITION...: until it holds
    local end=$((SECONDS + patience))
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        read -r -t 0.03 <>"$TMPDIR/never" || :
    done
}

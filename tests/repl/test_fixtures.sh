#!/bin/bash
# What earlier versions left behind still opens: fixtures/VERSION holds autosaves of sessions that
# were killed (.autosave) or left (.ended), a history, schedules that were saved, a transcript. NAME.mls
# is typed beside NAME.*, NAME.want is what that version printed. Source: interaction 2, 4, 6, 15.
. tests/repl/session.sh
export XDG_STATE_HOME=$TMPDIR/state
kept=$XDG_STATE_HOME/moonloop/sessions

without_times() { sed -e 's/   [0-9.]* ms$//' "$@"; }
for of in "$root"/tests/repl/fixtures/*/; do
    version=$(basename "$of")
    cp "$of"* . || exit 1
    for typed in *.mls; do
        name=${typed%.mls}
        rm -rf "$XDG_STATE_HOME" && mkdir -p "$kept"
        cp "$name".autosave "$name".ended "$kept" 2>/dev/null
        run -i <"$typed"
        without_times "$name.want" >want
        sed 1d out | without_times | diff want - >differs
        ok=$?
        [ $ok = 0 ] || cat differs >>err
        [ $ok = 0 ] && [ "$status" = 0 ]
        verdict "$version: $name"
    done
    [ "$(find "$kept" -name '*.damaged' | wc -l)" = 0 ]
    verdict "$version: nothing of it is damaged"
    run --transcript session.transcript
    [ "$status" = 0 ]
    verdict "$version: a transcript replays"
done

# The history is read by any version, whoever wrote to it last.
mkdir -p "$XDG_STATE_HOME/moonloop" && cp history "$XDG_STATE_HOME/moonloop/history"
if command -v script >/dev/null && script -qc true seen </dev/null >/dev/null 2>&1; then
    printf ':history 20\nprint("new\\\\n")\n:quit\n' | TERM=dumb timeout "$limit" script -qc "$ml --no-init" seen >out 2>err
    tr -d '\r' <seen | grep -qF '    3  for k = 1, 2 do' && tr -d '\r' <seen | grep -qF '       end' &&
        tr -d '\r' <seen | grep -qF '    4  print("back\\slash \n", "ü ×")' &&
        head -n "$(wc -l <history)" "$XDG_STATE_HOME/moonloop/history" | cmp -s - history &&
        tail -n 3 "$XDG_STATE_HOME/moonloop/history" | cmp -s - <(printf '%s\n' ':history 20' 'print("new\\\\n")' ':quit')
    verdict 'a history is read and goes on'
else
    echo 'skip a history is read and goes on: script(1) opens no terminal'
fi

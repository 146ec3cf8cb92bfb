#!/bin/bash
# The test of the verdicts of tests/repl/session.sh: of a chain that fails the clause that failed is
# named, with its line and values; what held says nothing.
set -u
cat >"$TMPDIR/chains.sh" <<'T'
. tests/repl/session.sh
yes() { true; }
no() { false; }
part() { # NAME: a verdict within a function
    yes && no "$1" && yes
    verdict "$1"
}
three=3
yes && yes
verdict good
yes && no "here $three" &&
    yes
verdict chain
yes &&
    [ "$(echo 4)" = "$three" ] && no
verdict compare
part inner
yes && ! yes
verdict not
echo a | grep -q b
verdict pipe
echo b >out
yes && { no || yes; } && diff out - <<'X'
a
X
verdict text
for k in 1 2; do [ $k = 1 ]; done
verdict loop
patience=1
yes && within no
verdict waits
T
MOONLOOP=/bin/true bash "$TMPDIR/chains.sh" >"$TMPDIR/said" 2>&1

told() { # NAME TEXT...: the lines below the verdict NAME, which begin thus
    local name=$1 below line
    shift
    below=$(awk -v name="$name" '/^(not )?ok / { on = $0 ~ " " name "$" } on' "$TMPDIR/said")
    for line in "$@"; do
        if ! grep -qF -e "$line" <<<"$below"; then
            echo "not ok $name: $line" && sed 's/^/    /' <<<"$below"
            return
        fi
    done
    echo "ok $name"
}
told chain 'not ok' '    |failed: line 11: no "here $three"' '    |that is: no here 3'
told compare '    |failed: line 15: [ "$(echo 4)" = "$three" ]' '    |that is: [ 4 = 3 ]'
told inner '    |failed: line 5: no "$1"'
told not '    |failed: line 18: yes'
told pipe '    |failed: line 20: grep -q b'
told text "    |failed: line 23: diff out -" '    |b'
told loop '    |failed: line 27: [ $k = 1 ]' '    |that is: [ 2 = 1 ]'
told waits '    |failed: line 30: within no'
[ "$(grep -c '^ok ' "$TMPDIR/said")" = 1 ] && ! sed -n '/^ok good/,/^not/p' "$TMPDIR/said" | grep -q 'failed:' &&
    echo 'ok what held says nothing' || echo 'not ok what held says nothing'

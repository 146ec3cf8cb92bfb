#!/bin/bash
# The sessions of the manual, replayed (tests/golden/*.transcript), and the replay itself: what
# counts as equal, how a difference is shown, --update. ML_GOLDEN=1 rewrites what differs.
. tests/repl/session.sh
golden=$root/tests/golden

replay() { # ARGUMENTS: leaves status, out, err
    "$MOONLOOP" --transcript "$@" >out 2>err
    status=$?
}
text() { # FILE LINES...
    local file=$1
    shift
    printf '%s\n' "$@" >"$file"
}

for f in "$golden"/*.transcript; do
    mkdir s && cd s || exit 1
    "$MOONLOOP" --transcript ${ML_GOLDEN:+--update} "$f" >../out 2>../err
    status=$?
    cd .. && rm -rf s
    [ "$status" = 0 ]
    verdict "replays ${f##*/}"
done

text a.transcript 'A page may say something first.' '' '$ echo one; echo two' one two '' '$ false; echo $?' 1
replay a.transcript
[ "$status" = 0 ] && grep -q 'a.transcript: ok, 2 commands' out && [ ! -s err ]
verdict 'replays commands of the shell'

text b.transcript '$ seq 9' 1 … 5 … 9 '$ echo alpha beta gamma' 'alpha <x> …' '$ echo "(k=12)"' '(k=<x>)'
replay b.transcript
[ "$status" = 0 ]
verdict 'takes any lines, the rest of a line, a word'

text c.transcript '$ echo "took 12.5 ms (0.3 s), 58.4 GFLOP/s, 5 % of it, ×27.8, 3 loops"' \
    'took 1 us (99 ms), 7 GFLOP/s, 55.25 % of it, ×1, 3 loops'
replay c.transcript
[ "$status" = 0 ]
verdict 'takes any number before a unit of time, rate, percent, ratio'

text u.transcript '$ echo "12.5 ms, 0.3 GFLOP/s, 7 MB/s"' '3 us, 58.4 MFLOP/s, 1.2 GB/s'
replay u.transcript
[ "$status" = 0 ] && text u.transcript '$ echo "0.3 GFLOP/s"' '0.3 GB/s' && replay u.transcript && [ "$status" = 1 ]
verdict 'takes another unit of what was measured, and no other measure'

text n.transcript '$ echo "v1 2.02 GFLOP/s ±8 % ok, 3 ms, ×2 ±12 % of it"' 'v1 1.50 GFLOP/s ok, 4 ms ±40 %, ×1 of it'
replay n.transcript
[ "$status" = 0 ]
verdict 'takes a noisy measurement for a quiet one'

text d.transcript '$ echo "took 12.5 ms, 3 loops"' 'took 12.5 ms, 4 loops'
replay d.transcript
[ "$status" = 1 ] && grep -q '^d.transcript:2: ' out && grep -q '^ - took 12.5 ms, 4 loops$' out &&
    grep -q '^ + took 12.5 ms, 3 loops$' out
verdict 'shows any other number as a difference, with file and line'

text e.transcript '$ echo "11 × 100, ×3"' '12 × 100, ×3'
replay e.transcript
[ "$status" = 1 ]
verdict 'does not take a product for a ratio'

text f.transcript '$ seq 3' 1 2 '$ seq 2' 1 2 3
replay f.transcript
[ "$status" = 1 ] && grep -q '^ + 3$' out && grep -q '^ - 3$' out
verdict 'finds lines that are missing and lines too many'

text g.transcript '# page' '$ seq 9; echo 3 ms; echo x' 1 … 9 '7 ms' y '' '$ echo k' '<x>'
replay --update g.transcript
text g.want '# page' '$ seq 9; echo 3 ms; echo x' 1 … 9 '7 ms' x '' '$ echo k' '<x>'
[ "$status" = 0 ] && cmp g.transcript g.want >>out && replay g.transcript &&
    [ "$status" = 0 ]
verdict 'rewrites what differs and keeps the wildcards that hold'

text h.transcript '$ moonloop' 'moonloop …' '> function f(x)' '    return 2 * x' '  end' '> f(21)' 42 '> for k = 1, 2 do' \
    '    print(k)' '  end' 1 2
replay h.transcript
[ "$status" = 0 ]
verdict 'types continuation lines'

text i.transcript '$ moonloop' 'moonloop …' '> @T.prim_func' \
    '  def twice(X: T.Buffer((8, 8), "float32"), Y: T.Buffer((8, 8), "float32")):' \
    '      for j, i in T.grid(8, 8):' '          with T.block("Y"):' \
    '              vj, vi = T.axis.remap("SS", [j, i])' '              Y[vi, vj] = X[vi, vj] * T.float32(2)' '' \
    'focus: twice v0   block Y   loops j, i   64 FLOP' 'twice v0> :quit'
replay i.transcript
[ "$status" = 0 ]
verdict 'types a program up to its empty line'

text page.md 'Text.' '```' '$ echo one' one '```' 'More text.' '```' '$ echo two' two '```' 'End.'
cp page.md page.want && sed -i s/^one/eins/ page.md
replay --update page.md
[ "$status" = 0 ] && cmp page.md page.want >>out && replay page.md && [ "$status" = 0 ] && grep -q '2 commands' out
verdict 'replays a page of Markdown, and leaves its text alone'

replay nowhere.transcript
[ "$status" = 3 ] && grep -q 'cannot read nowhere.transcript' err
verdict 'says which file is missing'
text j.transcript 'no command at all'
replay j.transcript
[ "$status" = 1 ] && grep -q 'nothing to replay' err
verdict 'refuses a file without commands'
replay a.transcript d.transcript b.transcript
[ "$status" = 1 ] && grep -q '^a.transcript: ok' out && grep -q '^b.transcript: ok' out
verdict 'goes through all files'

#!/bin/bash
# moonloop-draw from the outside: the formats, bad graphs, outputs that cannot be written, and its
# limits. After each failure no file may be left, neither the target nor a temporary one beside it.
set -u
if [ ! -x "$MOONLOOP_DRAW" ]; then
    echo 'skip moonloop-draw: it was not built (no libgraphviz-dev)'
    exit 0
fi
mkdir "$TMPDIR/w" && cd "$TMPDIR/w" || exit 1
good='digraph { node [shape=box]; loop_1 [label="i <64>", tooltip="extent 64"]; loop_1 -> block_2; }'

verdict() { # NAME: ok when the command before it was
    if [ $? = 0 ]; then echo "ok $1"; else echo "not ok $1" && sed 's/^/    /' err 2>/dev/null; fi
}
run() { # GRAPH ARGUMENTS...: leaves status and the file err
    local graph=$1
    shift
    printf '%s' "$graph" | "$MOONLOOP_DRAW" "$@" 2>err
    status=$?
}
# One line, with the name of the program and the wanted words; nothing left in the folder.
said() { # STATUS WORDS
    [ "$status" = "$1" ] && [ "$(wc -l <err)" = 1 ] && grep -q "^moonloop-draw: .*$2" err && [ "$(ls)" = err ]
}
starts() { # FILE BYTES
    [ "$status" = 0 ] && [ ! -s err ] && [ "$(ls | wc -l)" = 2 ] && [ "$(head -c "${#2}" "$1" | tr -d '\0')" = "$2" ]
}

run "$good" svg a.svg
starts a.svg '<?xml' && grep -q 'extent 64' a.svg && grep -q 'loop_1' a.svg && grep -q '</svg>' a.svg
verdict 'draws SVG with tooltips and node ids'
rm -f a.svg

run "$good" png a.png
starts a.png $'\x89PNG'
verdict 'draws PNG'
rm -f a.png

run "$good" pdf a.pdf
starts a.pdf '%PDF-' && tail -c 8 a.pdf | grep -q '%%EOF'
verdict 'draws PDF'
rm -f a.pdf

run "$good" dot a.dot
starts a.dot digraph && grep -q 'pos=' a.dot
verdict 'writes DOT with positions'
run "$(cat a.dot)" plain a.plain && rm -f a.dot
starts a.plain 'graph ' && grep -q '^edge loop_1 block_2' a.plain && grep -q '^stop' a.plain
verdict 'reads its own DOT and writes plain positions'
rm -f a.plain

for layout in neato fdp; do
    run "$good" --layout $layout svg a.svg
    starts a.svg '<?xml'
    verdict "lays out with $layout"
    rm -f a.svg
done

run 'digraph { a -> ' svg a.svg
said 1 'not a graph: syntax error in line 1'
verdict 'a graph cut off is refused with the line'
run 'digraph { a } and more' svg a.svg
said 1 'not a graph: syntax error in line 1'
verdict 'text after the graph is refused'
run '' svg a.svg
said 1 'nothing on standard input'
verdict 'an empty input is refused'
run 'digraph {} digraph {}' svg a.svg
said 1 'more than one'
verdict 'two graphs are refused'
head -c 20000 /bin/sh >noise && run "$(tr -d '\0' <noise)" svg a.svg && rm -f noise
said 1 'not a graph'
verdict 'bytes that are no text are refused'
run 'graph { layout=bogus; a }' svg a.svg
said 1 'cannot lay the graph out.*bogus'
verdict 'a layout that fails is explained'

run "$good" svg /dev/full
said 4 'cannot write /dev/full: No space left on device'
verdict 'a full device is reported'
run "$good" svg no/such/folder.svg
said 1 'cannot write no/such/folder.svg: No such file or directory'
verdict 'a missing folder is reported'
run "$good" svg .
said 1 'cannot write .: Is a directory'
verdict 'a folder as target is reported'
(ulimit -f 0; "$MOONLOOP_DRAW" png a.png <<<"$good") 2>/dev/null
[ $? = 4 ] && [ "$(ls)" = err ]
verdict 'a file that may not grow leaves nothing behind'

echo old >kept && run 'digraph { a -> ' svg kept
[ "$status" = 1 ] && [ "$(cat kept)" = old ]
verdict 'a failure leaves the old picture alone'
ln -s kept link && run "$good" svg link
[ "$status" = 0 ] && [ -L link ] && grep -q '</svg>' kept
verdict 'a link is followed'
rm -f kept link

"$MOONLOOP_DRAW" svg /dev/stdout <<<"$good" 2>err | grep -q '</svg>' && [ ! -s err ] && [ "$(ls)" = err ]
verdict 'writes into a pipe'

# 4,000 nodes and 20,000 edges: hours of layout.
big=$(awk 'BEGIN { srand(1); print "digraph {"
    for (k = 0; k < 20000; k++) printf "n%d -> n%d\n", rand() * 4000, rand() * 4000
    print "}" }')
run "$big" --limit 1 svg a.svg
said 3 'took longer than 1 s'
verdict 'the time limit stops a layout that explodes'

if [ -z "$ML_SAN" ]; then
    run 'graph { a [shape=record, label="x", width=100000, height=100000] }' png a.png
    said 1 'Graphviz crashed\|cannot draw as png'
    verdict 'a crash inside of Graphviz is an error message'
else
    echo 'skip a crash inside of Graphviz is an error message: a sanitizer reports it first'
fi

run '' svg
said 2 'FORMAT and OUTFILE'
verdict 'a missing argument is a usage error'
run '' bmp a.bmp
said 2 'svg, png, pdf, dot or plain, not bmp'
verdict 'an unknown format is a usage error'
run '' --layout circo svg a.svg
said 2 'dot, neato or fdp, not circo'
verdict 'an unknown layout is a usage error'
for limit in 0 -1 x 5x 99999999999999999999 ''; do
    run '' --limit "$limit" svg a.svg
    said 2 'takes 1 to 3600 seconds' || break
done
verdict 'a limit that is none is a usage error'
run '' svg a.svg --limit
said 2 'a value is missing after --limit'
verdict 'an option without its value is a usage error'
run '' --frob svg a.svg
said 2 'unknown option --frob'
verdict 'an unknown option is a usage error'

[ "$("$MOONLOOP_DRAW" --version | wc -l)" = 1 ] && "$MOONLOOP_DRAW" --version | grep -q '^moonloop-draw [0-9]' &&
    ! "$MOONLOOP_DRAW" --help 2>err >/dev/full && grep -q 'No space left' err
verdict 'tells its version, and that standard output is full'

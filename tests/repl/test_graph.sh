#!/bin/bash
# Pictures as files: what tells the kinds of loops apart, the legend, parameters, straight chains,
# sizes, dark, what changed since a version. Source: interaction 12.
. tests/repl/session.sh
[ -x "${MOONLOOP_DRAW-}" ] || { echo 'skip pictures: moonloop-draw was not built (no libgraphviz-dev)'; exit 0; }
matmul='s = schedule(workload.matmul(64, 64, 64))'
tiled='split("i", {auto, 8}); split("j", {auto, 16}); reorder("i_0", "j_0", "k", "i_1", "j_1"); vectorize("j_1"); unroll("i_1"); parallel("i_0");'

# The node that bears the label, as it looks without its colours and names.
look() { # FILE LABEL
    grep -F "label=\"$2" "$1" | grep -oE '(style|penwidth|peripheries|shape)=("[^"]*"|[^],]*)' | tr '\n' ' '
}
legend() { # FILE: the words of its legend
    grep -oE '"LEFT">[^<]*' "$1" | cut -d'>' -f2
}

typed "$matmul" "$tiled" ':graph loops tiled.dot' ':graph loops tiled.svg' ':graph loops tiled.txt'
[ "$status" = 0 ] && for kind in 'k \[' 'i_0' 'i_1' 'j_1' 'C'; do look tiled.dot "${kind/\\/}"; echo; done | sort >looks &&
    [ "$(sort -u looks | wc -l)" = 5 ] && ! grep -qx ' *' looks
verdict 'kinds of loops differ in more than colour'
legend tiled.dot | cut -d: -f1 >words
printf '%s\n' 'loop [extent]' parallel vectorized unrolled block init >want
cmp words want >>out && grep -q '^vectorized  *iterations are lanes' tiled.txt && grep -q '>vectorized: it' tiled.svg
verdict 'the legend tells of each kind that occurs'
typed "$matmul" ':graph loops plain.dot' ':graph loops plain.txt'
legend plain.dot | cut -d: -f1 >words
printf '%s\n' 'loop [extent]' block init >want
[ "$status" = 0 ] && cmp words want >>out && ! grep -qE 'vectorized|unrolled|parallel' plain.txt plain.dot
verdict 'the legend tells of nothing that does not occur'

# ---- parameters
typed "$matmul" ':graph deps p.dot' ':graph deps p.txt' 'decompose_reduction("C", "k");' ':graph deps q.dot'
[ "$status" = 0 ] && [ "$(grep -oE 'param_[0-9]+(_left)? \[.*label="[^"]*"' p.dot | grep -oE '[^"]*"$')" = "$(printf 'A"\nB"\nC"')" ] &&
    grep -q 'as it is given: 64 x 64 float32' p.dot && grep -qF '(A)' p.txt && grep -qF '(C)' p.txt && legend p.dot | grep -qx 'parameter of the function'
verdict 'deps names the parameters'
grep -q 'label=" C (RAW, WAW)"' q.dot && [ "$(grep -c 'block_.* -> block_' q.dot)" = 1 ] && legend q.dot | grep -q '^writes the buffer' &&
    ! legend q.dot | grep -q 'WAR\|has read$'
verdict 'two blocks are joined by one line that says how they depend on each other'

# ---- chains: of 20 blocks, each of its own buffer or all in place, with a parameter that all read
chain() { # NAME IN_PLACE
    awk -v name="$1" -v same="${2-}" 'BEGIN {
        printf "@T.prim_func\ndef %s(A0: T.Buffer((8, 8), \"float32\"), W: T.Buffer((8,), \"float32\"), Z: T.Buffer((8, 8), \"float32\")):\n", name
        for (k = 1; k < 20 && !same; k++) printf "    A%d = T.alloc_buffer((8, 8))\n", k
        for (k = 0; k < 20; k++) {
            from = same ? "A0" : "A" k; to = same ? "A0" : k == 19 ? "Z" : "A" (k + 1)
            printf "    for i, j in T.grid(8, 8):\n        with T.block(\"step%d\"):\n", k
            printf "            vi, vj = T.axis.remap(\"SS\", [i, j])\n            %s[vi, vj] = %s[vi, vj] + W[vj]\n", to, from
        }
    }' >"$1.py"
}
# Where the boxes of blocks and loops stand from left to right: the middles, each once.
middles() { # SVG
    awk '/<!-- (block|loop)_[0-9]+ -->/ { on = 1 } on && /<text/ { match($0, / x="[-0-9.]+"/); print substr($0, RSTART + 4, RLENGTH - 5); on = 0 }' "$1" | sort -u
}
for how in 'apart ' 'inplace 1'; do
    chain $how
    name=${how% *}
    typed ":open $name.py" ":graph deps $name.svg" ":graph deps $name.dot" ":graph deps $name.txt"
    [ "$status" = 0 ] && [ "$(middles $name.svg | wc -l)" = 1 ] && [ "$(grep -c 'block_.* -> block_' $name.dot)" = 19 ]
    verdict "a chain of 20 blocks stands on a straight line ($name)"
    # In characters: whatever leads from one step to the next stands in one column.
    [ "$(grep -E '^ *(\(W\))? *│ step' $name.txt | wc -l)" = 20 ] &&
        [ "$(grep '▾' $name.txt | sed 's/▾.*//' | awk '{ print length($0) }' | sort -u | wc -l)" = 1 ]
    verdict "and so it does in characters ($name)"
done
typed 's = schedule(workload("CBR-2"))' ':graph deps cbr.svg' 's = schedule(workload("SFM-1"))' ':graph deps sfm.svg'
[ "$status" = 0 ] && [ "$(middles cbr.svg | wc -l)" = 1 ] && [ "$(middles sfm.svg | wc -l)" = 1 ]
verdict 'parameters and lines past a chain do not bend it'
typed "$matmul" 'split("k", {auto, 8}); blockize("k_1");' ':graph loops nest.svg' ':graph loops nest.dot'
[ "$status" = 0 ] && grep -q _init nest.dot && [ "$(middles nest.svg | wc -l)" = 1 ]
verdict 'an init beside a nest does not bend it'
cat >parts.py <<'E'
@T.prim_func
def parts(A: T.Buffer((8,), "float32"), Z: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(4):
        with T.block("low"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi]
    for i in range(4):
        with T.block("high"):
            vi = T.axis.spatial(4, i)
            B[vi + 4] = A[vi + 4]
    for i in range(8):
        with T.block("all"):
            vi = T.axis.spatial(8, i)
            Z[vi] = B[vi]
E
typed ':open parts.py' ':deps' ':graph deps parts.dot'
[ "$status" = 0 ] && [ "$(grep -c 'block_.* -> block_' parts.dot)" = 3 ] && has out 'RAW low → all B'
verdict 'a part that is written does not hide what was written before'

# ---- sizes: 192 dots an inch are 8 for 3 points
size_of_png() { od -An -tu1 -j16 -N8 "$1" | awk '{ print ($1 * 256 + $2) * 65536 + $3 * 256 + $4, ($5 * 256 + $6) * 65536 + $7 * 256 + $8 }'; }
typed "$matmul" "$tiled" ':graph loops t.png' ':graph loops t.svg' ':graph loops t.pdf'
svg=$(grep -oE '<svg width="[0-9]+pt" height="[0-9]+pt"' t.svg | grep -oE '[0-9]+' | tr '\n' ' ')
pdf=$(grep -aoE 'MediaBox \[ 0 0 [0-9.]+ [0-9.]+' t.pdf | awk '{ printf "%d %d ", $5, $6 }')
[ "$status" = 0 ] && [ -n "$svg" ] && near() { awk -v a="$1" -v b="$2" 'BEGIN { split(a, x); split(b, y)
    exit !(x[1] - y[1] < 2 && y[1] - x[1] < 2 && x[2] - y[2] < 2 && y[2] - x[2] < 2) }'; } &&
    [ -n "$pdf" ] && near "$svg" "$pdf" &&
    near "$(size_of_png t.png | awk '{ print $1 * 3 / 8, $2 * 3 / 8 }')" "$svg"
verdict 'SVG and PDF have one size in points, PNG 192 dots an inch'

# ---- dark, and what changed
typed "$matmul" ':graph loops l.dot' ':graph loops d.dot --dark' ':graph deps --dark d.svg'
bg() { grep -oE 'bgcolor="#[0-9a-f]+"' "$1" | head -n 1; }
[ "$status" = 0 ] && [ "$(bg l.dot)" = 'bgcolor="#ffffff"' ] && [ -n "$(bg d.dot)" ] && [ "$(bg d.dot)" != "$(bg l.dot)" ] && [ -s d.svg ] &&
    diff <(sed 's/#[0-9a-f]\{6\}/#/g' l.dot) <(sed 's/#[0-9a-f]\{6\}/#/g' d.dot) >>out
verdict '--dark changes colours alone'
typed "$matmul" 'split("j", {auto, 16}); reorder("k", "i");' ':graph loops --diff v0 c.dot' ':graph loops --diff v1 b.dot' ':graph loops --diff v2 a.dot'
label() { grep -oE 'label="[^"\\]*' "$1" | cut -d'"' -f2 | tr '\n' '|'; }
[ "$status" = 0 ] && [ "$(label c.dot)" = '~ k [64]|+ j_0 [4]|+ j_1 [16]|~ i [64]|C|init|' ] && legend c.dot | grep -qx 'gone: j' &&
    ! label b.dot | grep -qF + && ! legend b.dot | grep -q 'new\|gone' && ! label a.dot | grep -q '[~+]'
verdict '--diff marks what is new, changed or moved, and names what is gone'
typed "$matmul" 'split("j", {auto, 16});' ':graph loops --diff v0'
[ "$status" = 0 ] && grep -qF '+ j_1 [16]' out && grep -q '^-  *gone: j$' out && ! grep -qF '~' out
verdict 'a loop below one that was split is no change'
run --keep-going < <(printf '%s\n' "$matmul" ':graph dataflow' ':graph foo' ':graph loops --diff v7' ':graph loops x.svg --red' ':graph loops a.svg b.svg' ':graph --dark' ':graph loops --diff')
has err 'no picture is called dataflow; there are loops, deps and search' && has err 'no picture is called foo' && has err 'no version' && has err ':graph has no option --red' && has err 'not b.svg' && has err ':graph loops|deps' && has err 'takes a version' && [ ! -e x.svg ]
verdict 'what :graph does not know is refused'

# ---- whatever a label holds, the file is valid UTF-8
typed "$matmul" 'annotate("i", "odd\255 <&> {|} \"q\" \\", 1);' ':graph loops odd.dot' ':graph loops odd.svg' ':graph loops odd.txt'
[ "$status" = 0 ] && cat odd.dot odd.svg odd.txt | iconv -f UTF-8 -t UTF-8 >/dev/null 2>>out && grep -q 'odd�' odd.svg
verdict 'labels are escaped'

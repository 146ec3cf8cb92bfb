#!/bin/bash
# bench_view - from a key to the screen it leads to, in a program of 1,000 blocks: moving, folding,
# searching, a prompt that tries what is typed. To reach: 16 ms. Milliseconds, median and longest.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
awk 'BEGIN {
    n = 1000
    print "from tvm.script import tir as T\n@T.prim_func"
    print "def many(A: T.Buffer((64, 64), \"float32\"), Z: T.Buffer((64, 64), \"float32\")):"
    for (k = 1; k < n; k++) printf "    B%d = T.alloc_buffer((64, 64), \"float32\")\n", k
    for (k = 1; k <= n; k++) {
        from = k == 1 ? "A" : "B" (k - 1); to = k == n ? "Z" : "B" k
        printf "    for i, j in T.grid(64, 64):\n        with T.block(\"b%d\"):\n", k
        printf "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
        printf "            %s[vi, vj] = %s[vi, vj] + T.float32(1)\n", to, from
    }
}' >"$work/many.py"
measure() { # NAME, COUNT, KEYS
    printf 'wait idle\ntime %s\n' "$2 $3" >"$work/k.keys"
    "$MOONLOOP" --no-init --private --view --size 120x36 --keys "$work/k.keys" "$work/many.py" |
        sed -nE "s/^([0-9]+) keys: median ([0-9.]+) ms, longest ([0-9.]+) ms\$/\1 \2 \3/p" |
        while read -r n median longest; do
            if [ "${1+x}" ] && [ "$json" = 1 ]; then
                printf '{"name": "view %s", "keys": %s, "median_ms": %s, "longest_ms": %s}\n' "$1" "$n" "$median" "$longest"
            else
                printf 'view %-28s %8s ms a key, longest %8s ms  (%s keys)\n' "$1" "$median" "$longest" "$n"
            fi
        done
}
json=0
[ "${1-}" = --json ] && json=1
measure 'one row down' 300 down
measure 'pages, begin and end' 20 'pgdn pgdn end home'
measure 'fold and unfold' 30 'left right down'
measure 'in the text of the program' 100 '2 down down'
measure 'search' 30 '/ b 9 9 9 enter n'
measure 'another pane and back' 30 '5 1'
measure 'a step as it is typed' 20 's 1 6 esc'

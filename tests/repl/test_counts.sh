#!/bin/bash
# :counts at 80 and 40 columns, as JSON and in Lua; what it takes and refuses; :diff --counts.
# Source: interaction 8, 15 D.
. tests/repl/session.sh

typed() { # WIDTH LINES...
    local width=$1
    shift
    printf '%s\n' "$@" | timeout "$limit" "$MOONLOOP" --keep-going --width "$width" $ascii >out 2>err
    status=$?
}
ascii=
matmul='s = schedule(workload.matmul(64, 64, 64))'

typed 80 "$matmul" ':counts'
diff out - >>err <<'E'
matmul                           bytes                   uses of an element
  loop      iterations     FLOP       A       B       C   A   B    C
  i 64              64  524,288  16,384  16,384  16,384  64  64  129
    j 64         4,096    8,192     256  16,384     256  64   1  129
      k 64     262,144      128     256     256       4   1   1  129
strides, in elements
  C                          i  j   k
    store C[vi, vj] (init)  64  1   0
    load  C[vi, vj]         64  1   0
    load  A[vi, vk]         64  0   1
    load  B[vk, vj]          0  1  64
    store C[vi, vj]         64  1   0
E
verdict 'tells of each loop of a matmul'

typed 40 "$matmul" 'split("i", {auto, 48});' ':counts'
[ "$status" = 0 ] && [ "$(LC_ALL=C.UTF-8 wc -L <out)" -le 40 ] && grep -q '^  i_0 2 ' out &&
    grep -qx '    i_1 48    ≤ 12,288    16,384' out && grep -q '^    i_1 48  *≈64  ≈48  ≈129$' out
verdict 'keeps to 40 columns, what has no room in tables below'

ascii=--ascii
typed 80 "$matmul" 'split("i", {auto, 48});' ':counts' ':tree'
[ "$status" = 0 ] && ! LC_ALL=C grep -q '[^ -~]' out && grep -q '^    i_1 48  *96  <= 393,216  <= 12,288' out && grep -q '^    i_1 48  *~64  ~48  ~129$' out
verdict 'has no characters outside ASCII where there are none'
ascii=

typed 80 "$matmul" 'split("i", {auto, 48});' ':counts i_1' ':counts i_1 --all' ':counts v0'
[ "$status" = 0 ] && [ "$(grep -c '^    i_1 48 ' out)" -ge 4 ] && ! grep -q '^  i_0 2 ' out &&
    grep -q 'element  *elements$' out && grep -q '^ *loads  *stores$' out && grep -q '^    i_1 48 .*≤ 3,072$' out && grep -q '^    i_1 48  *≤ 196,608' out && grep -q '^  i 64  ' out
verdict 'tells of one loop, and of another version'

typed 80 ':counts' "$matmul" ':counts zoo' ':counts i j' ':counts --frob' ':counts v9'
[ "$status" != 0 ] && [ "$(grep -c '^error' err)" = 5 ] && grep -q 'zoo' err && grep -q ':counts \[LOOP|VERSION\] \[--all\], not j' err &&
    grep -q ':counts has no option --frob; it knows --all' err && grep -q 'no version v9' err
verdict 'refuses what it does not know, with the reason'

typed 80 "$matmul" 'split("i", {auto, 16});' ':diff --counts' ':diff v0 v0 --counts'
[ "$status" = 0 ] && grep -q '^.*-   i 64 .* 64,' out && grep -q '^.*+   i_0 4 ' out && grep -q '^no difference$' out
verdict 'compares the counts of two versions'
# A longer name moves every column: a loop whose values stay is no change for it.
typed 80 's = schedule(workload.softmax{m = 64, n = 64})' 'split("k", {auto, 48});' ':diff --counts'
[ "$status" = 0 ] && [ "$(grep -c '^ *[0-9]*    - .*iterations' out)" = 1 ] && grep -q '^   3    -     k 64   iterations 4,096, FLOP 64,' out &&
    [ "$(grep -c '^ *[0-9]* + .*iterations' out)" = 2 ] && grep -q '^   4  5     i_1 64   iterations 64,' out
verdict 'compares values, not how they are set out'

# Columns: one unit each, numbers below each other.
typed 80 's = schedule(workload.matmul(1000, 1000, 1000))' 'split("i", {auto, 16}); cache_read("C", "A", "global"); parallel("i_0")' ':tree'
sed -n '/^matmul/,$p' out | diff - <(cat <<'E'
matmul                            bytes
  loop                      FLOP          A   A_global            B          C
  ax0 1000                        4,000,000  4,000,000
    ax1 1000                          4,000      4,000
      A_global          reads A, writes A_global
  i_0 63 parallel  2,000,000,000             4,000,000    4,000,000  4,000,000
    i_1 16          ≤ 32,000,000              ≤ 64,000    4,000,000   ≤ 64,000
      j 1000         ≤ 2,000,000               ≤ 4,000  ≤ 4,000,000    ≤ 4,000
        k 1000           ≤ 2,000               ≤ 4,000      ≤ 4,000        ≤ 4
          C                 reads A_global, B, writes C   where i_0 * 16 + i_1 <
                            1000
E
) >>err
verdict 'the tree is a table with one unit a column'
typed 80 's = schedule(workload.matmul(20000, 20000, 20000))' ':tree'
sed -n '/^matmul/,$p' out | diff - <(cat <<'E'
matmul                        KiB
  loop                 MFLOP            A            B               C
  i 20000      16,000,000     1,562,500    1,562,500    1,562,500
    j 20000           800            78.1  1,562,500           78.1
      k 20000           0.04         78.1         78.1          0.0039
        C                 reads A, B, writes C
E
) >>err
verdict 'longer numbers take a larger unit, their points below each other'

# The page of the manual, whole lines.
"$MOONLOOP" -b --json -e 'focus(schedule(workload.matmul(64, 64, 64)))' -e ':counts' >out 2>err
diff out - >>err <<'E'
{"schema":3,"loop":"i","extent":64,"flop":524288,"bytes":{"A":16384,"B":16384,"C":16384},"at_most":[]}
{"schema":3,"loop":"j","extent":64,"flop":8192,"bytes":{"A":256,"B":16384,"C":256},"at_most":[]}
{"schema":3,"loop":"k","extent":64,"flop":128,"bytes":{"A":256,"B":256,"C":4},"at_most":[]}
E
verdict 'prints a JSON object for each loop'

"$MOONLOOP" -b --json -e 'focus(schedule(workload.matmul(64, 64, 64))):split("i", {auto, 48})' -e ':counts i_1' \
    -e ':counts i_1 --all' >out 2>err
grep -qxF '{"schema":3,"loop":"i_1","extent":48,"flop":393216,"bytes":{"A":12288,"B":16384,"C":12288},"at_most":["flop","bytes.A","bytes.C"]}' out &&
    grep -q '"strides":\[{"access":"C\[vi, vj\]","buffer":"C","block":"C","store":true,"kind":"even","stride":64},' out &&
    grep -q '"iterations":96,"flop":393216,"bytes":{"A":12288,"B":16384,"C":12288},"elements":{"A":3072,"B":4096,"C":3072},"loads":{' out
verdict 'names bounds in JSON, and tells all when asked'

cat >any.py <<'E'
@T.prim_func
def main(a: T.handle, b: T.handle, X: T.Buffer((64,), "int32")):
    n = T.int32()
    A = T.match_buffer(a, (n, 8), "float32")
    B = T.match_buffer(b, (n, 8), "float32")
    for i in range(n):
        for j in range(X[0]):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                vj = T.axis.spatial(8, j)
                B[vi, vj] = A[X[vi], vj] * T.float32(2)
E
typed 80 ':open any.py' ':counts' ':tree'
[ "$status" = 0 ] && grep -q '^  i n  *n  *?  ' out && grep -q '^    j X\[0\]  *?  *?  ' out &&
    grep -q 'load  A\[X\[vi\], vj\]  *?  1$' out && grep -q 'store B\[vi, vj\]  *8  1$' out
verdict 'says what it does not know'
"$MOONLOOP" -b --json -e ':open any.py' -e ':counts' >out 2>err
grep -q '^{"schema":3,"loop":"i","extent":"n","bytes":{' out
verdict 'says it in JSON too'

cat >cmd.lua <<'E'
focus = moon.focus
focus(moon.schedule(moon.workload.matmul(64, 64, 64)))
local r = moon.cmd("counts")
assert(r.ok and #r == 3 and r[2].loop == "j" and r[2].bytes.B == 16384 and r[2].strides == nil)
assert(r.text:find("strides, in elements", 1, true))
r = moon.cmd("counts", "k", "--all")
assert(#r == 1 and r[1].iterations == 262144 and r[1].strides[4].stride == 64)
E
"$MOONLOOP" -b cmd.lua >out 2>err
verdict 'gives its data to moon.cmd'

#!/bin/bash
# Kernels taken away: the header's checks row by row, C as source, two kernels in one program, the examples in a
# folder without moonloop, from C and from Python; what :save and k:save refuse, and that a failure leaves the old file.
# Source: lowering-and-codegen 5.3, 7.7, 10.
. tests/repl/session.sh
read -ra cc <<<"${CC:-gcc}" # it may be `ccache gcc`

why() { cat text err 2>/dev/null; }
run() { timeout "$limit" "$MOONLOOP" "$1" >text 2>err; }

echo 'local ok, e = pcall(moon.build, moon.workload.matmul(2, 2, 2)) print(ok or e.code)' >probe.lua
run probe.lua
if [ "$(cat text)" = no-target ]; then
    echo 'skip exported kernels: libLLVM 19 is not there'
    exit 0
fi

# ---- a program with sizes, strides, an offset, an assertion, numbers
cat >f.py <<'END2'
@T.prim_func
def f(a: T.handle, b: T.handle, c: T.handle, n: T.int32, x: T.float32, flag: T.bool):
    k = T.int32()
    st = T.int64()
    A = T.match_buffer(a, (k, 8), "float32")
    B = T.match_buffer(b, (k, 8), "float32", strides=(st, 1))
    C = T.match_buffer(c, (k * 2, 8), "float32")
    assert n != 3, "n is \"not\" 3%"
    for i, j in T.grid(k, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(flag, A[vi, vj] * x + B[vi, vj], T.Cast("float32", n))
END2
cat >f.lua <<'END2'
local k = moon.build(moon.open "f.py")
for _, s in ipairs {"o", "so", "s", "ll", "c", "h"} do k:save("f." .. s) end
k:save("g.o", {name = "again"}) k:save("g.h", {name = "again"}) k:save("g.c", {name = "again"})
END2
run f.lua && [ -s f.c ] && [ -s g.o ] && [ -z "$(find . -name '*new*')" ]
verdict 'a kernel is saved in all forms, and under another name'

cat >drive.c <<'END2'
#include "f.h"
#include "g.h"
#include <stdlib.h>
#include <string.h>
enum { K = 5 };
static _Alignas(64) float a[K * 8], b[K * 16], c[K * 16 + 16], before[K * 16 + 16];
static int64_t as[2], bs[2], bst[2], cs[2], cst[2];
static moonloop_tensor ta, tb, tc;
static moonloop_arg args[6];
static moonloop_error err;
static int bad;
static void fresh(void)
{
    int64_t one[2] = {K, 8}, two[2] = {K * 2, 8}, st[2] = {16, 1}, cst_[2] = {8, 1};
    memcpy(as, one, sizeof as), memcpy(bs, one, sizeof bs), memcpy(cs, two, sizeof cs);
    memcpy(bst, st, sizeof bst), memcpy(cst, cst_, sizeof cst);
    ta = (moonloop_tensor){a, {1, 0}, 2, {2, 32, 1}, as, NULL, 0};
    tb = (moonloop_tensor){b, {1, 0}, 2, {2, 32, 1}, bs, bst, 0};
    tc = (moonloop_tensor){c, {1, 0}, 2, {2, 32, 1}, cs, NULL, 0};
    args[0] = (moonloop_arg){MOONLOOP_TENSOR, {.tensor = &ta}};
    args[1] = (moonloop_arg){MOONLOOP_TENSOR, {.tensor = &tb}};
    args[2] = (moonloop_arg){MOONLOOP_TENSOR, {.tensor = &tc}};
    args[3] = (moonloop_arg){MOONLOOP_INT, {.i = 7}};
    args[4] = (moonloop_arg){MOONLOOP_FLOAT, {.f = 0.5}};
    args[5] = (moonloop_arg){MOONLOOP_BOOL, {.i = 1}};
    for (int k = 0; k < K * 16 + 16; k++)
        before[k] = c[k] = -1.0f;
}
static void call(const moonloop_arg *list, int n, int kind, const char *says, int line)
{
    int32_t status = f_packed(list, n, &err);
    if (status != -1 || err.kind != kind || !strstr(err.text, says) || memcmp(c, before, sizeof c)) {
        printf("line %d: %d %s, wanted %s\n", line, (int)status, status ? err.text : "taken", says);
        bad++;
    }
}
#define ROW(change, kind, says) (fresh(), (change), call(args, 6, MOONLOOP_##kind, says, __LINE__))
int main(void)
{
    for (int k = 0; k < K * 8; k++)
        a[k] = (float)k;
    for (int k = 0; k < K * 16; k++)
        b[k] = (float)(k % 3);
    fresh();
    call(args, 5, MOONLOOP_TYPE_ERROR, "f: expected 6 arguments, got 5; signature f(A: Tensor([k, 8], float32), ", __LINE__);
    call(NULL, 6, MOONLOOP_TYPE_ERROR, "f: argument list is NULL", __LINE__);
    ROW(args[3].kind = MOONLOOP_TENSOR, TYPE_ERROR, "argument #3 'n': expected int, got tensor");
    ROW(args[3].kind = MOONLOOP_FLOAT, TYPE_ERROR, "argument #3 'n': expected int, got float");
    ROW(args[0].kind = MOONLOOP_NULL, TYPE_ERROR, "argument #0 'A': expected tensor, got null");
    ROW(args[1].as.tensor = NULL, TYPE_ERROR, "argument #1 'B': tensor is NULL");
    ROW(ta.ndim = 3, VALUE_ERROR, "argument #0 'A'.ndim: expected 2, got 3");
    ROW(ta.dtype.bits = 16, TYPE_ERROR, "argument #0 'A'.dtype: expected float32, got float16");
    ROW(ta.dtype.lanes = 2, TYPE_ERROR, "argument #0 'A'.dtype: expected float32, got float32x2");
    ROW(as[1] = 9, VALUE_ERROR, "argument #0 'A'.shape[1]: expected 8, got 9");
    ROW(bs[0] = 4, VALUE_ERROR, "argument #1 'B'.shape[0]: expected 5 (= A.shape[0]), got 4");
    ROW(cs[0] = 9, VALUE_ERROR, "argument #2 'C'.shape[0]: expected 10 (= k * 2), got 9");
    ROW(as[0] = -1, VALUE_ERROR, "argument #0 'A'.shape[0]: expected at least 0, got -1");
    ROW(as[0] = INT64_C(3000000000), VALUE_ERROR, "argument #0 'A'.shape[0]: 3000000000 does not fit int32");
    ROW(as[0] = INT64_MAX / 2, VALUE_ERROR, "'A'.shape: more elements than there is memory");
    ROW((tc.strides = cst, cst[0] = 80), VALUE_ERROR, "argument #2 'C'.strides: expected a compact array, got 80");
    ROW(bst[1] = 2, VALUE_ERROR, "argument #1 'B'.strides[1]: expected 1, got 2");
    ROW(ta.byte_offset = 4, VALUE_ERROR, "argument #0 'A'.byte_offset: expected 0 elements of 4 bytes, got 4 bytes");
    ROW(tc.device.type = 2, VALUE_ERROR, "argument #2 'C'.device: expected cpu:0, got device 2:0");
    ROW(tb.data = NULL, VALUE_ERROR, "argument #1 'B'.data is NULL");
    ROW(ta.data = (char *)a + 4, VALUE_ERROR, "argument #0 'A'.data: misaligned, expected 64 bytes, address 0x");
    ROW(args[3].as.i = INT64_C(5000000000), VALUE_ERROR, "argument #3 'n': 5000000000 does not fit int32");
    ROW(tc.data = b, VALUE_ERROR, "argument #2 'C'.data overlaps 'B', and is written");
    ROW(args[3].as.i = 3, ASSERTION_ERROR, "f: RuntimeError: n is \"not\" 3%");
    /* what is right: sizes of 0, any stride of an extent of 1, int for float, bool for int */
    fresh();
    as[0] = bs[0] = cs[0] = 0;
    ta.data = tb.data = tc.data = NULL;
    bad += f_packed(args, 6, &err) != 0 || memcmp(c, before, sizeof c);
    fresh();
    args[4] = (moonloop_arg){MOONLOOP_INT, {.i = 2}};
    args[3] = (moonloop_arg){MOONLOOP_BOOL, {.i = 1}};
    bad += f_packed(args, 6, NULL) != 0;
    for (int k = 0; k < K * 8; k++)
        bad += c[k] != a[k] * 2.0f + b[k / 8 * 16 + k % 8];
    bad += c[K * 8] != -1.0f;
    fresh();
    bad += again_packed(args, 6, &err) != 0 || c[1] != a[1] * 0.5f + b[1];
    printf("%d wrong\n", bad);
    return bad != 0;
}
END2
"${cc[@]}" -std=c11 -Wall -Wextra -Werror -o drive drive.c f.o g.o -lm 2>err && ./drive >text
verdict 'the header checks each row of the table, and nothing is written before all pass; two kernels live in one program'
for how in '' '-DML_PLAIN' '-O2 -fopenmp'; do
    # shellcheck disable=SC2086
    "${cc[@]}" -std=c11 -Wall -Wextra -Werror $how -o drive_c drive.c f.c g.c -lm 2>err && ./drive_c >text
    verdict "the same from C as source${how:+ ($how)}"
done
nm -D f.so 2>err | grep -q ' T f_packed$' && ! nm -D f.so | grep -q moonloop
verdict 'a library has the checks, too'

# ---- the examples, in a folder that knows nothing of moonloop
here=$(pwd)
mkdir away && cp "$root"/examples/use_kernel.* away/
cd away
run use_kernel.lua
verdict 'use_kernel.lua saves the kernel of the examples'
"${cc[@]}" -std=c11 -Wall -Wextra -Werror -o use use_kernel.c matmul.o -lm -lgomp 2>err && ./use >text 2>err && grep -q "^refused: matmul: argument #0 'A'.shape\[0\]: expected 64, got 63$" text
verdict 'use_kernel.c calls it as an object'
"${cc[@]}" -std=c11 -Wall -Wextra -Werror -o use use_kernel.c matmul.c -lm 2>err && ./use >text 2>err
verdict 'use_kernel.c calls it as C'
if python3 -c 'import numpy' 2>/dev/null; then
    python3 use_kernel.py ./matmul.so >text 2>err && grep -q "^refused: matmul: argument #2 'C'.dtype: expected float32, got float64$" text
    verdict 'use_kernel.py calls it as a library'
else
    echo 'skip use_kernel.py: there is no Python with numpy'
fi
cd "$here"

# ---- what is refused, and what stays
cat >bad.lua <<'END2'
local k = moon.build(moon.open "f.py")
local function code(...) local ok, e = pcall(k.save, k, ...) print(ok or e.code, ok or e.message) end
code("x.o", {name = "2x"})
code("x.h", {name = "for"})
code("x.o", {name = "größe"})
code("x.o", {nam = "x"})
END2
run bad.lua && [ ! -e x.o ] && [ "$(grep -c '^bad-argument.name: .* is no name in C' text)" = 3 ]
verdict 'a name that C does not take is refused, and why'
cat >lacks.lua <<'END2'
local host = moon.build(workload.matmul(4, 4, 4), {target = "llvm -mattr=+amx-int8"})
local a, b, c = moon.tensor {4, 4}, moon.tensor {4, 4}, moon.tensor({4, 4}):fill(7)
local ok, e = pcall(host, a, b, c)
if ok then print("has it") return end
print(e.code, e.message, c[{0, 0}])
ok, e = pcall(host.time, host)
print(e.code, e.message)
host:save("lacks.o")
print(moon.build(workload.matmul(4, 4, 4)):time {shape = {}, runs = 2}.runs)
END2
run lacks.lua
if [ "$(cat text)" = 'has it' ]; then
    echo 'skip an instruction set that the machine lacks: it has AMX'
else
    grep -q '^not-supported.main was built for a processor with amx-int8, which this one has not: .*7' text && grep -q 'it cannot be timed here' text && [ -s lacks.o ] && [ "$(tail -n 1 text)" = 2 ]
    verdict 'code for an instruction set that the machine lacks is refused by its name, and saved'
fi
for s in o so s ll c h; do
    echo old >"full.$s"
    # in this process: a worker shares memory by a file
    echo "local k = moon.build(moon.open 'f.py', {inprocess = true}) local ok, e = pcall(k.save, k, 'full.$s') print(ok or e.code)" >full.lua
    in_no_room() { (trap "" XFSZ && ulimit -f 0 && timeout "$limit" "$MOONLOOP" --private full.lua 2>&1); }
    in_no_room | cat >text
    grep -qE '^(no-space|no-file|codegen-failed)$' text && [ "$(cat "full.$s")" = old ] && [ -z "$(find . -name 'full*new*')" ]
    verdict "where nothing can be written the old .$s stays"
done

# ---- at the prompt
"$MOONLOOP" -b --private -e 's = schedule(workload.matmul(16, 16, 16))' -e ':save p.o --name mm' -e ':save p.h --name mm' -e ':save p.c --name mm' >text 2>err &&
    grep -q '^saved p.o: mm_body, v0 of matmul$' text && "${cc[@]}" -std=c11 -Wall -Wextra -Werror -c -o p2.o p.c 2>err && nm p.o | grep -q ' T mm_body$'
verdict ':save writes kernels under a name'
"$MOONLOOP" -b --private -e 's = schedule(workload.matmul(16, 16, 16))' -e ':save a.o --target "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1"' >text 2>err && [ "$(od -An -tu2 -j18 -N2 a.o | tr -d ' ')" = 183 ]
verdict ':save --target compiles for another machine'
! "$MOONLOOP" -b --private -e 's = schedule(workload.matmul(16, 16, 16))' -e ':save q.o --name 2x' >text 2>err && [ ! -e q.o ] && grep -q 'no name in C' err &&
    ! "$MOONLOOP" -b --private -e 's = schedule(workload.matmul(16, 16, 16))' -e ':save q.py --name x' >text 2>err && grep -q 'are of kernels' err
verdict ':save refuses a name that C does not take, and one where there is none'
"$MOONLOOP" -b --private -e 's = schedule(workload.matmul(16, 16, 16))' -e ':c > c.c' -e ':save p.c' >text 2>err && cmp -s c.c p.c
verdict ':c is what :save FILE.c writes'

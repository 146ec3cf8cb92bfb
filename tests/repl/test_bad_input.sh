#!/bin/bash
# Bad input, as a user meets it: empty shapes, sizes beyond what counts hold, code that LLVM refuses, values that are no
# numbers, disks that are full or read only. Rows of the arguments' checks: tests/codegen/runtime/test_packed.c, and the
# header's in test_export.sh. Source: lowering-and-codegen 5.3, 7.6, 7.7.
. tests/repl/session.sh

why() { cat text err 2>/dev/null; }
run() { timeout "$limit" "$MOONLOOP" -b --private "$@" >text 2>err; }

echo 'local ok, e = pcall(moon.build, moon.workload.matmul(2, 2, 2)) print(ok or e.code)' >probe.lua
run probe.lua
if [ "$(cat text)" = no-target ]; then
    echo 'skip bad input of compiled code: libLLVM 19 is not there'
    exit 0
fi

# ---- shapes
cat >empty.lua <<'END2'
local m = moon.parse [[
@T.prim_func
def main(a: T.handle, c: T.handle, d: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 8), "float32")
    C = T.match_buffer(c, (n, 8), "float32")
    D = T.match_buffer(d, (8,), "float32")
    for i, j in T.grid(n, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)
    for j, i in T.grid(8, n):
        with T.block("D"):
            vj, vi = T.axis.remap("SR", [j, i])
            with T.init():
                D[vj] = T.float32(0)
            D[vj] = D[vj] + A[vi, vj]
]]
local function fresh() return moon.tensor {0, 8}, moon.tensor {0, 8}, moon.tensor({8}):fill(3) end
local s = schedule(m)
local i, j = table.unpack(s:get_loops("C"))
local io = table.unpack(s:split(i, {auto, 4}))
s:vectorize(j)
s:parallel(io)
for _, p in ipairs {m, s} do
    local a, c, want = fresh()
    moon.interpret(m, {a, c, want})
    local k <close> = moon.build(p)
    local a, c, got = fresh()
    k(a, c, got)
    for x = 0, 7 do assert(got[{x}] == want[{x}]) end
end
assert(moon.check(s, {shape = {n = 0}}).ok)
assert(moon.time(s, {shape = {n = 0}, runs = 1, alone = true}).median >= 0)
local none = moon.parse [[
@T.prim_func
def main(A: T.Buffer((0, 8), "float32"), C: T.Buffer((0, 8), "float32")):
    for i, j in T.grid(0, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)
]]
local k <close> = moon.build(none)
k(moon.tensor {0, 8}, moon.tensor {0, 8})
print "done"
END2
run empty.lua && [ "$(cat text)" = done ]
verdict 'an empty shape computes what the reference computes: nothing'

cat >large.lua <<'END2'
local function code(what, f, ...)
    local ok, e = pcall(f, ...)
    print(what, ok and "done" or e.code)
end
code("size", workload.matmul, 1 << 31, 4, 4)
code("product", workload.matmul, 1 << 30, 1 << 30, 1 << 30)
code("tensor", moon.tensor, {1 << 31, 1 << 31})
code("memory", moon.tensor, {1 << 40})
local s = schedule(moon.parse [[
@T.prim_func
def main(A: T.Buffer((65536, 65536), "int8")):
    for i, j in T.grid(65536, 65536):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = T.int8(1)
]])
code("fused", s.fuse, s, "i", "j")
print("kept", s:version())
moon.build(s):save("wide.c")
END2
ASAN_OPTIONS=${ASAN_OPTIONS:-}:allocator_may_return_null=1 run large.lua && [ "$(tr '\t\n' '  ' <text)" = 'size bad-argument product bad-argument tensor too-large memory too-large fused index-overflow kept 0 ' ]
verdict 'sizes that no index counts are refused before anything is made'
grep -qE 'int64_t.*65536|65536.*int64_t' wide.c
verdict 'addresses of more than 2^31 elements are computed in 64 bits'

cat >work.lua <<'END2'
local m = moon.parse [[
@T.prim_func
def main(a: T.handle, c: T.handle, n: T.int64):
    A = T.match_buffer(a, (8,), "float32")
    C = T.match_buffer(c, (8,), "float32")
    B = T.alloc_buffer((n, n), "float32")
    for i in T.serial(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi, vi] = A[vi % T.int64(8)]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[T.int64(0), T.int64(0)]
]]
local k <close> = moon.build(m)
local a, c = moon.tensor({8}):fill(2), moon.tensor({8}):fill(7)
for _, n in ipairs {1 << 20, 1 << 31, 1 << 40, (1 << 31) + (1 << 30)} do
    local ok, e = pcall(k, a, c, n)
    print(ok or e.code, not ok and e.message:match("out of workspace memory"), c[{0}])
end
k(a, c, 4)
print(c[{0}])
for _, s in ipairs {"o", "h", "c"} do k:save("work." .. s, {name = "work"}) end
END2
run work.lua && [ "$(grep -c '^too-large.out of workspace memory.7.0$' text)" = 4 ] && [ "$(tail -n 1 text)" = 2.0 ]
verdict 'a workspace that is not there is refused by its size, and the outputs stay'
cat >drive.c <<'END2'
#include "work.h"
int main(void)
{
    static _Alignas(64) float a[8] = {2}, c[8] = {7};
    const int64_t large[3] = {INT64_C(1) << 31, INT64_C(1) << 40, INT64_C(3) << 30};

    for (int k = 0; k < 3; k++)
        if (work_body(a, c, large[k]) != -1 || c[0] != 7)
            return 1 + k;
    return work_body(a, c, 3) != 0 || c[0] != 2;
}
END2
read -ra cc <<<"${CC:-gcc}"
"${cc[@]}" -std=c11 -o drive_o drive.c work.o -lm 2>err && "${cc[@]}" -std=c11 -o drive_c drive.c work.c -lm 2>err && ./drive_o && ./drive_c
verdict 'so it is in a program that is linked to the kernel, and in the one of C'

# ---- what LLVM refuses
cat >llvm.lua <<'END2'
local function told(call)
    local text = ([[
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        A[i] = B[i]
    for i in range(8):
        A[i] = CALL
]]):gsub("CALL", call)
    local ok, e = pcall(moon.build, moon.parse(text))
    print(ok or e.code, not ok and e.message)
end
told 'T.call_llvm_pure_intrin("float32", "llvm.nosuch.f32", A[i])'
told 'T.call_llvm_pure_intrin("float32", "llvm.x86.sse2.pmadd.wd", A[i])'
told 'T.call_llvm_pure_intrin("float32", "llvm.fma", A[i])'
END2
run llvm.lua && [ "$(grep -c '^\(not-supported\|codegen-failed\).*line [78]' text)" = 3 ]
verdict 'what LLVM refuses is told with the line of the program'

# ---- targets
here='s = schedule(workload.matmul(16, 16, 16))'
refuses() { # TARGET TEXT: nothing of it is run, and its code is saved
    local c
    for c in ':time' ':check' ':profile'; do
        ! run --target "$1" -e "$here" -e 'parallel("i")' -e "$c" && ! grep -q SIG err && has err "$2" || return 1
    done
    run --target "$1" -e "$here" -e ':save other.o' && [ -s other.o ]
}
other=aarch64-linux-gnu
[ "$(uname -m)" = aarch64 ] && other=x86_64-linux-gnu
refuses "llvm -mtriple=$other" "$other"
verdict 'code for another processor is saved, and refused where it would run'
if [ "$(uname -m)" = x86_64 ] && ! grep -qw amx_tile /proc/cpuinfo; then
    refuses 'llvm -mcpu=sapphirerapids -mattr=+amx-tile,+amx-int8' 'a processor with amx-int8, amx-tile, which this one has not'
    verdict 'so is code for extensions that this one has not, by their names'
fi

# ---- values
cat >values.lua <<'END2'
local values = {0.0, -0.0, 1 / 0, -1 / 0, 0 / 0, 2.0 ^ -149, -2.0 ^ -149, 2.0 ^ -126, 2.0 ^ -130, 1.0, -1.5, 3.4e38, -3.4e38, 2.0 ^ 100, 1e-30, 5.0}
local names, bodies = {}, {
    "A[vi] + A[15 - vi]", "A[vi] * A[15 - vi]", "A[vi] / A[15 - vi]", "A[vi] / B[0]", "T.max(A[vi], A[15 - vi])",
    "T.min(A[vi], A[15 - vi])", "T.exp(A[vi])", "T.log(A[vi])", "T.sqrt(A[vi])", "T.tanh(A[vi])", "T.erf(A[vi])",
    "T.if_then_else(A[vi] < A[15 - vi], A[vi], B[0])", "A[vi] * A[15 - vi] + A[vi]", "T.sigmoid(A[vi])",
    "T.Cast(\"float32\", T.Cast(\"float16\", A[vi]))", "T.Cast(\"float32\", T.Cast(\"bfloat16\", A[vi]))",
    "T.Cast(\"float32\", T.Cast(\"int32\", A[vi]))", "T.floor(A[vi])", "T.fabs(A[vi])"}
local bad = 0
for _, body in ipairs(bodies) do
    local text = ([[
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = BODY
]]):gsub("BODY", body)
    local m = moon.parse(text)
    local s = schedule(m)
    s:vectorize("i")
    for _, p in ipairs {m, s} do
        local k <close> = moon.build(p)
        for _, b in ipairs(values) do
            local a, B, got, want = moon.tensor {16}, moon.tensor {1}, moon.tensor {16}, moon.tensor {16}
            for x, v in ipairs(values) do a[{x - 1}] = v end
            B[{0}] = b
            k(a, B, got)
            moon.interpret(m, {a, B, want})
            for x = 0, 15 do
                local g, w = got[{x}], want[{x}]
                local same = g == w and 1 / g == 1 / w or g ~= g and w ~= w or
                    math.abs(g - w) <= 2.0 ^ -22 * math.abs(w) + 2.0 ^ -149
                if not same then
                    bad = bad + 1
                    print(body, values[x + 1], values[16 - x], b, g, w)
                end
            end
        end
    end
end
print(bad .. " differ")
END2
run values.lua && [ "$(tail -n 1 text)" = '0 differ' ]
verdict 'infinities, NaN and denormals come out as in the reference, as scalars and as vectors'

# ---- files
save() { run -e 's = schedule(workload.matmul(16, 16, 16))' -e ":save $1"; }
all='o so s ll c h lua json py'
kept() { # FOLDER CODE: every form is refused with the code, the old file is there, and nothing else
    local s
    for s in $all; do
        ! save "$1/k.$s" && grep -qE "\[($2)\]" err && [ -e "$1/k.$s" ] && [ ! -s "$1/k.$s" ] || return 1
    done
    [ "$(find "$1" -type f ! -name fill | wc -l)" = "$(wc -w <<<"$all")" ]
}
cat /dev/null >text
for s in $all; do
    ln -sf /dev/full "full.$s"
    ! save "full.$s" && grep -q 'No space left' err && [ -c "$(readlink -f "full.$s")" ] || break
done
verdict 'a device that is full is told of, and stays'
mkdir disk
if mount -t tmpfs -o size=32k tmpfs disk 2>/dev/null; then
    for s in $all; do : >"disk/k.$s"; done
    dd if=/dev/zero of=disk/fill bs=1k count=64 2>/dev/null
    kept disk no-space
    verdict 'on a full disk the old files stay, and nothing is left beside them'
    rm disk/fill
    mount -o remount,ro disk
    kept disk no-file
    verdict 'so in a folder that is read only'
    umount disk
else
    echo 'skip a full disk and a folder that is read only: no right to mount one'
fi

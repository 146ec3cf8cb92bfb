#!/bin/bash
# Kernels for aarch64: saved with --target, linked into a plain C program and run under qemu-user; the results are
# compared with those of the same kernel here. Asks for Debian's qemu-user and gcc-aarch64-linux-gnu; what is missing
# is named, and nothing is run. Correctness only: times under qemu mean nothing.
#   bash scripts/test-aarch64.sh [MOONLOOP]
# Source: lowering-and-codegen 7.7, 13.
set -u
ml=$(readlink -f "${1:-${MOONLOOP:-build/moonloop}}")
arm=aarch64-linux-gnu-gcc
for need in qemu-aarch64 $arm; do
    if ! command -v $need >/dev/null; then
        echo "skip kernels for aarch64: there is no $need (Debian: qemu-user, gcc-aarch64-linux-gnu)"
        exit 0
    fi
done
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export HOME=$dir

# Programs by name: f32 with vectors, tails and threads; int8 products; float16 and bfloat16; divisions and masks;
# products by the instructions for bytes and bfloat16.
cat >make.lua <<'END2'
local target = ARM and "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1" or nil
local programs = {
    gemm = function() return moon.draft(workload.matmul(64, 48, 32)) end,
    tail = function() return moon.draft(workload.matmul(37, 19, 23)) end,
    vector = function()
        local s = schedule(workload.matmul(16, 24, 16))
        local i, j, k = table.unpack(s:get_loops("C"))
        s:reorder(k, j)
        s:parallel(i)
        s:vectorize(j)
        return s
    end,
    types = function() return moon.parse [[
@T.prim_func
def main(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "int32"), C: T.Buffer((100,), "float32")):
    H = T.alloc_buffer((100,), "float16")
    G = T.alloc_buffer((100,), "bfloat16")
    for i in T.vectorized(100):
        with T.block("H"):
            vi = T.axis.spatial(100, i)
            H[vi] = T.Cast("float16", A[vi])
    for i in range(100):
        with T.block("G"):
            vi = T.axis.spatial(100, i)
            G[vi] = T.Cast("bfloat16", H[vi] * H[99 - vi])
    for i in T.vectorized(100):
        with T.block("C"):
            vi = T.axis.spatial(100, i)
            C[vi] = T.if_then_else(B[vi] % 3 == 1, T.Cast("float32", G[vi]), T.Cast("float32", B[vi] // 7))
]] end,
    bytes = function() return moon.parse [[
@T.prim_func
def main(A: T.Buffer((32, 64), "uint8"), B: T.Buffer((64, 32), "int8"), C: T.Buffer((32, 32), "int32")):
    for i, j, k in T.grid(32, 32, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
]] end,
}
-- Products by each instruction of ARM's, on operands as it takes them; here, the same without it.
local V2 = "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v2"
local function dot(intrin, a, b, c, taps)
    local text = ([[
@T.prim_func
def main(A: T.Buffer((6, 32), "TA"), B: T.Buffer((3, KO, 4, KI), "TB"), C: T.Buffer((6, 12), "TC")):
    for i, jo, ko, ji, ki in T.grid(6, 3, KO, 4, KI):
        with T.block("C"):
            vi, vo, vk, vj, vt = T.axis.remap("SSRSR", [i, jo, ko, ji, ki])
            with T.init():
                C[vi, vo * 4 + vj] = T.Cast("TC", 0)
            C[vi, vo * 4 + vj] = C[vi, vo * 4 + vj] + T.Cast("TC", A[vi, vk * KI + vt]) * T.Cast("TC", B[vo, vk, vj, vt])
]]):gsub("K%u", {KO = 32 // taps, KI = taps}):gsub("T%u", {TA = a, TB = b, TC = c})
    return text, intrin, "ji"
end
local function square(intrin, a, b, c, taps)
    local text = ([[
@T.prim_func
def main(A: T.Buffer((3, KO, 2, KI), "TA"), B: T.Buffer((6, KO, 2, KI), "TB"), C: T.Buffer((3, 6, 2, 2), "TC")):
    for io, jo, ko, ii, ji, ki in T.grid(3, 6, KO, 2, 2, KI):
        with T.block("C"):
            vio, vjo, vko, vii, vji, vki = T.axis.remap("SSRSSR", [io, jo, ko, ii, ji, ki])
            with T.init():
                C[vio, vjo, vii, vji] = T.Cast("TC", 0)
            C[vio, vjo, vii, vji] = C[vio, vjo, vii, vji] + T.Cast("TC", A[vio, vko, vii, vki]) * T.Cast("TC", B[vjo, vko, vji, vki])
]]):gsub("K%u", {KO = 32 // taps, KI = taps}):gsub("T%u", {TA = a, TB = b, TC = c})
    return text, intrin, "ii"
end
local dots = {
    sdot = {dot, "sdot_4x4", "int8", "int8", "int32", 4}, udot = {dot, "udot_4x4", "uint8", "uint8", "uint32", 4},
    usdot = {dot, "usdot_4x4", "uint8", "int8", "int32", 4}, bfdot = {dot, "bfdot_4x2", "bfloat16", "bfloat16", "float32", 2},
    smmla = {square, "smmla_2x2x8", "int8", "int8", "int32", 8}, ummla = {square, "ummla_2x2x8", "uint8", "uint8", "uint32", 8},
    usmmla = {square, "usmmla_2x2x8", "uint8", "int8", "int32", 8},
    bfmmla = {square, "bfmmla_2x2x4", "bfloat16", "bfloat16", "float32", 4},
}
for name, d in pairs(dots) do
    programs[name] = function()
        local text, intrin, at = d[1](table.unpack(d, 2))
        local s = schedule(moon.parse(text))
        s:decompose_reduction("C", "ko")
        if ARM then s:tensorize(s:handle(at), intrin) end
        return s
    end
end
for name, make in pairs(programs) do
    local d = dots[name]
    local k <close> = moon.build(make(), {target = d and ARM and V2 or target, contract = false})
    for _, suffix in ipairs(d and ARM and {"o", "h", "s"} or {"o", "h", "c"}) do -- an instruction has no C
        k:save((ARM and "arm_" or "here_") .. name .. "." .. suffix, {name = name})
    end
end
END2
# The programs' arguments are arrays of bytes that a driver fills alike on both machines.
driver() { # NAME BYTES OF EACH ARGUMENT
    local name=$1 k=0 list="" body=""
    shift
    for n in "$@"; do
        body+="    void *p$k = aligned_alloc(64, ($n + 63) / 64 * 64); fill(p$k, $n, $k);
"
        list+="${list:+, }p$k"
        k=$((k + 1))
    done
    cat >"$name.c" <<END2
#include "$name.h"
#include <stdlib.h>
static const char kinds[] = "$KINDS";
static void fill(void *p, int n, int which)
{
    for (int k = 0; k < n; k++)
        if (kinds[which] == 'f' && k % 4 == 0)
            ((float *)p)[k / 4] = (float)((k / 4 * 7 + which) % 29) * 0.37f - 5.0f;
        else if (kinds[which] == 'i' && k % 4 == 0)
            ((int32_t *)p)[k / 4] = (k / 4 * 11 + which) % 101 - 50;
        else if (kinds[which] == 'h' && k % 2 == 0)
            ((uint16_t *)p)[k / 2] = (const uint16_t[]){0, 0x3f80, 0xbf80, 0x4000, 0xc040, 0x4080}[(k / 2 * 5 + which) % 6];
        else if (kinds[which] == 'b')
            ((uint8_t *)p)[k] = (uint8_t)(k * 37 + which);
}
int main(void)
{
$body    if (${name}_body($list) != 0)
        return 1;
    for (int k = 0; k < $n; k++)
        printf("%02x", ((uint8_t *)p$((k - 1)))[k]);
    printf("\n");
    return 0;
}
END2
}
bad=0
compare() { # NAME: object, and C as source
    local how
    cp "here_$1.h" "$1.h"
    gcc -std=c11 -O1 -o "here_$1" "$1.c" "here_$1.o" -lm -lgomp && "./here_$1" >"$1.want" || return 1
    cp "arm_$1.h" "$1.h"
    for how in o c; do
        [ -e "arm_$1.$how" ] || continue
        $arm -std=c11 -O1 -ffp-contract=off -static -fopenmp -Wno-psabi -o "arm_$1" "$1.c" "arm_$1.$how" -lm 2>said &&
            qemu-aarch64 -cpu max "./arm_$1" >"$1.got" && cmp "$1.want" "$1.got" || { cat said; return 1; }
    done
}
{ echo 'ARM = false'; cat make.lua; } >here.lua
{ echo 'ARM = true'; cat make.lua; } >arm.lua
"$ml" --private here.lua && "$ml" --private arm.lua || exit 1
KINDS=fff driver gemm 8192 6144 12288
KINDS=fff driver tail 3404 1748 2812
KINDS=fff driver vector 1024 1536 1536
KINDS=fif driver types 400 400 400
KINDS=bbi driver bytes 2048 2048 4096
for name in sdot udot usdot; do KINDS=bbi driver $name 192 384 288; done
KINDS=hhi driver bfdot 384 768 288
for name in smmla ummla usmmla; do KINDS=bbi driver $name 192 384 288; done
KINDS=hhi driver bfmmla 384 768 288
names="gemm tail vector types bytes sdot udot usdot bfdot smmla ummla usmmla bfmmla"
[ -z "${ML_QUICK:-}" ] || names="tail types sdot bfmmla"
for name in sdot udot usdot bfdot smmla ummla usmmla bfmmla; do
    grep -qw "$name" "arm_$name.s" || { echo "not ok the instruction $name is in the code" && bad=1; }
done
for name in $names; do
    if compare $name; then
        echo "ok $name for aarch64 computes the same, as an object and as C"
    else
        echo "not ok $name for aarch64 computes the same, as an object and as C"
        bad=1
    fi
done
exit $bad

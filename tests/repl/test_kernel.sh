#!/bin/bash
# Saved kernels as other programs see them: objects, libraries and texts with their header, called
# from C and compared with what is computed there; what they import; failures of cc.
# Source: lowering-and-codegen 7.7.
. tests/repl/session.sh
read -ra cc <<<"${CC:-gcc}" # it may be `ccache gcc`

why() { cat text err 2>/dev/null; }
run() { timeout "$limit" "$MOONLOOP" "$1" >text 2>err; }

echo 'local ok, e = pcall(moon.build, moon.workload.matmul(2, 2, 2)) print(ok or e.code)' >probe.lua
run probe.lua
if [ "$(cat text)" = no-target ]; then
    echo 'skip saved kernels: libLLVM 19 is not there'
    exit 0
fi

# ---- no LLVM: the address space has no room for it
if [ -z "${ML_SAN:-}" ]; then
    cat >none.lua <<'END'
for _, inprocess in ipairs {false, true} do
    local ok, e = pcall(moon.build, moon.workload.matmul(2, 2, 2), {inprocess = inprocess})
    print(ok or e.code, not ok and e.message:find("LLVM") and "told" or "")
end
END
    (ulimit -v 120000 && run none.lua)
    printf 'no-target\ttold\nno-target\ttold\n' | cmp -s - text
    verdict 'where LLVM cannot be loaded the error is no-target'
fi

# ---- a program with a symbolic size, every kind of scalar, an assertion and a large buffer
cat >f.py <<'END'
@T.prim_func
def f(a: T.handle, c: T.handle, n: T.int32, x: T.float32, flag: T.bool, big: T.int64):
    k = T.int32()
    A = T.match_buffer(a, (k, 8), "float32")
    C = T.match_buffer(c, (k, 8), "float32")
    assert n > 0, "n is */ positive"
    B = T.alloc_buffer((k, 8), "float32")
    for i, j in T.grid(k, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.exp(A[vi, vj]) * x
    for i, j in T.grid(k, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(flag, B[vi, vj] + T.Cast("float32", n), T.Cast("float32", big))
END
cat >f.lua <<'END'
for _, inprocess in ipairs {false, true} do
    local k = moon.build(moon.open "f.py", {inprocess = inprocess})
    local p = inprocess and "in/" or ""
    for _, s in ipairs {"o", "so", "s", "ll", "h"} do k:save(p .. "f." .. s) end
end
END
mkdir in
run f.lua && [ -s f.o ] && [ -s f.so ] && [ -s f.s ] && [ -s f.ll ] && [ -s f.h ] &&
    [ -z "$(find . -name '*new*')" ]
verdict 'objects, libraries, texts and headers are saved, and nothing else'
cmp -s f.o in/f.o && cmp -s f.s in/f.s && cmp -s f.ll in/f.ll && cmp -s f.h in/f.h
verdict 'what is saved does not hang on where the kernel runs'
! nm -u f.o | grep -v -E '^ +U (aligned_alloc|free|memcpy|memset|memmove|expf?)$' && nm -u f.o | grep -q aligned_alloc
verdict 'an object imports libc and libm alone'

cat >drive.c <<'END'
#include "f.h"
#include "f.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    enum { K = 1000 };
    float *a = aligned_alloc(64, K * 8 * sizeof *a), *c = aligned_alloc(64, K * 8 * sizeof *c);
    moonloop_word w[7] = {{.p = a}, {.p = c}, {.i = 3}, {.f = 0.5}, {.i = 1}, {.i = -7}, {.i = K}};
    int bad = 0;
    for (int i = 0; i < K * 8; i++) {
        a[i] = (float)(i % 17) * 0.1f - 1.0f;
        c[i] = -1.0f;
    }
    bad += f_call(w) != 0;
    for (int i = 0; i < K * 8; i++)
        bad += !(fabsf(c[i] - (expf(a[i]) * 0.5f + 3.0f)) < 1e-5f);
    bad += f_body(a, c, 3, 0.5f, 0, INT64_MIN, K) != 0;
    bad += c[7999] != (float)INT64_MIN;
    w[2].i = 0;
    c[0] = 42.0f;
    bad += f_call(w) != 1 || c[0] != 42.0f;
    w[2].i = 1;
    w[6].i = 100000000; /* that much memory is not there */
    if (argc > 1)
        bad += f_call(w) != -1 || c[0] != 42.0f || !argv[1];
    printf("%d\n", bad);
    free(a);
    free(c);
    return bad != 0;
}
END
"${cc[@]}" -std=c11 -Wall -Wextra -Werror -o drive drive.c f.o -lm 2>err && ./drive >text
verdict 'an object is linked to C with its header, and computes the same'
in_little() { (ulimit -v 1000000 && "$@"); }
in_little ./drive full >text
verdict 'where there is no memory for its buffers it says so'
"${cc[@]}" -std=c11 -o drive_so drive.c ./f.so -lm 2>err && ./drive_so >text
verdict 'a shared library does'
"${cc[@]}" -c -o f2.o f.s 2>err && "${cc[@]}" -std=c11 -o drive_s drive.c f2.o -lm 2>err && ./drive_s >text
verdict 'the assembly does'
printf '#include "f.h"\n#include "f.h"\nint32_t (*volatile p)(const moonloop_word *) = f_call;\nint main() { return p == nullptr; }\n' >h.cc
if command -v g++ >/dev/null; then
    g++ -std=c++17 -Wall -Wextra -Werror -c -o h.o h.cc 2>err
    verdict 'the header is C++ too'
fi
grep -q 'w\[6\].i  k  int32, a size in the shapes' f.h && grep -q '  1  RuntimeError: n is \* / positive' f.h &&
    grep -qF 'int32_t f_body(const float *A, float *C, int32_t n, float x, int8_t flag, int64_t big, int32_t k);' f.h
verdict 'the header says what the words are'

# ---- parallel loops
cat >p.lua <<'END'
local s = schedule(workload.matmul(64, 48, 32))
s:cache_write("C", 0, "global")
s:parallel("C/i")
moon.build(s):save("p.o")
moon.build(s, {threads = 2}):save("p.so")
moon.build(s):save("p.h")
END
run p.lua
verdict 'a parallel program is saved'
! nm -u p.o | grep -v -E '^ +U (aligned_alloc|free|memcpy|memset|memmove|GOMP_parallel|omp_get_thread_num|omp_get_num_threads)$' &&
    nm -u p.o | grep -q GOMP_parallel
verdict 'it imports the entries of OpenMP besides'
cat >pdrive.c <<'END'
#include "p.h"
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    enum { M = 64, N = 48, K = 32 };
    float *a = aligned_alloc(64, M * K * 4), *b = aligned_alloc(64, K * N * 4), *c = aligned_alloc(64, M * N * 4);
    int bad = 0;
    for (int i = 0; i < M * K; i++)
        a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++)
        b[i] = (float)(i % 5 - 2);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < M * N; i++)
            c[i] = 1e9f;
        bad += main_body(a, b, c) != 0;
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                float sum = 0;
                for (int k = 0; k < K; k++)
                    sum += a[i * K + k] * b[k * N + j];
                bad += sum != c[i * N + j];
            }
    }
    printf("%d wrong\n", bad);
    return bad != 0;
}
END
"${cc[@]}" -std=c11 -Wall -Wextra -Werror -o pdrive pdrive.c p.o -lm -lgomp 2>err && ./pdrive >text && OMP_NUM_THREADS=3 ./pdrive >text
verdict 'a parallel object runs with the threads of its runtime'
"${cc[@]}" -std=c11 -o pdrive_so pdrive.c ./p.so -lm 2>err && ./pdrive_so >text
verdict 'a parallel library brings its runtime'

# ---- failures
cat >gpu.lua <<'END'
local s = schedule(workload.matmul(16, 16, 16))
s:bind(s:get_loops("C")[1], "blockIdx.x")
local ok, e = pcall(moon.build, s)
print(ok, e.code, e.message)
END
run gpu.lua && grep -q '^false.no-device.loop i is bound to blockIdx.x: this is a program for a GPU' text
verdict 'a program for a GPU is not built, and why is told'
cat >fail.lua <<'END'
local k = moon.build(moon.open "f.py")
local function code(...) local ok, e = pcall(k.save, k, ...) print(ok or e.code, ok or e.message) end
code("g.so")
code("none/g.so")
END
mkdir empty bad
printf '#!/bin/sh\necho "no such thing" >&2\necho more >&2\nexit 3\n' >bad/cc
chmod +x bad/cc
timeout=$(command -v timeout)
(PATH=$PWD/empty "$timeout" "$limit" "$MOONLOOP" fail.lua >text 2>err)
grep -q '^not-supported.g.so: cc, which links shared libraries, cannot be started' text && grep -q '^no-file.none/g.so cannot be written' text
verdict 'without cc the error says so'
(PATH=$PWD/bad:$PATH run fail.lua)
grep -q '^codegen-failed.g.so: cc -shared failed: no such thing$' text && [ ! -e g.so ] && [ ! -e g.so.new ] && [ ! -e g.so.new.o ]
verdict 'what cc says is told, and nothing is left'
printf 'moon.build(moon.open "f.py"):save("-g.so") moon.build(moon.open "f.py"):save("a b.so")' >odd.lua
run odd.lua && [ -s ./-g.so ] && [ -s 'a b.so' ]
verdict 'any name will do'

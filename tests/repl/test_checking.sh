#!/bin/bash
# :check and :time from outside: the bound that is said, integer inputs, checks after a step, what
# is compared with what. Source: interaction 8.
. tests/repl/session.sh
flags=(--private --no-init)
export XDG_CACHE_HOME=$TMPDIR/cache MOONLOOP_THREADS=1

# ---- which schedule a setting checks
two='a = schedule(workload.matmul(8, 8, 8)) b = schedule(workload.matmul(6, 6, 6))'
typed "$two" 'focus(a)' ':set check-after-step on' 'a:split("i", {2, 4}) focus(b)'
[ "$status" = 0 ] && ! has out ' equals v0 '
verdict 'a line that steps one schedule and takes up another checks neither in its place'
typed "$two" 'focus(a)' ':set check-after-step on' 'a:split("i", {2, 4});'
[ "$status" = 0 ] && has out 'ok C equals v0 within .* 64 elements'
verdict 'a line that steps the focus checks it'

# ---- the bound
cat >softmax.py <<'P'
@T.prim_func
def main(A: T.Buffer((16, 64), "float32"), C: T.Buffer((16, 64), "float32")):
    M = T.alloc_buffer((16,), "float32")
    S = T.alloc_buffer((16,), "float32")
    for i, k in T.grid(16, 64):
        with T.block("M"):
            v, r = T.axis.remap("SR", [i, k])
            with T.init():
                M[v] = T.min_value("float32")
            M[v] = T.max(M[v], A[v, r])
    for i, k in T.grid(16, 64):
        with T.block("S"):
            v, r = T.axis.remap("SR", [i, k])
            with T.init():
                S[v] = T.float32(0)
            S[v] = S[v] + T.exp(A[v, r] - M[v])
    for i, k in T.grid(16, 64):
        with T.block("C"):
            v, r = T.axis.remap("SS", [i, k])
            C[v, r] = T.exp(A[v, r] - M[v]) / S[v]
P
typed ':open softmax.py' 'split("S/k", {auto, 4})' ':check'
[ "$status" = 0 ] && has out 'ok C equals v0 within [0-9.]*e-0[789] ' && ! has out vacuous
verdict 'softmax is checked as closely as its roundings allow'
typed ':open softmax.py' ':check --rtol 0.1'
[ "$status" = 0 ] && has out 'vacuous: the bound .* is [0-9.]* % of the largest value'
verdict 'a bound that says little is called vacuous'
typed 's = schedule(workload.matmul(32, 32, 32, {dtype = "float16"}))' ':check'
[ "$status" = 0 ] && has out 'equals v0 within'
verdict 'float16 has its own bound'

# ---- what the start leaves unwritten
cat >sums.py <<'P'
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (4, n))
    C = T.match_buffer(c, (4,))
    for i, k in T.grid(4, n):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
P
typed ':open sums.py' 'decompose_reduction("C", "i")' ':check --shape n=0' ':check --shape n=3'
[ "$status" = 0 ] && has out 'ok C equals v0 exactly, 4 elements, 4 of them not written by v0, seed 1' &&
    has out 'ok C equals v0 within [^,]*, 4 elements, seed 1'
verdict 'a sum of no terms has no value that it should be, and that is said'

# ---- what the compiler refuses
stages='annotate("k", "software_pipeline_stage", {0, 1}) annotate("k", "software_pipeline_order", {0, 1})'
typed 's = schedule(workload.matmul(8, 8, 8))' "$stages" ':check' 'print(moon.check(s).refused)'
[ "$status" = 0 ] && has out 'ok C equals v0 .* interpreted alone, as the compiler refuses it: software_pipeline: in the pipeline of loop k' &&
    has out '^.*software_pipeline: in the pipeline of loop k'
verdict ':check tells what the compiler will refuse'
typed 's = schedule(workload.matmul(8, 8, 8))' "$stages" ':ir'
[ "$status" != 0 ] && has err 'error: software_pipeline: in the pipeline' && ! has err 'software_pipeline: software_pipeline:'
verdict 'a pass that refuses is named once'

# ---- integer inputs
cat >gather.py <<'P'
@T.prim_func
def main(P: T.Buffer((8,), "int32"), A: T.Buffer((64,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = A[P[v] * 64]
P
typed ':open gather.py' ':check'
[ "$status" = 0 ] && has out 'ok C equals v0 exactly' && has out 'vacuous: P is 0 throughout, as no other value'
verdict 'an index with one value that fits is called vacuous'

# ---- right checks behind failing ones, through the session
[ -n "${ML_QUICK-}" ] && n=50 || n=300
cat >odd.lua <<L
local m = moon.parse [[
@T.prim_func
def main(A: T.Buffer((9,), "float32"), C: T.Buffer((9,), "float32")):
    for i in range(9):
        for t in range(i + 1):
            with T.block("b"):
                v = T.axis.spatial(9, i)
                w = T.axis.reduce(9, t)
                with T.init():
                    C[v] = T.float32(0)
                C[v] = C[v] + A[w]
]]
local odd, good, bad = moon.schedule(m), moon.schedule(m), 0
odd:unroll "t"
good:split("i", {moon.auto, 4})
for k = 1, $n do
    pcall(moon.check, odd, {seed = k})
    local ok, r = pcall(moon.check, good, {seed = k})
    if not (ok and r.ok) then bad = bad + 1 end
end
print(bad .. " failed")
L
run -b odd.lua && [ "$(cat out)" = '0 failed' ]
verdict 'right checks behind failing ones are right'

cat >one_size.py <<'P'
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 64, 64), "float32")
    C = T.match_buffer(c, (n, 64), "float32")
    for i, j, k in T.grid(n, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vj, vk]
P
typed ':open one_size.py' ':check'
[ "$status" = 1 ] && has err 'the size n is not given: --shape n=' && ! has err 'takes a while'
verdict 'a size that is not given is named'

# ---- timing
if ! "$ml" --features | grep -q '^llvm=[^n]'; then
    echo 'skip the timings: there is no LLVM'
    exit 0
fi
typed 's = schedule(workload.matmul(48, 48, 48))' 'parallel("i");' ':time' ':time' ':time'
[ "$status" = 0 ] && has out 'against the start ('
verdict 'a version is compared with the start'

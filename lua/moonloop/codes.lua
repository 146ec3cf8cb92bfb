-- codes - for each error code that no case of a primitive shows, a small example that breaks the
-- rule and one that does not. Both are run when they are shown.
--
-- lua: code with a schedule s of an 8 × 8 × 8 matrix product; text: a program that is parsed,
-- verified and interpreted; typed: lines of a session. Source: interaction 7.
local codes = {}

local function lua(code, bad, good) codes[code] = { kind = "lua", bad = bad, good = good } end
local function text(code, bad, good, opts) codes[code] = { kind = "text", bad = bad, good = good, opts = opts } end
-- Lines as they are typed, in a session of their own.
local function typed(code, bad, good) codes[code] = { kind = "typed", bad = bad, good = good } end

local head = '@T.prim_func\ndef f(a: T.handle, A: T.Buffer((8,), "float32"), n: T.int32):\n'
local function lines(indent, body)
    return (body .. "\n"):gsub("([^\n]*)\n", function(line) return (line ~= "" and indent or "") .. line .. "\n" end)
end
-- In the body of a function of a handle a, a buffer A[8] and an integer n.
local function body(code, bad, good) text(code, head .. lines("    ", bad), head .. lines("    ", good)) end
-- The same inside a block b under a loop i of 8.
local block = head .. '    for i in range(8):\n        with T.block("b"):\n'
local function inside(code, bad, good)
    text(code, block .. lines("            ", bad), block .. lines("            ", good))
end

-- ---- handles, names, files
lua("bad-handle", 'local t = moon.schedule(moon.workload.matmul(8, 8, 8))\ns:split(t:loops("C")[1], {2, 4})',
    's:split(s:loops("C")[1], {2, 4})')
lua("expired-handle", 'local i = s:loops("C")[1]\ns:split(i, {2, 4})\ns:split(i, {2, 4})',
    'local i = s:loops("C")[1]\nlocal parts = s:split(i, {2, 4})\ns:split(parts[2], {2, 2})')
lua("wrong-handle-kind", 's:split(s:get_block("C"), {2, 4})', 's:split(s:get_loops("C")[1], {2, 4})')
lua("no-blocks", "local A, i = moon.ir.buffer('A', {8}), moon.ir.var('i')\n" ..
    "moon.schedule(moon.ir.func{params = {A}, body = moon.ir.loop{var = i, extent = 8, body = moon.ir.store(A, 0, {i})}}):split('i', {2, 4})",
    's:split("i", {2, 4})')
lua("ambiguous-loop", 's:unroll("*")', 's:unroll("k")')
lua("no-such-instruction", "moon.trace('[[[\"Frobnicate\", [], [], []]], []]')",
    "moon.trace('[[[\"GetBlock\", [], [\"C\", \"main\"], [\"b0\"]]], []]')")
lua("bad-trace", "moon.trace('[[[\"GetLoops\", [\"b0\"], [], [\"l1\"]]], []]')",
    "moon.trace('[[[\"GetBlock\", [], [\"C\", \"main\"], [\"b0\"]], [\"GetLoops\", [\"b0\"], [], [\"l1\"]]], []]')")
lua("intrin-exists", 'local dot = moon.intrin("dot_16x4_vnni")\nmoon.intrin("dot_16x4_vnni", dot.desc, dot.impl)',
    'local dot = moon.intrin("dot_16x4_vnni")\nmoon.intrin("dot_16x4_vnni", dot.desc, dot.impl, {override = true})')
lua("undefined-variable", 'local ir = moon.ir\nlocal A = ir.buffer("A", {8})\nir.func{params = {A}, body = ir.store(A, ir.var("x"), {0})}',
    'local ir = moon.ir\nlocal A = ir.buffer("A", {8}, "int32")\nlocal x = ir.var("x")\n' ..
    'ir.func{params = {A}, body = ir.loop{var = x, extent = 8, body = ir.store(A, x, {x})}}')
lua("undefined-buffer", 'local ir = moon.ir\nlocal A, B = ir.buffer("A", {8}), ir.buffer("B", {8})\n' ..
    'ir.func{params = {B}, body = ir.store(B, ir.load(A, 0), {0})}',
    'local ir = moon.ir\nlocal A, B = ir.buffer("A", {8}), ir.buffer("B", {8})\n' ..
    'ir.func{params = {A, B}, body = ir.store(B, ir.load(A, 0), {0})}')
local function of_iter(value)
    return 'local ir = moon.ir\nlocal A, i, v = ir.buffer("A", {8}, "int32"), ir.var("i"), ir.var("v")\n' ..
        "moon.schedule(ir.func{params = {A}, body = ir.loop{var = i, extent = 8,\n" ..
        '    body = ir.block{name = "b", iters = {{var = v, extent = 8, value = i}}, body = ir.store(A, ' ..
        value .. ", {v})}}})"
end
lua("loop-variable-in-block", of_iter("i"), of_iter("v"))
lua("multiple-definition", 'local ir = moon.ir\nlocal A, i = ir.buffer("A", {8}, "int32"), ir.var("i")\n' ..
    'ir.func{params = {A}, body = ir.loop{var = i, extent = 8, body = ir.loop{var = i, extent = 8, body = ir.store(A, i, {i})}}}',
    'local ir = moon.ir\nlocal A, i, j = ir.buffer("A", {8}, "int32"), ir.var("i"), ir.var("j")\n' ..
    'ir.func{params = {A}, body = ir.loop{var = i, extent = 8, body = ir.loop{var = j, extent = 8, body = ir.store(A, i, {i})}}}')
lua("mismatch", 'local dot = moon.intrin("dot_16x4_vnni")\nlocal wrong = dot.desc:script():gsub("C%[vi%] %+", "C[vi] -")\n' ..
    'moon.intrin("dot_wrong", dot.desc, (wrong))',
    'local dot = moon.intrin("dot_16x4_vnni")\nmoon.intrin("dot_right", dot.desc, dot.desc, {override = true})')
lua("no-device", 's:bind("i", "threadIdx.x")\nmoon.build(s)', 's:bind("i", "threadIdx.x")\nmoon.check(s)')
lua("unknown-name", 'moon.explain("unsond")', 'moon.explain("unsound")')
lua("lua-error", "local x = nil + 1", "local x = 1 + 1")
lua("no-file", 'moon.open("nothing.py")', "moon.parse(s:script())")
lua("bad-file", 'moon.tensor.load("/dev/null")', 'moon.tensor({2}, "int8")')
lua("no-target", 'moon.build(s, {target = "llvm -mcpu=frobnicator"})', 'moon.target("llvm")')
lua("not-yet", 'moon.open("net.onnx")', "moon.parse(s:script())")
lua("bad-run-argument", "moon.interpret(s, {})",
    'local t = function() return moon.tensor({8, 8}, "float32"):fill(1) end\nmoon.interpret(s, {t(), t(), t()})')
lua("too-large", "moon.check(moon.schedule(moon.workload.matmul(100000, 100000, 100000)))", "moon.check(s)")
lua("too-deep", 'for k = 1, 600 do s:add_unit_loop("C") end', 'for k = 1, 20 do s:add_unit_loop("C") end')

-- ---- programs that break a rule when they are run, or verified
local function run(code, bad, good)
    local of = '@T.prim_func\ndef f(A: T.Buffer((8,), "float32")):\n'
    text(code, of .. lines("    ", bad), of .. lines("    ", good))
end
run("out-of-bounds", "for i in range(9):\n    A[i] = T.float32(0)", "for i in range(8):\n    A[i] = T.float32(0)")
run("undefined-read", 'B = T.alloc_buffer((8,), "float32")\nif B[0] > T.float32(0):\n    A[0] = T.float32(1)',
    'B = T.alloc_buffer((8,), "float32")\nB[0] = T.float32(1)\nif B[0] > T.float32(0):\n    A[0] = T.float32(1)')
run("race", "for i in T.parallel(8):\n    A[0] = A[0] + A[i]", "for i in T.parallel(8):\n    A[i] = A[i] + T.float32(1)")
local THREADS = 'tx = T.launch_thread("threadIdx.x", 8)\nS = T.alloc_buffer((8,), "float32", scope="shared")\n'
local SYNC = '%sT.tvm_storage_sync("shared")\n'
run("thread-race", THREADS .. SYNC:format("") .. "S[tx] = A[tx]\nA[tx] = S[7 - tx]",
    THREADS .. "S[tx] = A[tx]\n" .. SYNC:format("") .. "A[tx] = S[7 - tx]")
run("divergent-barrier", THREADS .. "S[tx] = A[tx]\nif tx < 4:\n" .. SYNC:format("    ") .. "A[tx] = S[tx]",
    THREADS .. "S[tx] = A[tx]\nif tx < 4:\n    A[tx] = S[tx]\n" .. SYNC:format(""))
run("outside-region", 'for i in range(8):\n    with T.block("b"):\n        vi = T.axis.spatial(8, i)\n        T.reads()\n' ..
    "        T.writes(A[vi])\n        A[7 - vi] = T.float32(0)",
    'for i in range(8):\n    with T.block("b"):\n        vi = T.axis.spatial(8, i)\n        T.reads()\n' ..
    "        T.writes(A[7 - vi])\n        A[7 - vi] = T.float32(0)")
run("divide-by-zero", "for i in range(8):\n    A[8 // i % 8] = T.float32(0)", "for i in range(8):\n    A[8 // (i + 1) % 8] = T.float32(0)")
run("bad-shift", "for i in range(8):\n    A[(1 << i + 32) % 8] = T.float32(0)", "for i in range(8):\n    A[(1 << i) % 8] = T.float32(0)")
run("assert-failed", 'for i in range(8):\n    assert i < 4, "too far"', 'for i in range(8):\n    assert i < 8, "too far"')
run("overflow", "for i in range(2):\n    A[(i + 2147483647) % 8] = T.float32(0)", "for i in range(2):\n    A[(i + 2147483646) % 8] = T.float32(0)")
inside("domain-exceeded", "vi = T.axis.spatial(4, i)\nA[vi] = T.float32(0)", "vi = T.axis.spatial(8, i)\nA[vi] = T.float32(0)")
text("not-independent", [[
@T.prim_func
def f(A: T.Buffer((8, 8), "float32")):
    for i in range(8):
        with T.block("b"):
            u, v = T.axis.remap("SS", [i, i])
            A[u, v] = T.float32(0)
]], [[
@T.prim_func
def f(A: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("b"):
            u, v = T.axis.remap("SS", [i, j])
            A[u, v] = T.float32(0)
]])
local function reduction(code, bad, good)
    local sum = [[
@T.prim_func
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32")):
    for i, k in %s:
        with T.block("b"):
            vi = T.axis.spatial(8, i)
            vk = T.axis.reduce(8, k)
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
]]
    text(code, sum:format(bad), sum:format(good))
end
reduction("domain-not-equal", "T.grid(8, 7)", "T.grid(8, 8)")
text("order-tied", [[
@T.prim_func
def f(S: T.Buffer((8, 8), "int32")):
    for i, j in T.grid(7, 7):
        with T.block("b"):
            u, v = T.axis.remap("SS", [i, j])
            S[u + 1, v] = S[u, v + 1] + 1
]], [[
@T.prim_func
def f(A: T.Buffer((8, 8), "int32"), S: T.Buffer((8, 8), "int32")):
    for i, j in T.grid(7, 7):
        with T.block("b"):
            u, v = T.axis.remap("SS", [i, j])
            S[u + 1, v] = A[u, v + 1] + 1
]])
text("loop-kind", [[
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
    for k in T.parallel(8):
        with T.block("b"):
            vk = T.axis.reduce(8, k)
            with T.init():
                B[0] = T.float32(0)
            B[0] = B[0] + A[vk]
]], [[
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
    for k in range(8):
        with T.block("b"):
            vk = T.axis.reduce(8, k)
            with T.init():
                B[0] = T.float32(0)
            B[0] = B[0] + A[vk]
]])
text("read-before-write", [[
@T.prim_func
def f(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = B[v]
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
]], [[
@T.prim_func
def f(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = B[v]
]])
inside("access-bounds", "vi = T.axis.spatial(8, i)\nA[vi + 1] = T.float32(0)", "vi = T.axis.spatial(8, i)\nA[7 - vi] = T.float32(0)")
inside("init-without-reduce", "vi = T.axis.spatial(8, i)\nwith T.init():\n    A[vi] = T.float32(0)\nA[vi] = A[vi] + T.float32(1)",
    "vi = T.axis.spatial(8, i)\nA[vi] = A[vi] + T.float32(1)")
local threads = [[
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for i in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("A"):
                v = T.axis.spatial(8, i)
                A[v] = T.float32(0)
        for i in T.thread_binding(%d, thread="threadIdx.x"):
            with T.block("B"):
                v = T.axis.spatial(8, i%s)
                T.where(i < 8)
                B[v] = T.float32(0)
]]
text("thread-extents", threads:format(4, ""), threads:format(8, ""))

local kernel = '@T.prim_func\ndef f(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32")):\n'
local function threads_of(code, bad, good)
    text(code, kernel .. lines("    ", bad), kernel .. lines("    ", good))
end
local store = '    with T.block("A"):\n        v = T.axis.spatial(4096, %s)\n        A[v] = T.float32(0)'
local function bound(loop, n, tag) return ('for %s in T.thread_binding(%d, thread="%s"):\n'):format(loop, n, tag) end
local inner = store:gsub("\n", "\n    "):gsub("^", "    "):format("i * 64 + j")
threads_of("launch-limit", bound("i", 4096, "threadIdx.x") .. store:format("i"),
    bound("i", 64, "blockIdx.x") .. "    " .. bound("j", 64, "threadIdx.x") .. inner)
threads_of("thread-nested", bound("i", 64, "threadIdx.x") .. "    " .. bound("j", 64, "threadIdx.x") .. inner,
    bound("i", 64, "threadIdx.y") .. "    " .. bound("j", 64, "threadIdx.x") .. inner)
threads_of("host-access", "for i in range(4096):\n" .. store:format("i"),
    bound("i", 64, "blockIdx.x") .. "    " .. bound("j", 64, "threadIdx.x") .. inner)
threads_of("cross-thread", bound("k", 64, "threadIdx.x") ..
    '    with T.block("A"):\n        v = T.axis.reduce(64, k)\n        A[0] = A[0] + B[v]',
    bound("k", 64, "threadIdx.x") ..
    '    with T.block("A"):\n        v = T.axis.reduce(64, k)\n        with T.init():\n            A[0] = T.float32(0)\n' ..
    "        A[0] = A[0] + B[v]")
local function sum(extent, value)
    return ('for i, k in T.grid(8, 4):\n    with T.block("A"):\n        v = T.axis.spatial(8, i)\n' ..
        "        r = T.axis.reduce(%d, %s)\n        with T.init():\n            A[v] = T.float32(0)\n" ..
        "        A[v] = A[v] + B[r]"):format(extent, value)
end
local overlap = [[
@T.prim_func
def f(A: T.Buffer((9,), "float32"), B: T.Buffer((4,), "float32")):
    for %s:
        with T.block("A"):
            v = T.axis.spatial(9, i + j)
            r = T.axis.reduce(4, k)
            with T.init():
                A[v] = T.float32(0)
            A[v] = A[v] + B[r]
]]
text("accumulated-twice", overlap:format("k, i, j in T.grid(4, 8, 2)"), overlap:format("i, j, k in T.grid(8, 2, 4)"))
threads_of("init-excluded", sum(5, "k + 1"), sum(4, "k"))

-- ---- states of files, memory and processes
lua("no-space", 'moon.tensor({2}, "int8"):save("/dev/full")', 'moon.tensor({2}, "int8"):save("/dev/null")')
lua("bad-database", 'local db <close> = moon.db("/proc/self/exe")', 'local db <close> = moon.db(":memory:")')
typed("out-of-memory", ':set memory-limit 32\nt = {} for n = 1, 1e9 do t[n] = ("x"):rep(1000) .. n end',
    ':set memory-limit 32\nt = {} for n = 1, 1e3 do t[n] = ("x"):rep(1000) .. n end')
-- A function f of a buffer A[8], and what is done with it.
local function built(code, bad, good, call_bad, call_good)
    local of = 'local k <close> = moon.build(moon.parse([[\n@T.prim_func\ndef f(A: T.Buffer((8,), "float32")):\n%s]]))\n'
    local function chunk(b, call) return of:format(lines("    ", b)) .. call end
    lua(code, chunk(bad, call_bad), chunk(good, call_good or call_bad))
end
local call8 = 'k(moon.tensor({8}, "float32"))'
built("worker-crashed", 'for i in range(8):\n    A[i * 1000000000] = T.float32(1)',
    'for i in range(8):\n    A[i] = T.float32(1)', call8)
built("codegen-failed", 'A[0] = T.call_extern("float32", "no_such_function")',
    'A[0] = T.call_extern("float32", "sqrtf", A[1])', call8)
built("call-refused", "A[0] = T.float32(1)", "A[0] = T.float32(1)", 'k(moon.tensor({4}, "float32"))', call8)
lua("worker-timeout", 'local k <close> = moon.build(moon.parse([[\n@T.prim_func\ndef f(A: T.Buffer((8,), "int32")):\n' ..
    '    A[0] = 1\n    while A[0] > 0:\n        A[0] = A[0] % 5 + 1\n]]), {limit = 0.2})\nk(moon.tensor({8}, "int32"))',
    'local k <close> = moon.build(moon.parse([[\n@T.prim_func\ndef f(A: T.Buffer((8,), "int32")):\n' ..
    '    A[0] = 1\n    while A[0] < 5:\n        A[0] = A[0] % 5 + 1\n]]), {limit = 0.2})\nk(moon.tensor({8}, "int32"))')
local view = [=[
moon.build(moon.parse([[
@T.prim_func
def f(A: T.Buffer((8, 8), "float32")):
    with T.block("tile"):
        T.reads()
        T.writes(A[0:4, 0:4])
        M = T.match_buffer(A[0:4, 0:4], (4, 4), strides=[%d, 1], offset_factor=1)
        M[0, 0] = T.float32(1)
]]))]=]
lua("lowering-failed", view:format(4), view:format(8))
local steps = 'local m = moon.parse([[\n@T.prim_func\ndef f(A: T.Buffer((8,), "float32"), n: T.int32):\n' ..
    '    for i in T.serial(0, 8, step=n):\n        A[i] = T.float32(0)\n]])\nmoon.interpret(m, {moon.tensor({8}, "float32"), %d})'
lua("ill-formed", steps:format(0), steps:format(2))
local of_three = [[
local te = moon.te
local A = te.placeholder({8}, "float32", "A")
local function doubled(X) return te.compute({8}, function(i) return X(i) + X(i) end, "T") end
local T1 = doubled(A)
local T2 = doubled(T1)
local T3 = doubled(T2)
local C = te.compute({8}, function(i) return T2(i) + T3(i) end, "C")
local s = moon.schedule(te.func{A, C})
s:compute_inline("T") -- of three T, shown as T_1, T_2 and T_3, the first goes
s:cache_read("C", "%s", "global")]]
lua("buffer-ambiguous", of_three:format("T"), of_three:format("T_2"))
local hidden = [=[
local s = moon.schedule(moon.parse([[
@T.prim_func
def f(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v] * T.float32(2)
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            T.reads(B[v], D[0:8])
            T.writes(C[v])
            C[v] = B[v] + T.call_extern("float32", "f", D.data)
]]))
]=]
lua("region-missing", hidden .. 's:compute_inline("B")',
    hidden .. 's:annotate_buffer_access("C", 1, "read", function(v) return 0, 8 end)\ns:compute_inline("B")')

-- ---- kernels of a GPU
local warp = [[
@T.prim_func
def f(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    for t in T.thread_binding(%d, thread="threadIdx.x"):
        for i in range(64):
            with T.block("w"):
                v = T.axis.spatial(64, i)
                T.block_attr({"warp_execution": 1})
                C[v] = A[v]
]]
text("execution-scope", warp:format(16), warp:format(32))
local guarded = [[
@T.prim_func
def f(A: T.Buffer((64,), "float32"), n: T.int32):
    B = T.alloc_buffer((64,), scope="shared")
    for t in T.thread_binding(64, thread="threadIdx.x"):
        if %s < 8:
            with T.block("P"):
                v = T.axis.spatial(64, t)
                B[v] = A[v]
]]
text("barrier", guarded:format("t"), guarded:format("n"))
local shared = [[
@T.prim_func
def f(A: T.Buffer((%d,), "float32"), C: T.Buffer((%d,), "float32")):
    B = T.alloc_buffer((%d,), scope="shared")
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for i in range(%d):
            with T.block("P"):
                v = T.axis.spatial(%d, i)
                B[v] = A[v]
        for i in range(%d):
            with T.block("Q"):
                v = T.axis.spatial(%d, i)
                C[v] = B[v]
]]
text("memory-limit", (shared:gsub("%%d", "16384")), (shared:gsub("%%d", "8192")))
body("thread-variable", 'x = T.env_thread("threadIdx.x")\ny = T.env_thread("threadIdx.x")\n' ..
    "with T.launch_thread(x, 8):\n    A[x] = T.float32(0)\nwith T.launch_thread(y, 8):\n    A[y] = T.float32(1)",
    'x = T.env_thread("threadIdx.x")\n' ..
    "with T.launch_thread(x, 8):\n    A[x] = T.float32(0)\nwith T.launch_thread(x, 8):\n    A[x] = T.float32(1)")
run("threads-cooperate", 'S = T.alloc_buffer((8,), scope="shared")\nfor t in T.thread_binding(8, thread="threadIdx.x"):\n' ..
    "    S[t] = A[t]\n    A[t] = S[7 - t]",
    'S = T.alloc_buffer((8,), scope="shared")\nfor t in T.thread_binding(8, thread="threadIdx.x"):\n' ..
    "    S[t] = A[t]\n    A[t] = S[t]")
local view = 'for i in range(2):\n    with T.block("b"):\n        v = T.axis.spatial(2, i)\n        T.reads()\n' ..
    "        T.writes(A[v * 4:v * 4 + 4])\n        B = T.match_buffer(A[v * 4:v * 4 + 4], (4,), strides=[%d])\n        B[0] = T.float32(0)"
run("bad-match", view:format(2), view:format(1))

-- ---- the text dialect
body("E100", "A[0] = = 1.0", "A[0] = 1.0")
body("E101", "A[0 = 1.0", "A[0] = 1.0")
body("E102", "for i in range(8):\n        A[i] = 0.0\n   x = 1", "for i in range(8):\n    A[i] = 0.0")
text("E103", head .. "    for i in range(8):\n\tA[i] = 0.0\n", head .. "    for i in range(8):\n        A[i] = 0.0\n")
body("E104", 'x = "abc', 'T.evaluate("abc")')
body("E105", "A[012 % 8] = 0.0", "A[0o12 % 8] = 0.0")
body("E106", "for i in range(8)\n    A[i] = 0.0", "for i in range(8):\n    A[i] = 0.0")
text("E107", "@T.prim_func\ndef f(A: T.handle):\n", "@T.prim_func\ndef f(A: T.handle):\n    pass\n")
body("E108", "try:\n    pass", "pass")
body("E203", "x = b = T.int32(1)", "x = T.int32(1)\nb = T.int32(1)")
body("E204", "assert n < 4", 'assert n < 4, "n is small"')
body("E301", "for i in range(8):\n    A[i] = C[i]", "for i in range(8):\n    A[i] = A[i]")
body("E310", "B = T.alloc_buffer((8,))\nB = T.alloc_buffer((8,))", "B = T.alloc_buffer((8,))\nC = T.alloc_buffer((8,))")
inside("E311", 'vi, vi = T.axis.remap("SS", [i, i])\nA[vi] = 0.0', 'vi = T.axis.remap("S", [i])\nA[vi] = 0.0')
body("E401", "for i in T.seriall(4):\n    A[i] = 0.0", "for i in T.serial(4):\n    A[i] = 0.0")
body("E402", "for i, j in range(4):\n    A[i] = 0.0", "for i, j in T.grid(4, 2):\n    A[i] = 0.0")
body("E403", "for i in T.thread_binding(8, 8):\n    A[i] = 0.0", 'for i in T.thread_binding(8, thread="threadIdx.x"):\n    A[i] = 0.0')
body("E404", "for i in T.serial(0, 8, step=0):\n    A[i] = 0.0", "for i in T.serial(0, 8, step=2):\n    A[i] = 0.0")
text("E405", "@T.prim_func\ndef f(a):\n    pass\n", "@T.prim_func\ndef f(a: T.handle):\n    pass\n")
text("E406", "@T.prim_func\ndef f(n: T.int32 = 4):\n    pass\n", "@T.prim_func\ndef f(n: T.int32):\n    pass\n")
body("E407", "B = T.match_buffer((4, 4))", "B = T.match_buffer(a, (4, 4))")
inside("E408", 'vi = T.axis.remap("X", [i])\nA[vi] = 0.0', 'vi = T.axis.remap("S", [i])\nA[vi] = 0.0')
inside("E409", 'vi = T.axis.remap("S", [7 - i])\nA[vi] = 0.0', "vi = T.axis.spatial(8, 7 - i)\nA[vi] = 0.0")
inside("E410", "vi = T.axis.spatial(8)\nA[vi] = 0.0", "vi = T.axis.spatial(8, i)\nA[vi] = 0.0")
body("E411", 'B = T.alloc_buffer((4,), buffer_type="fancy")', 'B = T.alloc_buffer((4,), buffer_type="default")')
body("E412", "for i in T.grid(4, exts=3):\n    A[i] = 0.0", "for i in T.grid(4):\n    A[i] = 0.0")
body("E413", 'T.evaluate(metadata["x"][0])', "T.evaluate(0)")
body("E501", "for i in T.serial(2.5):\n    A[i] = 0.0", "for i in T.serial(2):\n    A[i] = 0.0")
inside("E502", "vi = T.axis.spatial(8, i)\nS = T.match_buffer(A[0:6], (8,))\nS[vi] = 0.0",
    "vi = T.axis.spatial(8, i)\nS = T.match_buffer(A[0:8], (8,))\nS[vi] = 0.0")
body("E503", "A[0, 0] = 0.0", "A[0] = 0.0")
body("E504", "A[0:2] = T.broadcast(T.float32(1), 4)", "A[0:4] = T.broadcast(T.float32(1), 4)")
body("E505", "A[0] = A[0:n]", "A[0:4] = A[4:8]")
body("E506", "A[0] = A[0:8:-1]", "A[0:4] = A[0:8:2]")
inside("E507", "T.reads(A[0:8:2])\nA[0] = 0.0", "T.reads(A[0:8])\nT.writes(A[0])\nA[0] = 0.0")
inside("E508", "T.reads(A)\nA[0] = 0.0", "T.reads(A[0:8])\nT.writes(A[0])\nA[0] = 0.0")
body("E509", "for i in range(8):\n    A[i / 2] = 0.0", "for i in range(8):\n    A[i // 2] = 0.0")
body("E510", "for i in range(4):\n    if i < T.int64(4):\n        A[i] = 0.0", "for i in range(4):\n    if i < T.int32(4):\n        A[i] = 0.0")
body("E511", "for i in range(4):\n    if i and n:\n        A[i] = 0.0", "for i in range(4):\n    if i > 0 and n > 0:\n        A[i] = 0.0")
body("E512", "T.evaluate(a + [1])", "T.evaluate(n + 1)")
body("E513", "T.evaluate(T.int8(300))", "T.evaluate(T.int8(100))")
body("E514", "for i in range(4):\n    A[i % 0] = 0.0", "for i in range(4):\n    A[i % 2] = 0.0")
body("E515", "A[0] = T.Select(n < 4, A[1], 0)", "A[0] = T.Select(n < 4, A[1], T.float32(0))")
text("E516", '@T.prim_func\ndef f(A: T.Buffer((4,), "flaot32")):\n    pass\n', '@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    pass\n')
body("E601", "for i in A:\n    A[i] = 0.0", "for i in range(8):\n    A[i] = 0.0")
body("E602", "T.reads(A[0])", 'with T.block("b"):\n    T.reads(A[0])\n    T.writes()\n    T.evaluate(A[0])')
inside("E603", "vi = T.axis.spatial(8, i)\nfor k in range(4):\n    T.where(vi < 4)\n    A[vi] = 0.0",
    "vi = T.axis.spatial(8, i)\nT.where(i < 4)\nfor k in range(4):\n    A[vi] = 0.0")
body("E604", "for i in range(4):\n    B = T.match_buffer(a, (4,))", "B = T.match_buffer(a, (4,))")
body("E605", "B = T.match_buffer(a, (4,))\nC = T.match_buffer(a, (4,))", "B = T.match_buffer(a, (4,))")
inside("E606", 'vi = T.axis.spatial(8, i)\nT.evaluate(T.call_extern("f", A.data, dtype="int32"))',
    'vi = T.axis.spatial(8, i)\nT.reads(A[vi])\nT.writes()\nT.evaluate(A[vi])')
inside("E607", "vi = T.axis.spatial(8, i)\nT.writes(A[vi])\nT.writes(A[vi])\nA[vi] = 0.0", "vi = T.axis.spatial(8, i)\nT.writes(A[vi])\nA[vi] = 0.0")
body("E608", 'with T.block("b") as x:\n    A[0] = 0.0', 'with T.block("b"):\n    A[0] = 0.0')
inside("E609", 'T.block_attr({"k": 1})\nT.block_attr({"k": 2})\nA[0] = 0.0', 'T.block_attr({"k": 1, "m": 2})\nA[0] = 0.0')
text("E610", '@T.prim_func(private=True)\ndef f(A: T.Buffer((8,), "float32")):\n    T.func_attr({"global_symbol": "g"})\n    A[0] = 0.0\n',
    '@T.prim_func\ndef f(A: T.Buffer((8,), "float32")):\n    T.func_attr({"global_symbol": "f"})\n    A[0] = 0.0\n')
body("E611", "break", "for i in range(8):\n    if i > 3:\n        break\n    A[i] = 0.0")
text("E612", "from tvm.script import tir as T\n", "@T.prim_func\ndef f(A: T.handle):\n    pass\n")
inside("E701", "vi = T.axis.spatial(8, i)\nA[vi] = T.Cast(\"float32\", i)", 'vi = T.axis.spatial(8, i)\nA[vi] = T.Cast("float32", vi)')
body("E702", "for i in range(4):\n    A[i] = 0.0\nA[i] = 1.0", "for i in range(4):\n    A[i] = 0.0\nA[4] = 1.0")

lua("E109", 'moon.parse("@T.prim_func\\ndef f(n: T.int32):\\n    T.evaluate(" .. ("("):rep(3000) .. "n" .. (")"):rep(3000) .. ")\\n")',
    'moon.parse("@T.prim_func\\ndef f(n: T.int32):\\n    T.evaluate(((n)))\\n")')
lua("E110", 'moon.parse("@T.prim_func\\ndef f():\\n    pas\\255s\\n")', 'moon.parse("@T.prim_func\\ndef f():\\n    pass # \\195\\188\\n")')
body("E111", "T.evaluate(1__0)", "T.evaluate(1_0)")
body("E112", "T.evaluate(99999999999999999999)", "T.evaluate(99)")
body("E114", "x = [a for a in range(10000000)]\nT.evaluate(x[0])", "x = [a for a in range(10)]\nT.evaluate(x[0])")
body("E201", 'T.block("b")', 'with T.block("b"):\n    A[0] = 0.0')
body("E202", "x = T.evaluate(0)", "T.evaluate(0)")
body("E414", "A[0] = T.vectorlow()", "A[0] = T.sqrt(A[1])")
body("E416", 'A[0] = T.llvm_lookup_intrinsic_id("x")', "A[0] = T.exp(A[1])")
body("E417", "B = T.alloc_buffer((4, 4), strides=[1])", "B = T.alloc_buffer((4, 4), strides=[4, 1])")
body("E418", 'B = T.alloc_buffer((4,), layout="x")', "B = T.alloc_buffer((4,))")
body("E420", "T.realize(A[0:4])", "A[0] = 0.0")
body("E518", "T.evaluate(n << 40)", "T.evaluate(n << 4)")
body("E519", 'with T.block("b"):\n    T.block_attr({"x": T.serial})\n    A[0] = 0.0', 'with T.block("b"):\n    T.block_attr({"x": "serial"})\n    A[0] = 0.0')
body("E520", 'B = T.alloc_buffer((4, 4))\nB[0:2, 0] = T.broadcast(T.float32(0), 2)', 'B = T.alloc_buffer((4, 4))\nB[0, 0:2] = T.broadcast(T.float32(0), 2)')
body("E521", "x = [1, 2]\nT.evaluate(x[5])", "x = [1, 2]\nT.evaluate(x[1])")
body("E522", "T.evaluate(T.broadcast(n, 5000))", "T.evaluate(T.broadcast(n, 4))")
text("E613", "@script\ndef f():\n    pass\n", "@T.prim_func\ndef f():\n    pass\n")

body("E704", 't = T.env_thread("threadIdx.x")\nT.launch_thread(t, 4)\nT.launch_thread(t, 8)', 't = T.env_thread("threadIdx.x")\nT.launch_thread(t, 4)\nA[t] = 0.0')

body("E415", 'with T.block("b"):\n    T.block_attr(3)\n    A[0] = 0.0', 'with T.block("b"):\n    T.block_attr({"k": 3})\n    A[0] = 0.0')
body("E419", 'with T.block([8], "b") as vi:\n    A[vi] = 0.0', 'for i in range(8):\n    with T.block("b"):\n        vi = T.axis.spatial(8, i)\n        A[vi] = 0.0')
body("E517", 'A[0:2] = T.Cast("float32x2", A[0:4])', 'A[0:4] = T.Cast("float32x4", A[4:8])')
text("E703", '@T.prim_func\ndef f(A: T.Buffer((8,), "float32")) -> T.int32:\n    return A[0]\n',
    '@T.prim_func\ndef f(A: T.Buffer((8,), "int32")) -> T.int32:\n    return A[0]\n')
body("E705", 'x = T.var("int32")\nT.bind(n, var=x)\nT.bind(n, var=x)', 'x = T.var("int32")\nT.bind(n, var=x)\nT.evaluate(x)')
body("E706", "x = T.int32()\nA[x] = 0.0", "x = T.int32(3)\nA[x] = 0.0")

text("W103", "print(3)\n" .. head .. "    A[0] = 0.0\n", "# print(3)\n" .. head .. "    A[0] = 0.0\n", { file_mode = true })
body("W112", "A[T.int32(2147483647) + 1] = 0.0", "A[T.int32(6) + 1] = 0.0")
body("W102", 'T.evaluate("a\\qb")', 'T.evaluate("a\\\\qb")')
text("W101", "# moonloop: spelling=old\n" .. head .. "    A[0] = 0.0\n", "# moonloop: spelling=classic\n" .. head .. "    A[0] = 0.0\n")
text("W401", head:gsub("prim_func", "prim_func(persistent=True)") .. "    A[0] = 0.0\n", head .. "    A[0] = 0.0\n")
body("W403", 'for i in T.thread_binding(8, thread="threadIdx.q"):\n    A[i] = 0.0', 'for i in T.thread_binding(8, thread="threadIdx.x"):\n    A[i] = 0.0')
text("W504", '@T.prim_func\ndef f(A: T.Buffer((8,), "int32")):\n    A[0] = T.float32(1.5)\n',
    '@T.prim_func\ndef f(A: T.Buffer((8,), "int32")):\n    A[0] = T.Cast("int32", T.float32(1.5))\n')
body("W513", "A[0] = T.float32(1e400)", 'A[0] = T.float32("inf")')
body("W511", "if n:\n    A[0] = 0.0", "if n != 0:\n    A[0] = 0.0")
inside("W603", 'vi = T.axis.spatial(8, i)\nfor k in range(2):\n    T.block_attr({"k": 1})\n    A[vi] = 0.0',
    'vi = T.axis.spatial(8, i)\nT.block_attr({"k": 1})\nfor k in range(2):\n    A[vi] = 0.0')

return codes

-- codes - why each error code exists, and for those that no case of a primitive shows, a small
-- example that breaks the rule and one that does not. Both are run when they are shown.
--
-- lua: code with a schedule s of an 8 × 8 × 8 matrix product; text: a program that is parsed,
-- verified and interpreted. Source: interaction 7.
local codes = {}

local function why(list)
    for code, text in pairs(list) do
        codes[code] = codes[code] or {}
        codes[code].why = text
    end
end

local function lua(code, bad, good) codes[code] = { kind = "lua", bad = bad, good = good } end
local function text(code, bad, good) codes[code] = { kind = "text", bad = bad, good = good } end

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
lua("not-yet", "s:counts()", "s:flops()")
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
run("outside-region", 'for i in range(8):\n    with T.block("b"):\n        vi = T.axis.spatial(8, i)\n        T.reads()\n' ..
    "        T.writes(A[vi])\n        A[7 - vi] = T.float32(0)",
    'for i in range(8):\n    with T.block("b"):\n        vi = T.axis.spatial(8, i)\n        T.reads()\n' ..
    "        T.writes(A[7 - vi])\n        A[7 - vi] = T.float32(0)")
run("divide-by-zero", "for i in range(8):\n    A[8 // i % 8] = T.float32(0)", "for i in range(8):\n    A[8 // (i + 1) % 8] = T.float32(0)")
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

body("W102", 'T.evaluate("a\\qb")', 'T.evaluate("a\\\\qb")')
text("W101", "# moonloop: spelling=old\n" .. head .. "    A[0] = 0.0\n", "# moonloop: spelling=classic\n" .. head .. "    A[0] = 0.0\n")
text("W401", head:gsub("prim_func", "prim_func(persistent=True)") .. "    A[0] = 0.0\n", head .. "    A[0] = 0.0\n")
body("W403", 'for i in T.thread_binding(8, thread="threadIdx.q"):\n    A[i] = 0.0', 'for i in T.thread_binding(8, thread="threadIdx.x"):\n    A[i] = 0.0')
text("W504", '@T.prim_func\ndef f(A: T.Buffer((8,), "int32")):\n    A[0] = T.float32(1.5)\n',
    '@T.prim_func\ndef f(A: T.Buffer((8,), "int32")):\n    A[0] = T.Cast("int32", T.float32(1.5))\n')
body("W511", "if n:\n    A[0] = 0.0", "if n != 0:\n    A[0] = 0.0")
inside("W603", 'vi = T.axis.spatial(8, i)\nfor k in range(2):\n    T.block_attr({"k": 1})\n    A[vi] = 0.0',
    'vi = T.axis.spatial(8, i)\nT.block_attr({"k": 1})\nfor k in range(2):\n    A[vi] = 0.0')

-- ---- why the rules exist
why {
    ["bad-argument"] = "An argument of another type or range has no meaning that could be guessed; guessing would hide the slip.",
    ["bad-handle"] = "A handle names a loop or block by identity; the same number in another schedule is another loop.",
    ["expired-handle"] = "A handle never moves on to something similar: what it named is gone, and the step that ended it is told.",
    ["wrong-handle-kind"] = "A block and its loops have different duties; taking one for the other would be a guess.",
    ["no-function"] = "A module may have several functions; looking a name up in the wrong one would schedule the wrong program.",
    ["ambiguous-loop"] = "A step applies to one loop; which of several was meant only you can tell.",
    ["ambiguous-block"] = "A step applies to one block; which of several was meant only you can tell.",
    ["root-block"] = "The root stands for the whole function: it has no scope around it in which it could move.",
    ["not-stage-pipeline"] = "Moving or removing a block relies on declared reads and writes; where a value may come from elsewhere, the result would change.",
    ["not-schedulable"] = "What stands below an `if` runs only sometimes; moved out, it would run always.",
    ["not-complete"] = "Such a block computes each element once, from other buffers: then its order, place and copies do not matter.",
    ["not-reduction"] = "The init and the accumulation can be told apart only in this form.",
    ["not-complete-or-reduction"] = "A block that carries values from one instance to the next cannot be moved without changing them.",
    ["not-compact-dataflow"] = "Iterations that run at the same time must not depend on each other.",
    ["output-block"] = "The result of the block is looked at from outside, all of it: it cannot be computed partly, or not at all.",
    ["not-affine"] = "Loops may change their order only if each instance is reached once, by digits of the loops.",
    ["loop-annotated"] = "An annotation, or a thread, belongs to this very loop; what it would mean for the parts nobody knows.",
    ["loop-not-zero-based"] = "New loops start at 0; an offset would be lost.",
    ["loop-dynamic"] = "Pieces are cut at constant places.",
    ["loop-dependent"] = "A bound is computed before its loop runs; it cannot use a variable of a loop inside.",
    ["not-only-child"] = "What else stands in the loop would be run more often, or in another order.",
    ["not-same-scope"] = "A block is a border: its inside knows only its own iters.",
    ["duplicate-loop"] = "A loop has one place.",
    ["consumers-missing"] = "A consumer elsewhere would find values of the last iteration only.",
    ["producers-missing"] = "A producer elsewhere would not have run when its values are needed.",
    ["no-insertion-point"] = "The block must come after what it reads and before what reads it.",
    ["multi-writer"] = "A copy would hold what one of the writers wrote, and miss the others.",
    ["not-region-covered"] = "An element read but not written before would be whatever was in the memory.",
    ["opaque-access"] = "What a pointer is used for cannot be followed, so it cannot be rewritten.",
    ["unsound"] = "moonloop refuses where the program would compute something else, also where TVM accepts.",
    ["index-overflow"] = "A wrapped index is a wrong address.",
    ["too-deep"] = "Every pass walks the program recursively; a limit keeps the stack whole.",
    ["iter-not-parallel"] = "Iterations of a reduction add to one element: at the same time, updates would be lost.",
    ["factors-too-small"] = "Iterations that no factor reaches would never run.",
    ["factors-too-large"] = "Each piece is a loop, and a loop of no iterations would be a piece for nothing.",
    ["factor-not-positive"] = "A loop runs a positive number of times; -1 is not auto.",
    ["two-autos"] = "What is left can be worked out for one factor only.",
    ["merge-depth"] = "Level by level, each loop merges with one other.",
    ["merge-extent"] = "A loop that ends sooner would run iterations it does not have.",
    ["bad-permutation"] = "An iter left out, or given twice, would change the block.",
    ["loop-too-low"] = "The init would run again in each iteration of that loop and forget what was summed.",
    ["inline-pattern"] = "The reader puts its own indices in place of the iters: it must be clear which.",
    ["has-init"] = "A value that is accumulated has no one expression that could stand for it.",
    ["buffer-not-allocated"] = "A parameter's memory belongs to the caller: its scope and layout are promised.",
    ["no-file"] = "The file must be there; nothing is made up in its place.",
    ["bad-file"] = "A file is read for what its suffix says; anything else would be garbage.",
    ["too-large"] = "A run that would take hours is refused before it starts.",
    ["no-space"] = "A file that is cut off is worse than none: it is told, and the old one kept where possible.",
    ["no-device"] = "Code for a device runs on that device only.",
    ["no-worker"] = "Generated code runs in a process of its own, so that its crash is not the session's.",
    ["worker-crashed"] = "Compiled code did something it must not; the session goes on.",
    ["worker-timeout"] = "Compiled code did not come back in time; it was stopped.",
    ["bad-database"] = "Records of another shape would be misread.",
    ["out-of-memory"] = "A limit keeps the machine usable; the call that met it has changed nothing.",
    ["interrupted"] = "Ctrl-C stops the work; what was done before stays.",
    ["work-limit"] = "An analysis that takes too long is given up and says so, instead of hanging.",
    ["not-yet"] = "The name is known and comes with a later version, so it is no typing error.",
    ["ill-formed"] = "All analyses rely on these rules; a program that breaks one would be misjudged.",
    ["lowering-failed"] = "A pass that cannot show that it keeps the meaning stops instead of guessing.",
    ["codegen-failed"] = "What the compiler refuses cannot be run.",
    ["call-refused"] = "A kernel reads memory by its signature; other arguments would be read wrongly.",
    ["mismatch"] = "The check ran both programs and they differ: the schedule is not to be trusted.",
    ["out-of-bounds"] = "An access outside reads or overwrites something else's memory.",
    ["undefined-read"] = "Memory that was not written holds anything; the result would vary from run to run.",
    ["race"] = "The result would depend on which iteration comes first.",
    ["outside-region"] = "Primitives move blocks by their declared regions; a hidden access would be left behind.",
    ["domain-exceeded"] = "An iter outside its domain computes elements that do not exist.",
    ["not-independent"] = "Blocks are judged iter by iter; iters that move together hide which instances there are.",
    ["domain-not-equal"] = "A reduction that leaves elements out is another sum; an output not written is undefined.",
    ["loop-kind"] = "Iterations that run at the same time must write different elements.",
    ["read-before-write"] = "The consumer would read memory that nobody has written yet.",
    ["loop-variable-in-block"] = "A block can be moved because it knows its iters only; a loop variable inside would stay behind.",
    ["init-without-reduce"] = "Without a reduce iter there is no first instance: the init would undo each one.",
    ["unknown-function"] = "Steps work on blocks; a function without them, or none, has nothing to schedule.",
    ["no-such-block"] = "Nothing near is taken instead: a step on the wrong block would be worse than none.",
    ["no-such-loop"] = "Nothing near is taken instead: a step on the wrong loop would be worse than none.",
    ["buffer-index"] = "A position beyond the list names nothing.",
    ["buffer-not-found"] = "The step works on what the block itself accesses.",
    ["buffer-ambiguous"] = "A step applies to one buffer; which of several was meant only you can tell.",
    ["no-such-instruction"] = "A trace that was only partly understood would rebuild another program.",
    ["bad-trace"] = "A trace that was only partly understood would rebuild another program.",
    ["not-trivial-binding"] = "The rewrite puts new iters in the place of loops, one for one.",
    ["loop-step"] = "A variable that jumps takes values that no product of factors makes.",
    ["not-single-child"] = "The rewrite is about one block and the loops that are its own.",
    ["not-parent"] = "Between loops that are not neighbours others would have to be crossed.",
    ["not-ancestor"] = "A loop elsewhere has no influence on the block.",
    ["not-chain"] = "What stands beside an inner loop would be run another number of times.",
    ["bad-iter-kind"] = "An ordered or opaque iter says that the order matters.",
    ["only-leaf"] = "A loop or block of nothing is no program.",
    ["region-not-solvable"] = "How much of the block is needed must be told from the indices used.",
    ["buffer-is-view"] = "A view has no memory of its own; the buffer behind it has.",
    ["bad-storage-scope"] = "A scope is where memory lies; an unknown one has no place.",
    ["not-leaf"] = "Blocks inside have iters and regions of their own, which the rewrite would leave behind.",
    ["undeclared-write"] = "A hidden store would be left behind when the block moves.",
    ["no-such-annotation"] = "Nothing would be taken away; most likely another key was meant.",
    ["not-single-write"] = "Inlining replaces one value by its expression.",
    ["not-single-read"] = "Only one producer can take the consumer in.",
    ["not-single-producer"] = "What others still read cannot be replaced by the consumer's result.",
    ["map-not-invertible"] = "Two elements in one place would overwrite each other.",
    ["introduces-padding"] = "Elements that nobody writes hold anything until a value is chosen.",
    ["pad-arity"] = "The value is asked for at each new position, once.",
    ["pad-dtype"] = "A converted value may not be the one that was meant.",
    ["pad-foreign-load"] = "Another buffer may change between the padding and its use.",
    ["mixed-iter-kinds"] = "An iter is spatial or reduces; a mixture could be neither moved nor initialised.",
    ["map-not-bijective"] = "An instance left out, or run twice, is another computation.",
    ["reindex-access"] = "The copy is laid out by the iters; an index that is not made of them has no place.",
    ["not-single-point"] = "The copy has one element for each instance.",
    ["reindex-mismatch"] = "A dimension of the copy would be constant, or missing.",
    ["not-read-write"] = "In place is for what is both read and written.",
    ["loop-not-serial"] = "A concurrent loop has no order on which a ring could rely.",
    ["rfactor-loops"] = "The partial results are summed in loops that must be told apart from all others.",
    ["rfactor-shape"] = "Partial results can be combined only if the combination can be read off the block.",
    ["no-reducer"] = "Summing in parts is right for operations that are associative, with an identity.",
    ["unknown-name"] = "Nothing near is taken instead; the nearest names are told.",
    ["lua-error"] = "The line is Lua, and Lua found it wrong.",
    ["no-target"] = "Code is made for one processor; for an unknown one none can be.",
    ["overflow"] = "A wrapped index or bound is another number than the mathematics says.",
    ["divide-by-zero"] = "There is no such number.",
    ["assert-failed"] = "The program says itself that this must not be.",
    ["bad-run-argument"] = "The program reads memory by its parameters; other arguments would be read wrongly.",
    ["not-supported"] = "It is understood, and this build or this part cannot do it.",
    ["threads-cooperate"] = "One after the other, a thread would wait for a value that a later one makes.",
    ["init-excluded"] = "An init that does not come first wipes out, or never sets, the accumulator.",
    ["accumulated-twice"] = "An element added twice makes another sum.",
    ["thread-nested"] = "Two loops of one thread are one index; the outer variable would be hidden.",
    ["launch-limit"] = "The device refuses a launch beyond its limits.",
    ["host-access"] = "The host cannot read the memory of a device.",
    ["cross-thread"] = "Threads combine their parts by one known pattern.",
    ["execution-scope"] = "Such an instruction is executed by a whole warp at once.",
    ["barrier"] = "A thread that does not come to the barrier stops all others.",
    ["memory-limit"] = "The device has no more of this memory.",
    ["access-bounds"] = "An access outside reads or overwrites something else's memory.",
    ["region-missing"] = "Where an access cannot be seen, a person must say what it touches.",
    ["multiple-definition"] = "A variable stands for one value; defined twice, which one would be meant?",
    ["undefined-variable"] = "A variable outside its definition has no value.",
    ["undefined-buffer"] = "A buffer that nobody declares has no memory.",
    ["thread-variable"] = "A thread has one index.",
    ["ill-typed"] = "Code for nodes of unfitting types does not exist.",
    ["bad-match"] = "A view larger than its source reaches into other memory.",
    ["thread-extents"] = "All threads of a kernel are launched at once, with one shape.",
}
local groups = {
    { "^E1", "The text must be readable as Python before it can be a program." },
    { "^E[23]", "Every name stands for one thing, defined before its use." },
    { "^E4", "The construct is known and says what it means in full." },
    { "^E5", "Types and shapes fit, so that no value is converted silently." },
    { "^E6", "Each construct has its place; elsewhere it would mean nothing." },
    { "^E7", "A block is a border: outside variables come in by its iters." },
    { "^W", "It is accepted, and probably not what was meant." },
}
function codes.why_of(code)
    if codes[code] and codes[code].why then return codes[code].why end
    for _, g in ipairs(groups) do
        if code:find(g[1]) then return g[2] end
    end
    return "Without it the step could change what the program computes, or would have no meaning."
end

return codes

-- Modules, functions, reading files, errors of texts, tensors, runs.
local tests = {}
local function test(name, fn) tests[#tests + 1] = { name, fn } end

local function fails(code, fn, ...)
    local ok, e = pcall(fn, ...)
    assert(not ok, "the call did not fail")
    assert(type(e) == "userdata", tostring(e))
    assert(not code or e.code == code, ("%s instead of %s: %s"):format(e.code, code, e.message))
    return e
end

local source = [[
from tvm.script import tir as T

@T.prim_func
def twice(X: T.Buffer((8, 8), "float32"), Y: T.Buffer((8, 8), "float32")):
    for j, i in T.grid(8, 8):
        with T.block("Y"):
            vj, vi = T.axis.remap("SS", [j, i])
            Y[vi, vj] = X[vi, vj] * T.float32(2)
]]

local function temporary(text, suffix)
    local path = (os.getenv("TMPDIR") or "/tmp") .. "/moonloop-test-" .. tostring(math.random(1 << 40)) .. suffix
    local f = assert(io.open(path, "w"))
    f:write(text)
    f:close()
    return path
end

test("a text becomes a module", function()
    local m = moon.parse(source)
    assert(#m.names == 1 and m.names[1] == "twice" and m.twice == m:func("twice"))
    assert(m["twice"].params[2].name == "Y" and #m.twice.buffers == 2)
    assert(#m:hash() == 16 and m:hash() == moon.parse(source):hash() and m == moon.parse(source))
    assert(tostring(m) == "module twice" and tostring(m.twice) == "function twice(X, Y)")
    assert(m.flop == nil)
    fails("unknown-name", function() return m.nothing end)
    fails("unknown-function", m.func, m, "nothing")
end)

test("errors of a text have code, place and the source line", function()
    local e = fails(nil, moon.parse, source:gsub("T.grid%(8, 8%)", "T.grod(8, 8)"), { name = "twice.py" })
    assert(e.code:match("^E%d+$"), e.code)
    assert(e.place.file == "twice.py" and e.place.line == 5, e.place.line)
    assert(tostring(e):find("T.grod", 1, true), tostring(e))
    fails(nil, moon.parse, "")
    fails("bad-argument", moon.parse, 3)
    fails("bad-argument", moon.parse, source, { nam = "x" })
    fails("bad-argument", moon.parse, source, { spelling = "old" })
end)

test("captured constants", function()
    local m = moon.parse((source:gsub("%(8, 8%)", "(n, n)")), { values = { n = 8 } })
    assert(m == moon.parse(source))
end)

test("captured functions are macros that give expressions", function()
    local text = [[
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((tile(2),), "float32")):
    for i in range(tile(2)):
        B[i] = scaled(A[i % 8], i) + T.float32(sizes(3)[1])
]]
    local m = moon.parse(text, { values = {
        tile = function(k) return k * 8 end,
        sizes = function(n) return { n, n + 1 } end,
        scaled = function(x, i) return x * 2 + moon.te.cast(i, "float32") end,
    } })
    assert(m == moon.parse((text:gsub("tile%(2%)", "16"):gsub("sizes%(3%)%[1%]", "4")
        :gsub("scaled%(A%[i %% 8%], i%)", "(A[i %% 8] * T.float32(2) + T.Cast(\"float32\", i))"))))
    local e = fails(nil, moon.parse, text, { values = {
        tile = function() error("no tile today") end, sizes = function() end, scaled = print,
    } })
    assert(e.code == "E415" and tostring(e):find("no tile today", 1, true), tostring(e))
    e = fails(nil, moon.parse, text, { values = {
        tile = function() return 16 end, sizes = function() return print end,
        scaled = function(x) return x end,
    } })
    assert(e.code == "E415", tostring(e))
    fails("bad-argument", moon.parse, text, { values = { 1, 2 } })
    fails("bad-argument", moon.parse, text, { values = 7 })
    -- a function may read texts itself
    m = moon.parse("@T.prim_func\ndef f(n: T.int32):\n    T.evaluate(n + k())\n", { values = {
        k = function() return #moon.parse(source):script() > 0 and 3 or 4 end } })
    assert(tostring(m:script()):find("n + 3", 1, true))
end)

test("files: programs, saved schedules, and what cannot be opened", function()
    local path = temporary(source, ".py")
    local m = moon.open(path)
    assert(m == moon.parse(source))
    local s = moon.schedule(m)
    s:split("j", { 2, 4 })
    local saved = temporary(s:saved_json(), ".json")
    local again = moon.open(saved)
    assert(again:hash() == s:hash() and again:version() == 1)
    local bare = temporary(s:trace():json(), ".json")
    assert(moon.open(bare, { program = m }):hash() == s:hash())
    fails("bad-file", moon.open, bare)
    local broken = temporary("{ not json", ".json")
    fails("bad-file", moon.open, broken)
    fails("no-file", moon.open, "/nowhere/at/all.py")
    fails("not-yet", moon.open, "net.onnx")
    os.remove(path)
    os.remove(saved)
    os.remove(bare)
    os.remove(broken)
end)

test("modules and functions are immutable: with, with_attr", function()
    local m = moon.parse(source)
    local g = m.twice:with_attr("note", { 1, 2, { a = true } })
    assert(g.attrs.note[3].a == true and m.twice.attrs.note == nil)
    assert(g:with_attr("note", nil) == m.twice)
    local two = m:with("other", moon.workload.matmul(4, 4, 4).main)
    assert(#two.names == 2 and #m.names == 1)
    assert(two.other.buffers.A.shape[1] == 4)
    local s = moon.schedule(two, { func = "other" })
    s:split("i", { 2, 2 })
    assert(#moon.verify(two) == 0 and moon.check(s).ok)
end)

-- No finding in a version that steps made of a program that has none.
local function found(s)
    local texts = {}
    for k, f in ipairs(moon.verify(s)) do texts[k] = f.severity .. " " .. f.message end
    return table.concat(texts, "\n")
end

local function verified(s, ...)
    for _, step in ipairs { ... } do
        step(s)
        assert(found(s) == "", found(s))
    end
end

test("the pieces of a cut loop do the whole together", function()
    local start = moon.workload.matmul(1024, 1000, 1024)
    verified(moon.schedule(start),
        function(s) s:loop_partition("j", { 512, 256 }) end)
    verified(moon.schedule(start), -- an outer loop, a symbol for the pieces inside
        function(s) s:split("i", { 32, 32 }) end,
        function(s) s:loop_partition("i_0", { 5 }) end)
    verified(moon.schedule(start), -- every 32nd value and the values between
        function(s) s:split("i", { 32, 32 }) end,
        function(s) s:loop_partition("i_1", { 5, 7 }) end)
    verified(moon.schedule(start), -- a reduction, whose pieces go on
        function(s) s:split("k", { 32, 32 }) end,
        function(s) s:loop_partition("k_0", { 5, 7 }) end)
    verified(moon.schedule(start),
        function(s) s:decompose_reduction("C", "k") end,
        function(s) s:loop_partition("k", { 5, 7 }) end)
end)

test("a piece may read what it wrote itself first", function()
    verified(moon.schedule(moon.workload.matmul(64, 64, 64)),
        function(s) s:decompose_reduction("C", "i") end,
        function(s) s:loop_partition("i", { 16, 40 }) end)
    verified(moon.schedule(moon.workload.matmul(64, 64, 64)),
        function(s) s:decompose_reduction("C", "k") end,
        function(s) s:loop_partition("i", { 16, 40 }) end,
        function(s) s:cache_read("C_update_i0", 1, "global") end)
end)

test("rows of a ragged tile that is reduced apart start where they begin", function()
    verified(moon.schedule(moon.workload.matmul(64, 64, 100)),
        function(s) s:split("k", { 7, 16 }) end,
        function(s) s:rfactor("k_0", 0) end)
end)

test("spelling and options of the printer", function()
    local m = moon.parse(source)
    assert(m:script { spelling = "newest" }:find("T.sblock", 1, true))
    assert(m.twice:script { prefix = "tir" }:find("@tir.prim_func", 1, true))
    assert(not m:script { regions = "auto" }:find("T.reads", 1, true))
    fails("bad-argument", m.script, m, { spelings = "newest" })
end)

test("a function alone is scheduled as main", function()
    local s = moon.schedule(moon.parse(source).twice)
    assert(s.name == "twice" and s:mod().names[1] == "main")
end)

test("tensors: elements, filling, tables, files", function()
    local t = moon.tensor({ 2, 3 }, "int32", { { 1, 2, 3 }, { 4, 5, 6 } })
    assert(t[{ 1, 2 }] == 6 and t.shape[2] == 3 and t.dtype == "int32" and t.bytes == 24)
    t[{ 0, 0 }] = -1
    assert(t:totable()[1][1] == -1)
    assert(t:copy():fill(7)[{ 1, 1 }] == 7 and t[{ 1, 1 }] == 5)
    local path = temporary("", ".npy")
    t:save(path)
    assert(moon.tensor.load(path):compare(t).ok)
    os.remove(path)
    fails("bad-argument", function() return t[{ 2, 0 }] end)
    fails("bad-argument", function() return t[{ 0 }] end)
    fails("bad-argument", moon.tensor, { 2, 2 }, "int32", { { 1, 2 } })
    fails("bad-argument", moon.tensor, { -1 }, "int32")
    fails("bad-argument", moon.tensor, { 2 }, "int3x")
    fails("too-large", moon.tensor, { 1 << 40, 1 << 40 }, "int32")
    local r = moon.tensor({ 100 }, "float32"):random(1, 2, 3)
    for i = 0, 99 do assert(r[i] >= 2 and r[i] < 3) end
end)

test("the interpreter runs and refuses", function()
    local m = moon.parse(source)
    local x, y = moon.tensor({ 8, 8 }, "float32", "iota"), moon.tensor({ 8, 8 }, "float32")
    moon.interpret(m, { x, y })
    assert(y[{ 3, 2 }] == 2 * x[{ 3, 2 }])
    moon.interpret(m.twice, { X = x, Y = y })
    fails("bad-run-argument", moon.interpret, m, { x })
    fails("bad-run-argument", moon.interpret, m, { x, 3 })
    fails(nil, moon.interpret, m, { x, moon.tensor({ 4, 4 }, "float32") })
    local wrong = moon.parse((source:gsub("X%[vi, vj%]", "X[vi + 1, vj]")))
    local e = fails(nil, moon.interpret, wrong, { x, y })
    assert(e.code == "out-of-bounds" or e.code == "outside-region", e.code)
    assert(#e.notes > 0 and e.notes[#e.notes]:find("i = 7") , e.notes[#e.notes])
end)

test("verify finds what is wrong", function()
    assert(#moon.verify(moon.parse(source)) == 0)
    fails("bad-argument", moon.verify, moon.parse(source), { what = "nothing" })
    local bad = moon.parse((source:gsub("X%[vi, vj%]", "X[vi + 1, vj]")))
    local findings = moon.verify(bad)
    assert(#findings > 0 and findings[1].code and findings[1].message ~= "" and findings[1].severity)
end)

test("findings call blocks by their names", function()
    local text = [[
@T.prim_func
def main(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    P = T.alloc_buffer((10,))
    for h in range(8):
        with T.block("fill"):
            vh = T.axis.spatial(10, h)
            P[vh] = X[vh]
    for h in range(8):
        with T.block("use"):
            vh = T.axis.spatial(8, h)
            Y[vh] = P[vh + 2]
]]
    for _, p in ipairs({ moon.parse(text), moon.parse(text).main, moon.schedule(moon.parse(text)) }) do
        local seen = false
        for _, f in ipairs(moon.verify(p)) do
            assert(not f.message:find("?", 1, true), f.message)
            seen = seen or f.message:find("block use", 1, true)
        end
        assert(seen)
    end
end)

test("programs that were read apart are compared, and joined in a module", function()
    local function through(shape, at)
        local text = [[
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    Q = T.alloc_buffer((SHAPE,))
    for i in range(16):
        with T.block("Q"):
            vi = T.axis.spatial(16, i)
            Q[AT] = A[vi] + T.float32(1)
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = Q[AT] * T.float32(2)
]]
        return moon.parse((text:gsub("SHAPE", shape):gsub("AT", function() return at end)))
    end
    local a, b = through("16", "vi"), through("4, 4", "vi // 4, vi % 4")
    assert(moon.check(a, b).ok and moon.check(b, a).ok)
    local both = a:with("other", b["main"])
    local again = moon.parse(both:script())
    assert(moon.equal(both, again))
    assert(moon.equal(both["other"], again["other"]))
    assert(moon.check(both, again, { func = "other" }).ok)
end)

test("a program is right after much work in its schedules", function()
    local s = moon.schedule(moon.workload.conv2d { h = 5, w = 5, ci = 3, co = 2, k = 3, p = 1 })
    for i = 1, 3000 do
        local t = s:copy()
        t:split("Y@1", { moon.auto, 2 })
        if i % 500 == 0 then assert(moon.check(t).ok) end
    end
end)

test("a module of several functions names them when one must be chosen", function()
    local two = moon.parse(source):with("again", moon.parse(source).twice)
    local s = moon.schedule(two)
    for _, e in ipairs {
        fails("no-function", s.blocks, s),
        fails("no-function", s.split, s, "i", { moon.auto, 2 }),
        fails("no-function", moon.interpret, two, {}),
    } do
        assert(e.message:find("2 functions (twice, again)", 1, true), e.message)
        assert(e.rule:find('{func = "NAME"}', 1, true))
    end
    assert(#moon.schedule(two, { func = "again" }):blocks() == 1)
end)

-- A sum of 4096 terms, each scaled.
local function sums(scale, dtype)
    return moon.parse((([[
@T.prim_func
def main(A: T.Buffer((8, 4096), "TYPE"), B: T.Buffer((8,), "TYPE")):
    for i, k in T.grid(8, 4096):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.TYPE(0)
            B[vi] = B[vi] + A[vi, vk] * T.TYPE(%s)
]]):format(scale):gsub("TYPE", dtype or "float32")))
end

test("the bound of a check follows the values: a program and the same in millionths", function()
    local r = moon.check(sums "1.0", sums "1.0")
    assert(r.ok and r.vacuous == nil and r.rtol == 0)
    -- sqrt(4096) 2^-24 times a sum of about 4096 / 2 terms
    assert(r.atol > 4e-3 and r.atol < 1e-2, r.atol)
    assert(not moon.check(sums "1.0", sums "1.1").ok)
    local small = moon.check(sums "1e-6", sums "1e-6")
    assert(small.ok and not small.vacuous and math.abs(small.atol * 1e6 / r.atol - 1) < 0.03)
    assert(not moon.check(sums "1e-6", sums "1.1e-6").ok)
    -- rounding is none of it
    local s = moon.schedule(sums "1e-6")
    s:split("k", { 64, 64 })
    s:rfactor("k_0", 0)
    assert(moon.check(s).ok)
    assert(moon.check(sums "1.0", sums "1.0", { inputs = "zeros" }).atol == 0)
end)

test("a bound above one percent of the values is told as vacuous, one that was asked for too", function()
    local half = sums("1.0", "float16")
    local r = moon.check(half, half)
    assert(r.ok and r.vacuous == r.atol and r.vacuous > 0.01 * r.magnitude and r.magnitude > 1)
    local one = sums "1.0"
    r = moon.check(one, sums "1.1", { rtol = 0.2 })
    assert(r.ok and r.vacuous and r.rtol == 0.2 and r.atol == 0)
    r = moon.check(one, one, { rtol = 1e-3 })
    assert(r.ok and not r.vacuous)
end)

test("a program without blocks says so to every step and query", function()
    local plain = moon.parse [[
@I.ir_module
class Module:
    @T.prim_func
    def foo(A: T.Buffer((64,), "float32")):
        for i in range(64):
            A[i] = T.float32(1)

    @T.prim_func
    def bar(A: T.Buffer((32,), "float32")):
        for j in range(32):
            A[j] = T.float32(1)
]]
    local one = moon.schedule(plain.foo)
    local two = moon.schedule(plain)
    for _, case in ipairs { { one, "function main", "main" }, { two, "the module", "foo" } } do
        local s, whose, func = table.unpack(case)
        for _, e in ipairs {
            fails("no-blocks", s.split, s, "i", { 8, 8 }),
            fails("no-blocks", s.fuse, s, "i", "j"),
            fails("no-blocks", s.get_loops, s, "B"),
            fails("no-blocks", s.get_block, s, "B"),
            fails("no-blocks", s.get_block, s, "root"),
            fails("no-blocks", s.blocks, s),
        } do
            assert(e.message:find(whose .. " holds no blocks", 1, true), e.message)
        end
        local e = fails("no-blocks", s.work_on, s, func)
        assert(e.message:find("function " .. func .. " holds no blocks", 1, true), e.message)
        fails("unknown-function", s.work_on, s, "baz")
    end
    fails("no-blocks", two.get_block, two, "B", "bar")
    fails("no-blocks", moon.schedule, plain, { func = "bar" })
    -- one that has blocks beside one that has none
    local mixed = moon.schedule(moon.parse(source):with("plain", plain.foo))
    fails("no-blocks", mixed.work_on, mixed, "plain")
    assert(#mixed:blocks() == 1)
end)

test("version, features and auto", function()
    assert(moon.version:match("^%d+%.%d+") and type(moon.features) == "table")
    assert(moon.auto == moon.auto and tostring(moon.auto) == "auto")
end)

test("names of a session do not disturb the Lua part", function()
    local was = table
    table = nil
    local ok, e = pcall(moon.workload, "GMM-0")
    table = was
    assert(ok, e)
end)

test("a finding is told once, whichever parts would find it", function()
    local m = moon.parse([[
@T.prim_func
def f(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    for t in T.thread_binding(16, thread="threadIdx.x"):
        for i in range(64):
            with T.block("w"):
                v = T.axis.spatial(64, i)
                T.block_attr({"warp_execution": 1})
                C[v] = A[v]
]])
    for _, what in ipairs { { "gpu" }, { "threading", "gpu", "memory" }, { "memory", "threading" } } do
        local found = moon.verify(m, { what = what })
        assert(#found == 1 and found[1].code == "execution-scope", #found)
    end
end)

test("a check of outputs without a number says so", function()
    local function of(value)
        return moon.parse(([[
@T.prim_func
def main(A: T.Buffer((8,), "float32"), S: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("S"):
            v = T.axis.spatial(8, i)
            S[v] = %s
]]):format(value))
    end
    local r = moon.check(of "T.sqrt(T.float32(-1) - A[v] * A[v])", of "(A[v] - A[v]) / (A[v] - A[v])")
    assert(r.ok and r.blind == "S has no number, NaN and infinities alone", r.blind)
    assert(not moon.check(of "A[v]", of "A[v]").blind)
end)

return tests

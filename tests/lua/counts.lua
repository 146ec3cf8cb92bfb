-- s:counts(): what loops do, as tables.
local tests = {}
local function test(name, fn) tests[#tests + 1] = { name, fn } end

local function by_name(s, func)
    local out = {}
    for _, l in ipairs(s:counts(func)) do out[l.loop] = l end
    return out
end

test("counts has a table for each loop, in textual order", function()
    local s = moon.schedule(moon.workload.matmul(64, 32, 16))
    local c = s:counts()
    assert(#c == 3 and c[1].loop == "i" and c[2].loop == "j" and c[3].loop == "k")
    assert(c[1].depth == 0 and c[3].depth == 2)
    assert(c[1].extent == 64 and c[3].iterations == 64 * 32 * 16)
    assert(c[1].flop == 2 * 64 * 32 * 16 and c[1].flop == s:flops())
    assert(c[2].bytes.A == 64 and c[2].elements.B == 512 and c[2].loads.A == 512)
    assert(c[1].stores.C == 64 * 32 * 16 + 64 * 32, "the init stores too")
    assert(c[1].reuse.A == 32 and #c[1].at_most == 0)
end)

test("counts tells the stride of each access", function()
    local c = by_name(moon.schedule(moon.workload.matmul(64, 64, 64)))
    local seen = {}
    for _, a in ipairs(c.i.strides) do
        assert(a.block == "C" and a.kind == "even")
        seen[#seen + 1] = a.access .. (a.store and "=" or "") .. a.stride
    end
    assert(table.concat(seen, " ") == "C[vi, vj]=64 C[vi, vj]64 A[vi, vk]64 B[vk, vj]0 C[vi, vj]=64", table.concat(seen, " "))
    assert(c.k.strides[4].buffer == "B" and c.k.strides[4].stride == 64)
end)

test("counts names what is a bound, and leaves out what is not known", function()
    local s = moon.schedule(moon.workload.matmul(64, 64, 64))
    s:split("i", { moon.auto, 48 })
    local c = by_name(s)
    assert(#c.i_0.at_most == 0 and c.i_0.flop == 524288)
    local bounds = {}
    for _, what in ipairs(c.i_1.at_most) do bounds[what] = true end
    assert(bounds.flop and bounds["bytes.A"] and bounds["loads.A"] and not bounds["bytes.B"] and not bounds.iterations)
    assert(c.i_1.bytes.A == 48 * 64 * 4 and c.i_1.bytes.B == 16384)
end)

test("counts of sizes that are not known are texts", function()
    local m = moon.parse [[
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 8), "float32")
    B = T.match_buffer(b, (n, 8), "float32")
    for i, j in T.grid(n, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
]]
    local c = by_name(moon.schedule(m))
    assert(c.i.extent == "n" and c.j.iterations == "n * 8" and c.i.bytes.A == "n * 32", c.i.bytes.A)
    assert(c.j.bytes.A == 32 and c.i.reuse.A == nil)
end)

test("counts is of one function, the schedule's own unless told", function()
    local m = moon.parse [[
@I.ir_module
class Module:
    @T.prim_func
    def foo(A: T.Buffer((64,), "float32")):
        for i in range(64):
            with T.block("A"):
                vi = T.axis.spatial(64, i)
                A[vi] = T.float32(1)

    @T.prim_func
    def bar(A: T.Buffer((32,), "float32")):
        for j in range(32):
            with T.block("A"):
                vi = T.axis.spatial(32, j)
                A[vi] = T.float32(1)
]]
    local s = moon.schedule(m)
    assert(s:counts("foo")[1].loop == "i" and s:counts("bar")[1].bytes.A == 128)
    local ok, e = pcall(s.counts, s, "baz")
    assert(not ok and e.message:find("baz", 1, true), tostring(e))
end)

test("counts of every workload holds together", function()
    for _, name in ipairs(moon.workload.list()) do
        local w = moon.workload(name)
        local s = moon.schedule(w)
        local total = 0
        for _, l in ipairs(s:counts()) do
            assert(l.iterations and l.flop, name .. " " .. l.loop)
            if l.depth == 0 then total = total + l.flop end
            for b, n in pairs(l.elements) do
                assert(n <= (l.loads[b] or 0) + (l.stores[b] or 0), name .. " " .. l.loop .. " " .. b)
            end
        end
        assert(total == s:flops(), ("%s: %s of %s"):format(name, total, s:flops()))
    end
end)

test("the operations of the outermost loops are those of the program, guards or not", function()
    for _, name in ipairs(moon.workload.list()) do
        local s = moon.schedule(moon.workload(name))
        local blocks = s:blocks()
        for n, l in ipairs(s:loops(blocks[#blocks])) do
            pcall(s.split, s, l, { moon.auto, 3 + 2 * n })
        end
        local total, exact = 0, true
        for _, l in ipairs(s:counts()) do
            if l.depth == 0 then
                total = total + l.flop
                for _, what in ipairs(l.at_most or {}) do exact = exact and what ~= "flop" end
            end
        end
        -- of two values the one chosen counts, at most the larger
        exact = exact or moon.workload(name):script():find("T.Select(", 1, true)
        assert(exact and total == s:flops(), ("%s: %s, not %s"):format(name, total, s:flops()))
    end
end)

test("operations that sizes decide are a text, as of loops", function()
    local s = moon.schedule(moon.parse [[
@T.prim_func
def main(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, 64), "float32")
    for i, j in T.grid(n, 64):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = T.float32(2) * T.float32(3) + T.exp(A[vi, vj]) * A[vi, vj]
]])
    assert(s:flops() == "n * 128" and s:counts()[1].flop == s:flops(), s:flops())
end)

test("a step takes place after counts, and changes them", function()
    local s = moon.schedule(moon.workload.matmul(64, 64, 64))
    assert(#s:counts() == 3)
    s:split("i", { 8, 8 })
    local c = by_name(s)
    assert(c.i_0.extent == 8 and c.i_1.bytes.A == 2048)
    s:fuse("i_0", "i_1")
    assert(s:counts()[1].bytes.A == 16384 and s:counts()[1].strides[3].stride == 64)
end)

return tests

-- The builder: expressions, tensors, functions, index maps, moon.ir.
local te, ir = moon.te, moon.ir
local tests = {}
local function test(name, fn) tests[#tests + 1] = { name, fn } end

local function fails(code, fn, ...)
    local ok, e = pcall(fn, ...)
    assert(not ok, "the call did not fail")
    assert(type(e) == "userdata", tostring(e))
    assert(e.code == code, ("%s instead of %s: %s"):format(e.code, code, e.message))
    return e
end

test("operators print as the text dialect", function()
    local i, j, f = te.var("i"), te.var("j"), te.var("f", "float32")
    local cases = {
        { i + j, "i + j" }, { i * 4 + j, "i * 4 + j" }, { i // 4, "i // 4" }, { i % 4, "i % 4" },
        { 3 - i, "3 - i" }, { te.lt(i, j), "i < j" }, { te.max(i, 3), "T.max(i, 3)" },
        { te.all(te.lt(i, 3), te.ge(j, 1)), "i < 3 and j >= 1" }, { te.any(te.eq(i, 0), te.ne(j, 0)), "i == 0 or j != 0" },
        { te.exp(f), "T.exp(f)" }, { te.select(te.lt(i, j), f, 0), "T.Select(i < j, f, T.float32(0.0))" },
        { te.if_then_else(te.lt(i, 4), f, 0.5), "T.if_then_else(i < 4, f, T.float32(0.5))" },
        { te.shift_left(i, 2), "T.shift_left(i, 2)" }, { te.truncdiv(i, j), "T.Div(i, j)" }, { f / 2, "f / T.float32(2.0)" },
    }
    for _, c in ipairs(cases) do
        local text = tostring(c[1])
        assert(text == c[2] or text:gsub("%.0%)", ")") == c[2]:gsub("%.0%)", ")"), text .. " is not " .. c[2])
    end
end)

test("== compares structure, constants fold, numbers take the other side's dtype", function()
    local i = te.var("i")
    assert(i + 1 == i + 1 and i + 1 ~= i + 2 and i ~= te.var("i"))
    assert((te.const(3) + 4).value == 7)
    assert((te.const(2, "float16") * 1.5).dtype == "float16")
    assert((te.var("x", "int64") + 1).dtype == "int64")
    assert(te.cast(i, "float32").dtype == "float32")
    assert((i + te.var("x", "int64")).dtype == "int64")
end)

test("what has no meaning is refused", function()
    local i, f = te.var("i"), te.var("f", "float32")
    fails("bad-argument", function() return i / 2 end)
    fails("bad-argument", function() return f // 2 end)
    fails("divide-by-zero", function() return i // 0 end)
    fails("divide-by-zero", function() return i % 0 end)
    fails("bad-argument", function() return i < 3 end)
    fails("bad-argument", function() return i + "x" end)
    fails("bad-argument", function() return i + {} end)
    fails("bad-argument", te.not_, i)
    fails("bad-argument", te.all, i, i)
    fails("bad-argument", te.exp, i, i)
    fails("bad-argument", te.var, "i", "int3x")
    fails("bad-argument", te.const, 300, "int8")
    fails("bad-argument", te.const, 2.5, "int32")
    fails("bad-argument", te.cast, i, "void")
end)

test("a deep expression is refused, not overflown", function()
    local e = te.var("i")
    local ok, err = pcall(function()
        for _ = 1, 5000 do e = te.max(e + 1, 0) end
    end)
    assert(not ok and err.code == "too-deep", tostring(err))
    assert(tostring(te.var("i") + 1) == "i + 1")
end)

test("an index that does not fit is an error", function()
    fails("index-overflow", function() return te.const(2147483647) + 1 end)
end)

test("matmul from the builder equals the workload", function()
    local n, m, k = 8, 6, 4
    local A, B = te.placeholder({ n, k }, "float32", "A"), te.placeholder({ k, m }, "float32", "B")
    local kk = te.reduce_axis(k, "k")
    local C = te.compute({ n, m }, function(i, j) return te.sum(A(i, kk) * B(kk, j), kk) end, "C")
    assert(te.func { A, B, C } == moon.workload.matmul(n, m, k).main)
    assert(te.func({ A, B, C }, "mine").name == "mine")
end)

test("stages in between are allocated and in order; an axis may serve two tensors", function()
    local A = te.placeholder({ 4, 5 }, "float32", "A")
    local k = te.reduce_axis(5, "k")
    local top = te.compute({ 4 }, function(i) return te.max(A(i, k), k) end, "top")
    local low = te.compute({ 4 }, function(i) return te.min(A(i, k), k) end, "low")
    local D = te.compute({ 4 }, function(i) return top(i) - low(i) end, "D")
    local f = te.func { A, D }
    local text = f:script()
    assert(text:find("top = T.alloc_buffer((4,))", 1, true) and text:find("low = T.alloc_buffer((4,))", 1, true), text)
    assert(#moon.verify(f) == 0)
    local a, d = moon.tensor({ 4, 5 }, "float32"):random(3), moon.tensor({ 4 }, "float32")
    moon.interpret(f, { a, d })
    for i = 0, 3 do
        local lo, hi = math.huge, -math.huge
        for j = 0, 4 do
            lo, hi = math.min(lo, a[{ i, j }]), math.max(hi, a[{ i, j }])
        end
        assert(math.abs(d[{ i }] - (hi - lo)) < 1e-6)
    end
end)

test("symbolic sizes", function()
    local n = te.var("n")
    local A = te.placeholder({ n }, "float32", "A")
    local B = te.compute({ n }, function(i) return A(i) * 2 end, "B")
    local f = te.func({ A, B }, "main")
    assert(f.buffers.A.shape[1].name == "n")
    local x, y = moon.tensor({ 5 }, "float32", "iota"), moon.tensor({ 5 }, "float32")
    moon.interpret(f, { A = x, B = y })
    assert(y[4] == 8)
end)

test("a rank-0 tensor and an extent of 1", function()
    local A = te.placeholder({ 1 }, "float32", "A")
    local k = te.reduce_axis(1, "k")
    local S = te.compute({}, function() return te.sum(A(k), k) end, "S")
    local a, s = moon.tensor({ 1 }, "float32", 7), moon.tensor({}, "float32")
    moon.interpret(te.func { A, S }, { a, s })
    assert(s:totable() == 7)
end)

test("a tensor in brackets or in arithmetic says how its elements are written", function()
    local i, j = te.var("i"), te.var("j")
    local V = te.placeholder({ 4 }, "float32", "V")
    local A = te.placeholder({ 4, 4 }, "float32", "A")
    local deep = te.placeholder({ 2, 2, 2, 2, 2, 2, 2 }, "float32", "deep")
    local function says(text, fn)
        local e = fails("bad-argument", fn)
        assert(e.message:find(text, 1, true), e.message)
    end
    for _, key in ipairs { 1, 2.5, i, i + j, { i, j }, true } do
        says("V(i), not V[", function() return V[key] end)
        says("A(i, j), not A[", function() return A[key] end)
        says("deep(i, j, k, l, m, n, i7), not deep[", function() return deep[key] end)
        says("A[…] = …", function() A[key] = 3 end)
    end
    says("A(i, j)", function() return A[i][j] end)
    for _, fn in ipairs { function(a, b) return a + b end, function(a, b) return a - b end, function(a, b) return a * b end,
        function(a, b) return a / b end, function(a, b) return a // b end, function(a, b) return a % b end,
        function(a, b) return a ^ b end, function(a) return -a end, function(a, b) return a < b end,
        function(a, b) return a <= b end } do
        says("A(i, j)", function() return fn(A, A) end)
    end
    for _, other in ipairs { 2, V } do
        says("V is a whole tensor", function() return V * other end)
        says("V is a whole tensor", function() return other * V end)
    end
    says("V(i)", function() return te.compute({ 4 }, function(k) return V end) end)
    assert(V.nothing == nil and #V.shape == 1)
    V.mine = 3
    assert(V.mine == 3)
end)

test("an error in the function of a tensor is passed on", function()
    local ok, e = pcall(te.compute, { 4 }, function(i) error("mine") end)
    assert(not ok and tostring(e):find("mine"))
    fails("bad-argument", te.compute, { 4, 4 }, function(i) return i end)
    fails("bad-argument", te.compute, { 4 }, function(i) return "x" end)
    fails("bad-argument", te.compute, { -4 }, function(i) return i end)
    fails("bad-argument", te.sum, 1, te.var("k"))
    local A = te.placeholder({ 4 }, "float32", "A")
    fails("bad-argument", function() return A(1, 2) end)
    local B = te.compute({ 4 }, function(i) return A(i) end, "B")
    fails("bad-argument", te.func, { B })
    fails("bad-argument", te.func, { A })
    fails("bad-argument", te.func, { A, 3 })
end)

test("index maps from functions, lists and texts", function()
    assert(tostring(moon.index_map(function(i, j) return j // 4, i, j % 4 end)) == "lambda i, j: (j // 4, i, j % 4)")
    assert(tostring(moon.index_map(function(i, j) return { j, i } end)) == "lambda i, j: (j, i)")
    assert(tostring(moon.index_map("lambda i, j: (j, i)")) == "lambda i, j: (j, i)")
    assert(tostring(moon.index_map(function(i) return i // 4, i % 4 end, function(a, b) return a * 4 + b end)):find("lambda i:"))
    fails("bad-argument", moon.index_map, function(...) return ... end)
    fails("bad-argument", moon.index_map, 3)
    local ok, e = pcall(moon.index_map, function(i) error("inside") end)
    assert(not ok and tostring(e):find("inside"))
    local ok2 = pcall(moon.index_map, "lambda i: (")
    assert(not ok2)
end)

test("moon.ir builds statements, blocks and functions", function()
    local A, B = ir.buffer("A", { 8 }), ir.buffer("B", { 8 })
    local i, vi = ir.var("i"), ir.var("vi")
    local body = ir.loop {
        var = i, extent = 8, kind = "parallel",
        body = ir.block {
            name = "B", iters = { { var = vi, extent = 8, value = i } },
            body = ir.store(B, ir.load(A, vi) + 1, { vi }),
        },
    }
    local f = ir.func { name = "main", params = { A, B }, body = body }
    local text = f:script()
    assert(text:find("for i in T.parallel(8):", 1, true) and text:find("T.reads(A[vi])", 1, true), text)
    assert(moon.parse(text).main == f)
    fails("undefined-variable", ir.func, { params = { A, B }, body = ir.store(B, ir.load(A, ir.var("x")), { 0 }) })
    fails("undefined-buffer", ir.func, { params = { B }, body = ir.store(B, ir.load(A, 0), { 0 }) })
    fails("bad-argument", ir.store, B, 1, { 0, 0 })
    fails("bad-argument", ir.loop, { var = i, extent = 8 })
    fails("bad-argument", ir.loop, { var = i, extent = 8, body = body, kind = "thread_binding" })
    fails("bad-storage-scope", ir.buffer, "X", { 4 }, "float32", "nowhere")
end)

test("expressions are read from text", function()
    local i, A = ir.var("i"), ir.buffer("A", { 8 })
    assert(ir.parse_expr("i * 2 + 1", { i = i }) == i * 2 + 1)
    assert(ir.parse_expr("A[i]", { i = i, A = A }) == ir.load(A, i))
    local ok, e = pcall(ir.parse_expr, "i +", { i = i })
    assert(not ok and e.place.line == 1)
end)

test("expressions that are dropped give their memory back", function()
    local function rss()
        local f = io.open("/proc/self/status")
        if not f then return 0 end
        local kib = tonumber(f:read("a"):match("VmRSS:%s*(%d+)"))
        f:close()
        return kib
    end
    collectgarbage()
    collectgarbage()
    local before = rss()
    for _ = 1, 300 do
        local e = te.var("i")
        for k = 1, 300 do e = te.truncmod(e + k, 1000 + k) end
        e = nil
        collectgarbage("step", 200)
    end
    assert(rss() - before < 100 * 1024, rss() - before)
end)

-- A running sum over n elements, of A where it is given.
local function running(A, n)
    return te.extern({ { { n }, "float32", "S" } }, function(S)
        local i, v = ir.var("i"), ir.var("v")
        local before = ir.if_then_else(ir.gt(v, 0), ir.load(S.buffer, v - 1), ir.const(0, "float32"))
        return ir.loop { var = i, extent = n, body = ir.block { name = "S",
            iters = { { var = v, extent = n, kind = "opaque", value = i } }, body = ir.store(S.buffer, before + A(v), { v }) } }
    end)
end

test("extern: a statement computes tensors, others read them and are read by it", function()
    local X = te.placeholder({ 5 }, "float32", "X")
    local A = te.compute({ 5 }, function(i) return X(i) + 1 end, "A")
    local S = running(A, 5)
    local Y = te.compute({ 5 }, function(i) return S(i) * 2 end, "Y")
    local m = moon.module(te.func { X, Y })
    local x, y = moon.tensor({ 5 }, "float32", "ones"), moon.tensor({ 5 }, "float32", "poison")
    moon.interpret(m, { x, y })
    assert(y[{ 0 }] == 4 and y[{ 4 }] == 20, tostring(y))
    assert(#moon.verify(m, { what = "well-formed" }) == 0)
    -- a function of it each time: no loop of one is the other's
    local again = te.func({ X, Y }, "again")
    assert(#moon.module(m.main, again).names == 2)
end)

test("extern: several results are one stage, given or not", function()
    local A = te.placeholder({ 4 }, "float32", "A")
    local P, Q = te.extern({ { { 4 }, "float32", "P" }, { { 4 }, "int32", "Q" } }, function(P, Q)
        local i, v = ir.var("i"), ir.var("v")
        return ir.loop { var = i, extent = 4, body = ir.block { name = "P", iters = { { var = v, extent = 4, value = i } },
            body = ir.seq { ir.store(P.buffer, A(v) + 1, { v }), ir.store(Q.buffer, v, { v }) } } }
    end)
    for _, params in ipairs { { A, P, Q }, { A, Q }, { A, P } } do
        local m = moon.module(te.func(params))
        local out = moon.tensor({ 4 }, params[#params].dtype, "poison")
        local args = { moon.tensor({ 4 }, "float32", "ones") }
        if #params == 3 then args[2] = moon.tensor({ 4 }, "float32") end
        args[#params] = out
        moon.interpret(m, args)
        assert(out[{ 3 }] == (params[#params] == Q and 3 or 2))
    end
end)

test("extern, and names of loops: what is wrong is refused", function()
    local function none() end
    fails("bad-argument", te.extern, 3, none)
    fails("bad-argument", te.extern, {}, none)
    fails("bad-argument", te.extern, { 3 }, none)
    fails("bad-argument", te.extern, { { { 4 }, "float32", "S" } }, 3)
    fails("bad-argument", te.extern, { { { 4 }, "float32", "S" } }, none)
    fails("bad-argument", te.extern, { { { 4 }, "float3", "S" } }, none)
    local A = te.placeholder({ 4, 5 }, "float32", "A")
    local function body(...) return A(...) end
    local text = te.func { A, te.compute({ 4, 5 }, body, "B", { "x", "y" }) }:script()
    assert(text:find("for x, y in T.grid(4, 5):", 1, true), text)
    fails("bad-argument", te.compute, { 4, 5 }, body, "B", { "x" })
    fails("bad-argument", te.compute, { 4, 5 }, body, "B", "x")
    fails("bad-argument", te.compute, { 4, 5 }, body, "B", { "x", 3 })
end)

return tests

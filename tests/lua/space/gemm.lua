-- Design spaces of products: every layout, batch and size, each sketch with whatever
-- decisions computes the same.
local tests = {}
local te = moon.te
local sketches = dofile("tests/lua/shared/sketches.lua")

local lots = os.getenv("ML_QUICK") and 1 or 2 -- of each sketch

local function test(name, fn) tests[#tests + 1] = { name, fn } end

-- The program of one product, "bmk,bnk->bmn", with sizes by letter; epilogue: bias and relu.
local function product(spec, size, dtype, epilogue)
    local a, b, c = spec:match("(%a*),(%a*)%->(%a*)")
    local sums, axes = {}, {}
    local function shape(letters)
        local out = {}
        for l in letters:gmatch(".") do out[#out + 1] = size[l] end
        return out
    end
    local A, B = te.placeholder(shape(a), dtype or "float32", "A"), te.placeholder(shape(b), dtype or "float32", "B")
    for l in (a .. b):gmatch(".") do
        if not c:find(l) and not sums[l] then
            sums[l] = te.reduce_axis(size[l], l)
            axes[#axes + 1] = sums[l]
        end
    end
    local C = te.compute(shape(c), function(...)
        local at, of = { ... }, {}
        for l in c:gmatch(".") do of[l] = table.remove(at, 1) end
        local function index(letters)
            local out = {}
            for l in letters:gmatch(".") do out[#out + 1] = of[l] or sums[l] end
            return table.unpack(out)
        end
        return te.sum(A(index(a)) * B(index(b)), axes)
    end, "C")
    if not epilogue then return moon.module(te.func({ A, B, C }, "main")) end
    local bias = te.placeholder({ size.n }, dtype or "float32", "bias")
    local D = te.compute(C.shape, function(i, j) return C(i, j) + bias(j) end, "D")
    local E = te.compute(C.shape, function(i, j) return te.max(D(i, j), te.const(0, dtype or "float32")) end, "E")
    return moon.module(te.func({ A, B, bias, E }, "main"))
end

-- The compiled sketch and the interpreted program leave the same in the last argument.
local function runs(p, s, threads)
    local a, b, worst = {}, {}, 0
    for k, x in ipairs(p:func("main").buffers) do
        a[k] = moon.tensor(x.shape, x.dtype):random(k, -1, 1)
        b[k] = a[k]:copy()
    end
    moon.interpret(p, a)
    moon.build(s, { threads = threads })(table.unpack(b))
    local function compare(x, y)
        if type(x) ~= "table" then
            worst = math.max(worst, math.abs(x - y))
            assert(y == y, "not a number")
        else
            for k in ipairs(x) do compare(x[k], y[k]) end
        end
    end
    compare(a[#a]:totable(), b[#b]:totable())
    assert(worst < 1e-4, worst)
end

-- Every sketch, as the rule decides it and by lot; gives their names.
local function is_right(p, threads)
    threads = threads or 2
    local names, open = sketches(p, threads, lots, moon.features.llvm and function(s, _, lot)
        if lot == 0 then runs(p, s, threads) end
    end or nil)
    assert(math.max(table.unpack(open)) > 0, "no decision is open")
    return table.concat(names, ", ")
end

local function first(want, p, threads)
    local got = is_right(p, threads)
    assert(got:sub(1, #want) == want, got)
end

test("operands of every layout are packed so that vectors lie in them", function()
    for _, spec in ipairs { "mk,kn->mn", "mk,nk->mn", "km,kn->mn", "km,nk->mn", "mk,kn->nm" } do
        first("product, ", product(spec, { m = 24, n = 64, k = 20 }))
    end
end)

test("a loop of one iteration does not hide whose guard it is", function()
    local s = moon.schedule(product("mk,kn->mn", { m = 24, n = 16, k = 1 }))
    local acc = s:cache_write("C", 0, "local")
    local i, j, k = table.unpack(s:get_loops("C"))
    local ic, io, ii = table.unpack(s:split(i, { moon.auto, 2, 5 }))
    s:reorder(ic, io, k, ii, j)
    s:reverse_compute_at(acc, io)
    assert(moon.check(s).ok)
end)

test("batches are dealt out, or the panels of one", function()
    first("product, packed, panels", product("bmk,bnk->bmn", { b = 4, m = 13, n = 48, k = 16 }))
    first("product, packed, panels", product("bmhk,bnhk->bhmn", { b = 1, h = 4, m = 16, n = 32, k = 24 }))
    first("product, in place, rows", product("mk,kn->mn", { m = 64, n = 32, k = 32 }))
    first("product, in place, panels", product("bmk,bkn->bmn", { b = 2, m = 9, n = 40, k = 12 }, "float64"))
end)

test("sizes that nothing divides keep their tails", function()
    for _, n in ipairs { 17, 37 } do
        first("product, ", product("mk,kn->mn", { m = n, n = n + 2, k = n - 4 }))
        first("product, ", product("bmk,bnk->bmn", { b = 2, m = n, n = n, k = 23 }))
    end
end)

test("bias and relu are done with each tile", function()
    first("product, ", product("mk,kn->mn", { m = 32, n = 96, k = 16 }, "float32", true))
    first("product, ", product("mk,nk->mn", { m = 33, n = 47, k = 16 }, "float32", true), 1)
end)

-- Softmax of the products of the rows of Q and K, times V; each option leaves out a stage, or
-- adds one.
local function chain(h, m, n, d, c, opts)
    opts = opts or {}
    local dtype = opts.dtype or "float32"
    local Q, K, V = te.placeholder({ h, m, d }, dtype, "Q"), te.placeholder({ h, n, d }, dtype, "K"), te.placeholder({ h, n, c }, dtype, "V")
    local kd, k1, k2, kj = te.reduce_axis(d, "d"), te.reduce_axis(n, "j1"), te.reduce_axis(n, "j2"), te.reduce_axis(n, "j")
    local whole = { h, m, n }
    local X = te.compute(whole, function(b, i, j) return te.sum(Q(b, i, kd) * K(b, j, kd), kd) end, "scores")
    local params = { Q, K, V }
    if opts.scale then
        local S = X
        X = te.compute(whole, function(b, i, j) return S(b, i, j) * te.const(0.25, dtype) end, "scale")
    end
    if opts.bias then
        local S, bias = X, te.placeholder({ m, n }, dtype, "bias")
        params[#params + 1] = bias
        X = te.compute(whole, function(b, i, j) return S(b, i, j) + bias(i, j) end, "biased")
    end
    if opts.softmax then
        local S = X
        local M = te.compute({ h, m }, function(b, i) return te.max(S(b, i, k1), k1) end, "max")
        local E = te.compute(whole, function(b, i, j) return te.exp(S(b, i, j) - M(b, i)) end, "exp")
        local Z = te.compute({ h, m }, function(b, i) return te.sum(E(b, i, k2), k2) end, "sum")
        X = te.compute(whole, function(b, i, j) return E(b, i, j) / Z(b, i) end, "soft")
    end
    params[#params + 1] = te.compute({ h, m, c }, function(b, i, o) return te.sum(X(b, i, kj) * V(b, kj, o), kj) end, "O")
    return moon.module(te.func(params, "main"))
end

test("two products with a softmax between them share one nest", function()
    first("chain, ", chain(2, 32, 32, 16, 16, { scale = true, softmax = true }))
    if lots > 1 then first("chain, ", chain(2, 19, 21, 12, 20, { scale = true, softmax = true })) end
    first("chain, ", chain(1, 70, 24, 8, 16, { softmax = true, bias = true }))
    if lots > 1 then first("chain, ", chain(2, 16, 20, 8, 8, { softmax = true, dtype = "float64" }), 1) end
end)

test("products that follow each other have a nest each", function()
    first("product, ", chain(2, 33, 18, 8, 32, { scale = true }))
    first("product, ", chain(1, 64, 48, 40, 32, {}))
end)

test("small matrices of constants beside a product are written out, the product has its panels", function()
    local p = moon.workload.winograd { h = 6, w = 5, ci = 16, co = 32 }
    local names = is_right(p, 2)
    assert(names:find("^product, in place"), names)
    local text = moon.draft(p, { threads = 2 }):script()
    assert(text:find("for t[_%d]* in T.unroll%(6%)"), "the matrix is a loop")
    assert(text:find("for a[_%d]* in range%(6%)"), "all of the matrix is written out")
    -- the weights are read and written along their last axis, not gathered
    assert(text:find("kernel = T.alloc_buffer%(%(6, 6, 16, 32%)%)"), text)
end)

test("rows that are contiguous the wrong way are turned beforehand", function()
    local names = is_right(product("km,kn->mn", { m = 1024, n = 5, k = 128 }))
    assert(names:find("rows turned", 1, true), names)
end)

test("many panels are copied for all rows", function()
    local names = is_right(product("mk,nk->mn", { m = 5, n = 512, k = 12 }))
    assert(names:find("groups of panels", 1, true), names)
end)

test("rows from beyond the second cache are read for as many panels as a quarter of it holds", function()
    local l2, k = moon.machine().caches.L2, 1024
    for _, m in ipairs { 16, l2 // (4 * k) } do -- a quarter of it at most, or four
        local p = product("mk,kn->mn", { m = m, n = 1024, k = k })
        local text = moon.space.sketches(p, { threads = 1 })[1].schedule:script()
        local groups, wide = text:match("for %w+_0_0 in range%((%d+)%)"), text:match("for %w+_0_1 in T.serial%((%d+)")
        local panel = 4 * k * 1024 // (groups * wide)
        assert(wide == "1" or m > 16 and wide * panel * 4 <= l2, text)
        assert(wide ~= "1" or m == 16 or 2 * panel * 4 > l2, text)
    end
end)

test("columns that fill no vector have a shorter one", function()
    first("product, ", product("mk,kn->mn", { m = 40, n = 6, k = 24 }))
end)

return tests

-- Products by dot product instructions: each sketch of bytes and bfloat16 with whatever decisions, on sizes that
-- divide and that do not, leaves what the interpreted program leaves, to the bit where it adds integers.
local tests = {}
local te = moon.te
local sketches = dofile("tests/lua/shared/sketches.lua")

local function test(name, fn) tests[#tests + 1] = { name, fn } end

-- Which of the instructions this processor has.
local has = {}
do
    local f = io.open("/proc/cpuinfo")
    local text = f and f:read("a") or ""
    if f then f:close() end
    has.bytes = (text:find("avx512_vnni", 1, true) or text:find("avx_vnni", 1, true)) ~= nil
    has.wide = text:find("avx512_vnni", 1, true) ~= nil
    has.pairs = text:find("avx512_bf16", 1, true) ~= nil
end

-- The largest bytes everywhere (sums of pairs that saturate would be seen), or any.
local function fill(p, extreme)
    local list = {}
    for k, x in ipairs(p:func("main").buffers) do
        local t = moon.tensor(x.shape, x.dtype)
        if x.dtype == "uint8" then
            t:random(k, extreme and 255 or 0, 256)
        elseif x.dtype == "int8" then
            t:random(k, extreme and -128 or -128, extreme and -126 or 128)
        elseif x.name == "shift" then
            t:random(k, 20, 28)
        elseif x.name == "mult" then
            t:random(k, 1 << 14, 1 << 15)
        elseif x.dtype:find("int") then
            t:random(k, -1000, 1000)
        else
            t:random(k, -1, 1)
        end
        list[k] = t
    end
    return list
end

local function same(a, b, exact, at)
    if type(a) == "table" then
        for k in ipairs(a) do same(a[k], b[k], exact, at) end
    else
        assert(exact and a == b or not exact and math.abs(a - b) <= 1e-3, ("%s: %s instead of %s"):format(at, b, a))
    end
end

local function runs(p, s, threads, exact, name)
    for _, extreme in ipairs { false, true } do
        local a, b = fill(p, extreme), fill(p, extreme)
        moon.interpret(p, a)
        moon.build(s, { threads = threads })(table.unpack(b))
        same(a[#a]:totable(), b[#b]:totable(), exact, name)
    end
end

-- Every sketch, as the rule decides it and by lot. there: whether the processor has the instruction.
local function is_right(p, there, exact)
    local names = sketches(p, 2, 2, function(s, name) runs(p, s, 2, exact, name .. "\n" .. s:script()) end)
    assert(not there or names[1]:find("^dot products"), names[1])
end

local function bytes(p) is_right(p, has.bytes, true) end

test("products of bytes, plain, packed, requantised", function()
    local w = moon.workload.quantized_matmul
    bytes(w { m = 12, n = 64, k = 32 })
    bytes(w { m = 9, n = 96, k = 24, rq = true })
    bytes(w { m = 14, n = 48, k = 16, packed = true })
    bytes(w { m = 5, n = 32, k = 20, packed = true, rq = true })
end)

test("few rows, and sizes that nothing divides", function()
    local w = moon.workload.quantized_matmul
    bytes(w { m = 1, n = 80, k = 40 })
    bytes(w { m = 3, n = 37, k = 26 })
    bytes(w { m = 17, n = 100, k = 30, rq = true })
    bytes(w { m = 6, n = 19, k = 8 })
    bytes(w { m = 1, n = 200, k = 72, rq = true })
    bytes(w { m = 2, n = 133, k = 34, dtype = "int8" })
end)

test("blocks of the packed operand that are not full are read as they lie", function()
    local w = moon.workload.quantized_matmul
    bytes(w { m = 1, n = 40, k = 32, packed = true })
    bytes(w { m = 3, n = 37, k = 26, packed = true, rq = true })
    bytes(w { m = 7, n = 70, k = 21, packed = true })
    if not has.bytes then return end
    local p = w { m = 3, n = 37, k = 26, packed = true }
    assert(not moon.draft(p):script():find("B_pad", 1, true), "the operand is copied")
end)

-- A product of one row took fourteen times as long: the operand of the columns was padded and packed for nothing.
test("the operand of few rows is turned in registers, past its end too", function()
    if not has.bytes then return print("skip: no dot products of bytes") end
    local s = moon.draft(moon.workload.quantized_matmul { m = 1, n = 200, k = 64 })
    assert(not s:script():find("B_pad = ", 1, true), "the operand is padded beforehand")
    local k <close> = moon.build(s)
    local asm = k:asm()
    assert(asm:find("vpdpbusd", 1, true))
    assert(not asm:find("vpinsrb", 1, true) and not asm:find("vpinsrd", 1, true), "bytes are gathered one by one")
end)

test("two operands with signs", function()
    local w = moon.workload.quantized_matmul
    bytes(w { m = 10, n = 48, k = 24, dtype = "int8" })
    bytes(w { m = 4, n = 21, k = 10, dtype = "int8", rq = true })
    bytes(w { m = 33, n = 70, k = 27, dtype = "int8" })
    bytes(w { m = 16, n = 128, k = 64, dtype = "int8", rq = true })
    bytes(w { m = 13, n = 5, k = 64, dtype = "int8" })
end)

-- What was added to one operand was taken off at every instruction: a third of the rate.
test("the sign of an operand is left out once where rows are many", function()
    if not has.wide then return print("skip: no wide dot products of bytes") end
    local p = moon.workload.quantized_matmul { m = 64, n = 96, k = 32, dtype = "int8" }
    for _, x in ipairs(moon.space.sketches(p, { threads = 2 })) do
        if x.name:find("^dot") then
            assert(x.schedule:script():find("_lift = ", 1, true), x.name)
            local k <close> = moon.build(x.schedule, { threads = 2 })
            local _, dots = k:asm():gsub("vpdpbusd", "")
            local _, less = k:asm():gsub("vpsubd", "")
            assert(dots > 0 and less * 4 < dots, ("%s: %d and %d"):format(x.name, dots, less))
        end
    end
end)

test("windows of images, plain, packed, requantised", function()
    local w = moon.workload.quantized_conv2d
    bytes(w { h = 5, w = 7, ci = 8, co = 32, k = 3, p = 1 })
    bytes(w { h = 6, w = 6, ci = 4, co = 16, k = 3, s = 2, p = 1, rq = true })
    bytes(w { h = 4, w = 5, ci = 12, co = 48, k = 1 })
    bytes(w { h = 5, w = 5, ci = 16, co = 10, k = 1, rq = true, dtype = "int8" })
    bytes(w { h = 6, w = 5, ci = 8, co = 32, k = 3, p = 1, dtype = "int8" })
    bytes(w { h = 7, w = 7, ci = 16, co = 32, k = 3, s = 2, p = 1, rq = true, dtype = "int8" })
    bytes(w { h = 4, w = 5, ci = 16, co = 64, k = 3, p = 1, packed = true })
    bytes(w { h = 3, w = 4, ci = 32, co = 32, k = 1, packed = true, rq = true })
end)

test("few weights: results are written line by line", function()
    if not has.bytes then return print("skip: no dot products of bytes") end
    local list = moon.space.sketches(moon.workload.quantized_conv2d { h = 24, w = 24, ci = 16, co = 256, k = 1 }, { threads = 2 })
    assert(list[1].name == "dot products of 4, rows", list[1].name)
end)

test("results that the first cache keeps wait there while panels of parts of the sum go by", function()
    if not has.bytes then return print("skip: no dot products of bytes") end
    local p = moon.workload.quantized_conv2d { h = 7, w = 7, ci = 512, co = 128, k = 3, p = 1 }
    local list = moon.space.sketches(p, { threads = 2, target = { l1 = 48 << 10 } })
    assert(list[1].name == "dot products of 4, parts", list[1].name)
    runs(p, list[1].schedule, 2, true, "parts")
end)

-- Sums of products of two operands, by letters; the other operand may lie any way.
local function product(spec, size, a_type, b_type, acc, bias)
    local a, b, c = spec:match("(%a*),(%a*)%->(%a*)")
    local k = te.reduce_axis(size.k, "k")
    local function shape(letters)
        local out = {}
        for l in letters:gmatch(".") do out[#out + 1] = size[l] end
        return out
    end
    local A, B = te.placeholder(shape(a), a_type, "A"), te.placeholder(shape(b), b_type, "B")
    local C = te.compute(shape(c), function(...)
        local at, of = { ... }, { k = k }
        for l in c:gmatch(".") do of[l] = table.remove(at, 1) end
        local function index(letters)
            local out = {}
            for l in letters:gmatch(".") do out[#out + 1] = of[l] end
            return table.unpack(out)
        end
        return te.sum(te.cast(A(index(a)), acc) * te.cast(B(index(b)), acc), k)
    end, "C")
    if not bias then return moon.module(te.func({ A, B, C }, "main")) end
    local D = te.placeholder({ size.n }, acc, "D")
    local E = te.compute(C.shape, function(i, j) return te.max(C(i, j) + D(j), te.const(0, acc)) end, "E")
    return moon.module(te.func({ A, B, D, E }, "main"))
end

-- Weights as a linear layer has them: a vector times them took 35 times as long, turned in pieces of four bytes.
test("few rows times what lies along the sum: nothing is turned", function()
    local function along(p, there, exact)
        is_right(p, there, exact)
        local name = moon.space.sketches(p, { threads = 2 })[1].name
        assert(not there or name:find("along the sum", 1, true), name)
    end
    along(product("mk,nk->mn", { m = 1, n = 40, k = 128 }, "uint8", "int8", "int32"), has.wide, true)
    along(product("mk,nk->mn", { m = 3, n = 37, k = 64 }, "uint8", "int8", "int32"), has.wide, true)
    along(product("mk,nk->mn", { m = 2, n = 21, k = 192 }, "int8", "int8", "int32", true), has.wide, true)
    along(product("mk,nk->mn", { m = 8, n = 9, k = 64 }, "uint8", "int8", "int32", true), has.wide, true)
    along(product("mk,nk->mn", { m = 1, n = 19, k = 96 }, "bfloat16", "bfloat16", "float32"), has.pairs, false)
end)

test("the operand of the columns lies either way, in batches", function()
    bytes(product("mk,nk->mn", { m = 8, n = 64, k = 32 }, "uint8", "int8", "int32"))
    bytes(product("bmk,bkn->bmn", { b = 3, m = 7, n = 32, k = 12 }, "uint8", "int8", "int32"))
    bytes(product("bmk,bnk->bmn", { b = 2, m = 4, n = 18, k = 9 }, "uint8", "int8", "int32"))
end)

test("pairs of bfloat16", function()
    local function halves(p) is_right(p, has.pairs, false) end
    halves(product("mk,kn->mn", { m = 12, n = 64, k = 32 }, "bfloat16", "bfloat16", "float32"))
    halves(product("mk,kn->mn", { m = 7, n = 37, k = 13 }, "bfloat16", "bfloat16", "float32"))
    halves(product("bmk,bnk->bmn", { b = 2, m = 6, n = 32, k = 16 }, "bfloat16", "bfloat16", "float32"))
    halves(product("mk,kn->mn", { m = 2, n = 75, k = 18 }, "bfloat16", "bfloat16", "float32"))
end)

test("a convolution that no instruction divides has a draft all the same", function()
    for _, o in ipairs { { h = 7, w = 7, ci = 3, co = 16, k = 3, p = 1 }, { h = 9, w = 5, ci = 16, co = 10, k = 1, rq = true, dtype = "int8" } } do
        assert(moon.check(moon.draft(moon.workload.quantized_conv2d(o))).ok)
    end
end)

-- Sums near one, sums whose parts are denormal, and operands that are.
test("what the interpreter makes of the instruction is what the processor does, to the bit", function()
    if not has.pairs then return print("skip: no AVX512-BF16") end
    local p = product("mk,kn->mn", { m = 6, n = 48, k = 34 }, "bfloat16", "bfloat16", "float32")
    local s = moon.space.sketches(p, { threads = 1 })[1].schedule
    for _, size in ipairs { { 1, 1 }, { 1e-19, 1e-19 }, { 1e-39, 1e3 }, { 1e30, 1e30 } } do
        local A, B = moon.tensor({ 6, 34 }, "bfloat16"):random(1, -size[1], size[1]), moon.tensor({ 34, 48 }, "bfloat16"):random(2, -size[2], size[2])
        local got, want = moon.tensor({ 6, 48 }, "float32"), moon.tensor({ 6, 48 }, "float32")
        moon.build(s, { threads = 1 })(A, B, got)
        moon.interpret(s:mod(), { A, B, want })
        for i = 0, 5 do
            for j = 0, 47 do
                local x, y = got[{ i, j }], want[{ i, j }]
                assert(x == y or x ~= x and y ~= y, ("%g: %a instead of %a"):format(size[1], x, y))
            end
        end
    end
end)

-- Lanes that were gathered one by one made a product seven times slower.
test("the packed bytes that a dot product takes are one load", function()
    if not has.bytes then return end
    local k <close> = moon.build(moon.draft(moon.workload.quantized_matmul { m = 64, n = 128, k = 64 }))
    local function count(word) return select(2, k:asm():gsub(word, "")) end
    assert(count("vpdpbusd") > count("vpermt2") + count("vpinsr") + count("vpunpck")) -- packing has some of them
end)

return tests

-- Products that a mapping brings to dot product instructions: each sketch, as decided and by lot, leaves what the
-- interpreted program leaves.
local tests = {}
local sketches = dofile("tests/lua/shared/sketches.lua")
local w = moon.workload

local has = {}
do
    local f = io.open("/proc/cpuinfo")
    local text = f and f:read("a") or ""
    if f then f:close() end
    has.bytes = text:find("avx512_vnni", 1, true) ~= nil
    has.pairs = text:find("avx512_bf16", 1, true) ~= nil
end

local function same(a, b, exact, at)
    if type(a) == "table" then
        for k in ipairs(a) do same(a[k], b[k], exact, at) end
    else
        assert(exact and a == b or not exact and math.abs(a - b) <= 1e-2, ("%s: %s instead of %s"):format(at, b, a))
    end
end

local function filled(p)
    local list = {}
    for k, x in ipairs(p:func("main").buffers) do
        local t = moon.tensor(x.shape, x.dtype)
        if x.name == "shift" then t:random(k, 20, 28)
        elseif x.name == "mult" then t:random(k, 1 << 14, 1 << 15)
        elseif x.dtype:find("float") then t:random(k, -1, 1)
        else t:random(k) end
        list[k] = t
    end
    return list
end

local function is_mapped(p, there, exact)
    if not there then return print("skip: no such instruction") end
    local n = 0
    sketches(p, 2, 1, function(s, name)
        if not name:find("^mapped") then return end
        n = n + 1
        local a, b = filled(p), filled(p)
        moon.interpret(p, a)
        moon.build(s, { threads = 2 })(table.unpack(b))
        same(a[#a]:totable(), b[#b]:totable(), exact, name .. "\n" .. s:script())
        assert(s:trace():json():find("dot_", 1, true))
    end)
    assert(n > 0, "no mapping")
end

local function test(name, fn) tests[#tests + 1] = { name, fn } end

test("an image of few channels, taps fused", function()
    is_mapped(w.quantized_conv2d { h = 7, w = 6, ci = 3, co = 16, k = 3, p = 1 }, has.bytes, true)
    is_mapped(w.quantized_conv2d { h = 9, w = 9, ci = 3, co = 24, k = 7, s = 2, p = 3, rq = true }, has.bytes, true)
end)

test("channels that no vector and no instruction divides", function()
    is_mapped(w.quantized_conv2d { h = 5, w = 5, ci = 18, co = 10, k = 3, p = 1, rq = true }, has.bytes, true)
end)

test("groups", function()
    is_mapped(w.conv2d { h = 6, w = 6, ci = 16, co = 32, k = 3, p = 1, g = 4, dtype = "bfloat16", acc = "float32" }, has.pairs)
end)

test("a left operand that lies the other way", function()
    local te = moon.te
    local A, B = te.placeholder({ 24, 9 }, "bfloat16", "A"), te.placeholder({ 24, 33 }, "bfloat16", "B")
    local k = te.reduce_axis(24, "k")
    local C = te.compute({ 9, 33 }, function(i, j)
        return te.sum(te.cast(A(k, i), "float32") * te.cast(B(k, j), "float32"), k)
    end, "C")
    is_mapped(moon.module(te.func({ A, B, C }, "main")), has.pairs)
end)

test("a signed left operand that lies the other way is stored without its sign", function()
    local te = moon.te
    local A, B = te.placeholder({ 22, 33 }, "int8", "A"), te.placeholder({ 22, 37 }, "int8", "B")
    local k = te.reduce_axis(22, "k")
    local C = te.compute({ 33, 37 }, function(i, j)
        return te.sum(te.cast(A(k, i), "int32") * te.cast(B(k, j), "int32"), k)
    end, "C")
    is_mapped(moon.module(te.func({ A, B, C }, "main")), has.bytes, true)
end)

test("a sum that is none of products has no such sketch", function()
    local te = moon.te
    local A, B = te.placeholder({ 16, 16 }, "float32", "A"), te.placeholder({ 16, 16 }, "float32", "B")
    local k = te.reduce_axis(16, "k")
    local C = te.compute({ 16, 16 }, function(i, j) return te.max(A(i, k) + B(k, j), k) end, "C")
    for _, x in ipairs(moon.space.sketches(moon.module(te.func({ A, B, C }, "main")), { threads = 1 })) do
        assert(not x.schedule:trace():json():find("Tensorize", 1, true))
    end
end)

return tests

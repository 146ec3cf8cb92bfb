-- Mappings of blocks to tensor intrinsics: how many there are and why none, and that each computes what the block did,
-- in the interpreter and compiled.
local tests = {}
local te = moon.te
local function test(name, fn) tests[#tests + 1] = { name, fn } end

local function fails(code, fn, ...)
    local ok, e = pcall(fn, ...)
    assert(not ok and type(e) == "userdata" and e.code == code, tostring(e))
    return e.message
end

local has = {}
do
    local f = io.open("/proc/cpuinfo")
    local text = f and f:read("a") or ""
    if f then f:close() end
    has.vnni = text:find("avx512_vnni", 1, true) ~= nil
    has.pairs = text:find("avx512_bf16", 1, true) ~= nil
end

-- A sum over products of two operands, by letters; numbers beside them are extents.
local function sum(spec, size, a_type, b_type, acc, swapped)
    local a, b, c = spec:match("(%a*),(%a*)%->(%a*)")
    local axes, is_out, sums = {}, {}, {}
    for l in c:gmatch(".") do is_out[l] = true end
    for l in (a .. b):gmatch(".") do
        if not is_out[l] and not axes[l] then
            axes[l] = te.reduce_axis(size[l], l)
            sums[#sums + 1] = axes[l]
        end
    end
    local function shape(letters)
        local out = {}
        for l in letters:gmatch(".") do out[#out + 1] = size[l] end
        return out
    end
    local A, B = te.placeholder(shape(a), a_type, "A"), te.placeholder(shape(b), b_type, "B")
    local C = te.compute(shape(c), function(...)
        local at, of = { ... }, {}
        for l, x in pairs(axes) do of[l] = x end
        for l in c:gmatch(".") do of[l] = table.remove(at, 1) end
        local function at_of(t, letters)
            local out = {}
            for l in letters:gmatch(".") do out[#out + 1] = of[l] end
            local x = t(table.unpack(out))
            return acc == t.dtype and x or te.cast(x, acc)
        end
        local x, y = at_of(A, a), at_of(B, b)
        return te.sum(swapped and y * x or x * y, table.unpack(sums))
    end, "C")
    return moon.module(te.func({ A, B, C }, "main"))
end

local function count(p, block, name) return #moon.schedule(p):mappings(block, name) end

test("as many mappings as there are ways to fuse", function()
    local w = moon.workload
    assert(count(w "QMM-0", "C", "dot_16x4_vnni") == 1)
    assert(count(w "QCV-0", "Y", "dot_16x4_vnni") == 15) -- of three sums one, two or three, in any order
    assert(count(w "QCV-1", "Y", "dot_16x4_vnni") == 1) -- of extent 1 are left out
    local p = sum("mk,kn->mn", { m = 8, n = 8, k = 8 }, "float32", "float32", "float32")
    assert(count(p, "C", "accel_matmul_4x4x4") == 2) -- either operand is the left one
    p = sum("bmk,bkn->bmn", { b = 2, m = 8, n = 8, k = 8 }, "float32", "float32", "float32")
    assert(count(p, "C", "accel_matmul_4x4x4") == 2) -- the batch stays outside
    p = sum("abk,kn->abn", { a = 3, b = 2, n = 8, k = 8 }, "float32", "float32", "float32")
    assert(count(p, "C", "accel_matmul_4x4x4") == 8)
    local list = moon.schedule(w "QCV-0"):mappings("Y", "dot_16x4_vnni")
    assert(list[1].text == "vi = vo, vk = fuse(vr, vt, vc)" and list[1].waste == 0, list[1].text)
end)

test("a mapping that fails leaves the random state", function()
    local p = moon.parse [[
@T.prim_func
def main(A: T.Buffer((16, 64), "uint8"), B: T.Buffer((64, 16), "int8"), C: T.Buffer((16, 16), "int32")):
    for i, j, k in T.grid(16, 16, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
]]
    local s, fresh = moon.schedule(p), moon.schedule(p)
    s:seed(7)
    fresh:seed(7)
    local ok, e = pcall(s.map_to_intrinsic, s, "C", "dot_16x4_vnni_local")
    assert(not ok and tostring(e):find("without an init", 1, true), tostring(e))
    assert(s:fork_seed() == fresh:fork_seed())
end)

test("the same list each time", function()
    local p = sum("abkl,kln->abn", { a = 3, b = 2, n = 8, k = 3, l = 5 }, "float32", "float32", "float32")
    local function all()
        local t = {}
        for k, m in ipairs(moon.schedule(p):mappings("C", "accel_matmul_4x4x4")) do t[k] = m.text end
        return table.concat(t, "\n")
    end
    assert(all() == all() and #moon.schedule(p):mappings("C", "accel_matmul_4x4x4") == 32)
end)

local function why(p, name) return moon.schedule(p):mappings("C", name).why end

test("the reason where there is none", function()
    local function text(body, dtype)
        return moon.parse((([[
@T.prim_func
def main(A: T.Buffer((8, 8), "T0"), B: T.Buffer((8, 8), "T0"), C: T.Buffer((8, 8), "T0")):
    for i, j, k in T.grid(8, 8, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.T0(0)
            C[vi, vj] = ]] .. body):gsub("T0", dtype or "float32")))
    end
    local accel = "accel_matmul_4x4x4"
    assert(why(text "T.max(C[vi, vj], A[vi, vk] + B[vk, vj])", accel) == "the block takes the larger: the intrinsic adds")
    assert(why(text "C[vi, vj] + T.min(A[vi, vk], B[vk, vj])", accel) == "the block takes the smaller: the intrinsic multiplies")
    assert(why(text "C[vi, vj] + A[vi, vk]", accel) == "the block loads an element: the intrinsic multiplies")
    assert(why(text "C[vi, vj] + A[vi, vk] * A[vj, vk]", accel):find("uses two elements of A", 1, true) or
        why(text "C[vi, vj] + A[vi, vk] * A[vj, vk]", accel):find("would stand for", 1, true))
    assert(why(text("C[vi, vj] + A[vi, vk] * B[vk, vj]", "float64"), accel):find("in float64: the intrinsic in float32", 1, true))
    assert(why(text "C[vi, vj] + A[vi, vk] * B[vi, vj]", accel):find("no spatial iter of the block is in", 1, true))
    assert(why(text "C[vi, vj] + B[vk, vj] * A[vi, vk]", accel) == nil) -- the other way round it is the same
    local s = moon.schedule(text "T.max(C[vi, vj], A[vi, vk] + B[vk, vj])")
    assert(fails("bad-argument", s.map_to_intrinsic, s, "C", accel):find("takes the larger", 1, true))
    assert(s:version() == 0)
    fails("no-such-intrinsic", s.mappings, s, "C", "nothing")
    fails("no-such-block", s.mappings, s, "Q", accel)
    fails("bad-argument", s.map_to_intrinsic, moon.schedule(text "C[vi, vj] + A[vi, vk] * B[vk, vj]"), "C", accel, 3)
    fails("bad-argument", s.map_to_intrinsic, s, "C", accel, 1.5)
end)

-- Every mapping of p, or `most` of them: checked, compiled where the processor has the instruction, replayed.
local function is_right(p, block, name, compiled, most)
    local n = count(p, block, name)
    assert(n > 0, moon.schedule(p):mappings(block, name).why)
    for k = 1, math.min(n, most or n) do
        local s = moon.schedule(p)
        s:map_to_intrinsic(block, name, k)
        local c = moon.check(s)
        assert(c.ok, name .. " " .. k .. "\n" .. s:script())
        local again = moon.schedule(p)
        s:trace():apply(again)
        assert(again:hash() == s:hash())
        assert(s:trace():json():find("Tensorize", 1, true))
        if compiled then
            local a, b = {}, {}
            for i, x in ipairs(p:func("main").buffers) do
                for _, list in ipairs { a, b } do list[i] = moon.tensor(x.shape, x.dtype):random(i) end
            end
            moon.interpret(p, a)
            moon.build(s, { threads = 1 })(table.unpack(b))
            local x, y = a[#a]:copy(), b[#b]
            local function same(u, v)
                if type(u) == "table" then
                    for i in ipairs(u) do same(u[i], v[i]) end
                else
                    assert(math.abs(u - v) <= 1e-3 * (1 + math.abs(u)), name .. " " .. k)
                end
            end
            same(x:totable(), y:totable())
        end
    end
end

test("sums of random shapes, each mapping of each intrinsic", function()
    local rng = 7
    local function draw(n)
        rng = rng * 48271 % 2147483647
        return rng % n + 1
    end
    local kinds = {
        { "dot_16x4_vnni", "uint8", "int8", "int32", has.vnni },
        { "dot_16x4_s8s8_vnni", "int8", "int8", "int32", has.vnni },
        { "dot_16x2_bf16", "bfloat16", "bfloat16", "float32", has.pairs },
        { "accel_matmul_4x4x4", "float32", "float32", "float32", false },
        { "amx_u8s8_16x16x64", "uint8", "int8", "int32", false },
    }
    local specs = { "mk,kn->mn", "km,kn->mn", "mk,nk->nm", "bmk,bnk->bmn", "mkl,lkn->mn", "abk,knc->acbn" }
    for k, kind in ipairs(kinds) do
        for j = 1, 3 do
            local spec = specs[(k + 2 * j) % #specs + 1]
            local size = {}
            for l in ("abcmnkl"):gmatch(".") do size[l] = draw(7) end
            local p = sum(spec, size, kind[2], kind[3], kind[4], j == 2)
            is_right(p, "C", kind[1], kind[5], 6)
        end
    end
end)

test("convolutions, their taps fused or not", function()
    local p = moon.workload.quantized_conv2d { h = 4, w = 5, ci = 3, co = 18, k = 3, p = 1 }
    is_right(p, "Y", "dot_16x4_vnni", has.vnni)
    p = moon.workload.conv2d { h = 5, w = 4, ci = 3, co = 5, k = 2, s = 2 }
    is_right(p, "Y", "accel_matmul_4x4x4", false, 12)
end)

test("what needs no copy is used where it lies", function()
    local s = moon.schedule(moon.workload.quantized_matmul { m = 4, n = 32, k = 8 })
    s:map_to_intrinsic("C", "dot_16x4_vnni")
    local names = {}
    for _, b in ipairs(s:blocks()) do names[#names + 1] = s:get(b).name end
    assert(not table.concat(names, " "):find("A_", 1, true) and table.concat(names, " "):find("B_", 1, true),
        table.concat(names, " "))
end)

test("an intrinsic of one's own, its operands the other way round", function()
    local text = [[
@T.prim_func
def scaled(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((4,), "float32")):
    with T.block("root"):
        T.reads(C[0:4], A[0:4], B[0:1])
        T.writes(C[0:4])
        for i in range(4):
            with T.block("update"):
                vi = T.axis.spatial(4, i)
                C[vi] = B[0] * A[vi] + C[vi]
]]
    moon.intrin("scaled", text, text, { override = true })
    local p = sum("mk,kn->mn", { m = 3, n = 10, k = 5 }, "float32", "float32", "float32")
    assert(count(p, "C", "scaled") == 2) -- along the rows, or along the columns
    is_right(p, "C", "scaled", true)
end)

return tests

-- Tensor intrinsics: registering, fetching, listing, and a schedule that uses one.
local tests = {}
local function test(name, fn) tests[#tests + 1] = { name, fn } end

local function fails(code, fn, ...)
    local ok, e = pcall(fn, ...)
    assert(not ok, "the call did not fail")
    assert(type(e) == "userdata", tostring(e))
    assert(not code or e.code == code, ("%s instead of %s: %s"):format(e.code, code, e.message))
    return e
end

local desc = [[
@T.prim_func
def scale(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        for i in range(4):
            with T.block("B"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] * T.float32(3)
]]
local function impl(factor)
    return ([[
@T.prim_func
def scale(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        B[0:4] = A[0:4] * T.Broadcast(T.float32(%d), 4)
]]):format(factor)
end

test("what is built in is listed and can be looked at", function()
    local names = moon.intrins()
    assert(#names >= 2 and #moon.intrins("vnni$") >= 1 and #moon.intrins("^nothing$") == 0)
    local dot = moon.intrin("dot_16x4_vnni")
    assert(dot.name == "dot_16x4_vnni")
    assert(#dot.desc.params == 3 and #dot.impl.params == 3)
    assert(dot.impl:script():find("vpdpbusd", 1, true))
    fails("no-such-intrinsic", moon.intrin, "dot_16x4")
    assert(moon.intrin("dot_16x4", { allow_missing = true }) == nil)
    fails("bad-argument", moon.intrin, "dot_16x4", { override = true })
end)

test("an intrinsic is registered and used", function()
    moon.intrin("scale3", desc, moon.parse(impl(3)))
    assert(#moon.intrins("^scale3$") == 1)
    fails("intrin-exists", moon.intrin, "scale3", desc, impl(3))
    moon.intrin("scale3", desc, impl(3), { override = true })
    local s = moon.schedule(moon.parse [[
@T.prim_func
def main(X: T.Buffer((8, 8), "float32"), Y: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("Y"):
            a, b = T.axis.remap("SS", [i, j])
            Y[a, b] = X[a, b] * T.float32(3)
]])
    local jo, ji = table.unpack(s:split("j", { moon.auto, 4 }))
    s:tensorize(ji, "scale3")
    assert(moon.check(s).ok)
    local again = moon.schedule(s:copy():mod())
    assert(again:hash() == s:hash())
    assert(s:trace():json():find("Tensorize", 1, true))
    assert(s:trace():python():find('tensor_intrin="scale3"', 1, true))
    fails("intrin-mismatch", s.tensorize, s, jo, "scale3")
end)

-- ---- tiling for an intrinsic

local product = [[
@T.prim_func
def product(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 2), "float32"), C: T.Buffer((4, 2), "float32")):
    with T.block("root"):
        T.reads(C[0:4, 0:2], A[0:4, 0:8], B[0:8, 0:2])
        T.writes(C[0:4, 0:2])
        for i, j, k in T.grid(4, 2, 8):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
]]

local function chain(n)
    local text = ([[
@T.prim_func
def main(X: T.Buffer((N, N), "float32"), B: T.Buffer((N, N), "float32"), D: T.Buffer((N, N), "float32")):
    A = T.alloc_buffer((N, N))
    C = T.alloc_buffer((N, N))
    for i, j in T.grid(N, N):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = X[vi, vj] * T.float32(2)
    for i, j, k in T.grid(N, N, N):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(N, N):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + T.float32(1)
]]):gsub("N", n)
    return moon.schedule(moon.parse(text))
end

local function nest(s)
    local text = {}
    for _, l in ipairs(s:loops("C")) do text[#text + 1] = tostring(l) .. ":" .. s:get(l).extent end
    return table.concat(text, " ")
end

test("the loops of a block are cut and ordered for an intrinsic", function()
    moon.intrin("product", product, product, { override = true })
    local s = chain(16)
    s:reorder("C/k", "C/j", "C/i")
    local l = s:tile_with_intrinsic("C", "product")
    local text = nest(s)
    assert(text:gsub("[%a_%d]+:", "") == "2 8 4 4 2 8", text)
    assert(text:find(l.name .. ":4 ", 1, true), text)
    assert(moon.check(s).ok)
    assert(s:trace():lua():find("sch:split", 1, true) and not s:trace():lua():find("tile_with", 1, true))
end)

test("extents that do not divide are padded when that is allowed, else there is no loop", function()
    moon.intrin("product", product, product, { override = true })
    local s = chain(15)
    assert(s:tile_with_intrinsic("C", "product") == nil)
    assert(s:version() == 0 and #s:trace() == 0)
end)

test("tiling happens as a whole or not at all", function()
    moon.intrin("product", product, product, { override = true })
    local s = chain(15)
    assert(s:tile_with_intrinsic("C", "product", true))
    assert(nest(s):gsub("[%a_%d]+:", "") == "4 8 2 4 2 8", nest(s))
    assert(moon.check(s).ok)
    local names = {}
    for _, b in ipairs(s:blocks()) do names[#names + 1] = tostring(b) end
    assert(table.concat(names, " ") == "A_pad B_pad C D", table.concat(names, " ")) -- A and C_pad went into others

    local text = chain(15):mod():script():gsub("A%[vi, vk%] %* B%[vk, vj%]", "T.exp(%0)")
    local other = moon.schedule(moon.parse(text))
    fails("padding-used", other.tile_with_intrinsic, other, "C", "product", true)
    assert(other:version() == 0 and #other:trace() == 0)
    assert(other:tile_with_intrinsic("A", "product") == nil)
    fails("no-such-intrinsic", other.tile_with_intrinsic, other, "C", "nothing")
    fails("no-such-block", other.tile_with_intrinsic, other, "Q", "product")
    fails("bad-argument", other.tile_with_intrinsic, other, "C", "product", 1)
end)

local function reduction(combined, from, dtype)
    dtype = dtype or "int32"
    return moon.schedule(moon.parse([[
@T.prim_func
def main(A: T.Buffer((8, 32), "]] .. dtype .. [["), s: T.Buffer((8,), "]] .. dtype .. [[")):
    for i, k_0, k_1 in T.grid(8, 8, 4):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            v = T.axis.reduce(32, k_0 * 4 + k_1)
            with T.init():
                s[vi] = ]] .. from .. [[

            s[vi] = ]] .. combined))
end

test("a registered reduction by != is found with its operands the other way round", function()
    moon.register_reducer(1, moon.te.ne, { false }, { dtypes = { { "bool" } } })
    for _, combined in ipairs { "s[vi] != A[vi, v]", "A[vi, v] != s[vi]" } do
        local s = reduction(combined, "T.bool(False)", "bool")
        s:rfactor("k_1", 0)
        assert(moon.check(s).ok)
    end
end)

test("a reduction that is registered is taken apart, one that is none is not registered", function()
    local te = moon.te
    local xor = "T.bitwise_xor(s[vi], A[vi, v])"
    local s = reduction(xor, "0")
    fails("no-reducer", s.rfactor, s, "k_1", 0)
    moon.register_reducer(1, te.bitwise_xor, { 0 })
    for _, combined in ipairs { xor, "T.bitwise_xor(A[vi, v], s[vi])" } do
        s = reduction(combined, "0")
        s:rfactor("k_1", 0)
        assert(moon.check(s).ok and s:notes()[1]:find("as was registered", 1, true))
        assert(s:copy():script() == s:script())
    end
    s = reduction(xor, "1")
    s:rfactor("k_1", 0) -- parts start with 0, the whole with 1
    assert(moon.check(s).ok)
    s = reduction("T.bitwise_or(s[vi], A[vi, v])", "0")
    fails("no-reducer", s.rfactor, s, "k_1", 0)

    moon.register_reducer(1, function(x, y) return x + y + x * y end, { 0 }, { dtypes = { { "int32" } } })
    s = reduction("s[vi] + A[vi, v] + s[vi] * A[vi, v]", "0")
    s:rfactor("k_1", 0)
    assert(moon.check(s).ok)
    s = reduction("s[vi] + A[vi, v] + s[vi] * A[vi, v] * 2", "0")
    fails("no-reducer", s.rfactor, s, "k_1", 0)

    local function refused(...) return fails("bad-argument", moon.register_reducer, ...) end
    refused(1, function(x, y) return x - y end, { 0 })
    refused(1, function(x, y) return te.min(x + y, 100) end, { 0 }, { dtypes = { { "int32" } } })
    refused(1, function(x, y) return te.max(te.min(x + y, 127), -128) end, { 0 }, { dtypes = { { "int32" } } })
    refused(1, function(x, y) return x + y end, { 1 })
    refused(1, function(x, y) return x + te.var "z" end, { 0 })
    refused(1, function(x, y) return x, y end, { 0 })
    refused(1, function(x, y) return x + y end, {})
    refused(5, function() end, {})
    refused(1, 7, { 0 })
    refused(1, te.max, { 0 }, { types = {} })
    fails("bad-argument", moon.register_reducer, 1, function() error "inside" end, { 0 })
    refused(1, te.max, { 0 }, { dtypes = { { "flat" } } })
end)

test("three values are reduced at once, after their reduction was registered", function()
    local te = moon.te
    local text = [[
@T.prim_func
def main(A: T.Buffer((8, 32), "float32"), p: T.Buffer((8,), "float32"), q: T.Buffer((8,), "float32"), r: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 32):
        with T.block("D"):
            vi, v = T.axis.remap("SR", [i, k])
            with T.init():
                p[vi] = T.float32(0)
                q[vi] = T.float32(0)
                r[vi] = T.float32(0)
            a: T.float32 = p[vi] + A[vi, v]
            b: T.float32 = q[vi] + A[vi, v] * A[vi, v]
            c: T.float32 = r[vi] + A[vi, v] + r[vi] * A[vi, v]
            p[vi] = a
            q[vi] = b
            r[vi] = c
]]
    local s = moon.schedule(moon.parse(text))
    fails("no-reducer", s.rfactor, s, "k", 0)
    moon.register_reducer(3, function(a, b, c, d, e, f) return a + d, b + e, c + f + c * f end,
        function(t) return 0, 0, te.const(0, t) end)
    s:split("k", { 4, 8 })
    s:rfactor("k_0", 1)
    assert(moon.check(s).ok)
    assert(s:script():find("r_rf = T.alloc_buffer((8, 4))", 1, true))
end)

test("an implementation that computes something else is refused", function()
    local e = fails("mismatch", moon.intrin, "scale2", desc, impl(2))
    assert(#moon.intrins("^scale2$") == 0)
    assert(e.message:find("implementation", 1, true))
    fails("bad-argument", moon.intrin, "x", desc, impl(3), { overwrite = true })
    fails("bad-argument", moon.intrin, "", desc, impl(3))
    fails("bad-argument", moon.intrin, "x", desc)
end)

local function tensorized(name, a, b, c, rows)
    local s = moon.schedule(moon.parse(([[
@T.prim_func
def main(X: T.Buffer((4,), "%s"), Y: T.Buffer((%d, 4), "%s"), Z: T.Buffer((%d,), "%s")):
    for i, k in T.grid(%d, 4):
        with T.block("Z"):
            v, w = T.axis.remap("SR", [i, k])
            Z[v] = Z[v] + T.Cast("%s", X[w]) * T.Cast("%s", Y[v, w])
]]):format(a, rows, b, rows, c, rows, c, c)))
    s:tensorize(s:loops("Z")[1], name)
    return s
end

test("dot products of other machines run in the interpreter, and say where they compile", function()
    for _, d in ipairs {
        { "sdot_4x4", "int8", "int8", "int32", 4, "dotprod" },
        { "udot_4x4", "uint8", "uint8", "uint32", 4, "dotprod" },
        { "usdot_4x4", "uint8", "int8", "int32", 4, "i8mm" },
        { "dot_4x4_i8i8s32_sdot", "int8", "int8", "int32", 4, "dotprod" },
        { "dot_8x4_s8s8_avxvnniint8", "int8", "int8", "int32", 8, "avxvnniint8" },
    } do
        local s = tensorized(table.unpack(d))
        assert(moon.check(s).ok, d[1])
        if moon.features.llvm and not moon.target("native").kind:find("arm") then
            local ok, e = pcall(moon.build, s, { inprocess = true, target = "llvm -mcpu=x86-64" })
            assert(not ok and e.message:find(d[6], 1, true), ok or e.message)
        end
    end
end)

test("a dot product of a thread of CUDA is checked here and compiled elsewhere", function()
    local s = moon.schedule(moon.parse [[
@T.prim_func
def main(X: T.Buffer((4,), "uint8"), Y: T.Buffer((4,), "int8"), Z: T.Buffer((1,), "int32")):
    A = T.alloc_buffer((4,), "uint8", scope="shared")
    B = T.alloc_buffer((4,), "int8", scope="shared")
    C = T.alloc_buffer((1,), "int32", scope="local")
    for i in range(4):
        with T.block("A"):
            v = T.axis.spatial(4, i)
            A[v] = X[v]
    for i in range(4):
        with T.block("B"):
            v = T.axis.spatial(4, i)
            B[v] = Y[v]
    for i in range(1):
        with T.block("init"):
            v = T.axis.spatial(1, i)
            C[v] = 5
    for i in range(4):
        with T.block("C"):
            v = T.axis.reduce(4, i)
            C[0] = C[0] + T.Cast("int32", A[v]) * T.Cast("int32", B[v])
    for i in range(1):
        with T.block("Z"):
            v = T.axis.spatial(1, i)
            Z[v] = C[v]
]])
    s:tensorize(s:loops("C")[1], "dp4a_u8s8s32")
    assert(moon.check(s).ok)
    if moon.features.llvm then
        local ok, e = pcall(moon.build, s, { inprocess = true })
        assert(not ok and e.message:find("CUDA", 1, true), ok or e.message)
    end
end)

test("a product of small matrices is no machine's and runs on all", function()
    local s = moon.schedule(moon.workload.matmul(16, 16, 16))
    local i, j, k = table.unpack(s:get_loops("C"))
    local io, ii = table.unpack(s:split(i, { moon.auto, 4 }))
    local jo, ji = table.unpack(s:split(j, { moon.auto, 4 }))
    local ko, ki = table.unpack(s:split(k, { moon.auto, 4 }))
    s:reorder(io, jo, ko, ii, ji, ki)
    s:decompose_reduction("C", ko)
    s:tensorize(ii, "accel_matmul_4x4x4")
    assert(moon.check(s).ok)
end)

-- name, A, B, C, elements of a row of A, the instruction
local tiles = {
    { "amx_s8_16x16x64", "int8", "int8", "int32", 64, "tdpbssd" },
    { "amx_u8s8_16x16x64", "uint8", "int8", "int32", 64, "tdpbusd" },
    { "amx_s8u8_16x16x64", "int8", "uint8", "int32", 64, "tdpbsud" },
    { "amx_u8_16x16x64", "uint8", "uint8", "int32", 64, "tdpbuud" },
    { "amx_bf16_16x16x32", "bfloat16", "bfloat16", "float32", 32, "tdpbf16ps" },
}
test("products of tiles compute what they describe, and become one instruction", function()
    for _, d in ipairs(tiles) do
        local name, a, b, c, taps, instruction = table.unpack(d)
        local words = { TA = a, TB = b, TC = c, NK = taps, NG = taps // 16 }
        local s = moon.schedule(moon.parse((([[
@T.prim_func
def main(A: T.Buffer((2, 2, 16, NK), "TA"), B: T.Buffer((3, 2, 16, 16, NG), "TB"), C: T.Buffer((2, 3, 16, 16), "TC")):
    for io, jo, ko, i, j, k in T.grid(2, 3, 2, 16, 16, NK):
        with T.block("C"):
            vio, vjo, vko, vi, vj, vk = T.axis.remap("SSRSSR", [io, jo, ko, i, j, k])
            with T.init():
                C[vio, vjo, vi, vj] = T.Cast("TC", 0)
            C[vio, vjo, vi, vj] = C[vio, vjo, vi, vj] + T.Cast("TC", A[vio, vko, vi, vk]) * T.Cast("TC", B[vjo, vko, vk // NG, vj, vk % NG])
]]):gsub("[TN]%u", words))))
        s:decompose_reduction("C", "ko")
        s:tensorize(s:get_loops("C_update")[4], name)
        assert(moon.check(s).ok, name)
        local ok, k = pcall(moon.build, s, { target = "llvm -mcpu=sapphirerapids -mattr=+amx-bf16,+amx-int8,+amx-tile,+avx512bw,+avx512dq,+avx512f,+avx512vl" })
        if ok then
            local code <close> = k
            assert(code:asm():find(instruction, 1, true) and code:asm():find("ldtilecfg", 1, true), name)
        else
            assert(k.code == "no-target", k.message)
        end
        local here, e = pcall(moon.build, s)
        assert(here or e.code == "no-target" or e.message:find("on a processor without amx%-"), e)
    end
end)

return tests

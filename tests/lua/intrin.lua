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

test("an implementation that computes something else is refused", function()
    local e = fails("mismatch", moon.intrin, "scale2", desc, impl(2))
    assert(#moon.intrins("^scale2$") == 0)
    assert(e.message:find("implementation", 1, true))
    fails("bad-argument", moon.intrin, "x", desc, impl(3), { overwrite = true })
    fails("bad-argument", moon.intrin, "", desc, impl(3))
    fails("bad-argument", moon.intrin, "x", desc)
end)

return tests

-- What :help numbers says of arithmetic at its limits: interpreted, as code, and as code of vectors.
local tests = {}
local function test(name, fn) tests[#tests + 1] = { name, fn } end

local compiles = pcall(moon.build, moon.workload.matmul(2, 2, 2))

local function program(dtype, value, n, out)
    return moon.parse(([[
@T.prim_func
def main(X: T.Buffer((%d,), "%s"), Y: T.Buffer((%d,), "%s"), Z: T.Buffer((%d,), "%s")):
    for i in range(%d):
        with T.block("Z"):
            v = T.axis.spatial(%d, i)
            Z[v] = %s
]]):format(n, dtype, n, dtype, n, out or dtype, n, n, value))
end

local function listed(t, n)
    local out = {}
    for k = 0, n - 1 do
        local x = t[k]
        out[#out + 1] = x ~= x and "nan" or x == 0 and 1 / x < 0 and "-0" or tostring(x)
    end
    return table.concat(out, " ")
end

-- Z of the value over x and y: "code" and "vector" only; interpreted unless that is an error.
local function results(dtype, value, x, y, opts)
    opts = opts or {}
    local p, n, out = program(dtype, value, #x, opts.out), #x, {}
    local function run(f)
        local X, Y, Z = moon.tensor({ n }, dtype, x), moon.tensor({ n }, dtype, y), moon.tensor({ n }, opts.out or dtype)
        f(X, Y, Z)
        return listed(Z, n)
    end
    if not opts.undefined then out[1] = run(function(...) moon.interpret(p, { ... }) end) end
    for _, vector in ipairs(compiles and { false, true } or {}) do
        local s = moon.schedule(p)
        if vector then s:vectorize("i") end
        local k <close> = moon.build(s)
        out[#out + 1] = run(k)
    end
    return out
end

local function all_are(want, dtype, value, x, y, opts)
    for k, got in ipairs(results(dtype, value, x, y, opts)) do
        assert(got == want, ("%s %s: %s instead of %s (%d)"):format(dtype, value, got, want, k))
    end
end

local max32, min32 = 2147483647, -2147483648

test("stored integers wrap, in code as in the interpreter", function()
    all_are("false false true true", "int32", "X[v] + 1 > X[v]", { max32, max32, 5, -1 }, { 0, 0, 0, 0 }, { out = "bool" })
    all_are("715827881 5", "int32", "X[v] * 3 // 3", { max32, 5 }, { 0, 0 })
    all_are("-1 5", "int32", "(X[v] * 4 + 3) // 4", { max32, 5 }, { 0, 0 })
    all_are("-715827882 2", "int32", "(X[v] + 3) // 3", { max32, 5 }, { 0, 0 })
    all_are("3074457345618258601 5", "int64", "X[v] * T.int64(3) // T.int64(3)", { math.maxinteger, 5 }, { 0, 0 })
    all_are("-128 3", "int8", "X[v] + T.int8(1)", { 127, 2 }, { 0, 0 })
    all_are("58 5", "uint8", "X[v] * T.uint8(3) // T.uint8(3)", { 144, 5 }, { 0, 0 })
    all_are(min32 .. " 0", "int32", "X[v] // Y[v]", { min32, 0 }, { -1, -1 })
    -- bounds do not say more than what wraps allows: a truncating division needs them
    all_are("-43691", "int32", "(T.bitwise_and(X[v], 65535) * 65535) // 3", { 65535 }, { 0 })
end)

test("a division by 0 and a shift out of range are errors of the program, and defined in code", function()
    for _, op in ipairs { "X[v] // Y[v]", "X[v] % Y[v]", "T.truncdiv(X[v], Y[v])", "T.truncmod(X[v], Y[v])" } do
        local zero = op:find("div") and "5 -7" or op:find("//") and "5 -7" or "0 0"
        all_are(zero, "int32", op, { 5, -7 }, { 0, 0 }, { undefined = true })
        local p = program("int32", op, 2)
        local X = moon.tensor({ 2 }, "int32", { 5, -7 })
        local ok, e = pcall(moon.interpret, p, { X, moon.tensor({ 2 }, "int32", { 0, 0 }), moon.tensor({ 2 }, "int32") })
        assert(not ok and e.code == "divide-by-zero")
    end
    all_are("0", "int32", "X[v] // X[v]", { 0 }, { 0 }, { undefined = true })
    all_are("2 2 " .. min32, "int32", "X[v] << Y[v]", { 1, 1, 1 }, { 33, 1, -1 }, { undefined = true })
    all_are("-4 -1", "int32", "X[v] >> Y[v]", { -8, -8 }, { 33, 31 }, { undefined = true })
    local ok, e = pcall(moon.interpret, program("int32", "X[v] << Y[v]", 1), { moon.tensor({ 1 }, "int32", { 1 }),
        moon.tensor({ 1 }, "int32", { 32 }), moon.tensor({ 1 }, "int32") })
    assert(not ok and e.code == "bad-shift" and tostring(e):find("is a shift by 32 of int32", 1, true))
    -- a bit that leaves an index is an overflow, not the count
    ok, e = pcall(moon.interpret, moon.parse(("@T.prim_func\ndef main(A: T.Buffer((8,), 'int32')):\n    for i in range(8):\n        %s")
        :format("A[(i << 31) % 8] = 1")), { moon.tensor({ 8 }, "int32") })
    assert(not ok and e.code == "overflow")
end)

test("of floats only what is exact is folded", function()
    local inf, nan = 1 / 0, 0 / 0
    for _, t in ipairs { "float32", "float64", "float16", "bfloat16" } do
        local y = { 0, 0, 0, 0, 0 }
        all_are("nan nan -0 0.0 nan", t, ("X[v] * T.%s(0)"):format(t), { inf, -inf, -1, 1, nan }, y)
        all_are("0.0 0.0 1.0 inf nan", t, ("X[v] + T.%s(0)"):format(t), { -0.0, 0.0, 1, inf, nan }, y)
        all_are("-0 0.0 1.0 inf nan", t, ("X[v] * T.%s(1)"):format(t), { -0.0, 0.0, 1, inf, nan }, y)
        all_are("nan nan 0.0 nan", t, "X[v] - X[v]", { inf, nan, 1, -inf }, { 0, 0, 0, 0 })
        all_are("nan -0 0.0 0.0", t, ("T.%s(0) / X[v]"):format(t), { 0, -1, 1, inf }, { 0, 0, 0, 0 })
        all_are("2.0 nan -0", t, "T.max(X[v], Y[v])", { nan, 2, 0.0 }, { 2, nan, -0.0 })
    end
end)

test("check sees a program that goes wrong at the ends of its integers only", function()
    local good, bad = program("int32", "X[v] * 3 // 3", 64), program("int32", "X[v]", 64)
    assert(moon.check(good, good).ok)
    assert(not moon.check(good, bad).ok)
    -- where what is loaded is an index or a divisor it stays as it was: the start is defined
    local p = program("int32", "X[Y[v]] // T.max(X[v] % 5, 1)", 64)
    assert(moon.check(p, p).ok)
    p = program("int32", "X[v] // Y[v] << 1", 64)
    local ok, e = pcall(moon.check, p, p)
    assert(ok or e.code == "divide-by-zero")
end)

return tests

-- Dependences between the instances of a block: what an error says of them, which updates come
-- in any order, and what is told of a program that is opened.
local tests = {}
local function test(name, fn) tests[#tests + 1] = { name, fn } end

local function program(params, body, kinds)
    return moon.parse(([[
@T.prim_func
def main(%s):
    for i, j in T.grid(4, 4):
        with T.block("S"):
            a, b = T.axis.remap("%s", [i, j])
%s
]]):format(params, kinds or "SS", (("\n" .. body):gsub("\n", "\n            "))))
end

local of_input = 'A: T.Buffer((4, 4), "int32"), S: T.Buffer((4,), "int32")'

-- Whether the loops may change places; where they do, the result must be the same.
local function reordered(m)
    local s = moon.schedule(m)
    local ok, e = pcall(s.reorder, s, "j", "i")
    if ok then
        local r = moon.check(s)
        assert(r.ok, r.first_at)
    end
    return ok, e
end

local function says(e, text) assert(e.message:find(text, 1, true), e.message) end

test("an error names the element and both instances", function()
    local ok, e = reordered(program('S: T.Buffer((5, 5), "int32")', "S[a + 1, b] = S[a, b + 1] + 1"))
    assert(not ok and e.code == "order-reversed")
    says(e, "block S writes S[1, 1] at i = 0, j = 1, and reads it at i = 1, j = 0")
    assert(e.family == "unsound" and e.element[1] == 1 and e.element[2] == 1 and #e.element == 2)
    assert(#e.instances == 2 and e.instances[1].i == 0 and e.instances[1].j == 1)
    assert(e.instances[2].i == 1 and e.instances[2].j == 0)
    ok, e = reordered(program(of_input, "S[a + b] = A[a, b]"))
    assert(not ok)
    says(e, "block S writes S[1] at i = 0, j = 1, and writes it at i = 1, j = 0")
end)

test("what cannot be shown is said to be so", function()
    local ok, e = reordered(program(of_input, "S[A[a, b] % 4] = a * 4 + b"))
    assert(not ok and e.code == "order-reversed")
    says(e, "cannot show")
end)

test("an error says once that something cannot be shown", function()
    local s = moon.schedule(moon.parse([==[
@T.prim_func
def main(X: T.Buffer((8,), "int32"), A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            A[X[v]] = v
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = A[v]
]==]))
    local ok, e = pcall(s.cache_read, s, "C", 0, "local")
    assert(not ok and e.code == "not-region-covered")
    says(e, "cannot show that what block C reads of A was written: it is not known which elements are written")
end)

test("updates by one operator that commutes come in any order", function()
    for _, line in ipairs {
        "S[0] = S[0] + A[a, b]",
        "S[0] = A[a, b] * 2 + S[0] + 1",
        "S[0] = S[0] - A[a, b]",
        "S[0] = T.max(A[a, b], S[0])",
        "S[0] = T.if_then_else(A[a, b] > 1, S[0] + A[a, b], S[0])",
        "S[A[a, b] % 4] = S[A[a, b] % 4] + 1",
        "if A[a, b] > 0:\n    S[0] = S[0] + A[a, b]\nelse:\n    S[0] = S[0] - 1",
        "S[0] = T.if_then_else(S[0] <= A[a, b], A[a, b], S[0])",
        "S[0] = T.Select(A[a, b] > S[0], A[a, b], S[0])",
        "S[0] = T.Select(S[0] >= A[a, b], S[0], A[a, b])",
        "S[0] = T.Select(A[a, b] < S[0], S[0], A[a, b])",
        "S[0] = T.Select(T.max(S[0], a) < A[a, b], A[a, b], T.max(S[0], a))",
        "if A[a, b] < S[0]:\n    S[0] = A[a, b]",
        "if a > 1:\n    if S[0] <= A[a, b]:\n        S[0] = A[a, b]",
        "if A[a, b] > 0:\n    S[0] = 1",
        "S[a] = 1\nS[b] = 1",
    } do
        assert(reordered(program(of_input, line)), line)
    end
end)

test("updates that look alike and are none do not", function()
    for _, line in ipairs {
        "S[0] = A[a, b] - S[0]",
        "S[0] = S[0] * 2 + A[a, b]",
        "S[0] = S[0] + S[0] * A[a, b]",
        "S[0] = T.max(S[0] + A[a, b], 0)",
        "S[0] = S[0] + A[a, b] * S[1]\nS[1] = S[1] + 1",
        "if S[0] > 0:\n    S[0] = S[0] - A[a, b]",
        "S[0] = T.if_then_else(A[a, b] > 1, S[0] + A[a, b], 0)",
        "S[0] = S[0] + 1\nS[0] = S[0] * 2",
        "S[0] = T.Select(S[0] < A[a, b], A[a, b] + 1, S[0])",
        "S[0] = T.Select(S[0] < A[a, b], S[0], A[b, a])",
        "S[0] = T.Select(S[1] < A[a, b], A[a, b], S[1])",
        "S[0] = T.Select(T.max(S[0], a) < A[a, b], T.max(S[0], a), A[a, b])",
        "if A[a, b] > S[0]:\n    S[0] = A[a, b]\nelse:\n    S[0] = S[0] - 1",
        "if A[a, b] > S[1]:\n    S[0] = A[a, b]",
        "if A[a, b] > 0:\n    S[0] = b",
        "S[a] = a\nS[b] = a",
        "if S[0] > 3:\n    S[0] = A[0, 0]",
    } do
        local ok, e = reordered(program(of_input, line))
        assert(not ok and e.code == "order-reversed", line)
    end
end)

test("a reducer that was registered is one from then on", function()
    local m = program('A: T.Buffer((4, 4), "int64"), S: T.Buffer((1,), "int64")', [[
with T.init():
    S[0] = T.int64(0)
S[0] = S[0] + A[a, b] - S[0] * A[a, b] ]], "RR")
    local s = moon.schedule(m)
    local ok, e = pcall(s.reorder, s, "j", "i")
    assert(not ok and e.code == "order-reversed")
    moon.register_reducer(1, function(x, y) return x + y - x * y end, { 0 }, { dtypes = { { "int64" } } })
    s:reorder("j", "i")
end)

test("a program is told of it, as a warning", function()
    local found = moon.verify(program('S: T.Buffer((5, 5), "int32")', "S[a + 1, b] = S[a, b + 1] + 1"), { what = "order" })
    assert(#found == 1 and found[1].code == "order-tied" and found[1].severity == "warning")
    assert(found[1].message:find("instances of block S depend on each other: it ", 1, true), found[1].message)
    for _, body in ipairs { "S[a, b] = S[a, b] + 1", "S[a, b] = 1", "S[b, a] = S[b, a] * 3",
        "S[a, T.bitwise_xor(a, b)] = S[a, T.bitwise_xor(a, b)] * 3", "t: T.int32 = S[a, b]\nS[a, b] = S[4, b] - t",
        "if S[0, 0] < a:\n    S[0, 0] = a" } do
        assert(#moon.verify(program('S: T.Buffer((5, 5), "int32")', body), { what = "order" }) == 0, body)
    end
end)

test("a guarded tile of fused loops touches other elements in each iteration", function()
    local te = moon.te
    local A = te.placeholder({ 6, 6, 8 }, "float32", "A")
    local B = te.compute({ 6, 6, 8 }, function(i, j, k) return A(i, j, k) * 2 end, "B")
    for _, lanes in ipairs { 64, 48, 20 } do -- 288 = 4.5 x 64 = 6 x 48 = 14.4 x 20
        local s = moon.schedule(moon.module(te.func({ A, B })))
        s:parallel(s:split(s:fuse(table.unpack(s:get_loops("B"))), { moon.auto, lanes })[1])
        assert(moon.check(s).ok)
    end
    -- two iterations that write one element are found out all the same
    local m = moon.parse([[
@T.prim_func
def main(A: T.Buffer((8, 8), "int32")):
    for i, j in T.grid(5, 16):
        with T.block("S"):
            a = T.axis.spatial(8, (i * 8 + j) // 8)
            b = T.axis.spatial(8, (i * 8 + j) % 8)
            T.where(i * 8 + j < 48)
            A[a, b] = a
]])
    local s = moon.schedule(m)
    local ok = pcall(s.parallel, s, "i")
    assert(not ok, "two iterations write one element")
end)

return tests

-- Programs for sizes that are known: moon.specialize, and the primitive, whose arms compute what the program
-- computes, for sizes that are listed and for others.
local tests = {}
local function test(name, fn) tests[#tests + 1] = { name, fn } end

local function refused(code, text, fn, ...)
    local ok, e = pcall(fn, ...)
    assert(not ok, "was not refused")
    assert(e.code == code and tostring(e.message):find(text, 1, true), e.code .. ": " .. tostring(e.message))
end

local head = "@T.prim_func\ndef main(a: T.handle, b: T.handle, c: T.handle):\n    n = T.int32()\n    m = T.int32()\n"

-- Matrix product of an m x k and a k x n matrix behind an element-wise stage; rows, columns, sums symbolic in turn.
local function chain(k)
    return moon.parse(head .. ([[
    A = T.match_buffer(a, (m, K))
    B = T.match_buffer(b, (K, n))
    C = T.match_buffer(c, (m, n))
    D = T.alloc_buffer((m, K))
    for i, j in T.grid(m, K):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j, k in T.grid(m, n, K):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + D[vi, vk] * B[vk, vj]
]]):gsub("K", k))
end

-- Sizes in conditions, bounds and values.
local shifted = moon.parse(head .. [[
    A = T.match_buffer(a, (n + 2, m), "int32")
    B = T.match_buffer(b, (n, m * 2), "int32")
    C = T.match_buffer(c, (n, m), "int32")
    if n % 2 == 0:
        for i, j in T.grid(n, m):
            with T.block("E"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi + 2, vj] + B[vi, vj + m] * n
    else:
        for i, j in T.grid(n, m):
            with T.block("O"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] - B[n - 1 - vi, vj] // (m + 1)
]])

local strided = moon.parse([[
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int32()
    s = T.int32()
    A = T.match_buffer(a, (n, n), strides=[s, 1])
    C = T.match_buffer(c, (n,))
    for i, j in T.grid(n, n):
        with T.block("C"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vj]
]])

local function inputs(m, seed)
    local list = {}
    for k, b in ipairs(m.main.buffers) do list[k] = moon.tensor(b.shape, b.dtype):random(seed + k, -9, 9) end
    return list
end

local function same(a, b)
    for k = 1, #a do
        local x, y = a[k]:totable(), b[k]:totable()
        local function equal(p, q)
            if type(p) ~= "table" then return p == q or (p ~= p and q ~= q) end
            for j = 1, #p do
                if not equal(p[j], q[j]) then return false end
            end
            return #p == #q
        end
        if not equal(x, y) then return false end
    end
    return true
end

local function copies(list)
    local out = {}
    for k, t in ipairs(list) do out[k] = t:copy() end
    return out
end

-- What the interpreter makes of a program and of its arms, on values that differences show in.
local function agree(m, s, sizes, seed)
    local known = moon.specialize(m, sizes)
    local x = inputs(known, seed)
    local y, z = copies(x), copies(x)
    moon.interpret(m, x)
    moon.interpret(known, y)
    moon.interpret(s:mod(), z)
    assert(same(x, y), "the program for known sizes differs")
    assert(same(x, z), "the program with arms differs")
end

test("a program for known sizes computes the same, and so do arms, on drawn sizes", function()
    local random = 12345
    local function draw(from, to)
        random = (random * 1103515245 + 12345) % 2147483648
        return from + random // 65536 % (to - from + 1)
    end
    for _, m in ipairs { chain(3), chain("n"), shifted } do
        local s = moon.schedule(m)
        local listed = {}
        for k = 1, 3 do
            local sizes = { n = draw(1, 9), m = draw(1, 9) }
            if pcall(s.specialize, s, ("n=%d,m=%d"):format(sizes.n, sizes.m)) then listed[#listed + 1] = sizes end
        end
        s:specialize("m=5")
        assert(#listed > 0)
        for k, sizes in ipairs(listed) do agree(m, s, sizes, k) end
        for k = 1, 6 do agree(m, s, { n = draw(1, 9), m = draw(1, 9) }, 10 + k) end
        for k = 1, 2 do agree(m, s, { n = draw(1, 9), m = 5 }, 20 + k) end
    end
end)

test("a text of the arms is read back as the same program, and replays from its trace", function()
    local m = chain(4)
    local s = moon.schedule(m)
    s:specialize("n=4,m=2")
    s:specialize("n=7")
    assert(moon.equal(moon.parse(s:script()), s:mod()))
    assert(#moon.verify(s:mod()) == 0)
    local again = moon.schedule(m)
    moon.trace(s:trace():json()):apply(again)
    assert(again:hash() == s:hash())
end)

test("the arms of a text are known by their form", function()
    local s = moon.schedule(chain(4))
    s:specialize("n=4,m=2")
    local t = moon.schedule(moon.parse(s:script()))
    refused("bad-argument", "block n_4_m_2 is for them already", t.specialize, t, "m=2,n=4")
    t:specialize("n=4")
    assert(t:script():find("if n == 4 and m == 2:.*else:.*if n == 4:.*else:"))
    refused("bad-argument", "block n_4 is for them already", t.specialize, t, "n=4,m=3")
end)

test("steps schedule an arm; those of a size hold for that size", function()
    local m = chain(8)
    local of = moon.schedule(moon.specialize(m, { n = 16, m = 4 }))
    of:compute_inline("D")
    local j = of:get_loops(of:get_block("C"))
    of:vectorize(of:split(j[2], { 2, 8 })[2])
    of:parallel(j[1])
    local steps = of:trace():json()
    local s = moon.schedule(m)
    s:specialize("n=16,m=4", steps)
    assert(s:script():find("T.vectorized(8)", 1, true) and s:script():find("T.parallel(4)", 1, true))
    assert(moon.check(s, { shape = { n = 16, m = 4 } }).ok and moon.check(s, { shape = { n = 15, m = 4 } }).ok)
    refused("bad-trace", "split", s.specialize, s, "n=17,m=4", steps)
    refused("bad-trace", "instruction", s.specialize, s, "n=15,m=4", "[[[\"GetBlock\", [], [\"X\", \"main\"], [\"b0\"]]], []]")
    refused("bad-trace", "", s.specialize, s, "n=15,m=4", "no trace")
end)

test("steps of the last arm hold for every size, and come last", function()
    local m = chain(8)
    local of = moon.schedule(m)
    of:compute_inline("D")
    of:parallel(of:get_loops(of:get_block("C"))[1])
    local s = moon.schedule(m)
    refused("bad-argument", "no sizes have an arm yet", s.specialize, s, "", of:trace():json())
    s:specialize("n=3")
    s:specialize("", of:trace():json())
    assert(s:script():find("T.parallel(m)", 1, true))
    for _, n in ipairs { 1, 3, 8 } do assert(moon.check(s, { shape = { n = n, m = 5 } }).ok) end
end)

test("steps that give a parameter another layout are refused", function()
    local m = chain(4)
    local of = moon.schedule(moon.specialize(m, { n = 4, m = 4 }))
    of:transform_layout("C", { "write", 0 }, function(i, j) return j, i end)
    local s = moon.schedule(m)
    refused("not-supported", "they change what callers pass as C", s.specialize, s, "n=4,m=4", of:trace():json())
    assert(s:version() == 0)
end)

test("strides that callers choose are named as they are", function()
    local s = moon.schedule(strided)
    s:specialize("n=4")
    local text = s:script()
    assert(text:find("C_1 = T.match_buffer(C[0:4], (4,))", 1, true) and not text:find("A_1", 1, true), text)
    assert(#moon.verify(s:mod()) == 0)
end)

test("an integer parameter is a size, too", function()
    local m = moon.parse([[
@T.prim_func
def main(n: T.int64, A: T.Buffer((16,), "int32")):
    for i in range(n):
        with T.block("A"):
            vi = T.axis.spatial(n, i)
            T.where(i < 16)
            A[vi] = A[vi] + 1
]])
    local s = moon.schedule(m)
    s:specialize("n=16")
    for _, n in ipairs { 16, 5 } do
        local a = moon.tensor({ 16 }, "int32"):fill(3)
        local b = a:copy()
        moon.interpret(m, { n, a })
        moon.interpret(s:mod(), { n, b })
        assert(same({ a }, { b }))
    end
end)

test("sizes that are none are refused by name", function()
    local m = chain(4)
    local function no(text, sizes) refused("bad-argument", text, moon.specialize, m, sizes) end
    no("no symbolic size k; it has m and n", { k = 3 })
    no("n is a whole number from 1, not 0", "n=0")
    no("n is a whole number from 1, not -4", "n=-4")
    no("n is a whole number from 1, not 2.5", "n=2.5")
    no("n is given twice", "n=1,n=2")
    no("'n' is no size", "n")
    no("'' is no size", "")
    no("does not fit int32", { n = 1 << 40 })
    no("n is a whole number from 1", "n=99999999999999999999")
    no("buffer C would be too large", { n = 2147483647, m = 2147483647 })
    no("sizes by name", { 3 })
    no("not a number", 3)
    refused("bad-argument", "has no symbolic sizes", moon.specialize, moon.workload.matmul(4, 4, 4), { n = 3 })
end)

return tests

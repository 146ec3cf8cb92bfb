-- Design spaces: the family that a program gets, and that each sketch computes the same with
-- whatever decisions.
local tests = {}
local sketches = dofile("tests/lua/shared/sketches.lua")

local function test(name, fn) tests[#tests + 1] = { name, fn } end

local function program(head, ...)
    local text = { "@T.prim_func\ndef main(" .. head .. "):\n" }
    for _, x in ipairs { ... } do text[#text + 1] = x end
    return moon.parse(table.concat(text))
end

local function alloc(name, rows) return ("    %s = T.alloc_buffer((%s,), \"float32\")\n"):format(name, rows) end

-- to[vi] = op(to[vi], what) over a row of n
local function reduction(to, m, n, init, what)
    return ([[
    for i, k in T.grid(%d, %d):
        with T.block("%s"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                %s[vi] = %s
            %s[vi] = %s
]]):format(m, n, to, to, init, to, what)
end

local function each(to, m, n, what)
    return ([[
    for i, k in T.grid(%d, %d):
        with T.block("%s"):
            vi, vk = T.axis.remap("SS", [i, k])
            %s[vi, vk] = %s
]]):format(m, n, to, to, what)
end

local function buffer(name, shape, dtype) return ("%s: T.Buffer((%s,), %q)"):format(name, shape, dtype or "float32") end

local function softmax(m, n)
    local rows = m .. ", " .. n
    return program(buffer("A", rows) .. ", " .. buffer("Y", rows), alloc("M", m), alloc("E", rows), alloc("Z", m),
        reduction("M", m, n, "T.float32(-3e38)", "T.max(M[vi], A[vi, vk])"), each("E", m, n, "T.exp(A[vi, vk] - M[vi])"),
        reduction("Z", m, n, "T.float32(0)", "Z[vi] + E[vi, vk]"), each("Y", m, n, "E[vi, vk] / Z[vi]"))
end

local function sum(m, n, dtype, what)
    return program(buffer("A", m .. ", " .. n, dtype) .. ", " .. buffer("S", m, dtype),
        reduction("S", m, n, "T." .. dtype .. "(0)", "S[vi] + " .. (what or "A[vi, vk]")))
end

local function layer_norm(m, n)
    local mean = ("S[vi] / T.float32(%d)"):format(n)
    local far = "(X[vi, vk] - " .. mean .. ")"
    return program(buffer("X", m .. ", " .. n) .. ", " .. buffer("G", n) .. ", " .. buffer("Y", m .. ", " .. n), alloc("S", m), alloc("Q", m),
        reduction("S", m, n, "T.float32(0)", "S[vi] + X[vi, vk]"), reduction("Q", m, n, "T.float32(0)", "Q[vi] + " .. far .. " * " .. far),
        each("Y", m, n, far .. (" * T.rsqrt(Q[vi] / T.float32(%d) + T.float32(1e-5)) * G[vk]"):format(n)))
end

local function sum_and_largest(m, n)
    return program(buffer("A", m .. ", " .. n) .. ", " .. buffer("S", m) .. ", " .. buffer("M", m),
        reduction("S", m, n, "T.float32(0)", "S[vi] + A[vi, vk]"),
        reduction("M", m, n, "T.float32(-3e38)", "T.max(M[vi], A[vi, vk])"))
end

-- Every sketch, as the rule decides it and three times by lot.
local function is_right(p, threads)
    local names, open = sketches(p, threads, 3)
    for k, name in ipairs(names) do assert(open[k] > 0 or name:find("vectorised"), "no decision is open") end
    return table.concat(names, ", ")
end

local function family(want, p, threads)
    local got = is_right(p, threads or 2)
    assert(got == want, got)
end

test("rows that are softened, normed and summed share one nest", function()
    family("rows", softmax(200, 256))
    family("rows", softmax(8, 100)) -- vectors of four
    family("rows", layer_norm(96, 320))
    family("rows", sum(64, 1024, "float32"))
    family("rows", sum(64, 512, "float64", "A[vi, vk] * A[vi, vk]"))
    family("rows", sum(64, 512, "int8"))
    family("rows", sum(64, 512, "float16"), 1)
end)

test("rows that fill the caches are stored past them, what is read again is not", function()
    local text = moon.space.sketches(softmax(8192, 8192), { threads = 2 })[1].schedule:script()
    local _, n = text:gsub("non_temporal", "")
    assert(n == 1, text)
    assert(not moon.space.sketches(softmax(64, 256), { threads = 2 })[1].schedule:script():find("non_temporal", 1, true))
end)

test("rows from beyond the near cache are fetched while others are worked on", function()
    local function ahead(p) return moon.space.sketches(p, { threads = 2 })[1].schedule:script():match('"prefetch": (%b[])') end
    -- two rows, where eight KiB are less; by what is read again alone
    assert(ahead(softmax(64, 2048)) == '[{"buffer": "A", "bytes": 16384}]')
    assert(ahead(softmax(64, 4096)) == '[{"buffer": "A", "bytes": 16384}]')
    assert(ahead(layer_norm(64, 512)) == '[{"buffer": "X", "bytes": 8192}]')
    assert(not ahead(softmax(8, 256)) and not ahead(sum(64, 2048, "float32")))
end)

test("groups of rows that are a multiple wait for their sums together", function()
    for _, rows in ipairs { { 96, 4 }, { 97, 1 } } do
        local list = moon.space.sketches(softmax(rows[1], 256), { threads = 2 })
        assert(list[1].schedule:script():find(("in T.parallel(%d)"):format(rows[1] // rows[2]), 1, true))
    end
    -- what the reduction alone reads is computed there: no tensor for it
    local mean, far = "S[vi] / T.float32(256)", "F[vi, vk]"
    local p = program(buffer("X", "64, 256") .. ", " .. buffer("Q", "64"), alloc("S", 64), alloc("F", "64, 256"),
        reduction("S", 64, 256, "T.float32(0)", "S[vi] + X[vi, vk]"), each("F", 64, 256, "X[vi, vk] - " .. mean),
        reduction("Q", 64, 256, "T.float32(0)", "Q[vi] + " .. far .. " * " .. far))
    family("rows", p)
    assert(not moon.space.sketches(p, { threads = 2 })[1].schedule:script():find("F[", 1, true))
end)

test("few rows are cut into chunks", function()
    family("rows in chunks, rows", sum(1, 65536, "float32"))
    family("rows in chunks, rows", sum(3, 40000, "int32"))
    family("rows in chunks, rows", softmax(1, 32768))
    family("rows", sum(1, 65536, "float32"), 1)
end)

test("results that are given back have a nest each", function() family("rows", sum_and_largest(96, 320)) end)

test("rows that no vector divides are reduced in vectors, the last of them masked", function()
    local names = "rows with a rest, fused, vectorised, vectorised"
    family(names, sum(64, 1021, "float32"))
    family(names, sum(300, 197, "int8"))
    family(names, softmax(33, 197))
    family(names, layer_norm(40, 333))
    family(names, softmax(33, 17)) -- too short for two vectors
end)

local function largest(m, n)
    return program(buffer("A", m .. ", " .. n) .. ", " .. buffer("V", m) .. ", " .. buffer("I", m, "int32"), ([[
    for i, k in T.grid(%d, %d):
        with T.block("V"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                V[vi] = T.float32(-3.4028234663852886e+38)
                I[vi] = 2147483647
            x: T.int32 = T.Select(A[vi, vk] > V[vi] or A[vi, vk] == V[vi] and vk < I[vi], vk, I[vi])
            y: T.float32 = T.max(A[vi, vk], V[vi])
            V[vi] = y
            I[vi] = x
]]):format(m, n))
end

test("the largest of rows and its place are found in vectors", function()
    family("rows", largest(64, 512))
    family("rows with a rest, fused, vectorised, vectorised", largest(64, 1001))
end)

-- B[i, j] = what of A[j, i] and C[i, j]
local function across(m, n, dtype, what)
    return program(buffer("A", n .. ", " .. m, dtype) .. ", " .. buffer("C", m .. ", " .. n, dtype) .. ", " .. buffer("B", m .. ", " .. n, dtype),
        each("B", m, n, what))
end

test("what is read across is transposed in registers", function()
    for _, size in ipairs { { 64, 64 }, { 40, 72 }, { 33, 130 }, { 250, 300 }, { 16, 4096 } } do
        for _, dtype in ipairs { "float32", "int8", "float64" } do
            family("fused, vectorised, vectorised", across(size[1], size[2], dtype, "A[vk, vi] + C[vi, vk]"))
        end
    end
    local kernel <close> = moon.build(moon.draft(across(256, 256, "float32", "A[vk, vi]")))
    assert(not kernel:asm():find("gather"))
end)

test("results that fill the caches are stored past them", function()
    assert(moon.draft(across(4096, 4096, "float32", "C[vi, vk] * A[vk, vi]")):script():find("non_temporal\": 1", 1, true))
    assert(not moon.draft(across(64, 64, "float32", "C[vi, vk]")):script():find("non_temporal", 1, true))
end)

local function column_sum(m, n, dtype)
    return program(buffer("A", m .. ", " .. n, dtype) .. ", " .. buffer("S", n, dtype), ([[
    for j, k in T.grid(%d, %d):
        with T.block("S"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                S[vj] = T.%s(0)
            S[vj] = S[vj] + A[vk, vj]
]]):format(n, m, dtype))
end

test("columns are summed in registers, many rows in blocks", function()
    for _, c in ipairs { { 2048, 64, "float32", true }, { 4096, 33, "int32", true }, { 49, 2048, "float32" }, { 30, 40, "float64" } } do
        family(c[4] and "columns in blocks of rows, columns in registers" or "columns in registers", column_sum(c[1], c[2], c[3]))
    end
end)

local function running_sums(m, n)
    return program(buffer("A", m .. ", " .. n) .. ", " .. buffer("B", m .. ", " .. n), ([[
    for i, j in T.grid(%d, %d):
        with T.block("B"):
            vi = T.axis.spatial(%d, i)
            vj = T.axis.opaque(%d, j)
            B[vi, vj] = T.if_then_else(vj > 0, B[vi, vj - 1], T.float32(0)) + A[vi, vj]
]]):format(m, n, m, n))
end

test("rows of running sums go to the threads, what is in a row stays in order", function()
    local p = running_sums(300, 500)
    local list = moon.space.sketches(p, { threads = 2 })
    assert(#list == 1 and list[1].name == "scans of rows")
    assert(list[1].schedule:script():find("i_0 in T.parallel", 1, true))
    assert(moon.check(list[1].schedule).ok)
    local ok, e = pcall(function() moon.schedule(p):parallel("j") end)
    assert(not ok and e.code == "iter-not-parallel")
end)

-- Sums within blocks of 16, which begin with S; first: where the element before is not asked for.
local function blocks_of_sums(first, value)
    return program(buffer("A", "640") .. ", " .. buffer("S", "40") .. ", " .. buffer("B", "640"), ([[
    for b, k in T.grid(40, 16):
        with T.block("B"):
            vb = T.axis.spatial(40, b)
            vk = T.axis.opaque(16, k)
            B[vb * 16 + vk] = T.if_then_else(%s, %s, S[vb]) + A[vb * 16 + vk]
]]):format(first, value or "B[vb * 16 + (vk - 1)]"))
end

test("blocks of a running sum that begin anew go to the threads", function()
    for _, first in ipairs { "vk > 0", "0 < vk", "vk >= 1", "1 <= vk", "vk > 0 and vb < 30", "vk > 3" } do
        local p = blocks_of_sums(first)
        local s = moon.schedule(p)
        s:parallel("b")
        assert(moon.check(s).ok, first)
        -- in code the running value stays in a register, the one to begin with is loaded before
        local want, got = {}, {}
        for k, n in ipairs { 640, 40, 640 } do
            for _, list in ipairs { want, got } do
                list[k] = moon.tensor({ n }, "float32")
                list[k]:random(k, -1, 1)
            end
        end
        moon.interpret(p, want)
        moon.build(s, { threads = 2 })(table.unpack(got))
        local sums = got[3]:totable()
        for k, v in ipairs(want[3]:totable()) do assert(math.abs(v - sums[k]) < 1e-4, first) end
        assert(moon.space.sketches(p, { threads = 2 })[1].name == "scans of rows")
    end
    for _, first in ipairs { "vk >= 0", "vk < 16", "vk > -1", "vb > 0", "A[vb] > T.float32(0)" } do
        local ok, e = pcall(function() moon.schedule(blocks_of_sums(first)):parallel("b") end)
        assert(not ok and e.code == "would-race", first)
    end
    local ok, e = pcall(function() moon.schedule(blocks_of_sums("vk > 0", "(B[vb * 16 + (vk - 1)] + B[vb * 16 + vk - 2])")):parallel("b") end)
    assert(not ok and e.code == "would-race")
end)

test("a draft says what is wrong of its options", function()
    local p = sum(8, 64, "float32")
    for option, words in pairs { foo = "no option is named foo", threads = "threads is a number", space = "space is" } do
        local ok, e = pcall(moon.draft, p, { [option] = option == "foo" and 1 or "x" })
        assert(not ok and e.code == "bad-argument" and e.message:find(words, 1, true), e.message)
    end
    local ok, e = pcall(moon.draft, p, { space = function() return {} end })
    assert(not ok and e.message:find("gives no schedule", 1, true), e.message)
    assert(moon.draft(p, { threads = 0 }):script() == moon.draft(p):script())
end)

return tests

-- moon.einsum and moon.net: programs of a line, and the layers of networks.
local tests = {}
local function test(name, fn) tests[#tests + 1] = { name, fn } end

local function equals(m, seed, how)
    local args = m.arguments(seed, how)
    moon.interpret(m, args)
    -- of -1, 0, 1 every sum is exact, but a product may be -0
    local allowed = how == "random" and 1e-5 or 1e-30
    local tolerance = { rtol = allowed, atol = allowed }
    return args[#args]:compare(m.reference(m.inputs(seed, how))[1], tolerance).ok
end

local function checked(spec, sizes, opts)
    local m = moon.einsum(spec, sizes, opts)
    assert(#moon.verify(m, { what = "well-formed" }) == 0, spec)
    assert(equals(m, 3, "ternary") and equals(m, 4, "random"), spec .. "\n" .. m.main:script())
    local s = moon.schedule(m)
    assert(s:flops() == m.flop, ("%s: %s of %d"):format(spec, s:flops(), m.flop))
    assert(moon.check(moon.draft(m)).ok, spec)
    return m
end

local function fails(code, part, fn, ...)
    local ok, e = pcall(fn, ...)
    assert(not ok and type(e) == "userdata" and e.code == code, tostring(e))
    assert(e.message:find(part, 1, true), e.message)
    return e
end

test("a contraction equals its reference: products, sums, diagonals, traces, transpositions, scalars", function()
    for spec, sizes in pairs {
        ["bmk,bkn->bmn"] = { b = 2, m = 3, k = 4, n = 5 },
        ["ij,jk"] = { i = 2, j = 3, k = 4 },
        ["ii->i"] = { i = 4 },
        ["ii->"] = { i = 4 },
        ["ii"] = { i = 3 },
        ["iij,jki->k"] = { i = 2, j = 3, k = 2 },
        ["ij->ji"] = { i = 3, j = 2 },
        ["ba"] = { a = 3, b = 2 },
        ["ij,ij->"] = { i = 3, j = 4 },
        ["ij,ij->ij"] = { i = 3, j = 4 },
        ["ij->"] = { i = 1, j = 1 },
        ["ij,jk,kl->il"] = { i = 2, j = 3, k = 4, l = 5 },
        ["a,b,c->abc"] = { a = 2, b = 3, c = 4 },
        ["i,i,i,i->"] = { i = 3 },
        ["AB,BC->AC"] = { A = 2, B = 3, C = 4 },
        [" bij , bjk -> bik "] = { b = 1, i = 2, j = 3, k = 2 },
        ["...ij,...jk->...ik"] = { i = 2, j = 3, k = 2, ["..."] = { 2, 3 } },
        ["i...->..."] = { i = 3, ["..."] = { 2 } },
        ["...ii->...i"] = { i = 3, ["..."] = {} },
    } do
        checked(spec, sizes)
    end
end)

test("shapes give the sizes, too; what is 1 is read at 0", function()
    checked("ij,jk->ik", { { 2, 3 }, { 3, 4 } })
    checked("i,->i", { { 3 }, {} })
    checked("...ij,...jk->...ik", { { 2, 3, 4, 5 }, { 3, 5, 6 } })
    checked("...ij,...jk->...ik", { { 2, 1, 4, 5 }, { 3, 5, 6 } })
    checked("ij,ij->ij", { { 3, 1 }, { 1, 4 } })
    checked("ij,jk->ik", { { 2, 1 }, { 3, 4 } })
    checked("...,...", { { 3, 2 }, { 2 } })
    local m = checked("bi,bi->b", { { 1, 5 }, { 4, 5 } })
    assert(m.main.buffers.C.shape[1] == 4)
end)

test("names, types and loops are as asked", function()
    local m = checked("bmk,bkn->bmn", { b = 2, m = 3, k = 4, n = 5 }, { dtype = "f16", names = { "X", "W", "Y" } })
    assert(m.main.buffers.X.dtype == "float16" and m.main.buffers.Y.dtype == "float32" and m.flop == 2 * 2 * 3 * 4 * 5)
    assert(m.main:script():find("for b, m, n, k in T.grid(2, 3, 5, 4):", 1, true), m.main:script())
    assert(checked("ij,j->i", { i = 3, j = 4 }, { dtype = "i8" }).main.buffers.C.dtype == "int32")
    assert(checked("ij->ji", { i = 3, j = 4 }, { dtype = "i8" }).main.buffers.B.dtype == "int8")
    assert(checked("ij,j->i", { i = 3, j = 4 }, { dtype = "float64" }).main.buffers.C.dtype == "float64")
    local s = moon.schedule(moon.einsum("ij->", { i = 8, j = 8 }))
    assert(#s:get_loops("B") == 2)
end)

test("a size that is a name is symbolic", function()
    local m = moon.einsum("bmk,bkn->bmn", { b = "batch", m = 3, k = "depth", n = 5 })
    local text = m.main:script()
    assert(text:find("batch, depth = T.int32(), T.int32()", 1, true), text)
    assert(moon.check(moon.schedule(m), { shape = { batch = 2, depth = 4 } }).ok)
    assert(#moon.verify(m, { what = "well-formed" }) == 0)
end)

test("a wrong text is refused with its place", function()
    local one = { b = 1, m = 1, k = 1, n = 1, i = 1, j = 1 }
    local function at(column, part, spec, sizes)
        local e = fails("bad-argument", part, moon.einsum, spec, sizes or one)
        local line = e.message:match("\n   ([^\n]*)%^")
        assert(line and #line == column - 1, e.message)
        assert(e.message:find("\n   " .. spec .. "\n", 1, true), e.message)
    end
    at(12, "q of the result is in no operand", "bmk,bkn->bmq", { b = 1, m = 1, k = 1, n = 1 })
    at(12, "m is in the result already", "bmk,bkn->bmm")
    at(3, "a letter, ... or a comma is needed", "bm1")
    at(2, "a letter, ... or a comma", "i-j")
    at(3, "a letter, ... or a comma", "i é1")
    at(1, "a letter, ... or a comma", "é")
    at(6, "a second ->", "ij->i->j")
    at(6, "a second result", "ij->i,j")
    at(6, "a second ... in one operand", "i...j...->i")
    at(5, "the size of k is missing", "ij,jk->ik", { i = 2, j = 3 })
    at(4, "j is 4 here and 3 before", "ij,jk->ik", { { 2, 3 }, { 4, 5 } })
    at(2, "j is 3 here and 2 before", "jj", { { 2, 3 } })
    at(1, "operand 1 has 2 letters, its shape 1 dimensions", "ij", { { 2 } })
    at(4, "operand 2 has 2 letters and ..., its shape 1 dimensions", "ij,...jk", { { 2, 3 }, { 3 } })
    for _, size in ipairs { 0, -1, 0 / 0, 1.5, 1 << 40, math.huge } do
        at(2, "size of j: an integer from 1 to 2147483647 is needed, not", "ij", { i = 1, j = size })
    end
    at(2, "not a table", "ij", { i = 1, j = {} })
    at(2, "a name or a number is needed", "ij", { i = 1, j = "2n" })
    at(2, "size of ...: a list is needed", "i...", { i = 1, ["..."] = 3 })
end)

test("what is asked beside the text is refused, too", function()
    fails("bad-argument", "a text is needed", moon.einsum, 5, {})
    fails("bad-argument", "sizes by letter, or a list of shapes", moon.einsum, "ij")
    fails("bad-argument", "for z, which is not in ij", moon.einsum, "ij", { i = 2, j = 3, z = 1 })
    fails("bad-argument", "2 shapes are given for the 1 operands", moon.einsum, "ij", { { 2, 3 }, { 2 } })
    fails("bad-argument", "not both", moon.einsum, "ij", { { 2, 3 }, i = 2 })
    fails("bad-argument", "float31", moon.einsum, "ij", { i = 2, j = 3 }, { dtype = "float31" })
    fails("bad-argument", "no option is named foo", moon.einsum, "ij", { i = 2, j = 3 }, { foo = 1 })
    fails("bad-argument", "2 different names", moon.einsum, "ij", { i = 2, j = 3 }, { names = { "a", "a" } })
    fails("bad-argument", "2 different names", moon.einsum, "ij", { i = 2, j = 3 }, { names = { "a", "b c" } })
    fails("bad-argument", "beyond 2^60", moon.einsum, "ijk", { i = 1 << 30, j = 1 << 30, k = 1 << 30 })
    local all = {}
    for k = 1, 17 do all[k] = 1 end
    fails("bad-argument", "more than 16 dimensions", moon.einsum, "...", { all })
end)

test("random contractions are well-formed and equal their references", function()
    local rounds = os.getenv("ML_QUICK") and 40 or 200
    for seed = 1, rounds do
        local state = seed
        local function below(n)
            state = state * 6364136223846793005 + 1442695040888963407
            return (state >> 33) % n
        end
        local sizes, operands, result, seen = {}, {}, {}, {}
        local letters = { "i", "j", "k", "l", "m" }
        for _, l in ipairs(letters) do sizes[l] = 1 + below(3) end
        for k = 1, 1 + below(3) do
            local term = {}
            for d = 1, below(4) do
                term[d] = letters[1 + below(#letters)]
                seen[term[d]] = true
            end
            operands[k] = table.concat(term)
        end
        for _, l in ipairs(letters) do
            if seen[l] and below(2) == 0 then table.insert(result, 1 + below(#result + 1), l) end
            if not seen[l] then sizes[l] = nil end
        end
        local spec = table.concat(operands, ",") .. "->" .. table.concat(result)
        if next(sizes) then
            local m = moon.einsum(spec, sizes, { dtype = ({ "f32", "f64", "i8", "f16" })[1 + below(4)] })
            assert(#moon.verify(m, { what = "well-formed" }) == 0 and equals(m, seed, "ternary"), spec)
            assert(moon.schedule(m):flops() == m.flop, spec)
        end
    end
end)

-- ---- moon.net

test("the layers of networks have their number, counts and operations", function()
    for name, want in pairs { resnet50 = { 27, 53, 8.174 }, mobilenet_v2 = { 33, 52, 0.599 }, bert_large = { 13, 193, 78.9 },
        vit_b16 = { 13, 98, 35.1 } } do
        local list = moon.net(name)
        local products, flop, ids = 0, 0, {}
        for _, row in ipairs(list) do
            assert(row.workload.id == row.id and not ids[row.id] and row.weight > 0 and #row.role > 2)
            ids[row.id] = true
            if row.id:find("^%u%d") then
                products = products + row.weight
                flop = flop + row.weight * row.workload.flop
            end
            assert(moon.schedule(row.workload):flops() == row.workload.flop, row.id)
        end
        assert(#list == want[1] and products == want[2], ("%s: %d, %s"):format(name, #list, products))
        local digits = want[3] < 10 and 0.0005 or 0.05
        assert(math.abs(flop / 1e9 - want[3]) <= digits, ("%s: %.4f GFLOP"):format(name, flop / 1e9))
    end
    local flop = 0
    for _, row in ipairs(moon.net("bert_large", { seq = 384 })) do
        if row.id:find("^%u%d") then flop = flop + row.weight * row.workload.flop end
    end
    assert(math.abs(flop / 1e9 - 246.4) <= 0.05, flop)
end)

test("additions of several sizes are weighted by their elements", function()
    for name, want in pairs { resnet50 = { 6.875, 56 * 56 * 256 }, mobilenet_v2 = { 2.875, 56 * 56 * 24 } } do
        local list = moon.net(name)
        local last = list[#list]
        assert(last.weight == want[1] and last.workload.main.buffers.C.shape[1] * last.workload.main.buffers.C.shape[2] == want[2])
    end
end)

test("networks take a dtype, a batch, a length; what has no meaning is refused", function()
    local list = moon.net("resnet50", { dtype = "i8" })
    assert(list[1].workload.main.buffers.X.dtype == "int8" and list[26].workload.main.buffers.X.dtype == "float32")
    list = moon.net("resnet50", { batch = 16, dtype = "f16" })
    assert(list[2].workload.main.buffers.X.shape[1] == 16 and list[27].weight == 6.875)
    fails("unknown-name", "mobilenet_v2", moon.net, "resnet")
    fails("bad-argument", "no batch", moon.net, "vit_b16", { batch = 3 })
    fails("bad-argument", "128 or 384", moon.net, "bert_large", { seq = 100 })
    fails("bad-argument", "no seq", moon.net, "resnet50", { seq = 384 })
    fails("bad-argument", "no option is named size", moon.net, "resnet50", { size = 3 })
    fails("bad-argument", "batch", moon.net, "resnet50", { batch = 0 })
    fails("bad-argument", "name", moon.net, 3)
end)

return tests

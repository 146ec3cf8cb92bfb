-- Every workload, reduced, computes in the interpreter what its reference computes, is
-- well-formed, and has the counts of the table.
local w = moon.workload

local reduced = {
    ["matmul"] = function(o) return w.matmul(5, 7, 3, o) end,
    ["a batch of products"] = function(o) return w.batch_matmul { b = 2, n = 3, m = 4, k = 5, dtype = o.dtype } end,
    ["conv1d"] = function(o) return w.conv1d { l = 9, ci = 4, co = 6, k = 3, s = 2, p = 1, dtype = o.dtype } end,
    ["conv1d without padding, batch 2"] = function(o)
        return w.conv1d { l = 9, ci = 4, co = 6, k = 1, s = 2, n = 2, dtype = o.dtype }
    end,
    ["conv2d"] = function(o)
        return w.conv2d { h = 7, w = 6, ci = 3, co = 4, k = 3, s = 2, p = 1, dtype = o.dtype }
    end,
    ["conv2d, dilated"] = function(o)
        return w.conv2d { h = 9, w = 8, ci = 3, co = 4, k = 3, s = 2, p = 2, d = 2, dtype = o.dtype }
    end,
    ["conv2d in four groups"] = function(o)
        return w.conv2d { h = 5, w = 5, ci = 4, co = 8, k = 3, p = 1, g = 4, dtype = o.dtype }
    end,
    ["conv2d in two groups of three channels"] = function(o)
        return w.conv2d { h = 4, w = 5, ci = 6, co = 4, k = 2, g = 2, dtype = o.dtype }
    end,
    ["conv3d"] = function(o)
        return w.conv3d { depth = 4, h = 5, w = 4, ci = 2, co = 3, k = 3, s = 2, p = 1, dtype = o.dtype }
    end,
    ["depthwise"] = function(o) return w.depthwise { h = 6, w = 5, c = 3, k = 3, s = 2, p = 1, dtype = o.dtype } end,
    ["transposed, stride 2"] = function(o)
        return w.conv2d_transposed { h = 3, w = 4, ci = 2, co = 3, k = 4, s = 2, p = 1, dtype = o.dtype }
    end,
    ["transposed, stride 3, no padding"] = function(o)
        return w.conv2d_transposed { h = 3, w = 4, ci = 2, co = 3, k = 5, s = 3, dtype = o.dtype }
    end,
    ["transposed, stride 1"] = function(o)
        return w.conv2d_transposed { h = 3, w = 4, ci = 2, co = 2, k = 3, p = 1, dtype = o.dtype }
    end,
    ["capsule"] = function(o) return w.capsule { h = 5, w = 4, ci = 2, co = 3, k = 3, s = 2, p = 1, dtype = o.dtype } end,
    ["capsule without padding"] = function(o) return w.capsule { h = 3, w = 3, ci = 1, co = 2, k = 2, dtype = o.dtype } end,
    ["transposed batch product"] = function(o)
        return w.transpose_batch_matmul { b = 2, s = 4, h = 3, d = 5, dtype = o.dtype }
    end,
}
-- not made of sums of products alone: compared within a tolerance only
local with_functions = {
    ["norm"] = function() return w.norm { b = 2, m = 4, n = 5 } end,
    ["softmax"] = function() return w.softmax { m = 4, n = 6 } end,
    ["conv2d, bias, relu"] = function() return w.conv2d_bias_relu { h = 7, w = 6, ci = 3, co = 4, k = 3, s = 2, p = 1 } end,
}

local function result(m, ...)
    local args = m.arguments(...)
    moon.interpret(m, args)
    return args[#args], m.reference(m.inputs(...))[1]
end

local function sorted(t)
    local names = {}
    for name in pairs(t) do names[#names + 1] = name end
    table.sort(names)
    return names
end

local tests = {}
local function test(name, fn) tests[#tests + 1] = { name, fn } end

for _, name in ipairs(sorted(reduced)) do
    test(name .. ": exact on -1, 0, 1", function()
        local m = reduced[name] {}
        local got, ref = result(m, 5, "ternary")
        local c = got:compare(ref)
        assert(c.ok, ("%d elements differ, first %s"):format(c.outside, tostring(c.first_at)))
        assert(#moon.verify(m, { what = "well-formed" }) == 0)
    end)
    test(name .. ": float32 within the tolerance", function()
        local got, ref = result(reduced[name] {}, 2)
        assert(got:compare(ref, { rtol = 1e-5, atol = 1e-5 }).ok)
    end)
    test(name .. ": float16 storage accumulates in float32", function()
        local m = reduced[name] { dtype = "float16" }
        local got, ref = result(m, 3)
        assert(got.dtype == "float32")
        assert(got:compare(ref, { rtol = 1e-5, atol = 1e-5 }).ok)
    end)
    test(name .. ": int8 accumulates in int32, exactly", function()
        local m = reduced[name] { dtype = "int8" }
        local got, ref = result(m, 4)
        assert(got.dtype == "int32" and got:compare(ref).ok)
    end)
end
for _, name in ipairs(sorted(with_functions)) do
    test(name .. " within the tolerance", function()
        for seed = 1, 3 do
            local m = with_functions[name]()
            local got, ref = result(m, seed)
            assert(got:compare(ref, { rtol = 1e-5, atol = 1e-5 }).ok)
        end
    end)
end

test("winograd within 32 times the tolerance", function()
    for _, s in ipairs { { h = 6, w = 5, ci = 2, co = 3, n = 2 }, { h = 4, w = 8, ci = 3, co = 2 }, { h = 1, w = 1, ci = 1, co = 1 } } do
        local got, ref = result(w.winograd(s), 4)
        assert(got:compare(ref, { rtol = 3e-5, atol = 3e-5 }).ok)
    end
    assert(w.winograd { h = 4, w = 4, ci = 2, co = 3, pre = true }.main.buffers.W.shape[3] == 3)
end)

test("the reference is not the program: a wrong result is seen", function()
    local m = reduced["conv2d"] {}
    local got, ref = result(m, 5, "ternary")
    got[{ 0, 1, 2, 3 }] = got[{ 0, 1, 2, 3 }] + 1
    local c = got:compare(ref)
    assert(not c.ok and c.outside == 1 and c.first_at == "[0, 1, 2, 3]", c.first_at)
end)

test("FLOP and KiB are those of the table", function()
    local table_of = {
        ["C1D-0"] = { 6.29, 224 }, ["C1D-1"] = { 4.19, 256 }, ["C1D-2"] = { 41.94, 1408 }, ["C1D-3"] = { 50.33, 3200 },
        ["C2D-0"] = { 236.0, 3761 }, ["C2D-1"] = { 25.69, 1584 }, ["C2D-2"] = { 231.2, 2696 }, ["C2D-3"] = { 231.2, 9412 },
        ["C3D-0"] = { 13218, 34753 }, ["C3D-1"] = { 411.0, 25104 }, ["C3D-2"] = { 11098, 13184 }, ["C3D-3"] = { 11098, 30784 },
        ["GRP-0"] = { 28.90, 1248 }, ["GRP-1"] = { 6.42, 1572 }, ["GRP-2"] = { 57.80, 968 }, ["GRP-3"] = { 57.80, 2500 },
        ["DIL-0"] = { 223.6, 3595 }, ["DIL-1"] = { 25.69, 1584 }, ["DIL-2"] = { 169.9, 2644 }, ["DIL-3"] = { 118.0, 9364 },
        ["DEP-0"] = { 7.23, 3137 }, ["DEP-1"] = { 3.61, 3922 }, ["DEP-2"] = { 0.45, 508 }, ["DEP-3"] = { 0.90, 428 },
        ["T2D-0"] = { 268.4, 8288 }, ["T2D-1"] = { 268.4, 2240 }, ["T2D-2"] = { 268.4, 896 }, ["T2D-3"] = { 25.17, 316 },
        ["GMM-0"] = { 4.19, 192 }, ["GMM-1"] = { 16.78, 1152 }, ["GMM-2"] = { 268.4, 3072 }, ["GMM-3"] = { 2147.5, 12288 },
        ["CAP-0"] = { 75.50, 1216 }, ["CAP-1"] = { 75.50, 832 }, ["CAP-2"] = { 9.44, 264 }, ["CAP-3"] = { 18.87, 272 },
        ["NRM-0"] = { 0.13, 256 }, ["NRM-1"] = { 0.52, 1024 }, ["NRM-2"] = { 2.10, 4096 }, ["NRM-3"] = { 8.39, 16384 },
        ["SFM-0"] = { 0.26, 512 }, ["SFM-1"] = { 1.05, 2048 }, ["SFM-2"] = { 4.19, 8192 }, ["SFM-3"] = { 16.78, 32768 },
        ["CBR-0"] = { 239.2, 3762 }, ["CBR-1"] = { 116.0, 1466 }, ["CBR-2"] = { 13.05, 719 }, ["CBR-3"] = { 231.3, 9418 },
        ["WIN-0"] = { 18.87, (2 * 14 * 14 * 128 + 9 * 128 * 128) * 4 / 1024 },
        ["TBG-0"] = { 25.17, 1536 }, ["TBG-1"] = { 33.55, 2048 }, ["TBG-2"] = { 12.58, 960 }, ["TBG-3"] = { 50.33, 2304 },
    }
    local seen = 0
    for _, id in ipairs(w.list()) do
        local want, m = table_of[id], w(id)
        assert(want, id)
        seen = seen + 1
        local mflop, kib = m.flop / 1e6, m.bytes / 1024
        local digits = want[1] >= 1000 and 0.5 or want[1] >= 100 and 0.05 or 0.005
        assert(math.abs(mflop - want[1]) <= digits * 1.02, ("%s: %.3f MFLOP"):format(id, mflop))
        assert(math.abs(kib - want[2]) <= 0.51, ("%s: %.2f KiB"):format(id, kib))
    end
    local n = 0
    for _ in pairs(table_of) do n = n + 1 end
    assert(seen == n, seen)
end)

test("what is counted from a program is its nominal number, its padding inlined or not", function()
    local inlined = 0
    for _, id in ipairs(w.list(nil, true)) do
        for _, suffix in ipairs { "", ".f16", ".i8" } do
            local ok, m = pcall(w, id .. suffix)
            -- of Winograd's form only the products are nominal, not the transformations
            local nominal = not id:find("WIN", 1, true)
            if ok then
                local s = moon.schedule(m)
                local before = s:flops()
                assert(not nominal or before == m.flop, ("%s: %s of %s"):format(m.id, before, m.flop))
                local padded = pcall(s.compute_inline, s, "Xp") or pcall(s.compute_inline, s, "D")
                inlined = inlined + (padded and 1 or 0)
                assert(s:flops() == before, ("%s: %s becomes %s"):format(m.id, before, s:flops()))
                local sum = 0
                for _, l in ipairs(s:counts()) do
                    if l.depth == 0 then sum = sum + l.flop end
                end
                assert(not nominal or sum == before, ("%s: loops sum to %s of %s"):format(m.id, sum, before))
            else
                assert(suffix ~= "", id)
            end
        end
    end
    assert(inlined > 80, inlined)
end)

test("every listed workload is built, the extended ones too", function()
    local list = w.list(nil, true)
    assert(#list == 53 + 10 + 12 + 12 + 11 + 12 + 9, #list)
    for _, id in ipairs(list) do assert(w(id).id == id) end
    assert(#w.list("^GMM") == 4)
    assert(w("GMM-2.f16").main.buffers.X.dtype == "float16")
    assert(w("C2D-1", { batch = 16 }).main.buffers.X.shape[1] == 16)
end)

test("a wrong name or size is refused", function()
    local function code(fn, ...)
        local ok, e = pcall(fn, ...)
        assert(not ok and type(e) == "userdata", tostring(e))
        return e.code
    end
    assert(code(w, "GMM-9") == "unknown-name")
    assert(code(w, "XYZ-0") == "unknown-name")
    assert(code(w, 3) == "bad-argument")
    assert(code(w.conv2d, { h = 4, w = 4, ci = 1, co = 1 }) == "bad-argument") -- k is missing
    assert(code(w.conv2d, { h = 4, w = 4, ci = 1, co = 1, k = 9 }) == "bad-argument")
    assert(code(w.conv2d, { h = 4, w = 4, ci = 3, co = 1, k = 1, g = 2 }) == "bad-argument")
    assert(code(w.matmul, 4, 4) == "bad-argument")
    assert(code(w.matmul, 4, 4, 4, { dtyp = "float32" }) == "bad-argument")
    assert(code(w.matmul, 4, 4, 4, { dtype = "float31" }) == "bad-argument")
end)

test("matmul is the program of the sessions", function()
    local text = w.matmul(64, 32, 16).main:script()
    for _, part in ipairs { 'A: T.Buffer((64, 16), "float32")', 'B: T.Buffer((16, 32), "float32")',
        'C: T.Buffer((64, 32), "float32")', "for i, j, k in T.grid(64, 32, 16):", 'with T.block("C"):',
        'vi, vj, vk = T.axis.remap("SSR", [i, j, k])', "with T.init():" } do
        assert(text:find(part, 1, true), part .. "\n" .. text)
    end
    local m = moon.parse(text)
    assert(moon.equal(m.main, w.matmul(64, 32, 16).main))
end)

test("inputs are those of the seed, the workload and the position", function()
    local m = w "GMM-0"
    local a, b, c = m.inputs(1), m.inputs(1), m.inputs(2)
    assert(a.X:compare(b.X).ok and not a.X:compare(c.X).ok and not a.X:compare(a.Y).ok)
    local n = w "NRM-0".inputs(1).A
    local low, high = 0, 0
    for i = 0, 255 do
        local x = n[{ 0, i, 7 }]
        assert(x >= -4 and x < 4)
        low, high = math.min(low, x), math.max(high, x)
    end
    assert(low < -3 and high > 3)
end)

return tests

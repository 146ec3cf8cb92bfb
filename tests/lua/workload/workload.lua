-- Every workload, reduced, computes in the interpreter what its reference computes, is
-- well-formed (workload_figures: its counts).
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
    ["sums of rows"] = function(o) return w.sum_rows { m = 3, n = 5, dtype = o.dtype } end,
    ["sums of columns"] = function(o) return w.sum_columns { m = 3, n = 5, dtype = o.dtype } end,
    ["the sum of a matrix"] = function(o) return w.sum_all { m = 3, n = 5, dtype = o.dtype } end,
    ["addition"] = function(o) return w.add { m = 3, n = 5, dtype = o.dtype } end,
    ["addition and relu"] = function(o) return w.add { m = 3, n = 5, relu = true, dtype = o.dtype } end,
    ["a bias"] = function(o) return w.bias_add { m = 3, n = 5, dtype = o.dtype } end,
    ["dense, bias, relu"] = function(o) return w.dense_relu { m = 4, n = 5, k = 6, dtype = o.dtype } end,
    ["running sums"] = function(o) return w.cumsum { m = 3, n = 9, dtype = o.dtype } end,
    ["running sums by blocks"] = function(o) return w.cumsum_blocked { m = 2, n = 12, block = 4, dtype = o.dtype } end,
    ["transposed batch product"] = function(o)
        return w.transpose_batch_matmul { b = 2, s = 4, h = 3, d = 5, dtype = o.dtype }
    end,
}
-- not made of sums of products alone: compared within a tolerance only
local with_functions = {
    ["norm"] = function() return w.norm { b = 2, m = 4, n = 5 } end,
    ["softmax"] = function() return w.softmax { m = 4, n = 6 } end,
    ["attention"] = function() return w.attention { h = 2, s = 5, d = 3 } end,
    ["attention of halves"] = function() return w.attention { h = 2, s = 4, d = 3, dtype = "bfloat16" } end,
    ["the mean of channels"] = function() return w.mean_pool { h = 5, w = 4, c = 3, n = 2 } end,
    ["softmax, scaled and masked"] = function() return w.softmax { m = 3, n = 5, scale = 0.125, mask = true } end,
    ["softmax, masked"] = function() return w.softmax { m = 3, n = 5, mask = true } end,
    ["GELU"] = function() return w.gelu { m = 4, n = 6 } end,
    ["GELU of halves"] = function() return w.gelu { m = 4, n = 6, dtype = "float16" } end,
    ["layer norm"] = function() return w.layer_norm { m = 3, n = 7 } end,
    ["layer norm of halves"] = function() return w.layer_norm { m = 3, n = 7, dtype = "float16" } end,
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

test("a transposition keeps the type and every element", function()
    for _, dtype in ipairs { "float32", "float16", "int8", "int64" } do
        local got, ref = result(w.transpose { m = 3, n = 5, dtype = dtype }, 6)
        assert(got.dtype == dtype and got:compare(ref).ok and got.shape[1] == 5)
    end
end)

test("the greatest of a row is found with its first place", function()
    for _, dtype in ipairs { "float32", "float16", "int8", "uint8" } do
        for seed = 1, 4 do
            local m = w.argmax { m = 4, n = 9, dtype = dtype }
            local how = seed % 2 == 0 and dtype ~= "uint8" and "ternary" or "random" -- with many ties
            local args, ref = m.arguments(seed, how), m.reference(m.inputs(seed, how))
            moon.interpret(m, args)
            assert(args[2]:compare(ref.Y).ok and args[3]:compare(ref.index).ok and ref.index.dtype == "int32")
            for i = 0, 3 do
                local at = ref.index[{ i }]
                for j = 0, 8 do
                    local x, top = args[1][{ i, j }], ref.Y[{ i }]
                    assert(j < at and x < top or j >= at and x <= top)
                end
            end
        end
    end
    -- in any order: ties are decided by the index
    local s = moon.schedule(w.argmax { m = 3, n = 8 })
    s:split("k", { 4, 2 })
    s:rfactor("k_1", 0)
    assert(moon.check(s, { inputs = "ternary" }).ok)
end)

test("a window's greatest element: padding never wins", function()
    for _, dtype in ipairs { "float32", "int8", "bfloat16" } do
        for _, o in ipairs { { k = 3, s = 2, p = 1 }, { k = 2, s = 2, p = 0 }, { k = 4, s = 1, p = 3 } } do
            local m = w.max_pool { h = 7, w = 6, c = 3, n = 2, k = o.k, s = o.s, p = o.p, dtype = dtype }
            local got, ref = result(m, 3)
            assert(got.dtype == dtype and got:compare(ref).ok)
        end
    end
    local m = w.max_pool { h = 4, w = 4, c = 1, k = 3, p = 1 }
    local x = moon.tensor({ 1, 4, 4, 1 }, "float32"):fill(-5)
    assert(m.reference { x }[1][{ 0, 0, 0, 0 }] == -5)
end)

test("a scan is neither parallel nor vectorised along what it runs over", function()
    for _, m in ipairs { w.cumsum { m = 4, n = 8 }, w.cumsum_blocked { m = 4, n = 16, block = 4 } } do
        local s = moon.schedule(m)
        local loops = s:get_loops("Y")
        for _, how in ipairs { "parallel", "vectorize" } do
            local ok, e = pcall(s[how], s, loops[#loops])
            assert(not ok and e.code == "iter-not-parallel", tostring(e))
        end
    end
end)

test("integers: every type, layout and requantisation equals the reference", function()
    local n = 0
    for _, dtype in ipairs { "uint8", "int8" } do
        for bits = 0, 7 do
            local o = { dtype = dtype, packed = bits & 1 > 0, rq = bits & 2 > 0, u7 = bits & 4 > 0 }
            local function made(more)
                for k, v in pairs(more) do o[k] = v end
                return o
            end
            if o.u7 and dtype == "int8" then goto continue end
            for _, m in ipairs { w.quantized_matmul(made { m = 3, n = 21, k = 10 }) } do
                local got, ref = result(m, 3)
                assert(got.dtype == (o.rq and "int8" or "int32") and got:compare(ref).ok, m.main:script())
                n = n + 1
            end
            o.m, o.n = nil, nil
            local m = w.quantized_conv2d(made { h = 5, w = 4, ci = 16, co = 32, k = 3, s = 2, p = 1 })
            local got, ref = result(m, 3)
            assert(got.dtype == (o.rq and "int8" or "int32") and got:compare(ref).ok, m.main:script())
            if o.u7 then
                local x, most = m.inputs(1).X, 0
                for c = 0, 15 do
                    local v = o.packed and x[{ 0, 0, 1, 1, c }] or x[{ 0, 1, 1, c }]
                    most = math.max(most, v)
                end
                assert(most > 40 and most <= 127, most)
            end
            ::continue::
        end
    end
    assert(n == 12, n)
    assert(moon.check(moon.schedule(w.quantized_matmul { m = 4, n = 8, k = 8, rq = true })).ok)
end)

test("requantised results are clipped here and there, not everywhere", function()
    local m = w.quantized_matmul { m = 8, n = 32, k = 768, rq = true }
    local y, ends = m.reference(m.inputs(1))[1], 0
    for i = 0, 7 do
        for j = 0, 31 do
            local v = y[{ i, j }]
            if v == 127 or v == -128 then ends = ends + 1 end
        end
    end
    assert(ends > 5 and ends < 128, ends)
end)

test("batches: every family that has one, of rows where it has none", function()
    for _, id in ipairs(w.set "suite") do
        local one, many = w(id), w(id, { batch = 3 })
        assert(many.flop == 3 * one.flop and many.id == id, id)
    end
    for _, batch in ipairs { 0, -1, 1.5, "2", 0 / 0 } do
        local ok, e = pcall(w, "SFM-0", { batch = batch })
        assert(not ok and e.code == "bad-argument" and e.message:find("batch", 1, true))
    end
    local ok, e = pcall(w, "LNM-0", { batch = 2 })
    assert(not ok and e.message:find("no batch", 1, true))
end)

test("a fused convolution of -1, 0, 1 is exact", function()
    local m = w.conv2d_bias_relu { h = 7, w = 6, ci = 3, co = 4, k = 3, s = 2, p = 1 }
    for seed = 1, 3 do
        local got, ref = result(m, seed, "ternary")
        assert(got:compare(ref, { rtol = 1e-30, atol = 1e-30 }).ok) -- 0 may be -0
    end
end)

test("what the words of a name ask for is what is built", function()
    local m = w "QMM-5.p"
    assert(m.main.buffers.B.shape[1] == 63 and m.main.buffers.B.shape[3] == 16 and m.main.buffers.A.dtype == "uint8")
    m = w "QMM-1.i8.p"
    assert(m.main.buffers.B.shape[1] == 768 and m.main.buffers.B.shape[3] == 4 and m.main.buffers.A.dtype == "int8")
    assert(w "QCV-2.rq".main.buffers.Y.dtype == "int8" and #w "QCV-2.rq".inputs(1) == 5)
    assert(w("GMM-0", { dtype = "bf16", acc = "float16" }).main.buffers.Z.dtype == "float16")
    assert(w("GMM-0.bf16.acc32").main.buffers.Z.dtype == "float32")
    assert(w("ARG").id == "ARG-0" and w("WIN.pre").id == "WIN-0.pre")
end)

test("winograd within 32 times the tolerance", function()
    for _, s in ipairs { { h = 6, w = 5, ci = 2, co = 3, n = 2 }, { h = 4, w = 8, ci = 3, co = 2 }, { h = 1, w = 1, ci = 1, co = 1 } } do
        local got, ref = result(w.winograd(s), 4)
        assert(got:compare(ref, { rtol = 3e-5, atol = 3e-5 }).ok)
    end
    local m = w.winograd { h = 6, w = 5, ci = 2, co = 3, n = 2, pre = true }
    local got, ref = result(m, 4)
    assert(m.main.buffers.W.shape[3] == 3 and got:compare(ref, { rtol = 3e-5, atol = 3e-5 }).ok)
end)

test("the reference is not the program: a wrong result is seen", function()
    local m = reduced["conv2d"] {}
    local got, ref = result(m, 5, "ternary")
    got[{ 0, 1, 2, 3 }] = got[{ 0, 1, 2, 3 }] + 1
    local c = got:compare(ref)
    assert(not c.ok and c.outside == 1 and c.first_at == "[0, 1, 2, 3]", c.first_at)
end)

test("every listed workload is built, the extended ones too", function()
    local list = w.list(nil, true)
    assert(#list == #w.list() + 10 + 12 + 12 + 11 + 12 + 9 + 4 + 2 + 1 + 3, #list)
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

test("sets name what is measured together", function()
    local n = {}
    for _, name in ipairs { "paper8", "suite", "ops", "int8", "ln", "nets", "smoke" } do
        n[name] = #w.set(name)
        for _, id in ipairs(w.set(name)) do assert(w(id).flop >= 0) end
    end
    assert(n.paper8 == 32 and n.suite == 53 and n.ops == 30 and n.int8 == 11 and n.ln == 12 and n.nets == 66 and n.smoke == 16)
    local ok, e = pcall(w.set, "papers")
    assert(not ok and e.code == "unknown-name" and e.message:find("paper8", 1, true))
end)

test("the products of LoopTune are split as published", function()
    local test_on, train = w.set "mm"
    assert(#test_on == 440 and #train == 1757)
    assert(table.concat(test_on, " ", 26, 31) == "mm_m144_n112_k128 mm_m176_n96_k176 mm_m160_n96_k128 " ..
        "mm_m256_n176_k112 mm_m256_n192_k208 mm_m160_n64_k96")
    local sum, seen = { 0, 0 }, {}
    for k, list in ipairs { test_on, train } do
        for _, name in ipairs(list) do
            local m, n, kk = name:match("^mm_m(%d+)_n(%d+)_k(%d+)$")
            sum[k] = sum[k] + 2 * m * n * kk
            assert(not seen[name])
            seen[name] = true
        end
    end
    assert(sum[1] == 3696001024 and sum[1] + sum[2] == 17997824000, sum[1])
    local m = w "mm_m112_n208_k256"
    assert(m.flop == 2 * 112 * 208 * 256 and m.main.buffers.B.shape[2] == 208)
    for _, id in ipairs { "mm_m112_n208_k250", "mm_m48_n64_k64", "mm_m64_n64_k272", "mm_m64_n64" } do
        local ok, e = pcall(w, id)
        assert(not ok and e.code == "unknown-name", id)
    end
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

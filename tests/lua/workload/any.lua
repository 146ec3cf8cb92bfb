-- Builders of workloads: random legal sizes give well-formed programs that equal their references, what is not legal
-- is refused; names say what is near.
local w = moon.workload

local tests = {}
local function test(name, fn) tests[#tests + 1] = { name, fn } end

-- A source of small numbers: below(n) is one of 0 to n - 1.
local function source(seed)
    local state = seed
    return function(n)
        state = state * 6364136223846793005 + 1442695040888963407
        return (state >> 33) % n
    end
end

-- Legal sizes of each builder; a draw may be refused with the word of the second list.
local function conv(b, dims)
    local o = { ci = 2 * (1 + b(2)), co = 2 * (1 + b(3)), k = 1 + b(3), s = 1 + b(3), p = b(3), d = 1 + b(2), g = 1 + b(2), n = 1 + b(2) }
    for _, name in ipairs(dims) do o[name] = 1 + b(6) end
    return o
end
local function matrix(b) return { m = 1 + b(6), n = 1 + b(6) } end

local builders = {
    matmul = function(b) return { m = 1 + b(6), n = 1 + b(6), k = 1 + b(6) } end,
    batch_matmul = function(b) return { b = 1 + b(3), n = 1 + b(5), m = 1 + b(5), k = 1 + b(5) } end,
    dense_relu = function(b) return { m = 1 + b(5), n = 1 + b(5), k = 1 + b(5) } end,
    conv1d = function(b) return conv(b, { "l" }) end,
    conv2d = function(b) return conv(b, { "h", "w" }) end,
    conv3d = function(b) return conv(b, { "depth", "h", "w" }) end,
    conv2d_bias_relu = function(b) return conv(b, { "h", "w" }) end,
    conv2d_transposed = function(b)
        return { h = 1 + b(4), w = 1 + b(4), ci = 1 + b(3), co = 1 + b(3), k = 1 + b(4), s = 1 + b(3), p = b(3), n = 1 + b(2) }
    end,
    depthwise = function(b) return { h = 1 + b(6), w = 1 + b(6), c = 1 + b(3), k = 1 + b(3), s = 1 + b(2), p = b(3), d = 1 + b(2) } end,
    capsule = function(b) return { h = 1 + b(3), w = 1 + b(3), ci = 1 + b(2), co = 1 + b(2), k = 1 + b(2), s = 1 + b(2), p = b(2) } end,
    winograd = function(b) return { h = 1 + b(6), w = 1 + b(6), ci = 1 + b(2), co = 1 + b(2), n = 1 + b(2), pre = b(2) == 0 } end,
    norm = function(b) return { b = 1 + b(3), m = 1 + b(4), n = 1 + b(4) } end,
    softmax = function(b) return { m = 1 + b(4), n = 1 + b(5), mask = b(2) == 0, scale = b(2) == 0 and 0.5 or nil } end,
    transpose_batch_matmul = function(b) return { b = 1 + b(2), s = 1 + b(3), h = 1 + b(3), d = 1 + b(4) } end,
    attention = function(b) return { h = 1 + b(2), s = 1 + b(4), d = 1 + b(4) } end,
    layer_norm = matrix, gelu = matrix, sum_rows = matrix, sum_columns = matrix, sum_all = matrix, transpose = matrix,
    bias_add = matrix, argmax = matrix, cumsum = matrix,
    add = function(b) return { m = 1 + b(5), n = 1 + b(5), relu = b(2) == 0 } end,
    cumsum_blocked = function(b)
        local block = 1 + b(4)
        return { m = 1 + b(3), n = block * (1 + b(4)), block = block }
    end,
    embedding = function(b) return { m = 1 + b(4), n = 1 + b(4), vocabulary = 1 + b(9), kinds = 1 + b(3) } end,
    max_pool = function(b)
        local k = 1 + b(3)
        return { h = 1 + b(6), w = 1 + b(6), c = 1 + b(3), k = k, s = 1 + b(3), p = b(k), n = 1 + b(2) }
    end,
    mean_pool = function(b) return { h = 1 + b(4), w = 1 + b(4), c = 1 + b(4), n = 1 + b(2) } end,
    quantized_matmul = function(b)
        return { m = 1 + b(3), n = 1 + b(40), k = 1 + b(9), packed = b(2) == 0, rq = b(2) == 0, u7 = b(2) == 0 }
    end,
    quantized_conv2d = function(b)
        return { h = 1 + b(4), w = 1 + b(4), ci = 16, co = 16 * (1 + b(2)), k = 1 + b(2), s = 1 + b(2), p = b(2), packed = b(2) == 0,
            rq = b(2) == 0 }
    end,
}
-- Draws that are legal sizes one by one, and not together.
local may_say = { "the kernel is larger than the padded input", "p: at most k - 1 is possible", "the result is empty" }

local names = {}
for name in pairs(builders) do names[#names + 1] = name end
table.sort(names)

test("every builder is drawn from", function()
    local n = 0
    for name, f in pairs(w) do
        local is_builder = name ~= "list" and name ~= "set" and name ~= "args" and name ~= "about"
        if type(f) == "function" and is_builder then
            assert(builders[name], name)
            n = n + 1
        end
    end
    assert(n == #names, n)
end)

local sizes_of_types = { "float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32" }

test("random sizes: well-formed, equal to the reference, checked as a draft", function()
    local rounds, refused = os.getenv("ML_QUICK") and 3 or 12, 0
    for _, name in ipairs(names) do
        local built = 0
        for seed = 1, 4 * rounds do
            local b = source(seed * 100 + #name)
            local o = builders[name](b)
            if name:find("^quantized") then
                o.dtype = not o.u7 and b(2) == 0 and "int8" or "uint8"
            else
                o.dtype = sizes_of_types[1 + b(#sizes_of_types)]
            end
            local ok, m = pcall(w[name], o)
            if not ok then
                local said = m.code == "bad-argument" and m.message:find("a float dtype is needed", 1, true)
                for _, text in ipairs(may_say) do said = said or m.message:find(text, 1, true) end
                assert(said, name .. ": " .. tostring(m))
                refused = refused + 1
            elseif built < rounds then
                built = built + 1
                assert(#moon.verify(m, { what = "well-formed" }) == 0, name)
                local args = m.arguments(seed)
                moon.interpret(m, args)
                local out = m.reference(m.inputs(seed))
                local winograd = name == "winograd" and 8 or 1
                local u = (args[#args].dtype == "float16" and 2e-3 or args[#args].dtype == "bfloat16" and 2e-2 or 2e-5) * winograd
                for k, ref in ipairs(out) do
                    local c = args[#args - #out + k]:compare(ref, { rtol = u, atol = u })
                    assert(c.ok, ("%s of %s, seed %d: %d elements differ"):format(name, o.dtype, seed, c.outside))
                end
                if built == 1 then assert(moon.check(moon.draft(m), { seed = seed }).ok, name) end
            end
        end
        assert(built >= rounds - 1, name .. ": " .. built)
    end
    assert(refused > 0)
end)

local function refuses(name, o, part)
    local ok, e = pcall(w[name], o)
    local text = type(e) == "userdata" and e.message or tostring(e)
    assert(not ok and type(e) == "userdata" and e.code == "bad-argument" and (not part or text:find(part, 1, true)),
        ("%s: %s"):format(name, text))
end

test("no size is zero, negative, a fraction, a text, a NaN, missing, or beyond 32 bits", function()
    for _, name in ipairs(names) do
        local legal
        for seed = 1, 50 do
            legal = builders[name](source(seed))
            if name:find("^quantized") then legal.dtype = "uint8" end
            if pcall(w[name], legal) then break end
        end
        assert(pcall(w[name], legal), name)
        local tried = 0
        for key, value in pairs(legal) do
            if math.type(value) == "integer" then
                for _, bad in ipairs { key == "p" and -1 or 0, -3, 1.5, "4", 0 / 0, math.huge, 1 << 31, true, {} } do
                    local o = {}
                    for k, v in pairs(legal) do o[k] = v end
                    o[key] = bad
                    refuses(name, o, "size " .. key .. ": an integer from")
                    tried = tried + 1
                end
            end
        end
        assert(tried > 8, name)
        legal.x = 1
        refuses(name, legal, "no size is named x")
        refuses(name, nil)
        refuses(name, 5)
        refuses(name, "m")
        refuses(name, {})
        legal.x = nil
        for _, dtype in ipairs { "float31", "bool", "", 5, {}, true } do
            legal.dtype = dtype
            refuses(name, legal, "dtype")
        end
        legal.dtype = nil
        for _, acc in ipairs { "float31", "bool", "", 5, {}, true } do
            legal.acc = acc
            refuses(name, legal, "acc")
        end
    end
end)

test("sizes at the ends of 32 bits give an error or a program whose numbers are right", function()
    local rounds, errors, built = os.getenv("ML_QUICK") and 10 or 40, 0, 0
    local ends = { (1 << 31) - 1, (1 << 31) - 2, 1 << 30, 1 << 20, 46341 }
    for _, name in ipairs(names) do
        for seed = 1, rounds do
            local b = source(seed * 77 + #name)
            local o = builders[name](b)
            for key, value in pairs(o) do
                if math.type(value) == "integer" and b(3) > 0 then o[key] = ends[1 + b(#ends)] end
            end
            local ok, m = pcall(w[name], o)
            if ok then
                built = built + 1
                for _, buffer in pairs(m.main.buffers) do
                    for _, e in ipairs(buffer.shape) do assert(e > 0 and e < 1 << 31, name) end
                end
                assert(m.flop >= 0 and m.bytes > 0, ("%s: %d, %d"):format(name, m.flop, m.bytes))
            else
                errors = errors + 1
                assert(type(m) == "userdata" and m.code == "bad-argument", name .. ": " .. tostring(m))
            end
        end
    end
    assert(errors > 100 and built > 10, errors .. " " .. built)
end)

test("products of sizes that overflow are refused, none is wrapped", function()
    local most = (1 << 31) - 1
    refuses("matmul", { m = most, n = most, k = most }, "too large")
    refuses("batch_matmul", { b = most, n = most, m = 8, k = 8 }, "too large")
    refuses("dense_relu", { m = most, n = most, k = 2 }, "too large")
    refuses("sum_all", { m = most, n = most })
    refuses("add", { m = most, n = most })
    refuses("attention", { h = most, s = 1 << 20, d = 2 }, "too large")
    refuses("conv2d", { h = most, w = most, ci = 1, co = 1, k = 1 }, "too large")
    refuses("conv2d", { h = most, w = 1, ci = 1, co = 1, k = 1, p = most }) -- its padded extent
    refuses("max_pool", { h = most, w = most, c = 4, k = 1 }, "too large")
    refuses("layer_norm", { m = most, n = most }, "too large")
    refuses("quantized_matmul", { m = most, n = most, k = 16, packed = true }, "too large")
    refuses("winograd", { n = 1 << 30, h = 1 << 29, w = 1 << 29, ci = 1, co = 1 }, "too large") -- 2^84 tiles
end)

test("what does not fit together is refused", function()
    refuses("conv2d", { h = 4, w = 4, ci = 3, co = 2, k = 1, g = 2 }, "no multiple of g")
    refuses("max_pool", { h = 4, w = 4, c = 1, k = 2, p = 2 }, "less than k")
    refuses("cumsum_blocked", { m = 1, n = 10, block = 4 }, "a multiple of block")
    refuses("quantized_conv2d", { h = 4, w = 4, ci = 8, co = 16, k = 1, packed = true }, "a multiple of 16")
    refuses("quantized_matmul", { m = 4, n = 4, k = 4, dtype = "float32" }, "uint8 or int8")
    refuses("quantized_matmul", { m = 4, n = 4, k = 4, dtype = "int8", u7 = true }, "u7")
    refuses("quantized_matmul", { m = 4, n = 4, k = 4, acc = "int64" }, "int32")
    refuses("quantized_matmul", { m = 4, n = 4, k = 4, rq = 1 }, "true or false")
    refuses("winograd", { h = 4, w = 4, ci = 1, co = 1, pre = "yes" }, "true or false")
    for _, scale in ipairs { 0, -1, 0 / 0, math.huge, "1", {} } do refuses("softmax", { m = 2, n = 2, scale = scale }, "scale") end
    for _, name in ipairs { "softmax", "attention", "layer_norm", "gelu", "mean_pool", "winograd", "norm",
        "conv2d_bias_relu" } do
        local o = builders[name](source(3))
        o.dtype = "int8"
        refuses(name, o, "a float dtype is needed")
    end
end)

test("a name that is none tells what is near", function()
    for id, part in pairs {
        ["GMM-9"] = "there are GMM-0 to GMM-3", ["GMM"] = "there are GMM-0 to GMM-3", ["R99"] = "there are R1 to R23",
        ["WIN-7"] = "there is WIN-0", ["gmm-2"] = "did you mean GMM-2?", ["C2D2"] = "did you mean C2D-2?",
        ["GMN-2"] = "did you mean GMM-2?", ["matmul"] = "moon.workload.matmul builds one", ["XYZ"] = "moon.workload.list()",
        ["mm_m3_n4_k5"] = "multiples of 16", ["GMM-2.."] = "a word such as .f16", [""] = "by an empty text",
        ["GMM-2.f17"] = "f17 is no variant of GMM", ["QMM-2.pre"] = "pre is no variant of QMM",
    } do
        local ok, e = pcall(w, id)
        assert(not ok and type(e) == "userdata" and e.message:find(part, 1, true), id .. ": " .. tostring(e))
    end
    for _, id in ipairs { 3, {}, true, 0 / 0 } do
        local ok, e = pcall(w, id)
        assert(not ok and e.code == "bad-argument")
    end
end)

test("each name has a line of what it is, and a list is shown by them", function()
    for _, row in ipairs(w.about()) do
        assert(w.about(row[1]) == row[2] and row[2]:find("^[%w%-,:'/ ]+: %a+ %d+") and #row[2] < 90, row[2])
    end
    assert(w.about("C2D-2") == "convolution: h 14, w 14, ci 256, co 256, k 3, s 1, p 1")
    assert(tostring(w.list("^SFM.0")) == "SFM-0     softmax of rows: m 256, n 256")
    assert(w.args("B2").n == 128 and w.args("B2.s384").n == 384 and w.args("QMM-1.p").packed == true)
    assert(w.args("R2").builder == nil and w.args("R2").times == nil)
end)

return tests

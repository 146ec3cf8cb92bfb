-- Sketches for tensor cores: how many there are, that each computes what the program does whatever is decided, with the
-- tensor intrinsics put in their place, and that what no tensor core computes has none.
local tests = {}
local te, workload = moon.te, moon.workload
local function test(name, fn) tests[#tests + 1] = { name, fn } end
local samples = tonumber(os.getenv("ML_SAMPLES")) or os.getenv("ML_QUICK") and 1 or 3 -- of each sketch

local function sketches(p, arch)
    local list = moon.tune.space({ target = { kind = "cuda", arch = arch or "sm_80" } }).sketches(p)
    for _, x in ipairs(list.refused) do error(x.name .. ": " .. tostring(x.error)) end
    return list
end

-- A candidate of the sketch, by lot; nil: the decisions fit no program, or a postprocessor has said no.
local function candidate(p, sketch, seed)
    local s = moon.schedule(p, { seed = seed })
    local ok, e = pcall(function() sketch.schedule:trace():apply(s, { decide = function() return false end }) end)
    if not ok then return nil, e end
    local fine, who, why = sketch.post(s)
    return fine and s, who and who .. ": " .. tostring(why)
end

-- The product that the sketch is around, by the name of its intrinsic; nil: there is none.
local function product_of(sketch)
    local text = sketch.schedule:trace():json()
    return text:match('"(%a+_sync_[%w_]+)') or text:match('"(mma_b?f16[%w_]+)')
end

local function products(list)
    local found = {}
    for _, x in ipairs(list) do found[#found + 1] = product_of(x) end
    table.sort(found)
    return table.concat(found, " "), #list
end

local function matmul(m, n, k, dtype) return workload.matmul { m = m, n = n, k = k, dtype = dtype } end

test("products of halves have sketches for each group that computes them, beside those of loops", function()
    local wmma, mma = "wmma_sync_16x16x16_f16f16f32 wmma_sync_16x16x16_f16f16f32_trans", "mma_sync_m16n8k8_f16f16f32 "
    local lanes = "mma_f16f16f32 mma_f16f16f32_trans_b "
    local names, n = products(sketches(matmul(32, 32, 32, "f16.acc32")))
    assert(names == lanes .. mma .. wmma and n == 8, names)
    names, n = products(sketches(matmul(32, 32, 32, "f16.acc32"), "sm_75"))
    assert(names == mma .. wmma and n == 4, names)
    names, n = products(sketches(matmul(32, 32, 32, "f16.acc32"), "sm_70"))
    assert(names == "" and n == 1, names)
    names = products(sketches(matmul(32, 32, 32, "f16.acc16")))
    assert(names == (lanes .. mma .. wmma):gsub("f32", "f16"), names)
    names = products(sketches(matmul(32, 32, 32, "bf16.acc32")))
    assert(names == (lanes .. wmma):gsub("f16f16f32", "bf16bf16f32"), names)
    assert(products(sketches(matmul(32, 32, 32, "bf16.acc32"), "sm_75")) == "")
    local A, B, k = te.placeholder({ 32, 32 }, "int8", "A"), te.placeholder({ 32, 32 }, "int8", "B"), te.reduce_axis(32, "k")
    local C = te.compute({ 32, 32 }, function(i, j)
        return te.sum(te.cast(A(i, k), "int32") * te.cast(B(k, j), "int32"), k)
    end, "C")
    names = products(sketches(moon.module(te.func({ A, B, C }, "main"))))
    assert(names == wmma:gsub("f16f16f32", "s8s8s32"), names)
end)

local programs = {
    { "product", matmul(64, 32, 32, "f16.acc32") },
    { "rows of ViT", matmul(197, 32, 24, "f16.acc32") },
    { "batches", workload.batch_matmul { b = 2, n = 16, m = 32, k = 16, dtype = "f16.acc32" } },
    { "conv2d", workload.conv2d { h = 6, w = 6, ci = 16, co = 16, k = 3, s = 1, p = 1, dtype = "f16.acc32" } },
    { "a strided one", workload.conv2d { h = 8, w = 8, ci = 5, co = 20, k = 3, s = 2, p = 1, dtype = "f16.acc32" } },
    { "groups", workload.conv2d { h = 4, w = 4, ci = 32, co = 32, k = 1, s = 1, p = 0, g = 2, dtype = "f16.acc32" } },
    { "epilogue", workload.conv2d_bias_relu { h = 4, w = 4, ci = 16, co = 16, k = 3, s = 1, p = 1, dtype = "f16.acc32" } },
}

test("each sketch around a tensor core's product computes what the program does", function()
    for _, row in ipairs(programs) do
        local p, tensorized = row[2], 0
        for _, sketch in ipairs(sketches(p)) do
            local made, product, why = 0, product_of(sketch), nil
            for seed = 1, product and 8 * samples or 0 do
                local s
                if made < samples then s, why = candidate(p, sketch, seed) end
                if s then
                    made = made + 1
                    local r, text = moon.check(s), s:script()
                    assert(r.ok, ("%s, %s, seed %d: %s\n%s"):format(row[1], product, seed, tostring(r.first_at), text))
                    local by = product:find("_sync_") and { "T.tvm_mma_sync(", "T.tvm_load_matrix_sync(" } or { "T.ptx_mma(", "T.ptx_ldmatrix(" }
                    assert(text:find(by[1], 1, true) and text:find(by[2], 1, true), text)
                    assert(not text:find("meta_schedule.auto_tensorize\"", 1, true), text)
                    for _, f in ipairs(moon.verify(s:mod(), { what = { "well-formed", "regions", "threading", "gpu" } })) do
                        assert(f.severity ~= "error", row[1] .. ": " .. f.message)
                    end
                end
            end
            assert(not product or made > 0, ("%s: no candidate of %s: %s"):format(row[1], product, tostring(why)))
            tensorized = tensorized + (product and 1 or 0)
        end
        assert(tensorized >= 2, row[1] .. " has no sketch for a tensor core")
    end
end)

test("lanes that load or multiply at a moved index are found where they do", function()
    local p, seen = matmul(64, 32, 32, "f16.acc32"), 0
    for _, sketch in ipairs(sketches(p)) do
        local of_lanes = (product_of(sketch) or ""):find("^mma_f16") ~= nil
        for seed = 1, of_lanes and 2 or 0 do
            local s = candidate(p, sketch, seed)
            local text = s and s:script()
            local function moved(from, to, code, line)
                local at = assert(text:find(from, 1, true), from)
                local ok, r = pcall(moon.check, moon.parse(text:sub(1, at - 1) .. to .. text:sub(at + #from)), p)
                if not code then return ok and assert(not r.ok, from) end
                assert(not ok and r.code == code, tostring(r))
                local at_line = tostring(r):match("the program:(%d+):")
                local n = 0
                for l in text:gmatch("[^\n]*\n?") do
                    n = n + 1
                    if n == tonumber(at_line) then assert(l:find(line, 1, true), l) end
                end
            end
            if s then
                assert(moon.check(moon.parse(text), p).ok, text)
                moved("tx // 16 * 8)", "tx // 16 * 4)", "assert-failed", "T.ptx_ldmatrix(")
                moved("B_1.elem_offset + tx * 8 + 4", "B_1.elem_offset + tx * 8 + 8", "out-of-bounds", "T.ptx_mma(")
                moved("C_1.elem_offset + tx * 8, T.bool", "C_1.elem_offset + tx * 8 + 1, T.bool")
                seen = seen + 1
            end
        end
    end
    assert(seen > 0)
end)

test("mma is pipelined where its sum has more than one step, and copies say how they lie", function()
    local p = matmul(32, 32, 64, "f16.acc32")
    for _, sketch in ipairs(sketches(p)) do
        local text = sketch.schedule:script()
        local mma = (product_of(sketch) or ""):find("^mma_sync") ~= nil
        assert((text:find('"software_pipeline_async_stages": [0]', 1, true) ~= nil) == mma or not product_of(sketch), text)
        assert((text:find('"permuted_layout": "g2s_A"', 1, true) ~= nil) == mma)
        if mma then assert(text:find('"auto_copy": True', 1, true) and text:find('"permuted_layout": "s2l_B"', 1, true), text) end
    end
    local short = matmul(32, 32, 8, "f16.acc32") -- one step: nothing to overlap
    for _, sketch in ipairs(sketches(short)) do
        assert(not (product_of(sketch) or ""):find("^mma_sync") or not sketch.schedule:script():find("software_pipeline", 1, true))
    end
end)

test("what no tensor core computes has no sketch for one", function()
    local A, B = te.placeholder({ 32, 32 }, "float16", "A"), te.placeholder({ 32, 32 }, "float16", "B")
    local k = te.reduce_axis(32, "k")
    local C = te.compute({ 32, 32 }, function(i, j) return te.max(A(i, k) + B(k, j), k) end, "C")
    assert(products(sketches(moon.module(te.func({ A, B, C }, "main")))) == "")
    assert(products(sketches(matmul(32, 32, 32, "f32"))) == "")
    assert(products(sketches(workload.depthwise { h = 8, w = 8, c = 16, k = 3, s = 1, p = 1, dtype = "f16.acc32" })) == "")
end)

test("limits are those of the architecture", function()
    local p, dropped = matmul(256, 256, 128, "f16.acc32"), {}
    for _, arch in ipairs { "sm_75", "sm_80" } do
        local kept = 0
        dropped[arch] = 0
        for _, sketch in ipairs(sketches(p, arch)) do
            for seed = 1, (product_of(sketch) or ""):find("^wmma") and 30 or 0 do
                local s, why = candidate(p, sketch, seed)
                kept = kept + (s and 1 or 0)
                if why and why:find("shared memory", 1, true) then dropped[arch] = dropped[arch] + 1 end
                for _, f in ipairs(s and moon.verify(s, { what = { "threading", "gpu" }, target = "cuda-" .. arch }) or {}) do
                    assert(f.severity ~= "error" and f.code ~= "memory-limit", f.message)
                end
            end
        end
        assert(kept > 0, arch)
    end
    assert(dropped.sm_75 > dropped.sm_80, ("%d and %d are dropped"):format(dropped.sm_75, dropped.sm_80))
    local ok, e = pcall(moon.verify, p, { target = "cuda-sm_77" })
    assert(not ok and e.code == "no-target" and e.message:find("cuda-sm_80", 1, true), tostring(e))
end)

test("options that cannot be are refused by name", function()
    local p = matmul(32, 32, 32, "f16.acc32")
    local function refused(text, opts)
        local ok, e = pcall(function()
            moon.tune.space({ rules = { { "mlt-tensor-core", opts } }, target = { kind = "cuda", arch = "sm_80" } }).sketches(p)
        end)
        assert(not ok and e.code == "bad-argument" and e.message:find(text, 1, true), tostring(e))
    end
    refused("threadIdx.x", { group = "mma", structure = "SSSRRSRS", binds = { "threadIdx.x" } })
    refused("wmma, mma or lanes", { group = "tcgen05", structure = "SSSRRSRS" })
    refused("reuse_write", { group = "wmma", structure = "SSSRRSRS" })
    refused("lanes needs reuse_write", { group = "lanes", structure = "SSSRRSRS" })
end)

return tests

-- The spaces that rules make: how many sketches a program has, that each computes what the program does whatever is
-- decided, that decisions are kept by traces; generators; a person's own rules and spaces.
local tests = {}
local te = moon.te

local function test(name, fn) tests[#tests + 1] = { name, fn } end
local samples = tonumber(os.getenv("ML_SAMPLES")) or os.getenv("ML_QUICK") and 3 or 15 -- of each program

local function sketches(p, opts)
    local list = moon.tune.space(opts or { kind = "llvm" }).sketches(p)
    for _, x in ipairs(list.refused) do error(x.name .. ": " .. tostring(x.error)) end
    return list
end

local function refused(code, text, fn, ...)
    local ok, e = pcall(fn, ...)
    assert(not ok, "it is not refused")
    assert(e.code == code and e.message:find(text, 1, true), tostring(e))
end

-- A candidate of the sketch, by lot; nil: the decisions fit no program, or a postprocessor has said no.
local function candidate(p, sketch, seed)
    local s = moon.schedule(p, { seed = seed })
    local ok, e = pcall(function() sketch.schedule:trace():apply(s, { decide = function() return false end }) end)
    if not ok then return nil, e end
    local fine, who, why = sketch.post(s)
    return fine and s, who and who .. ": " .. tostring(why)
end

-- ---- how many there are

local families = { "C1D-0", "C2D-0", "C3D-0", "CAP-0", "DEP-0", "DIL-0", "GRP-0", "T2D-0", "CBR-0", "TBG-0", "GMM-0" }

test("so many sketches are known to be there", function()
    local function count(id, want, opts)
        local list = sketches(moon.workload(id), opts)
        assert(#list == want and list.made == want, ("%s: %d sketches, %d wanted"):format(id, #list, want))
    end
    local function all(opts, tiled, norm, softmax)
        for _, id in ipairs(families) do count(id, tiled, opts) end
        count("NRM-0", norm, opts)
        count("SFM-0", softmax, opts)
    end
    all({ kind = "llvm" }, 3, 3, 9)
    all({ kind = "cuda", target = { kind = "cuda", arch = "sm_75" } }, 1, 2, 4)
    all({ kind = "cuda", target = { kind = "cuda", arch = "sm_80" } }, 3, 2, 4)
    all({ kind = "cuda", target = { kind = "cuda", arch = "sm_90a" } }, 3, 2, 4)
end)

test("the sketches of a product are a tile stored at the second level, at the first, and no tile", function()
    local list = sketches(moon.workload("GMM-0"))
    local at = {}
    for k, x in ipairs(list) do
        local text = x.schedule:trace():json()
        at[k] = text:find('"ReverseComputeAt"', 1, true) and "stored" or "whole"
    end
    table.sort(at)
    assert(table.concat(at, " ") == "stored stored whole", table.concat(at, " "))
end)

-- ---- what they compute

local small = {
    { "matrix product", moon.workload.batch_matmul { b = 2, m = 12, n = 18, k = 8 } },
    { "conv1d", moon.workload.conv1d { l = 14, ci = 4, co = 6, k = 3, s = 2, p = 1 } },
    { "conv2d", moon.workload.conv2d { h = 9, w = 9, ci = 3, co = 8, k = 3, s = 1, p = 1 } },
    { "dilated", moon.workload.conv2d { h = 9, w = 9, ci = 4, co = 4, k = 3, s = 1, p = 2, d = 2 } },
    { "grouped", moon.workload.conv2d { h = 6, w = 6, ci = 8, co = 8, k = 3, s = 1, p = 1, g = 4 } },
    { "conv3d", moon.workload.conv3d { depth = 4, h = 5, w = 5, ci = 3, co = 4, k = 3, s = 1, p = 1 } },
    { "depthwise", moon.workload.depthwise { h = 8, w = 8, c = 6, k = 3, s = 1, p = 1 } },
    { "transposed", moon.workload.conv2d_transposed { h = 4, w = 4, ci = 4, co = 6, k = 4, s = 2, p = 1 } },
    { "capsule", moon.workload.capsule { h = 4, w = 4, ci = 2, co = 4, k = 3, s = 1, p = 1 } },
    { "epilogue", moon.workload.conv2d_bias_relu { h = 6, w = 6, ci = 4, co = 8, k = 3, s = 1, p = 1 } },
    { "heads", moon.workload.transpose_batch_matmul { b = 1, s = 12, h = 2, d = 8 } },
    { "norm", moon.workload.norm { b = 2, m = 12, n = 10 } },
    { "softmax", moon.workload.softmax { m = 12, n = 20 } },
}

-- Calls fn(schedule, sketch, seed) for so many candidates of each sketch; some of what is drawn is no program: a window
-- that is computed where its parity is not known has a size that changes.
local function each(p, opts, fn)
    local list, made = sketches(p, opts), 0
    local want = (samples + #list - 1) // #list
    for k, sketch in ipairs(list) do
        local found = 0
        for seed = 1, 20 * want do
            local s = found < want and candidate(p, sketch, seed)
            if s then
                found, made = found + 1, made + 1
                fn(s, k, seed)
            end
        end
    end
    return made
end

local function compute(opts)
    for _, row in ipairs(small) do
        local made = each(row[2], opts, function(s, k, seed)
            local done, r = pcall(moon.check, s)
            if not done and r.code == "launch-limit" then return end -- what a device can launch is another test's
            assert(done, r)
            assert(r.ok, ("%s, sketch %d, seed %d: %s\n%s"):format(row[1], k, seed, tostring(r.first_at), s:script()))
        end)
        assert(made * 4 >= samples, ("%s: %d programs, %d wanted"):format(row[1], made, samples))
    end
end

test("each sketch computes what the program does, whatever is decided", function() compute { kind = "llvm" } end)

test("each sketch for a device computes what the program does", function()
    -- few threads are enough here: what a device demands of their number is another test's
    compute { kind = "cuda", target = { kind = "cuda", arch = "sm_80" }, postprocs = { "disallow-dynamic-loop",
        "rewrite-cooperative-fetch", "rewrite-unbound-block", "rewrite-parallel-vectorize-unroll", "rewrite-reduction-block" } }
end)

test("the same decisions give the same program, from the trace and from its text", function()
    for _, row in ipairs(small) do
        local p = row[2]
        for _, sketch in ipairs(sketches(p)) do
            local s = candidate(p, sketch, 3) or candidate(p, sketch, 4)
            if s then
                local again, read = moon.schedule(p), moon.schedule(p)
                s:trace():apply(again)
                moon.trace(s:trace():json()):apply(read)
                assert(again:hash() == s:hash() and read:hash() == s:hash(), row[1])
                local post = moon.schedule(p) -- less what postprocessors did, and that again
                s:trace():apply(post, { remove_postproc = true })
                assert(sketch.post(post) and post:hash() == s:hash(), row[1])
            end
        end
    end
end)

test("programs for a device have threads, and are valid", function()
    for _, id in ipairs { "GMM-1", "C1D-1", "DEP-2", "NRM-0", "SFM-1" } do
        local p, bound = moon.workload(id), 0
        for _, sketch in ipairs(sketches(p, { kind = "cuda", target = { kind = "cuda", arch = "sm_80" } })) do
            local found = 0
            for seed = 1, 60 do
                local s = found < 2 and candidate(p, sketch, seed)
                if s then
                    found, bound = found + 1, bound + 1
                    local text = s:script()
                    assert(text:find("blockIdx.x", 1, true) and text:find("threadIdx.x", 1, true), text)
                    for _, f in ipairs(moon.verify(s:mod(), { what = { "well-formed", "regions", "threading", "gpu" } })) do
                        assert(f.severity ~= "error", id .. ": " .. f.message)
                    end
                end
            end
        end
        assert(bound > 0, id .. ": no candidate is valid")
    end
end)

-- ---- the order in which rules see blocks

local function two()
    local A = te.placeholder({ 8, 8 }, "float32", "A")
    local B = te.compute({ 8, 8 }, function(i, j) return te.exp(A(i, j)) end, "B")
    local C = te.compute({ 8, 8 }, function(i, j) return B(i, j) * 2 end, "C")
    return moon.module(te.func({ A, C }, "main"))
end

-- A rule that writes down what it sees, and gives n copies of each schedule.
local function watcher(seen, n, only)
    return { name = "watcher", apply = function(s, block)
        local name = s:get(block).name
        seen[#seen + 1] = name
        if only and name ~= only then return { s } end
        local list = {}
        for k = 1, n do
            list[k] = k == n and s or s:copy()
            list[k]:annotate(block, "k", k)
        end
        return list
    end }
end

test("the root comes first, consumers before producers; sketches turn round at every rule", function()
    local seen = {}
    local p = two()
    local list = moon.tune.space { rules = { watcher(seen, 2, "C") }, postprocs = {} }.sketches(p)
    assert(table.concat(seen, " ") == "root C B B", table.concat(seen, " ")) -- B once for each
    local function ks(l)
        local t = {}
        for k, x in ipairs(l) do t[k] = x.schedule:get("C").annotations.k end
        return table.concat(t, " ")
    end
    assert(ks(list) == "2 1", ks(list))
    local idle = { name = "idle", apply = function(s) return { s } end }
    list = moon.tune.space { rules = { watcher({}, 3, "C"), idle }, postprocs = {} }.sketches(p)
    assert(ks(list) == "1 2 3", ks(list))
end)

test("blocks that a rule made are not shown to later ones, nor those that are gone", function()
    local seen = {}
    moon.tune.space { postprocs = {}, rules = {
        { name = "stage", apply = function(s, block)
            if s:get(block).name == "C" then s:cache_write(block, 0, "local") end
            if s:get(block).name == "B" then s:compute_inline(block) end
            return { s }
        end }, watcher(seen, 1) } }.sketches(two())
    assert(table.concat(seen, " ") == "root C", table.concat(seen, " "))
end)

test("a filter chooses the blocks", function()
    local seen = {}
    moon.tune.space { rules = { watcher(seen, 1) }, postprocs = {},
        filter = function(s, block) return s:get(block).name == "B" end }.sketches(two())
    assert(table.concat(seen, " ") == "B", table.concat(seen, " "))
end)

test("a block that names its rule gets that one alone", function()
    local s = moon.schedule(two())
    s:annotate("C", "schedule_rule", "halves")
    local p = s:mod()
    moon.tune.rule { name = "halves", key = "cpu", apply = function(x, block)
        local c = x:copy()
        c:split(c:get_loops(block)[1], { 2, 4 })
        return { x, c }
    end }
    local seen = {}
    local list = moon.tune.space { rules = { { "apply-custom-rule" }, watcher(seen, 1) }, postprocs = {} }.sketches(p)
    assert(#list == 2 and not table.concat(seen, " "):find("C"), table.concat(seen, " "))
    s = moon.schedule(two())
    s:annotate("C", "schedule_rule", "thirds")
    seen = {}
    list = moon.tune.space { rules = { { "apply-custom-rule" }, watcher(seen, 1) }, postprocs = {} }.sketches(s:mod())
    assert(list.warnings[1]:find("thirds", 1, true) and table.concat(seen, " ") == "root C B", table.concat(seen, " "))
    assert(list[1].schedule:get("C").annotations.schedule_rule == nil)
    s = moon.schedule(two())
    s:annotate("C", "schedule_rule", "None") -- none but that one, which is none
    seen = {}
    list = moon.tune.space { rules = { { "apply-custom-rule" }, watcher(seen, 1) }, postprocs = {} }.sketches(s:mod())
    assert(table.concat(seen, " ") == "root B" and #list.warnings == 0, table.concat(seen, " "))
end)

-- ---- other generators

test("a function gives nothing, a schedule or a list of them", function()
    local p = two()
    local function size(fn) return #moon.tune.space { schedule = fn }.sketches(p) end
    assert(size(function(s) s:parallel(s:get_loops("C")[1]) end) == 1)
    assert(size(function(s) return s end) == 1)
    assert(size(function(s)
        local c = s:copy()
        c:unroll(c:get_loops("C")[1])
        return { s, c }
    end) == 2)
    refused("bad-argument", "a number", size, function() return 3 end)
    refused("bad-argument", "result 1 is a string", size, function() return { "x" } end)
end)

test("a union is its members' spaces in order, what is there twice once", function()
    local p = moon.workload.batch_matmul { b = 1, m = 16, n = 16, k = 16 }
    local llvm = moon.tune.space { kind = "llvm", name = "test-llvm" }
    local one = moon.tune.space { schedule = function(s) s:unroll(s:get_loops("Z")[4]) end }
    local all = moon.tune.space { union = { one, "test-llvm", moon.tune.space { union = { one, llvm } } } }
    local list = all.sketches(p)
    assert(#list == 4 and list[1].name:find("function") and list.made == 8, #list .. " of " .. list.made)
    assert(list[1].post == nil and list[2].post ~= nil)
    refused("bad-argument", "'nowhere'", moon.tune.space, { union = { "nowhere" } })
    refused("bad-argument", "empty", moon.tune.space, { union = {} })
    refused("bad-argument", "stock", moon.tune.space, { name = "post-order-apply" })
    refused("bad-argument", "no field", moon.tune.space, { rulez = {} })
end)

test("a space is measured by its name, and what was chosen comes back from its record", function()
    if not moon.features.llvm then return end
    local p = moon.workload.matmul(48, 48, 48)
    moon.tune.space { name = "test-tiles", kind = "llvm" }
    local r = moon.tune(p, { space = "test-tiles", trials = 6, db = ":memory:", fresh = true })
    assert(#r.records == 6 and r.best, #r.records)
    local s = r.schedule()
    assert(s:trace():json():find("EnterPostproc", 1, true) and s:script():find("T.parallel", 1, true), s:script())
    assert(moon.check(s).ok)
    refused("bad-argument", "test-tiles", moon.tune, p, { space = "nowhere" })
end)

test("an operand that is free of layout is stored as it is read", function()
    local p = moon.workload.conv2d { h = 6, w = 6, ci = 4, co = 8, k = 3, s = 1, p = 1 }
    local free = moon.module(p:func("main"):with_attr("layout_free_buffers", { 0, 1 }))
    local other = 0
    for _, sketch in ipairs(sketches(free)) do
        for seed = 1, 6 do
            local s, why = candidate(free, sketch, seed)
            assert(s, why)
            assert(moon.check(s).ok, s:script())
            local text = s:script()
            if text:find("layout_rewrite_preproc", 1, true) then
                -- the image is read with overlaps: it stays
                assert(text:find("W_global", 1, true) and not text:find("X_global", 1, true), text)
                other = other + (text:find("W_global = T.alloc_buffer((3, 3, 4, 8))", 1, true) and 0 or 1)
            end
        end
    end
    assert(other > 3, "no operand has another layout")
end)

test("products of bytes are tiled for the instruction, and without it", function()
    local A, B = te.placeholder({ 8, 16 }, "uint8", "A"), te.placeholder({ 2, 4, 16, 4 }, "int8", "B")
    local k = te.reduce_axis(16, "k")
    local C = te.compute({ 8, 32 }, function(i, j)
        return te.sum(te.cast(A(i, k), "int32") * te.cast(B(j // 16, k // 4, j % 16, k % 4), "int32"), k)
    end, "C")
    local p = moon.module(te.func({ A, B, C }, "main"))
    local list = sketches(p, { kind = "vnni" })
    assert(#list == 6, #list) -- three around the instruction, three of loops
    local with = 0
    for _, sketch in ipairs(list) do
        local s, why = candidate(p, sketch, 2)
        assert(s, why)
        assert(moon.check(s).ok)
        local asked = sketch.schedule:trace():json():find("dot_16x4_vnni", 1, true)
        local done = s:trace():json():find('"Tensorize"', 1, true)
        assert((asked == nil) == (done == nil), s:trace():json())
        with = with + (done and 1 or 0)
    end
    assert(with == 3, with)
    assert(#sketches(moon.workload.matmul(32, 32, 32), { kind = "vnni" }) == 3) -- of floats there are none
end)

-- ---- mutators

local function draws(seed)
    return function(n)
        seed = seed * 48271 % 2147483647
        return seed % n
    end
end

-- By name how many traces that each mutator of the sketch has made of its own trace do replay.
local function mutants(p, opts, lots)
    local made = {}
    for _, sketch in ipairs(sketches(p, opts)) do
        for _, m in ipairs(sketch.mutators) do
            local s = candidate(p, sketch, 5)
            local from = (s or sketch.schedule):trace()
            for seed = 1, lots do
                local t = m.run(from, draws(seed + 7), p)
                if t then
                    assert(not t:json():find("EnterPostproc", 1, true), m.name)
                    assert(t:json() ~= from:simplified { remove_postproc = true }:json(), m.name .. " changes nothing")
                    made[m.name] = (made[m.name] or 0) + (pcall(t.apply, t, moon.schedule(p)) and 1 or 0)
                end
            end
        end
    end
    return made
end

test("a mutator changes one decision, and what it makes replays", function()
    local cpu = mutants(moon.workload.conv2d { h = 8, w = 8, ci = 4, co = 8, k = 3, s = 1, p = 1 }, nil, 6)
    for _, name in ipairs { "tile-size", "compute-location", "unroll", "parallel" } do
        assert((cpu[name] or 0) > 0, name .. " makes nothing on a CPU")
    end
    local gpu = mutants(moon.workload.softmax { m = 64, n = 128 }, { kind = "cuda", target = { kind = "cuda", arch = "sm_75" } }, 6)
    for _, name in ipairs { "unroll", "thread-binding" } do
        assert((gpu[name] or 0) > 0, name .. " makes nothing on a GPU")
    end
    local mm = mutants(moon.workload.matmul(32, 32, 32), { kind = "cuda", target = { kind = "cuda", arch = "sm_75" } }, 12)
    assert((mm["tile-size"] or 0) > 0)
end)

test("tiles keep their product, and the innermost part its limit", function()
    local p = moon.workload.matmul(64, 96, 128)
    local sketch = sketches(p)[1]
    local m = sketch.mutators[1]
    assert(m.name == "tile-size" and m.mass == 0.9)
    local from = sketch.schedule:trace()
    for seed = 1, 60 do
        local t = m.run(from, draws(seed), p)
        for k = 1, t and #t or 0 do
            if t[k].kind == "SamplePerfectTile" then
                local a, b = 1, 1
                for j, f in ipairs(t[k].decision) do a, b = a * f, b * from[k].decision[j] end
                assert(a == b and t[k].decision[#t[k].decision] <= math.max(64, from[k].decision[#t[k].decision]))
            end
        end
    end
    local s = moon.schedule(p) -- a partitioned tile keeps what its inner part divides
    s:split("i", s:sample_partitioned_tile("i", 4, 2, 8))
    for seed = 1, 40 do
        local t = m.run(s:trace(), draws(seed), p)
        for k = 1, t and #t or 0 do
            local d = t[k].kind == "SamplePartitionedTile" and t[k].decision
            assert(not d or d[3] * d[4] % 8 == 0 and d[1] * d[2] * d[3] * d[4] == 64)
        end
    end
end)

test("the search calls the mutators of its space", function()
    if not moon.features.llvm then return end
    local p = moon.workload.conv2d { h = 8, w = 8, ci = 4, co = 8, k = 3, s = 1, p = 1 }
    for _, with in ipairs { "mutate", "evolve", "greedy" } do
        local calls = 0
        local space = moon.tune.space { kind = "llvm", mutators = { { "parallel", 1, { jobs = 16 } },
            { name = "mine", apply = function(trace, rand, program)
                calls = calls + 1
                assert(#trace > 0 and rand(3) < 3 and program)
            end },
            { name = "fails", run = function() error("no luck") end } } }
        local r = moon.tune(p, { space = space, trials = 32, db = ":memory:", with = with, model = "analytic" })
        assert(#r.records == 32 and calls > 0, with .. " " .. #r.records .. " " .. calls)
        assert((r.left_out.fails or 0) > 0, with)
    end
end)

test("a search tries other places for a block", function()
    if not moon.features.llvm then return end
    local p = moon.workload.conv2d { h = 8, w = 8, ci = 4, co = 8, k = 3, s = 1, p = 1 }
    local space = moon.tune.space { kind = "llvm" }
    for _, with in ipairs { "mutate", "evolve", "beam" } do
        local r = moon.tune(p, { space = space, trials = 16, db = ":memory:", with = with, model = "analytic" })
        local places, n = {}, 0
        for _, rec in ipairs(r.records) do
            local t = moon.trace(rec.trace)
            for k = 1, #t do
                if t[k].kind == "SampleComputeLocation" and not places[t[k].decision] then
                    places[t[k].decision], n = true, n + 1
                end
            end
        end
        assert(#r.records == 16 and n >= 3, with .. " " .. n)
    end
end)

-- ---- rules of a person's own

local function with_rule(rule, fn)
    moon.tune.rule(rule)
    local ok, e = pcall(fn)
    moon.tune.rule { name = rule.name }
    if not ok then error(e, 0) end
end

test("a rule that fails is named, and the search goes on without it", function()
    local p = moon.workload.batch_matmul { b = 1, m = 16, n = 16, k = 16 }
    local bad = {
        { "raises", "no luck", function() error("no luck") end },
        { "loops", "gave up after", function() while true do end end },
        { "hides", "gave up after", function() while true do pcall(error) end end },
        { "raises nothing", "it raises nothing", function() error() end },
        { "goes elsewhere", "of another program", function() return moon.schedule(moon.workload.matmul(8, 8, 8)) end },
        { "gives", "it gives a number", function() return 7 end },
        { "lists", "its result 2 is a boolean", function(s) return { s, true } end },
        { "nothing", "an empty list", function() return {} end },
        { "breaks", "two blocks", function(s, b)
            if s:get(b).name == "Z" then s:parallel(s:get_loops(b)[4]) end
        end },
    }
    for _, row in ipairs(bad) do
        with_rule({ name = "test-" .. row[1], apply = row[3], seconds = 0.05, after = "auto-inline" }, function()
            local list = moon.tune.space { kind = "llvm" }.sketches(p)
            assert(#list == 3, row[1] .. ": " .. #list)
            local said = list.refused[1]
            assert(#list.refused == 1 and said.name == "rule test-" .. row[1], row[1])
            if row[1] ~= "breaks" then assert(tostring(said.error):find(row[2], 1, true), tostring(said.error)) end
            assert(row[1] ~= "breaks" or said.error.code and said.block == "Z", tostring(said.error))
        end)
    end
end)

test("a limit holds in coroutines that were made before, and says how long and of what", function()
    local p = moon.workload.matmul(8, 8, 8)
    local function forever() while true do end end
    local wrapped, co = coroutine.wrap(forever), coroutine.create(forever)
    local function resumes()
        coroutine.resume(co)
        forever()
    end
    for _, apply in ipairs { function() wrapped() end, resumes } do
        with_rule({ name = "test-co", apply = apply, seconds = 0.05 }, function()
            local said = moon.tune.space { kind = "llvm" }.sketches(p).refused[1]
            assert(tostring(said.error):find("gave up after 0%.%d+ s of rule test%-co %(%d+ steps of Lua%)"), tostring(said.error))
        end)
    end
    local bad = moon.tune.space { filter = forever }
    local ok, e = pcall(bad.sketches, p)
    assert(not ok and e.code == "work-limit" and e.message:find("s of the filter"), tostring(e))
end)

test("a rule makes so many schedules at most, a function too", function()
    local p = moon.workload.batch_matmul { b = 1, m = 16, n = 16, k = 16 }
    local function copies(n)
        return function(s)
            local list = {}
            for k = 1, n do list[k] = s:copy() end
            return list
        end
    end
    for n, why in pairs { [40] = "more than 1000 schedules", [1001] = "it gives 1001 schedules" } do
        with_rule({ name = "test-many", apply = copies(n), seconds = 60 }, function()
            local list = moon.tune.space { kind = "llvm" }.sketches(p)
            assert(#list == 3 and #list.refused == 1 and list.refused[1].error:find(why, 1, true), #list)
        end)
    end
    local ok, e = pcall(moon.tune.space { schedule = copies(1001) }.sketches, p)
    assert(not ok and e.code == "bad-argument" and e.message:find("at most 1000"), tostring(e))
    refused("bad-argument", "name is empty", moon.tune.rule, { name = "" })
    refused("bad-argument", "name is empty", moon.tune.space, { name = " " })
end)

test("a rule that blocks ask for by its key fails like others", function()
    local s = moon.schedule(moon.workload.batch_matmul { b = 1, m = 16, n = 16, k = 16 })
    s:annotate("Z", "schedule_rule", "test-kaboom")
    with_rule({ name = "test-kaboom", key = "cpu", apply = function() error("kaboom") end }, function()
        local list = moon.tune.space { kind = "llvm" }.sketches(s:mod())
        assert(#list > 0 and #list.refused == 1 and tostring(list.refused[1].error):find("kaboom", 1, true))
    end)
end)

test("what a rule of one's own adds is searched beside the stock sketches", function()
    local p = moon.workload.batch_matmul { b = 1, m = 16, n = 16, k = 16 }
    local stock = #moon.space.find("default").sketches(p)
    with_rule({ name = "test-unroll", before = "multi-level-tiling", apply = function(s, block)
        if #s:get(block).iters > 0 then s:get_producers(block) end -- a question is no difference
        if s:get(block).name ~= "Z" then return s end
        local c = s:copy()
        c:unroll(c:get_loops(block)[1])
        c:annotate(block, "meta_schedule.tiling_structure", "own")
        return { s, c }
    end }, function()
        local list = moon.space.find("default").sketches(p)
        assert(#list == stock + 1, #list .. " not " .. stock + 1)
        assert(moon.space.find("default").name ~= moon.space.name)
    end)
    assert(#moon.space.find("default").sketches(p) == stock)
    refused("unknown-name", "multi-level-tiling", moon.tune.rule, { name = "x", apply = print, before = "tiling" })
    refused("bad-argument", "stock rule", moon.tune.rule, { name = "auto-inline", apply = print })
    refused("bad-argument", "no field", moon.tune.rule, { name = "x", aply = print })
end)

test("what is copied in the background is one run, or the candidate is dropped", function()
    local function refused(body, stages, async)
        local p = moon.parse(([[
@T.prim_func
def main(A: T.Buffer((8, 16, 32), "float32"), C: T.Buffer((8, 16, 32), "float32")):
    B = T.alloc_buffer((8, 16, 32), scope="global.vtcm")
    for i in T.serial(8, annotations={"software_pipeline_stage": %s, "software_pipeline_order": [0, 1]%s}):
%s
        for j, k in T.grid(16, 32):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                C[vi, vj, vk] = B[vi, vj, vk] + T.float32(1)
]]):format(stages or "[0, 1]", async or ', "software_pipeline_async_stages": [0]', body))
        local list = moon.tune.space { kind = "hexagon", rules = {}, postprocs = { "disallow-async-strided-copy" } }.sketches(p)
        local fine, who, why = list[1].post(moon.schedule(p))
        assert(fine or who == "disallow-async-strided-copy", tostring(why))
        return not fine and why
    end
    local function copy(order, extents, j, k, guard)
        return ([[
        for %s in T.grid(%s):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.spatial(16, %s)
                vk = T.axis.spatial(32, %s)
%s                B[vi, vj, vk] = A[vi, vj, vk]
]]):format(order, extents, j or "j", k or "k", guard or "")
    end
    local whole = copy("j, k", "16, 32")
    assert(not refused(whole))
    assert(not refused(copy("j, k", "4, 32", "j + 3"))) -- some rows are one run, too
    assert(not refused(copy("f", "512", "f // 32", "f % 32")))
    local part = copy("j, k", "16, 16")
    assert(refused(part):find("from A to B in the background is not one run", 1, true))
    assert(refused(copy("j, k", "16, 32", nil, nil, "                T.where(j < 8)\n")):find("guard", 1, true))
    assert(refused((whole:gsub("= A%[vi, vj, vk%]", "= A[vi, vj, 31 - vk]"))))
    assert(not refused((whole:gsub("= A%[vi, vj, vk%]", "= A[vi, vj, vk] * T.float32(2)")))) -- no copy
    -- the stage is not one of those in the background, or none is
    assert(not refused(part, "[0, 1]", ', "software_pipeline_async_stages": [1]') and not refused(part, "[0, 1]", ""))
end)

test("a postprocessor that refuses every candidate leaves none, and is counted", function()
    local p = moon.workload.matmul(16, 16, 16)
    local space = moon.tune.space { kind = "llvm", postprocs = { { name = "never", run = function() return false, "not today" end } } }
    local list = space.sketches(p)
    assert(not candidate(p, list[1], 1) and list.failures.never == 1)
    if moon.features.llvm then
        local r = moon.tune(p, { space = space, trials = 4, db = ":memory:", fresh = true })
        assert(#r.records == 0 and r.best == false, #r.records)
    end
end)

return tests

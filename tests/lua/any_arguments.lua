-- No arguments crash anything: every function and method is called with values of all kinds.
-- What comes out is a result or an error; the process going on is the test.
local tests = {}

local state = 12345
local function random(n)
    state = (state * 48271) % 2147483647
    return state % n + 1
end

local function pool()
    local m = moon.workload.matmul(4, 4, 4)
    local s = moon.schedule(m)
    local gone = s:loops("C")[1]
    local tiles = s:split("i", { 2, 2 })
    local t = moon.schedule(m)
    local sampled = t:sample_perfect_tile { t:loops("C")[1], n = 2, max_innermost_factor = 4 }
    local x, A = moon.te.var("x"), moon.te.placeholder({ 4, 4 }, "float32", "A")
    local st = moon.ir.store(A.buffer, 1, { 0, x })
    return {
        false, true, 0, 1, -1, 3, 2.5, 1 / 0, 0 / 0, math.mininteger, math.maxinteger, "", "C", "i", "j", "C/*", "C@1",
        "global", "nothing", "float32", "int8", "\0", ("x"):rep(500), "blockIdx.x", {}, { 1, 2 }, { 2, moon.auto },
        { "i", "j" }, { [1] = 1, [3] = 3 }, { loop = "i" }, { name = "n" }, { { { {} } } }, tostring, function() end,
        function(i, j) return j, i end, function(...) return ... end, function() error("inside") end,
        coroutine.create(print), io.stdout, moon.auto, moon, m, m.main, s, t, gone, tiles[1], tiles[2], t:get_block("C"),
        sampled[1], sampled[1] * 2, s:trace(), t:trace(), x, x + 1, moon.te.lt(x, 1), moon.te.const(2), A, A.buffer, st,
        m.main.buffers[1], moon.index_map(function(i) return i end), moon.tensor({ 4, 4 }, "float32"),
        moon.tensor({}, "int8"), m.arguments(1), select(2, pcall(s.split, s, "i", { 3 })), "[[],[]]", "i * 2",
        "lambda i: (i,)", "@T.prim_func\ndef f(A: T.Buffer((4,))):\n    pass\n",
    }
end

-- What writes a file gets a path that cannot be written, nor its folder made.
local function nowhere(fn, at)
    return function(...)
        local args = table.pack(...)
        for k = 1, args.n do
            if type(args[k]) == "string" then args[k] = "/proc/none/" .. args[k] end
        end
        if at and args[at] == nil then args[at], args.n = "/proc/none", math.max(args.n, at) end
        return fn(table.unpack(args, 1, args.n))
    end
end

-- Functions that end, print, or run for long are left out.
local writes = { db = 1, apply_best = 2 } -- without a path: the usual database
local skip = { show = true, hooks = true, primitives = true, codes = true, tune = true }

local function collect()
    local out = {}
    local function add(name, fn) out[#out + 1] = { name, fn } end
    local function of(table_name, t)
        local names = {}
        for k in pairs(t) do if type(k) == "string" then names[#names + 1] = k end end
        table.sort(names)
        for _, k in ipairs(names) do
            local v = t[k]
            if type(v) == "function" and not skip[k] then add(table_name .. "." .. k, writes[k] and nowhere(v, writes[k]) or v) end
        end
    end
    of("moon", moon)
    of("te", moon.te)
    of("ir", moon.ir)
    of("workload", moon.workload)
    return out, of
end

local function try(fn, args, n) pcall(function() return tostring((fn(table.unpack(args, 1, n)))) end) end

local function sweep(fns, values, rounds)
    for _, f in ipairs(fns) do
        for _ = 1, rounds do
            local n, args = random(5) - 1, {}
            for k = 1, n do args[k] = values[random(#values)] end
            try(f[2], args, n)
        end
    end
end

tests[#tests + 1] = { "functions of moon, te, ir, workload", function()
    local fns = collect()
    local small = {}
    for _, f in ipairs(fns) do
        if not f[1]:find("^workload") then small[#small + 1] = f end
    end
    sweep(small, pool(), 60)
    -- sizes of workloads are kept small: a huge one is legal and slow
    sweep(fns, { false, 1, 2, 3, -1, 0, 2.5, "GMM-0", "C2D-9", {}, { h = 3, w = 3, ci = 2, co = 2, k = 3 }, { m = 2, n = 2 },
        { l = 4, ci = 1, co = 1, k = 9 }, { b = 1, s = 2, h = 2, d = 2 }, { dtype = "float16" }, moon, tostring }, 20)
end }

tests[#tests + 1] = { "methods and operators of all objects", function()
    local values = pool()
    local count = 0
    for _, object in ipairs(values) do
        if type(object) == "userdata" and object ~= io.stdout then
            assert(getmetatable(object) == false)
            local meta = debug.getmetatable(object)
            local names = {}
            for k in pairs(meta) do
                if type(k) == "string" and k:find("^__") and k ~= "__gc" and k ~= "__close" and k ~= "__metatable" then
                    names[#names + 1] = k
                end
            end
            table.sort(names)
            for _, k in ipairs(names) do
                if type(meta[k]) == "function" then
                    for _ = 1, 30 do
                        local args = { object, values[random(#values)], values[random(#values)] }
                        if random(4) == 1 then args[1], args[2] = args[2], args[1] end
                        try(meta[k], args, random(3))
                        count = count + 1
                    end
                end
            end
            local methods = {}
            if meta.__pairs then
                for k, v in pairs(object) do
                    if type(v) == "function" and not skip[k] then methods[#methods + 1] = { k, k == "save" and nowhere(v) or v } end
                end
            end
            table.sort(methods, function(a, b) return a[1] < b[1] end)
            for _, f in ipairs(methods) do
                for _ = 1, 12 do
                    local n, args = random(4), { object }
                    if random(12) == 1 then args[1] = values[random(#values)] end
                    for k = 2, n do args[k] = values[random(#values)] end
                    try(f[2], args, n)
                    count = count + 1
                end
            end
        end
    end
    assert(count > 1000, count)
end }

tests[#tests + 1] = { "objects that are closed say so", function()
    local s = moon.schedule(moon.workload.matmul(4, 4, 4))
    local l = s:loops("C")[1]
    debug.getmetatable(s).__gc(s)
    assert(not pcall(s.version, s) and tostring(s) == "schedule (closed)")
    assert(not pcall(function() return l.name end))
    local t = moon.tensor({ 4 }, "float32")
    debug.getmetatable(t).__gc(t)
    assert(not pcall(t.fill, t, 1) and t[0] == nil and t.shape == nil)
    assert(not pcall(moon.interpret, moon.workload.matmul(4, 4, 4), { t, t, t }))
end }

tests[#tests + 1] = { "a search keeps its database when that is closed", function()
    local db = moon.db(":memory:")
    local t = moon.tuning.search(moon.workload.matmul(4, 4, 4), { trials = 1, db = db })
    db:close()
    while t:step(1) == "more" do end
    assert(#t:fresh() == 1 and not pcall(db.records, db))
end }

return tests

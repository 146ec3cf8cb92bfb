-- Arguments of any type for every function and method that a script can reach: a call succeeds, or raises an
-- error object that has a code and says why; nothing of Lua's own, whatever comes in. A line that sets `per_call`
-- and `seed` goes before this. Prints what is wrong, and how many calls there were.
local state = seed
local function below(n)
    state = (state * 48271) % 2147483647
    return state % n
end
local function one(list) return list[below(#list) + 1] end

local program = [[
@T.prim_func
def main(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)
]]

-- ---- values, fresh for each round: calls change them

local function nested(depth)
    local t = {}
    for _ = 1, depth do t = { t } end
    return t
end

local function raising(...)
    local mt = {}
    for _, name in ipairs { ... } do mt[name] = function() error("inside " .. name) end end
    return mt
end

local NOTHING = {} -- stands for nil
local right, odd -- lists of values
local tables -- of their own: empty again for each call
local function make_values()
    local s = moon.schedule(moon.parse(program))
    s:split("i", { 2, 2 })
    local m = moon.workload.matmul(4, 4, 4)
    local te = moon.te
    local A = te.placeholder({ 4, 4 }, "float32", "A")
    local B = te.compute({ 4, 4 }, function(i, j) return A(i, j) + 1 end, "B")
    local k = te.reduce_axis(4, "k")
    local x = te.var("x")
    local db = moon.db(":memory:")
    local closed = moon.db(":memory:")
    closed:close()
    local ended = moon.tuning.search(m, { trials = 1, db = moon.db(":memory:") })
    ended:close()
    local kernel = moon.build(m)
    local t = moon.tensor({ 2 }, "float32")
    local dead = moon.schedule(m):get_loops("C")[1]
    local _, failed = pcall(s.split, s, "i", { 3 })
    local auto = moon.auto
    local map = moon.index_map(function(i) return i end)
    right = { s, m, m.main, m.main.buffers[1], s:trace(), s:get_block("C"), s:get_loops("C")[1], t, db, kernel, x, x + 1, A, B, k,
        te.sum(A(k, k), k), auto, map, failed, "C", "i", "main", "float32", "int32", "global", "llvm", moon.tuning.search(m, { trials = 1, db = db }), 1, 2, 4, 0, -1, 2.5, true,
        { 4, 4 }, { A, B }, { x, 1 }, { 1, 2 }, function(i, j) return i end, function(...) return ... end, program }
    local long, far, many = x, moon.schedule(m):sample_perfect_tile("i", 2)[1], {}
    for n = 1, 900 do long, far = long + n, far + 1 end
    for n = 1, 20000 do many[n] = n end
    local cyclic, two, pair = {}, {}, {}
    cyclic[1] = cyclic
    cyclic.kind, cyclic.name, cyclic.self = cyclic, cyclic, cyclic
    two[1], two[2], pair.back = two, two, two
    two.x = pair
    local shut = moon.build(m)
    do local _ <close> = shut end
    -- what a function that is given may do to the objects at work
    local function moving(...)
        pcall(s.split, s, s:get_loops("C")[1], { 2, moon.auto })
        return ...
    end
    local function going(...)
        pcall(s.goto_version or s.jump, s, 0)
        return ...
    end
    local function closing(...)
        db:close()
        do local _ <close> = kernel end
        do local _ <close> = failed end
        return ...
    end
    local function collecting(...)
        collectgarbage()
        return ...
    end
    odd = { NOTHING, false, 0 / 0, 1 / 0, -1 / 0, 1e300, -0.0, math.mininteger, math.maxinteger, 1 << 31, 1 << 32, 1 << 62, -(1 << 62), "",
        "\0", "\xff\xfe", "%s%n%", ("x"):rep(100000), "lambda", "[", "(", "[[", "{", ":", "%", "nothing-like-it", cyclic, two, pair,
        { cyclic }, { cyclic, cyclic }, nested(5), nested(199), nested(500), nested(20000), { [1] = 1, [3] = 3 }, { {} }, { false }, {},
        { [0.5] = 1 }, { [{}] = {} }, { [true] = false }, { kind = 1 }, { kind = "Split", inputs = cyclic }, { name = {} },
        { kind = "Split", inputs = 7, attrs = 7, outputs = 7 }, { { kind = "Split", attrs = { nested(400) } } }, { kind = nested(400) },
        { trials = "x" }, { space = 7 }, { what = 7 }, { target = 7 }, { target = { kind = cyclic } }, { program = 7 }, { dtype = 7 },
        { dtypes = 7 }, { dtypes = { 7 } }, { shape = 7 }, { shape = cyclic }, { func = 7 }, { seed = "x" }, { iters = 7 }, { var = 7 },
        { params = 7 }, { params = cyclic }, { body = 7 }, { h = cyclic }, { m = 4, n = 4, k = cyclic },
        setmetatable({}, raising("__index", "__newindex", "__len", "__pairs", "__call", "__tostring", "__eq", "__lt", "__concat", "__name")),
        setmetatable({}, raising("__len")), setmetatable({}, raising("__index")), setmetatable({}, raising("__pairs")),
        setmetatable({ 1, 2 }, raising("__tostring", "__concat")), setmetatable({}, { __name = 7, __tostring = function() return 7 end }),
        setmetatable({}, { __len = function() return 1 << 60 end }), setmetatable({}, { __len = function() return -1 end }),
        setmetatable({}, { __len = function() return "x" end }), setmetatable({}, { __index = function(t) return t end }),
        setmetatable({}, { __metatable = false }), print, function(v) return tostring(v) end, function() error("inside") end,
        function() error({}) end, function() error() end, function() return {} end, function() return nil end, function() return 7, 8, 9 end,
        function() return cyclic end, function() return ("x"):rep(100) end, coroutine.create(print), coroutine.wrap(function() end),
        long, far, many, moon, _G, string, closed, ended, dead, shut, moving, going, closing, collecting,
        function(...) return moon.te.compute({ 4 }, function(i) return i end) end, moon.te, moon.workload, moon.ir }
end
make_values()

-- Calls that are right, by name: arguments are changed one at a time, and fields in their tables.
local function examples()
    local s, m, A, B, x = right[1], right[2], right[13], right[14], right[11]
    local te, ir = moon.te, moon.ir
    local b = A.buffer
    local body = ir.store(b, te.const(1, "float32"), { 0, 0 })
    local inst = s:trace()[1]
    local shape = { m = 4, n = 4, k = 4 }
    local image = { n = 1, h = 8, w = 8, ci = 4, co = 4, k = 3, s = 1, p = 1 }
    local record = { program = m, name = "x", target = "{}", space = "user", seed = 1, threads = 1, trace = "[[],[]]", run_secs = { 1.0 } }
    return {
        ["moon.schedule"] = { { m, { name = "x", seed = 1, func = "main", target = "llvm" } } },
        ["moon.verify"] = { { m, { what = { "regions", "threading" } } }, { s } },
        ["moon.parse"] = { { program, { name = "x", spelling = "classic", values = { n = 4, f = { 1, 2 } } } } },
        ["moon.trace"] = { { { inst } }, { { { kind = "GetBlock", inputs = {}, attrs = { "C", "main" }, outputs = { "b0" } } } },
            { '[[["GetBlock",[],["C","main"],["b0"]]],[]]' } },
        ["trace:append"] = { { s:trace(), inst }, { s:trace(), { kind = "GetBlock", inputs = {}, attrs = { "C", "main" }, outputs = { "b9" } } } },
        ["trace:apply"] = { { s:trace(), moon.schedule(moon.parse(program)), { remove_postproc = true, decide = function() end } } },
        ["moon.te.placeholder"] = { { { 4, 4 }, "float32", "A" } },
        ["moon.te.compute"] = { { { 4, 4 }, function(i, j) return A(i, j) + 1 end, "B" }, { { 4 }, function(i) return te.sum(A(i, right[15]), right[15]) end } },
        ["moon.te.func"] = { { { A, B }, "f" } },
        ["moon.te.sum"] = { { x, right[15] } }, ["moon.te.max"] = { { x, right[15] }, { x, 1 } },
        ["moon.te.all"] = { { te.lt(x, 1), te.lt(x, 2) }, { { te.lt(x, 1) } } },
        ["moon.te.load"] = { { "B", 1, x, "float32" } },
        ["moon.te.reduce_axis"] = { { 4, "k" } },
        ["moon.workload.matmul"] = { { 4, 4, 4, { dtype = "float32", acc = "float32" } }, { shape } },
        ["moon.workload.batch_matmul"] = { { { b = 1, n = 4, m = 4, k = 4 } } },
        ["moon.workload.conv2d"] = { { image } }, ["moon.workload.conv2d_bias_relu"] = { { image } },
        ["moon.workload.conv1d"] = { { { l = 8, ci = 4, co = 4, k = 3 } } },
        ["moon.workload.winograd"] = { { { h = 8, w = 8, ci = 4, co = 4, pre = true } } },
        ["moon.workload.softmax"] = { { { m = 4, n = 4 } } }, ["moon.workload.norm"] = { { { m = 4, n = 4 } } },
        ["moon.workload.list"] = { { "GMM", true } },
        ["moon.ir.store"] = { { b, te.const(1, "float32"), { x, x } } },
        ["moon.ir.load"] = { { b, x, x } }, ["moon.ir.call"] = { { "exp", "float32", te.const(1, "float32") } },
        ["moon.ir.loop"] = { { { var = x, extent = 4, body = body } } }, ["moon.ir.seq"] = { { { body, body } } },
        ["moon.ir.block"] = { { { name = "B", iters = { { var = x, extent = 4, kind = "spatial", value = 0 } }, body = body, allocs = { b } } } },
        ["moon.ir.func"] = { { { name = "f", params = { b }, body = ir.block { name = "root", body = body } } } },
        ["moon.ir.buffer"] = { { "A", { 4, 4 }, "float32" } }, ["moon.ir.subst"] = { { x + 1, x, te.const(2, "int32") } },
        ["moon.ir.parse_expr"] = { { "x + 1", { x = x, A = b } } },
        ["moon.index_map"] = { { function(i, j) return j, i end }, { "lambda i: (i // 2, i % 2)" } },
        ["moon.register_reducer"] = { { 1, function(a, c) return a + c end, { 0 }, { dtypes = { { "float32" } } } } },
        ["moon.intrin"] = { { "nothing", { allow_missing = true } } },
        ["moon.tune"] = { { m, { trials = 1, db = right[9], on_record = function() end, progress = function() end, seed = 1 } } },
        ["moon.tuning.search"] = { { m, { trials = 1, db = right[9] } } },
        ["moon.draft"] = { { m, { threads = 1 } } }, 
        ["db:put"] = { { right[9], record } }, ["db:records"] = { { right[9], { program = m, limit = 2, valid = true } } },
        ["moon.build"] = { { m, { target = "llvm", opt = "O1", threads = 1, func = "main", lines = true } } },
        ["moon.check"] = { { s, { seed = 1, inputs = "random", rtol = 0.1 } } },
        ["moon.time"] = { { s, { runs = 1, seed = 1, limit = 0.1 } } },
        ["moon.interpret"] = { { moon.parse(program), { moon.tensor({ 4, 4 }, "float32"), moon.tensor({ 4, 4 }, "float32") } } },
        ["moon.tensor"] = { { { 2, 2 }, "float32", { { 1, 2 }, { 3, 4 } } }, { { 2 }, "int32", "zeros" } },
        ["tensor:compare"] = { { right[8], right[8], { rtol = 0.1, atol = 0, exact = false } } },
        ["moon.target"] = { { "llvm -mcpu=znver4 -num-cores=2" }, { { kind = "llvm", mcpu = "znver4", num_cores = 2 } } },
        ["moon.module"] = { { m.main } }, ["moon.equal"] = { { m, m, { map_free = true } } },
        ["moon.set"] = { { { context = 1, echo = "diff" } } }, ["moon.alias"] = { { { k = "help" } } },
        ["moon.theme"] = { { { name = "t", base = "light", ["loop.parallel"] = "bold" } } },
        ["moon.bind_key"] = { { "loops", "s", "split" } },
        ["schedule:split"] = { { s, "j", { 2, 2 } }, { s, { loop = "i_1", factors = { 1, 2 } } } },
        ["schedule:annotate"] = { { s, "C", "key", { 1, { a = 2 } } } },
        ["schedule:diff"] = { { s, 0, 1 } }, ["schedule:two_texts"] = { { s, 0, 1 } },
    }
end

-- ---- functions, each once

local skipped = { cmd = true } -- a command answers {ok =, text =}
local slow = { tune = true, draft = true, time = true, machine = true, build = true, check = true, run = true, profile = true,
    search = true, step = true, explain = true, help = true, set = true }
local calls = {} -- name, function, object for methods
local seen = {}
local function note(name, f, self)
    if seen[f] or skipped[name] then return end
    seen[f] = true
    calls[#calls + 1] = { name = name, f = f, self = self }
end
local function walk(prefix, t, depth)
    if seen[t] then return end
    seen[t] = true
    local names = {}
    for k in pairs(t) do
        if type(k) == "string" then names[#names + 1] = k end
    end
    table.sort(names)
    for _, k in ipairs(names) do
        local v = t[k]
        if type(v) == "function" then
            note(prefix .. k, v)
        elseif type(v) == "table" and depth < 3 then
            local mt = getmetatable(v)
            if type(mt) == "table" and mt.__call then note(prefix .. k, function(...) return v(...) end) end
            walk(prefix .. k .. ".", v, depth + 1)
        end
    end
end
walk("moon.", moon, 0)
for _, name in ipairs { "inputs", "outputs", "reference", "arguments" } do
    note("module:" .. name, function(...) return right[2][name](...) end, 2)
end
local kinds = { "schedule", "module", "func", "buffer", "trace", "block", "loop", "tensor", "db", "kernel", "var", "expr",
    "placeholder", "computed", "axis", "reduction", "auto", "map", "error", [27] = "tuner" }
for k, kind in pairs(kinds) do
    local o = right[k]
    local names, at = {}, {}
    local ok, f, t, first = pcall(pairs, o)
    if ok then
        pcall(function()
            for name, v in f, t, first do
                if type(name) == "string" and type(v) == "function" then names[#names + 1], at[name] = name, v end
            end
        end)
    end
    table.sort(names)
    for _, name in ipairs(names) do note(kind .. ":" .. name, at[name], k) end
    -- what operators do
    note(kind .. "()", function(...) return right[k](...) end)
    note(kind .. "[]", function(key) return right[k][key] end)
    note(kind .. "[]=", function(key, v) right[k][key] = v end)
    note(kind .. " + ", function(v) return right[k] + v end)
    note(" + " .. kind, function(v) return v + right[k] end)
    note(kind .. " // ", function(v) return right[k] // v end)
    note(kind .. " % ", function(v) return right[k] % v end)
    note(kind .. " << ", function(v) return right[k] << v end)
    note(kind .. " == ", function(v) return right[k] == v end)
    note(kind .. " < ", function(v) return right[k] < v end)
    note(kind .. " tostring", function() return tostring(right[k]) end)
end
-- Lua itself says these, and says them well, of a value that lacks the operation.
local own = { "attempt to call a ", "attempt to perform arithmetic on a ", "attempt to compare ", "attempt to index a ",
    "attempt to perform bitwise operation on a ", "attempt to perform 'n//0'", "attempt to perform 'n%%0'", "has no integer representation", "attempt to %a+ a '[%a.]+' with a '[%a.]+'",
    "table index is " }
local function is_operator(name) return name:find("[%[%(+/%%<=]") end

-- ---- calls

local function value()
    local v = one(below(100) < 55 and right or odd)
    if rawequal(v, NOTHING) then return nil end
    return v
end

local shown = print
-- A copy in which one field is another.
local function changed(t)
    local keys, copy = {}, {}
    for k, v in next, t do keys[#keys + 1], copy[k] = k, v end
    if #keys == 0 or getmetatable(t) ~= nil then return value() end
    table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
    local k = one(keys)
    if type(copy[k]) == "table" and rawlen(copy[k]) < 10 and below(2) == 0 then
        copy[k] = changed(copy[k])
    else
        copy[k] = value()
    end
    return copy
end

-- What was right before, with one argument changed, or one too many.
local function near(tuple, args)
    local n = tuple.n or #tuple
    for k = 1, n do args[k] = tuple[k] end
    if n == 0 or below(12) == 0 then
        n = n + 1
        args[n] = value()
    else
        local k = 1 + below(n)
        if type(args[k]) == "table" and below(3) > 0 then args[k] = changed(args[k]) else args[k] = value() end
    end
    return n
end

local args = {}
local made, refused, bad, told = 0, 0, 0, {}
local function complain(c, what)
    bad = bad + 1
    local key = c.name .. what:gsub("%d+", "#"):sub(1, 60)
    if told[key] then return end
    told[key] = true
    shown(c.name .. ": " .. what)
end
local function describe(e)
    if type(e) == "userdata" then
        local ok, code, message = pcall(function() return e.code, e.message end)
        if not ok or type(code) ~= "string" then return "a userdata without a code" end
        if type(message) ~= "string" or #message < 4 then return "an error object that does not say why: " .. code end
        for _, pattern in ipairs { "lua/moonloop/[%a_]+%.lua:%d", "^%S+%.lua:%d+: ", "bad argument #", "stack overflow", "without a reason" } do
            if message:find(pattern) and not message:find("inside", 1, true) then return "in the message, Lua's words: " .. message:sub(1, 300) end
        end
        return nil
    end
    -- a function of the caller's own has raised it
    if type(e) == "string" and (e:find("^%S+%.lua:%d+: inside") or e:find("^inside")) then return nil end
    return "a " .. type(e) .. " and no error object: " .. (type(e) == "string" and e or "?"):sub(1, 300)
end
local function try(c)
    for k = 1, 12 do args[k] = nil end
    local n
    if #c.good > 0 and below(3) > 0 then
        n = near(one(c.good), args)
    else
        local from = 0
        n = below(5)
        if c.self and below(20) > 0 then args[1], from = right[c.self], 1 end
        n = n + from
        for k = from + 1, n do args[k] = value() end
    end
    local ok, e = pcall(c.f, table.unpack(args, 1, n))
    if ok then
        made = made + 1
        if n > 0 and n <= 6 then c.good[#c.good < 12 and #c.good + 1 or 1 + below(12)] = table.pack(table.unpack(args, 1, n)) end
        return
    end
    refused = refused + 1
    local what = describe(e)
    if what and is_operator(c.name) then
        for _, pattern in ipairs(own) do
            if what:find(pattern) then return end
        end
    end
    if what then complain(c, what) end
end

print = function() end
for round = 1, per_call do
    if round % 10 == 1 then
        make_values()
        local known = examples()
        for _, c in ipairs(calls) do
            c.good = known[c.name] or {}
            known[c.name] = nil
        end
        local name = next(known)
        if name and round == 1 then error("no function is called " .. name, 0) end
        for _, c in ipairs(calls) do -- an example that fails shows nothing
            for _, tuple in ipairs(round == 1 and c.good or {}) do
                local ok, e = pcall(c.f, table.unpack(tuple))
                if not ok and not slow[c.name:match("[%w_]+$")] then complain(c, "the example fails: " .. tostring(e)) end
            end
        end
    end
    for _, c in ipairs(calls) do
        local short = c.name:match("[%w_]+$") or c.name
        if not slow[short] or round % 10 == 1 then
            if trace_calls then shown(c.name) end
            try(c)
        end
    end
end
print = shown
print(("%d calls of %d functions: %d accepted, %d refused, %d wrong"):format(made + refused, #calls, made, refused, bad))

-- init - assembles the table `moon` from the C functions of the core.
-- te and workload are loaded when they are first used, so that a start costs little.
local core = ...

local moon = {
    auto = core.auto,
    ir = core.ir,
    parse = core.parse,
    equal = core.equal,
    module = core.module,
    interpret = core.interpret,
    check = core.check,
    time = core.time,
    build = core.build,
    machine = core.machine,
    primitives = core.primitives,
    codes = core.codes,
    index_map = core.ir.index_map,
    version = core.version,
}

-- What the program around Lua provides: cmd, set, get, focus, bind_key, theme, and what it wants to hear of.
local hooks = {}
moon.hooks = hooks

local function host(name)
    return function(...)
        local fn = hooks[name]
        if not fn then
            core.fail("not-supported", "moon." .. name .. " needs the program moonloop; here only the library runs")
        end
        return fn(...)
    end
end
for _, name in ipairs { "cmd", "set", "get", "focus", "bind_key", "theme", "alias" } do moon[name] = host(name) end

-- ---- programs and schedules

-- A schedule is named after the workload of its module.
function moon.schedule(program, opts)
    core.want(opts, "table?", "schedule: opts")
    if type(program) == "userdata" and not (opts and opts.name) then
        local ok, id = pcall(function() return program.id end)
        if ok and type(id) == "string" then
            local with = { name = id }
            for k, v in pairs(opts or {}) do with[k] = v end
            opts = with
        end
    end
    if opts and opts.target then
        local with = {}
        for k, v in pairs(opts) do with[k] = v end
        with.target = moon.target(opts.target)
        opts = with
    end
    local s = core.schedule(program, opts)
    if hooks.schedule then hooks.schedule(s, program) end
    return s
end
moon.create_schedule = moon.schedule -- the spelling of the proposal
moon.Schedule = moon.schedule -- and those of TVM, old and new, so that a copied script runs
moon.tir = { Schedule = moon.schedule }
moon.s_tir = moon.tir

-- "llvm -mcpu=znver4 -num-cores=2" or a table
function moon.target(t)
    if type(t) == "table" then
        if type(t.kind) ~= "string" then core.fail("bad-argument", "target: kind is missing") end
        return t
    elseif type(t) ~= "string" then
        core.fail("bad-argument", "target: a text or table is needed, got a " .. type(t))
    end
    local kind, rest = t:match("^%s*([%w_%-]+)%s*(.*)$")
    if not kind then core.fail("no-target", "no target is written '" .. t .. "'") end
    if kind:match("^cuda%-") then core.target_limits(kind) end -- fails for one that is not known
    local out = { kind = kind }
    for word in rest:gmatch("%S+") do
        local key, value = word:match("^%-([%w_-]+)=(.+)$")
        if not key then core.fail("no-target", "'" .. word .. "' is no option of a target: -name=value") end
        out[key:gsub("-", "_")] = math.tointeger(value) or value
    end
    return out
end

local function stem(path) return path:match("([^/]+)%.[^./]*$") or path:match("[^/]+$") or path end

local function open_saved(path, text, opts)
    local ok, trace, saved = pcall(core.trace, text)
    if not ok then
        if type(trace) == "userdata" and trace.code ~= "bad-trace" and trace.code ~= "no-such-instruction" then
            error(trace, 0)
        end
        core.fail("bad-file", path .. ": " .. (type(trace) == "userdata" and trace.message or tostring(trace)))
    end
    local program = opts and opts.program
    if not program then
        if not saved or not saved.program then
            core.fail("bad-file", path .. ": a bare trace: open its program, then :replay " .. path ..
                " (moon.open(path, {program = m}) in a script)")
        end
        program = core.parse(saved.program, { name = path })
    end
    local s = moon.schedule(program, { name = stem(path), func = saved and saved.func, target = saved and saved.target,
        enable_check = not saved or saved.check, unchecked = saved and saved.unchecked })
    trace:apply(s)
    if saved and saved.hash and s:hash(#saved.hash) ~= saved.hash then
        core.fail("bad-file", path .. ": the replayed program has hash " .. s:hash() .. ", the file says " .. saved.hash)
    end
    return s
end

-- module from .py .tir .tvm, schedule from .json
function moon.open(path, opts)
    core.want(path, "string", "path")
    core.want(opts, "table?", "open: opts")
    local suffix = path:match("%.(%w+)$")
    if suffix == "onnx" then core.fail("not-yet", "moon.open of .onnx") end
    if suffix == "lua" then core.fail("bad-argument", path .. " is a script: :open runs it, dofile in a script") end
    local text = core.read_file(path)
    if suffix == "json" then return open_saved(path, text, opts) end
    if text:find("\0", 1, true) then core.fail("bad-file", path .. " is no text: it holds a zero byte") end
    local with = { name = path, file_mode = true }
    for k, v in pairs(opts or {}) do with[k] = v end
    return core.parse(text, with)
end

-- ---- programs from a line, loaded at first use

local builders = {}
local function builder(name)
    return function(...)
        builders[name] = builders[name] or core.load(name)(moon, core)
        return builders[name](...)
    end
end
moon.einsum, moon.net = builder "einsum", builder "net"

-- ---- traces

local function quoted(s)
    return '"' .. s:gsub('[%c"\\]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
end

local MOST = 100 -- deeper than any instruction, and than what holds itself is worth a look
local function json(v, depth)
    local t = type(v)
    depth = (depth or 0) + 1
    if depth > MOST then core.fail("bad-trace", "a table is nested more than " .. MOST .. " deep, or holds itself") end
    if t == "nil" then return "null" end
    if t == "boolean" or math.type(v) == "integer" then return tostring(v) end
    if t == "number" then
        local s = ("%.17g"):format(v)
        return s:find("[.eEn]") and s or s .. ".0"
    end
    if t == "string" then return quoted(v) end
    if t ~= "table" then core.fail("bad-trace", "a " .. t .. " has no form in JSON") end
    local parts = {}
    if next(v) ~= nil and rawlen(v) == 0 then
        local keys = {}
        for k in pairs(v) do keys[#keys + 1] = tostring(k) end
        table.sort(keys)
        for i, k in ipairs(keys) do parts[i] = quoted(k) .. ":" .. json(v[k], depth) end
        return "{" .. table.concat(parts, ",") .. "}"
    end
    for i = 1, rawlen(v) do parts[i] = json(v[i], depth) end
    return "[" .. table.concat(parts, ",") .. "]"
end

-- A list of instructions {kind=, inputs=, attrs=, outputs=, decision=} as JSON.
local function trace_json(list)
    local insts, decisions = {}, {}
    for i, inst in ipairs(list) do
        if type(inst) ~= "table" then
            core.fail("bad-trace", "instruction " .. i .. ": a table {kind =, inputs =, attrs =, outputs =} is needed, got a " .. type(inst))
        end
        if inst.kind then
            core.want(inst.kind, "string", "instruction " .. i .. ": kind")
            insts[i] = "[" .. table.concat({ quoted(inst.kind), json(inst.inputs or {}), json(inst.attrs or {}),
                json(inst.outputs or {}) }, ",") .. "]"
            if inst.decision ~= nil then
                decisions[#decisions + 1] = "[" .. (i - 1) .. "," .. json(inst.decision) .. "]"
            end
        else
            insts[i] = json(inst)
        end
    end
    return "[[" .. table.concat(insts, ",") .. "],[" .. table.concat(decisions, ",") .. "]]"
end

-- moon.trace(json or table): a table is a list of instructions, or the JSON form as a table
function moon.trace(from)
    if type(from) == "table" then
        local whole = rawlen(from) == 2 and type(from[1]) == "table" and not from[1].kind and type(from[1][1]) == "table"
        return (core.trace(whole and json(from) or trace_json(from)))
    end
    return (core.trace(from))
end

local trace_methods = core.methods("trace")

-- t:append(inst [, decision]): the instruction as t[i] gives them
function trace_methods.append(t, inst, decision)
    core.want(t, "trace", "append")
    core.want(inst, "table", "append: the instruction")
    local list = {}
    for i = 1, #t do list[i] = t[i] end
    local new = {}
    for k, v in pairs(inst) do new[k] = v end
    if decision ~= nil then new.decision = decision end
    list[#list + 1] = new
    t:become((core.trace(trace_json(list))))
end

-- ---- methods of schedules written in Lua

local methods = core.methods("schedule")

methods.info = core.info

-- s:diff([a [, b]]): lines {" ", "-" or "+", text} of the printed programs
function methods.diff(s, a, b)
    return core.load("diff")(s:two_texts(a, b))
end

-- operations of the current program, counted from it
methods.flops = core.flops

-- what each loop does, without running it
methods.counts = core.counts

-- the ways in which a block can stand for what a tensor intrinsic computes; and the steps of one
local mapping
local function mappings_of(s, block, name)
    mapping = mapping or core.load("mapping")(moon, core)
    return mapping.list(s, block, name)
end
methods.mappings = mappings_of
function methods.map_to_intrinsic(s, block, name, which)
    local list = mappings_of(s, block, name)
    return mapping.apply_one(s, block, list, which)
end

-- properties of every block
function moon.analyze(s)
    core.want(s, "schedule", "analyze")
    return core.analyze(s, s:blocks())
end

local all_parts = { "well-formed", "regions", "threading", "out-of-bounds", "order" }
function moon.verify(program, opts)
    core.want(opts, "table?", "verify: opts")
    local what = opts and opts.what or all_parts
    if type(what) == "string" then what = { what } end
    core.want(what, "table", "verify: what")
    for k in pairs(opts or {}) do
        if k ~= "what" and k ~= "target" then core.fail("bad-argument", "no option is named " .. tostring(k)) end
    end
    local target = opts and opts.target
    if type(target) == "string" then target = { kind = target } end
    core.want(target, "table?", "verify: target")
    if target then core.target_limits(target.kind or "cuda", target.arch) end -- a kind that is unknown is refused
    return core.verify(program, target, table.unpack(what))
end

-- ---- errors

-- code, rule, reason, why, primitives; example: what is refused so; counter_example: what is not
function moon.explain(code)
    local e = core.explain(code)
    if not e then core.fail("unknown-name", "no error code is named " .. tostring(code) .. "; moon.codes() lists them") end
    return core.load("explain")(moon, core, e)
end

-- What help knows of a name, or of which names it knows. One table, made at first use.
local topics
function moon.help(name)
    if name ~= nil and type(name) ~= "string" then core.fail("bad-argument", "help: a name is needed, got a " .. type(name)) end
    topics = topics or core.load("topics")(moon, core)
    return topics(name)
end

-- ---- tensors

moon.tensor = setmetatable({ load = core.tensor_load }, {
    __call = function(_, shape, dtype, init) return core.tensor(shape, dtype, init) end,
    __name = "moonloop.tensor_maker",
})

-- ---- tuning

moon.tune = setmetatable({
    rule = function(rule) return moon.space.add_rule(rule) end,
    space = function(given) return moon.space.define(given) end,
}, {
    __call = function(_, program, opts) return moon.tuning.run(program, opts) end,
    __name = "moonloop.tune",
})
function moon.specialize(program, sizes) return moon.tuning.specialize(program, sizes) end
function moon.tune_all(what, opts) return moon.tuning.run_all(what, opts) end
function moon.draft(program, opts) return moon.tuning.draft(program, opts) end
function moon.db(path) return moon.tuning.db(path) end
function moon.apply_best(program, db, opts) return moon.tuning.apply_best(program, db, opts) end

-- ---- tensor intrinsics

-- intrin(name): name, desc and impl of one that is known; intrin(name, desc, impl [, opts]):
-- registers one
function moon.intrin(name, desc, impl, opts)
    if type(desc) == "table" and impl == nil then desc, opts = nil, desc end
    core.want(opts, "table?", "intrin: opts")
    if desc == nil and impl == nil then
        for key in pairs(opts or {}) do
            if key ~= "allow_missing" then
                core.fail("bad-argument", "intrin: unknown option " .. tostring(key))
            end
        end
        local ok, d, i = pcall(core.intrin_get, name)
        if not ok then
            if opts and opts.allow_missing and d.code == "no-such-intrinsic" then return nil end
            error(d, 0)
        end
        return { name = name, desc = d[d.names[1]], impl = i[i.names[1]] }
    end
    for key in pairs(opts or {}) do
        if key ~= "override" then
            core.fail("bad-argument", "intrin: unknown option " .. tostring(key))
        end
    end
    core.intrin_register(name, desc, impl, opts and opts.override or false)
end

-- register_reducer(n, combine, identity [, {dtypes = {{...}, ...}}]): a reduction of n values that
-- rfactor may take apart. combine(x..., y...) gives the n combined values; identity is a list of n
-- numbers, or a function of the n dtypes that gives them. It is kept for the types of `dtypes`, or
-- for all numbers it can be built over.
local numbers = { "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16",
    "float32", "float64" }
function moon.register_reducer(n, combine, identity, opts)
    core.want(opts, "table?", "register_reducer: opts")
    for key in pairs(opts or {}) do
        if key ~= "dtypes" then core.fail("bad-argument", "register_reducer: unknown option " .. tostring(key)) end
    end
    if opts and opts.dtypes then
        core.want(opts.dtypes, "table", "register_reducer: dtypes")
        for _, types in ipairs(opts.dtypes) do core.reducer_register(n, combine, identity, types) end
        return
    end
    local kept, why = 0, nil
    local function try(types)
        local ok, e = pcall(core.reducer_register, n, combine, identity, types)
        if ok then kept = kept + 1 return end
        why = why or e
        -- what is no reduction over one type is refused for all
        local text = type(e) == "userdata" and e.message or ""
        if text:find("^identity: combined") or text:find("^combine: it is not") then error(e, 0) end
    end
    for _, t in ipairs(numbers) do
        local same = {}
        for k = 1, type(n) == "number" and math.tointeger(n) and n > 0 and n <= 4 and n or 1 do same[k] = t end
        try(same)
        if n == 2 then -- an index and a value
            if t ~= "int32" then try { "int32", t } end
            if t ~= "int64" then try { "int64", t } end
        end
    end
    if kept == 0 then error(why, 0) end
end

-- intrins([pattern]): names
function moon.intrins(pattern)
    core.want(pattern, "string?", "intrins: the pattern")
    local kept = {}
    for _, name in ipairs(core.intrin_names()) do
        if not pattern or name:find(pattern) then kept[#kept + 1] = name end
    end
    return kept
end

-- A mark between results of the index map of transform_layout.
moon.axis_separator = core.ir.call("axis_separator", "int32")
moon.tir.IndexMap = { AXIS_SEPARATOR = moon.axis_separator }

moon.features = {
    llvm = core.llvm, cuda = false, tuning = true, interpreter = true,
}

-- ---- loaded at first use

local function finish(name, ok, ...)
    if ok then return ... end
    local e = ...
    if type(e) == "userdata" then error(e, 0) end
    core.load("guard")(core, name, e)
end
local done = { [core.ir] = true } -- tables, and functions by what they were; all of ir is C
local function guarded(name, f)
    if not done[f] then
        done[f] = function(...) return finish(name, pcall(f, ...)) end
        done[done[f]] = done[f]
    end
    return done[f]
end

-- A name that the table does not have is an error, which tells the nearest.
local function strict(prefix, t, lazily)
    local mt = getmetatable(t) or {}
    mt.__index = function(_, key)
        local value = lazily and lazily(key)
        if value == nil and type(key) == "string" then core.unknown(prefix, key, t) end
        return value
    end
    return setmetatable(t, mt)
end

-- Every function of the table that is written in Lua, and of the tables in it, answers with an error object,
-- whatever it is given. Of several names of one the first tells of it. kept: the tables are those of moon.
local function guard(prefix, t, kept)
    if done[t] then return t end
    done[t] = true
    local names = {}
    for k, v in next, t do
        if type(k) == "string" and (type(v) == "table" or type(v) == "function") then names[#names + 1] = k end
    end
    table.sort(names)
    for _, k in ipairs(names) do
        local v = t[k]
        if type(v) == "table" then
            guard(prefix .. k .. ".", v, kept)
        elseif not core.is_c(v) then
            t[k] = guarded(prefix .. k, v)
        end
    end
    local mt = getmetatable(t)
    if type(mt) == "table" and type(mt.__call) == "function" then mt.__call = guarded(prefix:sub(1, -2), mt.__call) end
    return kept and t ~= hooks and strict(prefix:sub(1, -2), t) or t
end
core.guard = guard
local lazy = { te = "te", workload = "workload", space = "space", tuning = "tune" }
guard("moon.", moon, true)
trace_methods.append = guarded("trace:append", trace_methods.append)
methods.diff = guarded("schedule:diff", methods.diff)
strict("moon.ir", core.ir)
strict("moon", setmetatable(moon, {
    __pairs = function(t)
        for key in pairs(lazy) do local _ = t[key] end
        return next, t, nil
    end,
    __name = "moonloop",
}), function(key)
    local file = lazy[key]
    if not file then return nil end
    local value = guard(file == "tune" and "moon.tuning." or "moon." .. file .. ".", core.load(file)(moon, core), true)
    rawset(moon, key, value)
    return value
end)
return moon

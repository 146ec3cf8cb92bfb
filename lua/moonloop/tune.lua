-- tune - moon.tune, moon.draft and moon.apply_best over the search of the core.
-- Source: lua-api 6.
local moon, core = ...
local tune = {}

local known = { trials = true, seconds = true, seed = true, space = true, db = true, threads = true,
    progress = true, on_record = true, fresh = true, name = true, workers = true, tasks = true, with = true,
    model = true, shape = true, each = true, rule = true }

local function read(opts, who)
    who = who or "tune"
    core.want(opts, "table?", who .. ": opts")
    for k in pairs(opts or {}) do
        if not known[k] then core.fail("bad-argument", who .. ": no option is named " .. tostring(k)) end
    end
    local o = opts or {}
    if o.shape == nil and (o.each ~= nil or o.rule ~= nil) then
        core.fail("bad-argument", who .. ": each and rule go with shape")
    elseif o.shape ~= nil and (o.on_record ~= nil or who ~= "tune") then
        core.fail("bad-argument", who .. (o.on_record and ": on_record does not go with shape" or ": it takes no shape"))
    end
    local n = opts and opts.threads
    if n ~= nil and (math.type(n) ~= "integer" or n < 0) then
        core.fail("bad-argument", who .. ": threads is a number of them, 0 the session's")
    end
    local trials, seconds = opts and opts.trials, opts and opts.seconds
    if trials ~= nil and (math.type(trials) ~= "integer" or trials < 1) then
        core.fail("bad-argument", who .. ": trials is a whole number from 1 on")
    end
    if seconds ~= nil and not (type(seconds) == "number" and seconds > 0) then
        core.fail("bad-argument", who .. ": seconds is a number above 0")
    end
    return opts or {}
end

-- space: nil, the name of one, a table with sketches(program, opts), or a function that gives the list.
local function space_of(space)
    if space == nil or type(space) == "string" then space = moon.space.find(space) end
    if type(space) ~= "function" and not (type(space) == "table" and type(space.sketches) == "function") then
        core.fail("bad-argument", ("tune: space is the name of one (%s), a function that gives schedules, or a table "
            .. "with one called sketches; not a %s"):format(table.concat(moon.space.names(), ", "), type(space)))
    end
    return space
end

local function sketches_of(program, o)
    local space = space_of(o.space)
    if type(space) == "function" then
        local list = space(program, o)
        return list, "user"
    end
    return space.sketches(program, o), space.name
end

-- function_name: of a module with several.
local function name_of(program, o, function_name)
    if function_name and function_name ~= "main" then return function_name end
    if o.name then return o.name end
    local ok, id = pcall(function() return program.id end)
    if ok and type(id) == "string" then return id end
    local ok2, name = pcall(function() return program.name end)
    return ok2 and type(name) == "string" and name or "main"
end

local function has(o, field)
    local ok, v = pcall(function() return o[field] end)
    return ok and v ~= nil
end

-- A module of one function: of a schedule the one at its start, of a function itself.
local function module_of(program)
    if type(program) ~= "userdata" then return program end -- refused by name further on
    if has(program, "jump") then
        local c = program:copy()
        c:jump(0)
        local m = c:mod()
        return #m.names == 1 and m or moon.module(c:func())
    elseif has(program, "params") then
        return moon.module(program)
    end
    return program
end

-- The search of the core over a design space, not yet started: what :tune turns too.
function tune.search(program, opts)
    local o = read(opts)
    local id = name_of(program, o)
    program = module_of(program)
    local list, name = sketches_of(program, o)
    if list.device then
        core.fail("no-device", ("tune: the space %s makes programs for %s, which nothing here builds or times yet; its "
            .. "sketches are what its field sketches gives"):format(name, list.device))
    end
    local db = o.db
    if type(db) == "string" then db = core.db(db) end
    return core.tuner(program, list, { trials = o.trials, seconds = o.seconds, seed = o.seed, threads = o.threads,
        db = db, name = id, space = name, fresh = o.fresh, workers = o.workers, tasks = o.tasks,
        with = o.with, model = o.model }), list
end

function tune.run(program, opts)
    local o = read(opts)
    if o.shape ~= nil then return tune.run_shapes(program, o) end
    local t <close>, list = tune.search(program, o)
    local records = {}
    local state = "more"
    while state == "more" do
        state = t:step(0.2)
        for _, r in ipairs(t:fresh()) do
            records[#records + 1] = r
            if o.on_record then o.on_record(r) end
        end
        if o.progress then o.progress(t:status()) end
    end
    local out = t:status()
    local best -- the winner of the final contest, where there was one
    for _, r in ipairs(records) do
        if r.min and (not best or r.min < best.min) then best = r end
    end
    best = out.best_record and t:record(out.best_record) or best
    -- false: reading `best` is no question for a name of before
    out.best, out.records, out.state, out.workload = best or false, records, state, name_of(program, o)
    -- what is no sketch, or no candidate: refused while the space was made, and counted by postprocessor
    out.refused, out.left_out = list.refused or {}, list.failures or {}
    function out.schedule()
        if not best then core.fail("unknown-name", "tune: no candidate was measured") end
        return tune.apply(program, best)
    end
    return out
end

-- ---- what the commands :tune, :best, :adopt and :db work with

local open = {} -- by path: databases of this session; true is the usual one
local memory -- stands for those that cannot be used
local why = {} -- by path: why memory does
local current -- the path that :tune was given last

-- The database of that path, else of the last :tune. make: it is made when it is not there, and when it cannot
-- be used, one in memory stands for it from then on; the second result says why. A folder that is asked for and
-- is not there is an error.
function tune.session_db(path, make)
    local asked = path
    path = path or current
    local key = path or true
    if open[key] then return open[key] end
    if not make then
        if why[key] then return memory, why[key] end
        open[key] = core.db_there(path)
        return open[key]
    end
    local ok, e = pcall(core.db, path)
    if ok then
        open[key] = e
        return e
    end
    if type(e) ~= "userdata" or e.code == "interrupted" or e.code == "not-supported" then error(e, 0) end
    if asked and e.code == "no-file" then error(e, 0) end -- a place that is not there
    memory = memory or core.db(":memory:")
    why[key] = e.message
    return memory, e.message
end

-- The database of that path, made when it is not there; what is in its way is raised.
function tune.db_to_write(path)
    local db, warning = tune.session_db(path, true)
    if warning then core.fail("bad-database", warning) end
    return db
end

-- The session goes on with that database in place of the last one of :tune; nil: with what it has.
local function go_on_with(db)
    if db then open[current or true] = db end
end

-- What was to be written into the database of that path has failed: a file that was made for it goes.
function tune.unmake(path)
    local key = path or current or true
    if open[key] and core.db_unmake(open[key]) then open[key] = nil end
end

-- The database that a search of the session writes to, and from now on the next one.
local function session_db(path)
    path = path or current
    local db, warning = tune.session_db(path, true)
    current = path
    return db, warning
end

-- What was left out of a space by mistakes of a person's own, a line each; nil: nothing was.
function tune.note_of(list)
    local lines = {}
    for _, x in ipairs(list.refused or {}) do
        if x.name:find("^rule ") then
            local why = type(x.error) == "userdata" and x.error.message or tostring(x.error)
            lines[#lines + 1] = ("warning: %s fails at block %s and is left out: %s"):format(x.name, x.block, why)
        end
    end
    for _, text in ipairs(list.warnings or {}) do lines[#lines + 1] = "warning: " .. text end
    return #lines > 0 and table.concat(lines, "\n") or nil
end

local looked = {} -- the spaces of the searches at work
local warned = {} -- what was to be told of them, each once

-- Adds what the postprocessors of a space left out: {name =, n =, why =} by name.
local function add_left_out(list, to)
    for name, n in pairs(list.failures or {}) do
        local x = to[name] or { name = name, n = 0 }
        x.n, x.why = x.n + n, list.reasons and list.reasons[name] or x.why
        if not to[name] then
            to[name] = x
            to[#to + 1] = x
        end
    end
    for _, part in ipairs(list.parts or {}) do add_left_out(part, to) end
end

-- What the searches at work left out, a line each: candidates by their postprocessors, rules that came in later. nil:
-- nothing.
function tune.left_out()
    local out, lines = {}, table.move(warned, 1, #warned, 1, {})
    for _, list in ipairs(looked) do add_left_out(list, out) end
    table.sort(out, function(a, b) return a.name < b.name end)
    for _, x in ipairs(out) do
        lines[#lines + 1] = ("note: postprocessor %s left out %d candidate%s%s"):format(x.name, x.n, x.n == 1 and "" or "s",
            x.why and ": " .. x.why or "")
    end
    return #lines > 0 and table.concat(lines, "\n") or nil
end

-- No search is at work.
function tune.opened_none() looked, warned = {}, {} end

-- One more search of several, over this space.
function tune.opened(list)
    local note = tune.note_of(list)
    looked[#looked + 1] = list
    for _, text in ipairs(warned) do
        if text == note then note = nil end
    end
    warned[#warned + 1] = note
end

function tune.begin(s, given)
    local opts, warning = {}, nil
    core.want(given, "table", "tune: opts")
    for k, v in pairs(given) do opts[k] = v end
    opts.db, warning = session_db(opts.db)
    if opts.threads == 0 then opts.threads = nil end
    local t, list = tune.search(s, opts)
    looked, warned = { list }, {}
    return t, warning, tune.note_of(list)
end

local apart = {} -- searches that are compared

-- A search that knows nothing of any other: its records are kept in memory.
function tune.begin_apart(s, given)
    local opts = {}
    core.want(given, "table", "tune: opts")
    for k, v in pairs(given) do opts[k] = v end
    opts.db = core.db(":memory:")
    if opts.threads == 0 then opts.threads = nil end
    local t, list = tune.search(s, opts)
    if #apart == 0 then tune.opened_none() end
    tune.opened(list)
    apart[#apart + 1] = t
    return t
end

function tune.end_apart()
    for _, t in ipairs(apart) do t:close() end
    apart = {}
end

-- Records that had to go to memory are what the session goes on with.
function tune.finish(t, path)
    local db = t:take_db()
    if db then open[path or current or true] = db end
    t:close()
end

-- A schedule on the start of the program with a record's steps.
function tune.apply(program, record)
    local s = moon.schedule(module_of(program), { name = name_of(program, {}) })
    moon.trace(record.trace):apply(s)
    return s
end

function tune.draft(program, opts)
    local o = read(opts, "draft")
    local id = name_of(program, o)
    program = module_of(program)
    local list = sketches_of(program, o)
    if type(list) ~= "table" or list[1] == nil then
        core.fail("bad-argument", "draft: the space gives no schedule of this program")
    end
    local s = moon.schedule(program, { name = id })
    list[1].schedule:trace():apply(s)
    return s
end

-- The best record of the database for this program on this machine, or nil.
function tune.best(db, program, target)
    local list = db:records { program = program, target = target or (core.tune_target()), valid = true, best = true, limit = 1 }
    return list[1]
end

function tune.apply_best(program, db, opts)
    if type(db) == "string" or db == nil then db = core.db(db) end
    local r = tune.best(db, program, opts and opts.target)
    if not r then core.fail("unknown-name", "apply_best: the database has no record of this program for this machine") end
    return tune.apply(program, r)
end

tune.db = core.db

local db_methods = core.methods("db")
db_methods.best = core.guard("db:", { best = function(db, program, target) return tune.best(db, program, target) end }).best

for _, file in ipairs { "tune_all", "tune_shapes" } do
    core.load(file)(moon, core, tune, { name_of = name_of, module_of = module_of, session_db = session_db, space_of = space_of,
        go_on_with = go_on_with })
end

return tune

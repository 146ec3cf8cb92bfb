-- tune_all - several programs tuned under one budget: moon.tune_all, and what :tune --all turns.
-- Source: lua-api 6; auto-scheduler 18.
local moon, core, tune, own = ...

local known = { trials = true, each = true, seconds = true, seed = true, rule = true, space = true, db = true,
    threads = true, fresh = true, progress = true, with = true, model = true }

-- How the tasks of an object are opened: {programs, search = opts of each}.
local kept = setmetatable({}, { __mode = "k" })

local function has(o, field)
    local ok, v = pcall(function() return o[field] end)
    return ok and v ~= nil
end

-- A module with several functions: not a schedule, nor a function.
local function is_module(o) return type(o) == "userdata" and has(o, "names") and not has(o, "jump") end

-- what: a module (each function a task), a program, or a list of programs and of rows {workload=, weight=, id=}
-- as moon.net gives them. Calls add(program, name, weight) for each.
local function each_program(what, add)
    if is_module(what) then
        local names = {}
        for k, name in ipairs(what.names) do names[k] = name end
        table.sort(names)
        for _, name in ipairs(names) do add(#names == 1 and what or moon.module(what[name]), own.name_of(what, {}, name), 1) end
    elseif type(what) == "userdata" then
        add(own.module_of(what), own.name_of(what, {}), 1)
    elseif type(what) == "table" then
        for k, row in ipairs(what) do
            if type(row) == "table" then
                local program = row.workload or row.program
                if program == nil then
                    core.fail("bad-argument", ("tune_all: row %d has no workload"):format(k))
                end
                program = own.module_of(program)
                add(program, row.id or row.name or own.name_of(program, {}), row.weight or 1)
            else
                each_program(row, add)
            end
        end
    else
        core.fail("bad-argument", "tune_all: a module, a program, or a list of them, as moon.net gives one; not "
            .. (what == nil and "nothing" or "a " .. type(what)))
    end
end

-- Options, refused here where the first of many tasks would be.
local function read(opts)
    core.want(opts, "table?", "tune_all: opts")
    local o = opts or {}
    for k in pairs(o) do
        if not known[k] then core.fail("bad-argument", "tune_all: no option is named " .. tostring(k)) end
    end
    own.space_of(o.space)
    if o.with then
        local found, names = false, {}
        for k, x in ipairs(core.strategies()) do
            names[k] = x.name
            found = found or o.with == x.name or o.with == x.alias
        end
        if not found then
            core.fail("bad-argument", ("no strategy is named %s: there are %s"):format(tostring(o.with), table.concat(names, ", ")))
        end
    end
    if o.model and o.model ~= "xgb" and o.model ~= "analytic" and o.model ~= "random" then
        core.fail("bad-argument", "model is xgb, analytic or random, not " .. tostring(o.model))
    end
    return o
end

-- The tasks, none of them begun. opts.db is a database.
function tune.tasks(what, opts)
    local o = read(opts)
    local tasks = core.tasks { trials = o.trials, each = o.each, seconds = o.seconds, seed = o.seed, rule = o.rule,
        threads = o.threads }
    local db = o.db
    if type(db) == "string" or db == nil then db = core.db(db) end
    local it = { programs = {}, search = { space = o.space, seed = o.seed, fresh = o.fresh, threads = o.threads, db = db,
        with = o.with, model = o.model } }
    each_program(what, function(program, name, weight)
        local k = tasks:add(program, { name = name, weight = weight })
        if k then it.programs[k] = it.programs[k] or program end
    end)
    tune.opened_none()
    if #it.programs == 0 then core.fail("bad-argument", "tune_all: there is nothing to tune") end
    kept[tasks] = it
    return tasks
end

-- Where the records of the tasks are.
function tune.db_of(tasks) return kept[tasks].search.db end

-- The best record of task k, a row of tasks:list(); nil: it has none.
function tune.best_of(tasks, k, row)
    return row.best_record and (tasks:record(k) or tune.db_of(tasks):records { id = row.best_record }[1])
end

-- The search of task k, which waits for one; where it cannot be had the others go on.
function tune.open_task(tasks, k)
    local it = kept[tasks]
    local o = { tasks = tasks }
    for key, v in pairs(it.search) do o[key] = v end
    local ok, e, list = pcall(tune.search, it.programs[k], o)
    if ok then
        tune.opened(list)
        tasks:open(e)
    elseif type(e) == "userdata" and e.code == "interrupted" then
        error(e, 0)
    else
        tasks:refuse(type(e) == "userdata" and e.message or tostring(e))
    end
end

-- moon.tune_all
function tune.run_all(what, opts)
    local tasks <close> = tune.tasks(what, opts)
    local progress = opts and opts.progress
    local state, k = "more", nil
    while state == "more" or state == "open" do
        if state == "open" then tune.open_task(tasks, k) end
        state, k = tasks:step(0.2)
        if progress then progress(tasks:status()) end
    end
    local out = tasks:status()
    out.state, out.tasks = state, tasks:list()
    local it = kept[tasks]
    for n, row in ipairs(out.tasks) do
        local r = tune.best_of(tasks, n, row)
        function row.schedule()
            if not r then core.fail("unknown-name", "tune_all: no candidate of " .. row.name .. " was measured") end
            return tune.apply(it.programs[n], r)
        end
    end
    return out
end

-- The tasks with the session's database, as :tune --all begins them, and why records go to memory where the
-- database cannot be used.
function tune.begin_all(what, given)
    local opts = {}
    core.want(given, "table", "tune_all: opts")
    for k, v in pairs(given) do opts[k] = v end
    read(opts)
    if type(what) == "userdata" and has(what, "jump") then -- a schedule: the functions that it began with
        what = what:copy()
        what:jump(0)
        what = what:mod()
    end
    local db, warning = own.session_db(opts.db)
    opts.db = db
    if opts.threads == 0 then opts.threads = nil end
    return tune.tasks(what, opts), warning
end

-- Its searches and their processes end. db: in memory, which the session goes on with.
function tune.finish_all(tasks)
    own.go_on_with(tune.db_in_memory(tasks))
    tasks:close()
end

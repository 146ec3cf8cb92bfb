-- tune_shapes - a program with symbolic sizes, tuned for a list of them and kept as one kernel:
-- moon.tune{shape =}, and what :tune --shape turns.
--
-- Each of the sizes is a task: the program with constants in their place. The best steps of each become an arm of
-- one program (the primitive specialize), behind which an arm for all other sizes stands, scheduled by rules or by
-- steps that were found for one of the list and hold for every size. Source: auto-scheduler 18.
local moon, core, tune, own = ...
local facts = core.load("space/facts")(moon, core)

local MOST = 64 -- arms of one kernel

-- ---- the sizes that are asked for

local function bad(text, ...) core.fail("bad-argument", "shape: " .. text:format(...)) end

local function value_of(name, v)
    local n = math.tointeger(tonumber(v))
    if not n or n < 1 then bad("%s is a whole number from 1, not %s", name, tostring(v)) end
    return n
end

-- "n=1,16,m=64": values by name
local function read_text(text)
    local group, name = {}, nil
    for word in (text .. ","):gmatch("([^,]*),") do
        local key, value = word:match("^%s*([%a_][%w_]*)%s*=(.*)$")
        if key then
            if group[key] then bad("%s is given twice in %s", key, text) end
            name, group[key] = key, {}
        end
        value = (value or word):match("^%s*(.-)%s*$")
        if not name or value == "" then bad("n=1,16 or n=1,16,m=64, not %s", text) end
        table.insert(group[name], value_of(name, value))
    end
    return group
end

-- {n = {1, 16}, m = 64}: values by name
local function read_table(given)
    local group = {}
    for name, v in pairs(given) do
        if type(name) ~= "string" then bad("sizes by name are needed: {n = {1, 16}}") end
        group[name] = {}
        if type(v) ~= "table" then v = { v } end
        if #v == 0 then bad("%s has no values", name) end
        for k, x in ipairs(v) do group[name][k] = value_of(name, x) end
    end
    return group
end

local function read_groups(shape)
    local groups = {}
    if type(shape) == "table" and shape[1] == nil then
        if next(shape) == nil then bad("no size is given: {n = {1, 16}}") end
        shape = { shape }
    end
    if type(shape) == "string" then
        local list = {}
        for text in shape:gmatch("[^;]+") do list[#list + 1] = text end
        if #list == 0 then bad("n=1,16 or n=1,16,m=64") end
        shape = list
    end
    if type(shape) ~= "table" then bad("\"n=1,16\" or {n = {1, 16}}, not a %s", type(shape)) end
    for k, g in ipairs(shape) do
        if type(g) ~= "string" and type(g) ~= "table" then bad("\"n=1,16\" or {n = {1, 16}}, not a %s", type(g)) end
        groups[k] = type(g) == "string" and read_text(g) or read_table(g)
    end
    return groups
end

local function text_of(names, values)
    local t = {}
    for _, name in ipairs(names) do
        if values[name] then t[#t + 1] = name .. "=" .. values[name] end
    end
    return table.concat(t, ",")
end

-- Both lists crossed.
local function cross(a, b)
    local out = {}
    for _, x in ipairs(a) do
        for _, y in ipairs(b) do
            local v = {}
            for name, n in pairs(x) do v[name] = n end
            for name, n in pairs(y) do v[name] = n end
            out[#out + 1] = v
        end
    end
    if #out > MOST then bad("%d sizes and more; a kernel has at most %d", #out, MOST) end
    return out
end

-- The sizes as a list of values by name, each with its text. Groups of the same names add to the list, groups of
-- other names cross it.
local function read_shape(program, shape)
    local names, known, families = core.symbols(program), {}, {}
    if #names == 0 then bad("the program has no symbolic sizes: all of its sizes are constants") end
    for _, name in ipairs(names) do known[name] = true end
    for _, g in ipairs(read_groups(shape)) do
        local key, product = {}, { {} }
        for name in pairs(g) do
            if not known[name] then bad("the program has no symbolic size %s; it has %s", name, table.concat(names, ", ")) end
        end
        for _, name in ipairs(names) do
            if g[name] then
                local values = {}
                for k, n in ipairs(g[name]) do values[k] = { [name] = n } end
                key[#key + 1], product = name, cross(product, values)
            end
        end
        local at = table.concat(key, ",")
        if not families[at] then
            families[at] = { names = key }
            families[#families + 1] = families[at]
        end
        table.move(product, 1, #product, #families[at] + 1, families[at])
    end
    local list, given = { {} }, {}
    for _, f in ipairs(families) do
        for _, name in ipairs(f.names) do
            if given[name] then bad("%s stands beside %s and beside other sizes", name, given[name]) end
            given[name] = table.concat(f.names, ",")
        end
        list = cross(list, f)
    end
    for _, name in ipairs(names) do
        if not given[name] then bad("the size %s is not given: %s=127", name, name) end
    end
    local seen = {}
    for _, v in ipairs(list) do
        local text = text_of(names, v)
        if seen[text] then bad("%s is given twice", text) end
        seen[text] = true
    end
    local out = {}
    for k, v in ipairs(list) do out[k] = { values = v, text = text_of(names, v) } end
    return out
end

-- ---- the program for given sizes

-- moon.specialize(program, sizes): sizes a table {n = 16} or "n=16"
function tune.specialize(program, sizes)
    local text = sizes
    if type(sizes) == "table" then
        local names = {}
        for name, v in pairs(sizes) do
            if type(name) ~= "string" or math.type(v) ~= "integer" then
                core.fail("bad-argument", "specialize: sizes by name are needed: {n = 16}")
            end
            names[#names + 1] = name
        end
        table.sort(names)
        text = text_of(names, sizes)
    elseif type(sizes) ~= "string" then
        core.fail("bad-argument", "specialize: \"n=16\" or {n = 16}, not a " .. type(sizes))
    end
    return (core.specialize(own.module_of(program), text))
end

-- ---- the tasks

local shaped = setmetatable({}, { __mode = "k" }) -- by tasks: what they are put together from

-- A task for each of the sizes, none of them begun; each counts as much as any other, however long it takes.
function tune.shape_tasks(program, opts)
    local o, shape = {}, opts.shape
    for key, v in pairs(opts) do o[key] = v end
    local name = own.name_of(program, {})
    program = own.module_of(program)
    local list, rows, least = read_shape(program, shape), {}, math.huge
    for k, row in ipairs(list) do
        local m, flop = core.specialize(program, row.text)
        rows[k] = { workload = m, id = ("%s[%s]"):format(name, row.text), flop = flop }
        row.flop = flop
        if flop > 0 then least = math.min(least, flop) end
    end
    for _, row in ipairs(rows) do row.weight = row.flop > 0 and least / row.flop or 1 end
    o.shape, o.name, o.progress, o.on_record = nil, nil, nil, nil
    local tasks = tune.tasks(rows, o)
    shaped[tasks] = { program = program, name = name, list = list, opts = o, db = tune.db_of(tasks) }
    return tasks
end

-- ---- the arm for all other sizes

-- What every block allows: the contiguous loop as vectors, the outermost one parallel.
local function schedule_block(s, name, target, threads)
    local b = s:get_block(name)
    local f = core.block_body(s, b)
    if not f or f.write.irregular or #s:get_loops(b) ~= #f.iters then return end
    local v, outer, reduce
    outer, reduce = {}, {}
    for k, it in ipairs(f.iters) do
        if not it.plain then return end
        if it.kind == "spatial" and f.write.strides[k] == 1 and it.extent ~= 1 then v = k end
    end
    for k, it in ipairs(f.iters) do
        if it.kind == "reduce" then
            reduce[#reduce + 1] = it.loop
        elseif it.kind ~= "spatial" then
            return
        elseif k ~= v then
            outer[#outer + 1] = it.loop
        end
    end
    local lanes = facts.lanes(target, f.write.dtype)
    local wide = v and (not f.iters[v].extent or f.iters[v].extent >= lanes)
    local vi
    if wide then
        local vo
        vo, vi = table.unpack(s:split(f.iters[v].loop, { moon.auto, lanes }))
        outer[#outer + 1] = vo
    elseif v then
        outer[#outer + 1] = f.iters[v].loop
    end
    if #outer == 0 then return end
    local order = table.move(reduce, 1, #reduce, #outer + 1, { table.unpack(outer) })
    order[#order + 1] = vi
    if #order > 1 then s:reorder(table.unpack(order)) end
    if wide then
        if f.init and reduce[1] then
            local il = s:get_loops(s:decompose_reduction(b, reduce[1]))
            s:vectorize(il[#il])
        end
        s:vectorize(vi)
    end
    if threads > 1 then s:parallel(outer[1]) end
end

-- Ways to schedule the program for every size: {what, schedule}.
local function ways(it, picks, target, threads)
    local list, seen = {}, {}
    local function add(what, fn)
        local s = core.schedule(it.program, { name = "otherwise" })
        local ok, e = pcall(fn, s)
        if not ok then
            if type(e) ~= "userdata" or e.code == "interrupted" then error(e, 0) end
            return
        end
        local hash = s:hash()
        if not seen[hash] then list[#list + 1] = { what = what, schedule = s } end
        seen[hash] = true
    end
    add("by a rule for each block", function(s)
        for _, name in ipairs(facts.blocks(s)) do
            facts.try(s, function(x) schedule_block(x, name, target, threads) end)
        end
    end)
    for _, k in ipairs { #picks, (#picks + 1) // 2, 1 } do
        add("as for " .. picks[k].text, function(s) moon.trace(picks[k].record.trace):apply(s) end)
    end
    return list
end

-- Some sizes that are not listed, beside those that are.
local function others(list)
    local out, seen = {}, {}
    for _, k in ipairs { 1, (#list + 1) // 2, #list } do
        local v = {}
        for name, n in pairs(list[k].values) do v[name] = n + 1 end
        if not seen[list[k]] then out[#out + 1] = v end
        seen[list[k]] = true
    end
    return out
end

-- The way that is fastest on sizes of its own; quick: that of the last size that was listed, if it holds for all. What is far slower than another on one of them
-- is not run on the next.
local function choose(it, list, threads, quick)
    local FAR, sums, best = 4, {}, nil
    if quick or #list <= 1 then return list[2] or list[1] end
    for k in ipairs(list) do sums[k] = 0 end
    for _, v in ipairs(others(it.list)) do
        local times, least = {}, math.huge
        for k, way in ipairs(list) do
            if sums[k] then
                local ok, t = pcall(core.time, way.schedule, { shape = v, alone = true, runs = 3, threads = threads })
                if not ok and (type(t) ~= "userdata" or t.code == "interrupted") then error(t, 0) end
                times[k] = ok and t.min or math.huge
                least = math.min(least, times[k])
            end
        end
        for k in ipairs(list) do
            sums[k] = sums[k] and times[k] <= FAR * least and sums[k] + math.log(times[k]) or nil
        end
    end
    for k, way in ipairs(list) do
        if sums[k] and (not best or sums[k] < best.sum) then best = { sum = sums[k], way = way } end
    end
    return best and best.way or list[1]
end

-- ---- one kernel

-- The program with an arm for each of the picks; other: steps of the last one, or nil.
local function put_together(it, picks, other)
    local s = core.schedule(it.program, { name = it.name })
    for _, p in ipairs(picks) do s:specialize(p.text, p.record.trace) end
    if other then s:specialize("", other) end
    return s
end

-- Seconds of the kernel at some sizes. Other work on the machine makes it slower than the search found its arm: then
-- it is measured again.
local function measured(s, size, threads)
    local least
    for _ = 1, 3 do
        local t = core.time(s, { shape = size.values, alone = true, runs = 11, threads = threads })
        least = math.min(least or t.median, t.median)
        if least <= 1.2 * size.best_seconds then break end
    end
    return least
end

-- The operations of the program where each of its sizes is 1.
local function work_of_one(program)
    local ones = {}
    for k, name in ipairs(core.symbols(program)) do ones[k] = name .. "=1" end
    local _, flop = core.specialize(program, table.concat(ones, ","))
    return flop
end

-- The number of the record. On a full disk it is in memory, and why is the second result.
local function keep(it, record)
    local ok, e = pcall(it.db.put, it.db, record)
    if ok then return e end
    if type(e) ~= "userdata" or e.code ~= "no-space" and e.code ~= "bad-database" then error(e, 0) end
    it.memory = core.db(":memory:")
    it.db = it.memory
    return it.db:put(record), e.message
end

-- What was found for the tasks as one program, kept as a record of it; quick: nothing is measured. Gives a table:
-- sizes (a row for each: text, values, seconds of the kernel, best_seconds of the search, refused), other (how all
-- other sizes are computed), record (its number), trace; without trace where nothing was measured. The record's time is
-- the mean of the sizes' times, each for the work of sizes of 1: kernels of other lists compare, and rates are true.
function tune.join_shapes(tasks, quick)
    local it, out, picks = shaped[tasks], { sizes = {} }, {}
    local json, target = core.tune_target()
    local threads = it.opts.threads or target.threads
    for k, row in ipairs(tasks:list()) do
        local record = tune.best_of(tasks, k, row)
        local size = { text = it.list[k].text, values = it.list[k].values, best_seconds = record and row.best_seconds,
            refused = row.refused }
        out.sizes[k] = size
        if record then picks[#picks + 1] = { text = size.text, record = record, size = size, flop = it.list[k].flop } end
    end
    if #picks == 0 then return out end
    local way = choose(it, ways(it, picks, target, threads), threads, quick)
    local s = put_together(it, picks, way and way.schedule:trace():json())
    out.other, out.trace, out.schedule = way and way.what or "as the program is", s:trace():json(), s
    local unit, sum = work_of_one(it.program), 0
    for _, p in ipairs(picks) do
        local seconds = p.size.best_seconds
        if not quick then
            seconds = measured(s, p.size, threads)
            p.size.seconds = seconds
        end
        sum = sum + (unit > 0 and p.flop > 0 and seconds * unit / p.flop or seconds)
    end
    out.record, out.warning = keep(it, { program = it.program, name = it.name, trace = out.trace, run_secs = { sum / #picks },
        target = json, space = "shapes", seed = it.opts.seed or 1, threads = threads })
    return out
end

-- The database in memory that a kernel of the tasks had to go to; nil: it is where it should be.
function tune.db_in_memory(tasks) return shaped[tasks] and shaped[tasks].memory end

-- moon.tune with the option shape
function tune.run_shapes(program, opts)
    local tasks <close> = tune.shape_tasks(program, opts)
    local state, k = "more", nil
    while state == "more" or state == "open" do
        if state == "open" then tune.open_task(tasks, k) end
        state, k = tasks:step(0.2)
        if opts.progress then opts.progress(tasks:status()) end
    end
    local out, joined = tasks:status(), tune.join_shapes(tasks, state == "cancelled")
    out.state, out.tasks, out.sizes, out.other, out.record = state, tasks:list(), joined.sizes, joined.other, joined.record
    out.warning = joined.warning
    out.best = joined.record and shaped[tasks].db:records { id = joined.record }[1] or false
    function out.schedule()
        if not joined.schedule then core.fail("unknown-name", "tune: no candidate was measured") end
        return tune.apply(program, out.best)
    end
    return out
end

-- The same with the session's database, as :tune --shape begins it.
function tune.begin_shapes(s, given)
    local opts, warning = {}, nil
    core.want(given, "table", "tune: opts")
    for k, v in pairs(given) do opts[k] = v end
    opts.db, warning = own.session_db(opts.db)
    if opts.threads == 0 then opts.threads = nil end
    return tune.shape_tasks(s, opts), warning
end

-- workload - the programs that are measured, with their inputs, reference results and counts.
--
-- moon.workload("C2D-0" [, {dtype=, acc=, batch=}]) or by shape, moon.workload.conv2d{...}. The builders and rows of
-- a family stand in a file of workload/. The reference is computed by direct loops in double precision, never from
-- the program. Source: workloads 1 to 7, 9.
local moon, core = ...

local workload = {}
local base = core.load("workload/base")(moon, core, workload)
local bad = base.bad
core.workload_base = base -- for other builders of modules: einsum, net

for _, name in ipairs {
    "conv",
    "depthwise",
    "transposed",
    "matmul",
    "capsule",
    "winograd",
    "norm",
    "softmax",
    "attention",
    "rows",
    "reduce",
    "scan",
    "quantized",
    "networks",
} do
    core.load("workload/" .. name)(moon, core, base)
end
local looptune = core.load("workload/looptune")(moon, core, base)

-- ---- names

local listed, longer = {}, {} -- in the order of the families
local known = {} -- name -> {family, arguments, name}
local sets = { mm = true } -- name -> names of its workloads

for _, f in ipairs(base.families) do
    for k, args in ipairs(f.rows) do
        local name = f.form:format(f.name, f.keys and f.keys[k] or f.first + k - 1)
        listed[#listed + 1] = name
        longer[#longer + 1] = name
        known[name] = { f, args, name }
        if #f.rows == 1 then known[f.name] = known[name] end
        sets[f.set] = sets[f.set] or {}
        table.insert(sets[f.set], name)
    end
    for k, args in ipairs(f.extended) do
        local name = ("%s.x%d"):format(f.name, k - 1)
        longer[#longer + 1] = name
        known[name] = { f, args, name }
    end
end

local aligned = { -- how a list is shown
    __tostring = function(list)
        local lines = {}
        for k, name in ipairs(list) do lines[k] = ("%-9s %s"):format(name, workload.about(name)) end
        return table.concat(lines, "\n")
    end,
}

-- workload.list([pattern [, extended]]): names, those of the default runs unless extended
function workload.list(pattern, extended)
    core.want(pattern, "string?", "list: the pattern")
    local kept = setmetatable({}, aligned)
    for _, name in ipairs(extended and longer or listed) do
        if not pattern or name:find(pattern) then kept[#kept + 1] = name end
    end
    return kept
end

-- paper8 is a part of suite; the smallest of all kinds are smoke.
table.move(sets.paper8, 1, #sets.paper8, #sets.suite + 1, sets.suite)
sets.smoke = { "GMM-0", "C1D-3", "DEP-2", "DIL-3", "GRP-3", "T2D-3", "NRM-0", "SFM-0", "TBG-2", "CUM.x0", "QMM-4", "MM-64",
    table.unpack(looptune.published, 1, 4) }

-- workload.set([name]): the names of one of the sets that are measured; of mm those to test on, and those to train
-- on. Without a name those of the sets.
function workload.set(name)
    core.want(name, "string?", "set: the name")
    local names = {}
    for key in pairs(sets) do names[#names + 1] = key end
    table.sort(names)
    if not name then return names end
    if name == "mm" then return looptune.split() end
    if not sets[name] then
        core.fail("unknown-name", ("no set is named %s; there are %s"):format(name, table.concat(names, ", ")))
    end
    return setmetatable({ table.unpack(sets[name]) }, aligned)
end

-- The names of a family's rows, where one that is not there was meant for it.
local function rows_of(f, name)
    local rest = name:sub(1, #f.name):upper() == f.name:upper() and name:sub(#f.name + 1)
    if not rest then return nil end
    if f.parse then return rest:find("^_") and f.hint end
    if rest ~= "" and not rest:find("^[-.]") and not (f.form == "%s%d" and rest:find("^%d+$")) then return nil end
    local last = #f.rows
    local function named(k) return f.form:format(f.name, f.keys and f.keys[k] or f.first + k - 1) end
    return last == 1 and "there is " .. named(1) or ("there are %s to %s"):format(named(1), named(last))
end

-- Refuses a name; tells what is near: rows of its family, a builder, or a name that is spelt alike.
local function unknown(id, name)
    local tell = known[name:upper()] and "did you mean " .. name:upper() .. "?"
    for k = 1, tell and 0 or #base.families do tell = tell or rows_of(base.families[k], name) end
    if not tell and type(rawget(workload, name)) == "function" then
        tell = ("moon.workload.%s builds one by its sizes"):format(name)
    end
    local near = not tell and core.nearest(name, known)
    tell = tell or near and "did you mean " .. near .. "?" or "moon.workload.list() gives the names"
    core.fail("unknown-name", ("no workload is named %s; %s"):format(id == "" and "by an empty text" or id, tell))
end

-- What a name says: its family, arguments, the words after it; and the whole name (ARG is ARG-0).
local function find(id)
    if type(id) ~= "string" then bad("workload: a name is needed, such as \"GMM-2\"") end
    local name, words = id:match("^([^.]+%.x%d+)(.*)$")
    if not name then
        name, words = id:match("^([^.]+)(.*)$")
    end
    local row = known[name]
    for k = 1, row and 0 or name and #base.families or 0 do
        local f = base.families[k]
        local args = f.parse and f.parse(name)
        if args then row = { f, args, name } end
    end
    if not row then unknown(id, name or id) end
    if not (words == "" or words:find("^%.%w[%w.]*$")) then
        core.fail("unknown-name", ("no workload is named %s; a word such as .f16 may follow %s"):format(id, name))
    end
    return row[1], row[2], words, row[3] .. words
end

-- The options of its builder, and that.
local function options(id, opts)
    local f, args, words, whole = find(id)
    base.option_names(opts, { dtype = true, acc = true, batch = true })
    local o = base.with(args, opts and { dtype = opts.dtype, acc = opts.acc })
    base.variant(f, words, o, id)
    if opts and opts.batch then
        if not f.batch then bad("batch: %s has no batch", id) end
        if math.type(opts.batch) ~= "integer" or opts.batch < 1 then bad("batch: an integer of at least 1 is needed") end
        o[f.batch] = f.batch_times and base.times(o[f.batch], opts.batch) or opts.batch
    end
    if f.resolve then f.resolve(o) end
    local builder = o.builder or f.builder
    o.builder, o.times = nil, nil
    return o, builder, whole
end

-- workload.args(id): the sizes of a row by name
function workload.args(id) return (options(id)) end

-- workload.about([id]): what a row is, in a line; without an id a list of {id, line} of all.
function workload.about(id)
    if id then
        local f, args = find(id)
        return base.describe(f, args)
    end
    local all = {}
    for k, name in ipairs(longer) do all[k] = { name, base.describe(known[name][1], known[name][2]) } end
    return all
end

return setmetatable(workload, {
    __call = function(_, id, opts)
        local o, builder, whole = options(id, opts)
        o.id = whole
        return workload[builder](o)
    end,
    __name = "moonloop.workload",
})

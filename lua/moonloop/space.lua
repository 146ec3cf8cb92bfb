-- space - design spaces: schedules of a program whose sampling decisions are left open.
--
-- A rule looks at the program and the target, never at measurements. It gives sketches:
-- schedules on the start version, whose traces the search replays with other decisions; the
-- decisions they carry are the rule's own choice, tried first and used by moon.draft. The
-- rules of a family are one file of space/, a row below: a family adds sketches to the list
-- where it knows the structure of the program, and says so where the plain ones may be faster
-- (list.narrow), or where no other family has anything to add (list.known); what goes behind
-- all others is in list.late. Source: auto-scheduler 2 to 6; lowering-and-codegen 8.
local moon, core = ...

local space = { name = "cpu-1" }
local facts = core.load("space/facts")(moon, core)
local plain = core.load("space/plain")(moon, core, facts)

local families = {} -- asked in this order: the first sketch of the list is the draft
for k, name in ipairs {
    "quant",
    "tensor",
    "scan",
    "rows",
    "columns",
    "attention",
    "depthwise",
    "narrow",
    "conv",
    "pack",
    "tile",
} do
    families[k] = core.load("space/" .. name)(moon, core, facts, plain)
end

-- A family that is refused while it looks at the program leaves it to the others.
local function ask(family, list, ...)
    local ok, e = pcall(family.sketches, list, ...)
    if ok then return end
    if type(e) ~= "userdata" or e.code == "interrupted" then error(e, 0) end
    list.refused[#list.refused + 1] = { name = "a family", error = e }
end

-- The sketches of a program for a target; never empty. opts: threads; target, facts that differ from this
-- machine's.
function space.sketches(program, opts)
    local json, target = core.tune_target()
    for k, v in pairs(opts and opts.target or {}) do target[k] = v end
    local threads = opts and opts.threads ~= 0 and opts.threads or target.threads
    local list = { refused = {}, target = json, threads = threads }
    for _, family in ipairs(families) do
        if not list.known then ask(family, list, program, target, threads) end
    end
    if #list == 0 or list.narrow then plain.sketches(list, program, target, threads) end
    for _, x in ipairs(list.late or {}) do list[#list + 1] = x end
    if #list == 0 then facts.sketch(list, program, "as it is", function() end) end
    return list
end

-- ---- named spaces

local rules = core.load("rule")(moon, core)
core.rules = rules -- for families that give rules

local named = {
    ["post-order-apply"] = { name = "post-order-apply", sketches = rules.post_order {} },
    ["stock"] = space, -- the families alone
}

-- The families, and what a person's own rules add to the sketches of stock ones.
local function with_own(program, opts)
    local list = space.sketches(program, opts)
    local plain = rules.post_order { rules = rules.kinds.rules[rules.kind(opts)](rules) }(program, opts)
    local more = rules.post_order {}(program, opts)
    local seen = {}
    for _, x in ipairs(plain) do seen[rules.generator.signature(program, x)] = true end
    for _, x in ipairs(more) do
        if not seen[rules.generator.signature(program, x)] then list[#list + 1] = x end
    end
    for _, x in ipairs(more.refused) do list.refused[#list.refused + 1] = x end
    list.failures, list.reasons, list.warnings = more.failures, more.reasons, more.warnings
    return list
end

-- The space of that name; nil: the usual one.
function space.find(name)
    if name == nil or name == "default" or name == space.name then
        return not rules.has_own() and space or { name = space.name .. "+rules", sketches = with_own }
    end
    return named[name] or core.fail("bad-argument",
        ("tune: space is the name of one (%s), a function that gives schedules, or a table with one called sketches; not '%s'")
        :format(table.concat(space.names(), ", "), name))
end

function space.names()
    local list = { "default", space.name }
    for name in pairs(named) do list[#list + 1] = name end
    table.sort(list)
    return list
end

function space.add_rule(rule) return rules.add(rule) end

local fields = { name = "string?", rules = "table?", postprocs = "table?", mutators = "table?", filter = "function?",
    kind = "string?", schedule = "function?", union = "table?", target = "any", seconds = "number?" }

-- moon.tune.space{name=, ...}: by rules (rules=, postprocs=, mutators=, filter=, kind=, target=), by a function
-- (schedule=), or of other spaces (union=, names and spaces). With a name it is found by it.
function space.define(given)
    core.want(given, "table", "space")
    for k, v in pairs(given) do
        if not fields[k] then core.fail("bad-argument", "space: no field is named " .. tostring(k)) end
        if fields[k] ~= "any" then core.want(v, fields[k], "space: " .. k) end
    end
    rules.want_name(given.name, "space")
    if given.schedule and given.union then core.fail("bad-argument", "space: either schedule or union, not both") end
    if (given.schedule or given.union) and (given.rules or given.filter) then
        core.fail("bad-argument", "space: rules and filter go with neither schedule nor union")
    end
    for _, name in ipairs { "default", "stock", "post-order-apply", space.name } do
        if given.name == name then core.fail("bad-argument", "space: '" .. name .. "' is the name of a stock space") end
    end
    local make
    if given.union then
        local members = {}
        for k, x in ipairs(given.union) do
            if type(x) == "string" then x = space.find(x) end
            if type(x) ~= "table" or type(x.sketches) ~= "function" then
                core.fail("bad-argument", ("space: union is a list of spaces and names; %d is a %s"):format(k, type(x)))
            end
            members[k] = x
        end
        if #members == 0 then core.fail("bad-argument", "space: union is empty") end
        make = rules.union(members)
    else
        make = given.schedule and rules.schedule_fn(given) or rules.post_order(given)
    end
    local made = { name = given.name or "user", sketches = make }
    if given.name then named[given.name] = made end
    return made
end

return space

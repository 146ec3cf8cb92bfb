-- rule - the registry of schedule rules, postprocessors and mutators, and spaces made of them.
--
-- A rule is apply(s, block, target): a list of schedules. A postprocessor is run(s): true, or false and why. Stock
-- ones are one file each of rule/, postproc/ and mutator/, made when they are first asked for; a person's own rules
-- stand between them (rule.add). Source: auto-scheduler 3 to 8.
local moon, core = ...

local registry = {}
local own_rules = {} -- a person's, in the order in which they came
local custom = {} -- theirs that a block asks for, by target key and name
local is = core.load("rule/predicates")(moon, core)
local kinds = core.load("rule/kinds")(moon, core)
local generator = core.load("rule/generator")(moon, core)
registry.is, registry.kinds, registry.generator = is, kinds, generator

local stock = {
    rule = { "apply-custom-rule", "inline-constant-scalars", "auto-inline", "add-rfactor", "multi-level-tiling",
        "mlt-with-intrin", "mlt-wide-vector", "parallelize-vectorize-unroll", "random-compute-location",
        "mlt-tensor-core", "cross-thread-reduction", "auto-bind" },
    postproc = { "disallow-dynamic-loop", "rewrite-cooperative-fetch", "rewrite-unbound-block",
        "rewrite-parallel-vectorize-unroll", "rewrite-reduction-block", "rewrite-tensorize", "rewrite-layout",
        "verify-gpu-code", "verify-vtcm-limit", "disallow-async-strided-copy" },
    mutator = { "tile-size", "compute-location", "unroll", "thread-binding", "parallel" },
}
registry.names = stock

-- What the file of a stock one builds on, beside the predicates.
local over = { ["mlt-with-intrin"] = "multi-level-tiling", ["mlt-wide-vector"] = "multi-level-tiling",
    ["mlt-tensor-core"] = "multi-level-tiling",
    ["rewrite-unbound-block"] = "auto-bind" }
local made = { rule = {}, postproc = {}, mutator = {} }

-- The maker of a stock one: a function of its options and the target.
local function maker(what, name)
    if not made[what][name] then
        local known = false
        for _, n in ipairs(stock[what]) do known = known or n == name end
        if not known then
            core.fail("unknown-name", ("no %s is named '%s'; there are %s"):format(
                ({ rule = "schedule rule", postproc = "postprocessor", mutator = "mutator" })[what], tostring(name),
                table.concat(stock[what], ", ")))
        end
        local below = over[name] and maker("rule", over[name])
        if what == "mutator" then below = core.load("mutator/choices")(moon) end
        made[what][name] = core.load(what .. "/" .. name:gsub("-", "_"))(moon, core, is, below)
    end
    return made[what][name]
end
registry.maker = maker

-- A family elsewhere gives a rule of its own, made from (moon, core, predicates, multi-level-tiling).
function registry.define(name, load)
    made.rule[name] = load(moon, core, is, maker("rule", "multi-level-tiling"))
    stock.rule[#stock.rule + 1] = name
end

function registry.has(name) return made.rule[name] ~= nil end
function registry.intrins(pattern) return moon.intrins(pattern) end

function registry.has_own() return #own_rules > 0 end

-- ---- lists as people write them: names, {name, opts}, functions, tables with apply or run

-- A mutator: {name=, mass=, run=}; run(trace, rand, program) gives a trace without what postprocessors did, or nil.
-- rand(n) draws one of 0 to n - 1.
local function mutator(x, target)
    if type(x) == "string" then x = { x } end
    core.want(x, "table", "a mutator: a name, {name, mass}, or {name =, run =}")
    local name, mass, opts = x[1] or x.name or "a function", x[2] or x.mass or 1, x[3] or {}
    local own = x.run or x.apply
    core.want(mass, "number", "a mutator: mass")
    return { name = name, mass = mass, user = own and true, seconds = x.seconds,
        run = own or maker("mutator", name)(opts, target) }
end

local function mutators_of(list, target)
    local made = {}
    for k, x in ipairs(list) do made[k] = mutator(x, target) end
    return made
end

-- One of the mutators, drawn by its mass, on a trace: what it makes of it as JSON, or nil. One that fails is counted.
local function mutate(mutators, program, failures, json, seed)
    local function rand(n)
        seed = seed * 48271 % 2147483647
        return seed % n
    end
    local all, m = 0, nil
    for _, x in ipairs(mutators) do all = all + x.mass end
    rand(2) -- seeds that lie side by side draw alike at first
    local at = all * rand(1 << 30) / (1 << 30)
    for _, x in ipairs(mutators) do
        m, at = x, at - x.mass
        if at < 0 then break end
    end
    local ok, t
    if m.user then
        ok, t = pcall(core.limited, m.seconds or 2, "mutator " .. m.name, m.run, moon.trace(json), rand, program)
    else
        ok, t = pcall(m.run, moon.trace(json), rand, program)
    end
    if ok and t ~= nil then ok, t = pcall(function() return t:json { remove_postproc = true } end) end
    if ok then return t end
    if type(t) == "userdata" and t.code == "interrupted" then error(t, 0) end
    failures[m.name] = (failures[m.name] or 0) + 1
end

local function entry(what, x, target)
    if type(x) == "string" then x = { x } end
    if type(x) == "function" then x = { apply = x, run = x, name = "a function", user = true } end
    if type(x) ~= "table" then
        core.fail("bad-argument", ("%s: a name, a table or a function is needed, got a %s"):format(what, type(x)))
    end
    if x.apply or x.run then
        return { name = x.name or "a function", apply = x.apply, run = x.run or x.apply, user = true, seconds = x.seconds }
    end
    local name, opts = x[1], x[2] or {}
    if name == "apply-custom-rule" then opts = custom end
    local run = maker(what, name)(opts, target)
    local user = name == "apply-custom-rule" and next(custom) ~= nil -- it calls rules of a person's own
    return { name = name, apply = run, run = run, user = user or nil }
end

-- Those a person added that say something of this kind of target, where they say they stand; else first.
local function with_own(list, kind)
    for _, own in ipairs(own_rules) do
        local fits = not own.kinds
        for _, k in ipairs(own.kinds or {}) do fits = fits or k == kind end
        if fits then
            local at = own.before and 1 or own.after and #list + 1 or 2
            for k, x in ipairs(list) do
                local name = x.name or x[1]
                if name == own.before then at = k break end
                if name == own.after then at = k + 1 end
            end
            table.insert(list, math.min(at, #list + 1), own)
        end
    end
    return list
end

function registry.default_rules(kind) return with_own(kinds.rules[kind](registry), kind) end

-- A name that a person gives: something to read.
function registry.want_name(name, who)
    if name and not name:find("%S") then core.fail("bad-argument", who .. ": name is empty") end
end

-- moon.tune.rule{name=, apply=, before=, after=, kinds=, key=, seconds=}. The same name again takes the place of the
-- rule; without apply it takes the rule away.
function registry.add(rule)
    core.want(rule, "table", "rule")
    local known = { name = "string", apply = "function?", before = "string?", after = "string?", kinds = "table?",
        key = "string?", seconds = "number?" }
    for k in pairs(rule) do
        if not known[k] then core.fail("bad-argument", "rule: no field is named " .. tostring(k)) end
    end
    for k, kind in pairs(known) do core.want(rule[k], kind, "rule: " .. k) end
    registry.want_name(rule.name, "rule")
    if rule.before and rule.after then core.fail("bad-argument", "rule: it stands before one or after one, not both") end
    for _, name in ipairs(stock.rule) do
        if name == rule.name then core.fail("bad-argument", "rule: '" .. name .. "' is the name of a stock rule") end
    end
    for _, where in ipairs { "before", "after" } do
        local at, found = rule[where], false
        for _, name in ipairs(stock.rule) do found = found or name == at end
        for _, own in ipairs(own_rules) do found = found or own.name == at end
        if at and not found then
            core.fail("unknown-name", ("rule: no schedule rule is named '%s'; there are %s"):format(at, table.concat(stock.rule, ", ")))
        end
    end
    for _, k in ipairs(rule.kinds or {}) do
        if not kinds.rules[k] then core.fail("unknown-name", "rule: no kind of target is named " .. tostring(k)) end
    end
    if rule.key then -- asked for by a block's annotation schedule_rule
        custom[rule.key] = custom[rule.key] or {}
        custom[rule.key][rule.name] = rule.apply
        return
    end
    local kept = {}
    for k, v in pairs(rule) do kept[k] = v end
    kept.user = true
    for k, own in ipairs(own_rules) do
        if own.name == rule.name then
            if rule.apply then own_rules[k] = kept else table.remove(own_rules, k) end
            return
        end
    end
    if rule.apply then own_rules[#own_rules + 1] = kept end
end

-- ---- spaces

-- The kind of the target that opts name.
function registry.kind(opts) return select(3, registry.target({ target = opts and opts.target }, { warnings = {} })) end

-- The target that opts name, complete, and its kind.
function registry.target(opts, list)
    local json, target = core.tune_target()
    local given = opts.target
    if type(given) == "userdata" then given = { kind = given.kind } end
    if type(given) == "string" then given = { kind = given:match("^%S+") } end
    if given and given.kind and given.kind ~= "llvm" then target = {} end
    for k, v in pairs(given or {}) do target[k] = v end
    target = kinds.complete(target)
    target.warn = function(text) list.warnings[#list.warnings + 1] = text end
    target.refused = function(e) list.refused[#list.refused + 1] = { name = "multi-level-tiling", error = e } end
    local kind = opts.kind or kinds.of(target)
    if not kinds.rules[kind] then core.fail("unknown-name", "space: no kind of target is named " .. tostring(kind)) end
    return json, target, kind
end

-- Runs the postprocessors behind the mark. Gives true, or false, the name of the one that failed, and why.
function registry.postprocess(s, posts)
    s:enter_postproc()
    for _, post in ipairs(posts) do
        local ok, fine, why
        if post.user then
            ok, fine, why = pcall(core.limited, post.seconds or 2, "postprocessor " .. post.name, post.run, s)
        else
            ok, fine, why = pcall(post.run, s)
        end
        if not ok then
            if type(fine) ~= "userdata" and not post.user or type(fine) == "userdata" and fine.code == "interrupted" then
                error(fine, 0)
            end
            return false, post.name, type(fine) == "userdata" and fine.message or tostring(fine)
        end
        if fine == false then return false, post.name, why end
    end
    return true
end

-- The names of postprocessors; nil: some are a person's own, of which nobody knows what they do.
local function names_of(posts)
    local names = {}
    for k, post in ipairs(posts) do
        if post.user then return nil end
        names[k] = post.name
    end
    return names
end

local function add(list, program, schedules, posts, mutators, name)
    for k, s in ipairs(schedules) do
        local x = { name = ("%s %d"):format(name, k), schedule = s, posts = posts, mutators = mutators }
        x.post_names = names_of(posts)
        if #posts > 0 then
            x.post = function(candidate)
                local ok, who, why = registry.postprocess(candidate, posts)
                if not ok then
                    list.failures[who] = (list.failures[who] or 0) + 1
                    list.reasons[who] = why or list.reasons[who]
                end
                return ok, who, why
            end
        end
        if #mutators > 0 then
            x.mutate = function(json, seed) return mutate(mutators, program, list.failures, json, seed) end
        end
        list[#list + 1] = x
    end
end

local function new_list() return { refused = {}, warnings = {}, failures = {}, reasons = {} } end

-- given: {name=, rules=, postprocs=, mutators=, filter=, target=, kind=}; what is left out is the target's.
function registry.post_order(given)
    return function(program, opts)
        local list = new_list()
        local o = { target = given.target or opts and opts.target, kind = given.kind }
        local json, target, kind = registry.target(o, list)
        local rules, posts = {}, {}
        local mutators = mutators_of(given.mutators or kinds.mutators(kind), target)
        for k, x in ipairs(given.rules or registry.default_rules(kind)) do rules[k] = entry("rule", x, target) end
        for k, x in ipairs(given.postprocs or kinds.postprocs(kind)) do posts[k] = entry("postproc", x, target) end
        local schedules, more = generator.post_order_apply(program, { rules = rules, filter = given.filter, target = target,
            refused = function(rule, s, block, why)
                list.refused[#list.refused + 1] = { name = "rule " .. rule.name, error = why, block = s:handle(block).name }
            end })
        if more then list.warnings[#list.warnings + 1] = "the rules make more than " .. #schedules .. " schedules; these are taken" end
        add(list, program, schedules, posts, mutators, given.name or "rules")
        list.made = generator.unique(program, list)
        list.target, list.kind, list.threads = json, kind, opts and opts.threads or target.threads
        list.device = target.kind ~= "llvm" and (target.name or target.kind) or nil
        return list
    end
end

function registry.schedule_fn(given)
    return function(program, opts)
        local list = new_list()
        local json, target = registry.target({ target = opts and opts.target, kind = "llvm" }, list)
        local posts = {}
        for k, x in ipairs(given.postprocs or {}) do posts[k] = entry("postproc", x, target) end
        add(list, program, generator.schedule_fn(program, given.schedule, given.seconds or 10), posts,
            mutators_of(given.mutators or {}, target), given.name or "function")
        list.made = generator.unique(program, list)
        list.target, list.threads = json, opts and opts.threads or target.threads
        return list
    end
end

function registry.union(members)
    return function(program, opts)
        local list = new_list()
        list.parts = {}
        for _, member in ipairs(members) do
            local part = member.sketches(program, opts)
            for _, x in ipairs(part) do list[#list + 1] = x end
            for _, x in ipairs(part.refused or {}) do list.refused[#list.refused + 1] = x end
            for _, x in ipairs(part.warnings or {}) do list.warnings[#list.warnings + 1] = x end
            list.parts[#list.parts + 1] = part
            list.target, list.threads, list.device = part.target, part.threads, list.device or part.device
        end
        list.made = generator.unique(program, list)
        return list
    end
end

return registry

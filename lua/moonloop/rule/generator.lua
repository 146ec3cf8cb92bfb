-- generator - design spaces made by rules: post-order-apply, schedule-fn, and unions of spaces.
--
-- A generator gives a list of sketches {name=, schedule=, post=}, and what was refused in its field `refused`
-- ({name=, error=}). Source: auto-scheduler 3.
local _, core = ...

local generator = {}
local MOST = 1000 -- schedules that rules, or a function, make of one program
local FILTER_SECONDS = 2 -- for one block
local LONGEST = 10 -- times what a rule may take for one block, it may take for all

-- The blocks of the function that s works on, children before parents, the root last.
local function post_order(s, filter)
    local list, inside, root = {}, {}, nil
    for _, b in ipairs(s:blocks()) do
        local up = s:get_sref(b).parent
        while up and up.kind ~= "block" do up = s:get_sref(up).parent end
        local key = up and up.name or false
        inside[key] = inside[key] or {}
        table.insert(inside[key], b)
        while up do
            root, up = up, s:get_sref(up).parent
        end
    end
    local function visit(b)
        for _, child in ipairs(inside[b.name] or {}) do visit(child) end
        if not filter or core.limited(FILTER_SECONDS, "the filter", filter, s, b) then list[#list + 1] = b end
    end
    if root then visit(root) end
    return list
end

-- Recorded by name, as traces of others have them.
local function collect(s, filter)
    local list = {}
    local mod = s:mod()
    for _, name in ipairs(mod.names) do
        if #mod.names > 1 then s:work_on(name) end
        local found = {}
        for _, b in ipairs(post_order(s, filter)) do
            local stored = b.name
            local ok, h = pcall(s.get_block, s, stored, name)
            if not ok or found[stored] then
                core.fail("bad-argument", ("post-order-apply: two blocks of %s are called %s"):format(name, stored))
            end
            found[stored] = true
            list[#list + 1] = h
        end
    end
    return list
end

-- A schedule on the start with the steps of s that matter, and its decisions.
local function simplified(program, s, name)
    local to = core.schedule(program, { name = name })
    s:trace():simplified():apply(to)
    return to
end

-- The schedules that one rule makes of one, checked; a rule that fails gives nothing, and says so.
local function results_of(rule, s, block, target, refused)
    local before = rule.user and s:copy()
    local fine, list
    if rule.user then
        fine, list = pcall(core.limited, rule.seconds or 2, "rule " .. rule.name, rule.apply, s, block, target)
    else
        fine, list = pcall(rule.apply, s, block, target)
    end
    if not fine then
        if type(list) == "userdata" and list.code == "interrupted" then error(list, 0) end
        if not rule.user then error(list, 0) end
    elseif type(list) == "userdata" then
        list = { list }
    elseif list == nil and rule.user then
        list = { s }
    end
    local why = not fine and (list == nil and "it raises nothing" or list)
    if fine and type(list) == "table" and #list > MOST then
        why = ("it gives %d schedules, and a space holds at most %d"):format(#list, MOST)
    end
    if fine and (type(list) ~= "table" or rule.user and #list == 0) then
        why = "it gives " .. (type(list) == "table" and "an empty list" or "a " .. type(list))
            .. ", not a schedule or a list of them"
    end
    for k, x in ipairs(not why and list or {}) do
        if type(x) ~= "userdata" or not pcall(s.version, x) then
            why = ("its result %d is a %s, not a schedule"):format(k, type(x))
        elseif rule.user and not pcall(x.handle, x, block) then
            why = ("its result %d is a schedule of another program"):format(k)
        end
    end
    if not why then return list end
    refused(rule, s, block, why)
    return { before }
end

-- opts: rules ({name=, apply=, user=}), filter, target, refused(rule, s, block, why). Gives schedules, MOST at most, and
-- whether there were more. A rule of a person's own that makes too many, or takes too long in all, is left out.
function generator.post_order_apply(program, opts)
    local start = core.schedule(program, { name = "sketch" })
    local all, more = { start }, false
    local blocks = collect(start, opts.filter)
    for _, rule in ipairs(opts.rules) do
        local stack, results, broken, spent = {}, {}, false, 0
        for _, s in ipairs(all) do stack[#stack + 1] = { s, #blocks } end
        while #stack > 0 do
            local top = table.remove(stack)
            local s, n = top[1], top[2]
            local many = #stack + #results >= MOST
            local late = spent > LONGEST * (rule.seconds or 2)
            if n > 0 and rule.user and not broken and (many or late) then
                opts.refused(rule, s, blocks[n], many and ("it makes more than %d schedules"):format(MOST)
                    or ("it takes more than %g s for all blocks"):format(LONGEST * (rule.seconds or 2)))
                results = all
                break
            end
            more = more or many and n > 0
            if n == 0 then
                results[#results + 1] = s
            elseif many then
                stack[#stack + 1] = { s, n - 1 }
            else
                local block = s:handle(blocks[n])
                local skip = broken or not block.alive
                if not skip and rule.name ~= "apply-custom-rule" then
                    local said = s:get(block).annotations
                    skip = said and said.schedule_rule ~= nil
                end
                if skip then
                    stack[#stack + 1] = { s, n - 1 }
                else
                    local began = core.clock()
                    local list = results_of(rule, s, block, opts.target, function(...)
                        broken = true
                        opts.refused(...)
                    end)
                    spent = spent + core.clock() - began
                    for _, x in ipairs(list) do stack[#stack + 1] = { x, n - 1 } end
                end
            end
        end
        all = results
    end
    for k, s in ipairs(all) do all[k] = simplified(program, s, "sketch") end
    return all, more
end

-- What a function makes of a fresh schedule: nothing (that one), a schedule, or a list of them.
function generator.schedule_fn(program, fn, seconds)
    local s = core.schedule(program, { name = "sketch" })
    local got = core.limited(seconds, "the function of the space", fn, s)
    if got == nil then got = s end
    if type(got) == "userdata" then got = { got } end
    if type(got) ~= "table" then
        core.fail("bad-argument", "schedule-fn: the function gives a " .. type(got) .. ", not a schedule or a list of them")
    end
    if #got > MOST then
        core.fail("bad-argument", ("schedule-fn: the function gives %d schedules, and a space holds at most %d"):format(#got, MOST))
    end
    for k, x in ipairs(got) do
        if type(x) ~= "userdata" or not pcall(s.version, x) then
            core.fail("bad-argument", ("schedule-fn: result %d is a %s, not a schedule"):format(k, type(x)))
        end
    end
    return got
end

-- What two sketches have in common that give the same programs: the hashes of what they make of the start with the same
-- draws. How the steps name their blocks is no difference.
function generator.signature(program, sketch)
    local parts = { sketch.post and "+" or "" }
    local trace = sketch.schedule:trace()
    for seed = 1, 2 do
        local s = core.schedule(program, { seed = seed })
        local drawn = 0
        local ok = pcall(trace.apply, trace, s, { decide = function()
            drawn = drawn + 1
            return false
        end })
        if drawn == 0 then return sketch.schedule:hash() .. parts[1] end
        parts[#parts + 1] = ok and s:hash() or sketch.schedule:hash()
        parts[#parts + 1] = tostring(drawn)
    end
    return table.concat(parts, " ")
end

-- The list without what is there twice. Gives how many there were.
function generator.unique(program, list)
    local seen, n, kept = {}, #list, {}
    for _, x in ipairs(list) do
        local key = generator.signature(program, x)
        if not seen[key] then
            seen[key] = true
            kept[#kept + 1] = x
        end
    end
    for k = 1, n do list[k] = kept[k] end
    list.twice = (list.twice or 0) + n - #kept
    return n
end

return generator

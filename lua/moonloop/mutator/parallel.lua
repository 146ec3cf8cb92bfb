-- parallel - the root's limit of a parallel loop is one that gives other loops. opts: jobs (per core).
-- Source: auto-scheduler 8.
local _, core, is, choices = ...

local key = "meta_schedule.parallel"

-- By block under the root the products of its leading constant loops that are no sums, within the limit.
local function prefixes(s, limit)
    local list = {}
    for _, b in ipairs(s:blocks()) do
        local types, loops = is.loop_types(s, b)
        local products, product = {}, 1
        for k, l in ipairs(loops) do
            local extent = types[k] == "S" and s:get(l).extent
            if not extent or product * extent > limit then break end
            product = product * extent
            products[k] = product
        end
        list[#list + 1] = products
    end
    return list
end

-- How many loops of each block a limit takes: the fewest whose product reaches it, all if none does.
local function plan(list, limit)
    local t = {}
    for k, products in ipairs(list) do
        t[k] = #products
        for j, p in ipairs(products) do
            if p >= limit then
                t[k] = j
                break
            end
        end
    end
    return table.concat(t, " ")
end

return function(opts, target)
    return function(trace, rand, program)
        local at
        for k = 1, #trace do
            if trace[k].kind == "EnterPostproc" then break end
            if trace[k].kind == "Annotate" and trace[k].attrs[1] == key then at = k end
        end
        local s = at and choices.replayed(core, program, choices.rebuilt(trace, #trace))
        if not s then return nil end
        local limit = (target.cores or 1) * (opts.jobs or 16)
        local list, limits, now = prefixes(s, limit), {}, trace[at].inputs[2]
        local seen = { [plan(list, now)] = true }
        for _, products in ipairs(list) do
            for _, p in ipairs(products) do
                local one = plan(list, p)
                if not seen[one] then
                    seen[one] = true
                    limits[#limits + 1] = p
                end
            end
        end
        if #limits == 0 then return nil end
        local to = choices.pick(limits, rand)
        return choices.rebuilt(trace, #trace, function(inst, k)
            if k ~= at then return nil end
            local new = {}
            for field, v in pairs(inst) do new[field] = v end
            new.inputs = { inst.inputs[1], to }
            return new
        end)
    end
end

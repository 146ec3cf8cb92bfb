-- compute-location - a block goes to another place that is offered for it. Source: auto-scheduler 8.
local _, core, _, choices = ...

local DEEPEST = 32 -- loops above a block, more than there are

-- The places that are offered for the block of instruction k, but the one that it has.
local function others(program, trace, k)
    local list, miss = {}, 0
    for d = -2, DEEPEST do
        local part = choices.rebuilt(trace, k):with_decision(k, d)
        local s = choices.replayed(core, program, part)
        local t = s and s:trace()
        local got = t and t[#t].decision
        miss = got == d and 0 or miss + 1 -- what is not there gives the next below
        if got == d and d ~= trace[k].decision then list[#list + 1] = d end
        if miss > 8 then break end
    end
    return list
end

return function()
    return function(trace, rand, program)
        local found = {}
        for k = 1, #trace do
            if trace[k].kind == "EnterPostproc" then break end
            if trace[k].kind == "SampleComputeLocation" then
                local list = others(program, trace, k)
                if #list > 0 then found[#found + 1] = { k, list } end
            end
        end
        if #found == 0 then return nil end
        local k, list = table.unpack(choices.pick(found, rand))
        return trace:with_decision(k, choices.pick(list, rand), { remove_postproc = true })
    end
end

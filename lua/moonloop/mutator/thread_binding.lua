-- thread-binding - the number of threads that a loop was split by is drawn again. Source: auto-scheduler 8.
local _, _, _, choices = ...

return function()
    return function(trace, rand)
        local bound = {} -- loops bound to threadIdx.x
        for k = 1, #trace do
            local inst = trace[k]
            if inst.kind == "Bind" and inst.attrs[1] == "threadIdx.x" then bound[inst.inputs[1]] = true end
        end
        local list = choices.feeding(trace, function(use, x)
            return use.kind == "Split" and #use.inputs == 3 and use.inputs[3] == x and bound[use.outputs[2]]
        end)
        return #list > 0 and choices.redraw(trace, choices.pick(list, rand), rand) or nil
    end
end

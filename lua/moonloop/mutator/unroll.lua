-- unroll - how far to unroll is drawn again. Source: auto-scheduler 8.
local _, _, _, choices = ...

return function()
    return function(trace, rand)
        local list = choices.feeding(trace, function(use)
            return use.kind == "Annotate" and use.attrs[1]:find("^meta_schedule%.unroll_") ~= nil
        end)
        return #list > 0 and choices.redraw(trace, choices.pick(list, rand), rand) or nil
    end
end

-- disallow-async-strided-copy - what a processor copies in the background is one run of elements, the only thing that
-- its engine for copies can be told. Source: auto-scheduler 7.9.
local _, core = ...

return function()
    return function(s)
        for _, c in ipairs(core.async_copies(s)) do
            if c.why then
                return false, ("the copy from %s to %s in the background is not one run: %s"):format(c.source, c.target, c.why)
            end
        end
        return true
    end
end

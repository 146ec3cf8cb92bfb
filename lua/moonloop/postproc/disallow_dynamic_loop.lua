-- disallow-dynamic-loop - every loop has a constant extent. Source: auto-scheduler 7.1.
local _, _, is = ...

return function()
    return function(s)
        for _, b in ipairs(s:blocks()) do
            for _, l in ipairs(s:loops(b)) do
                if not s:get(l).extent then return false, "the extent of loop " .. l.name .. " is not constant" end
            end
        end
        return true
    end
end

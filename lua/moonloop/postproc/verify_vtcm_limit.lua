-- verify-vtcm-limit - the scratchpad of a wide-vector processor holds what is put there.
-- Source: auto-scheduler 7.9.
local _, core = ...

return function(_, target)
    return function(s)
        local bytes, seen = 0, {}
        for _, b in ipairs(s:blocks()) do
            for _, w in ipairs(core.block_view(s, b).writes) do
                if w.scope == "global.vtcm" and not seen[w.id] then
                    seen[w.id] = true
                    if not w.bytes then return false, "the size of " .. w.buffer .. " is not constant" end
                    bytes = bytes + w.bytes
                end
            end
        end
        local most = target.vtcm or target["vtcm-capacity"]
        if most and bytes > most then return false, ("%d bytes in the scratchpad, at most %d"):format(bytes, most) end
        return true
    end
end

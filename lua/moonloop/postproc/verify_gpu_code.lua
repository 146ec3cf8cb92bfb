-- verify-gpu-code - what a device launches is within its limits. Source: auto-scheduler 7.8.
local moon, core = ...

local low, high = "meta_schedule.thread_extent_low_inclusive", "meta_schedule.thread_extent_high_inclusive"

-- Extents of the threads above a block, by tag.
local function above(s, block)
    local found, at = {}, s:get_sref(block).parent
    while at do
        local info = at.kind == "loop" and s:get(at)
        if info and info.thread then found[info.thread] = info.extent end
        at = s:get_sref(at).parent
    end
    return found
end

return function(_, target)
    return function(s)
        for _, b in ipairs(s:blocks()) do
            local view = core.block_view(s, b)
            local threads = above(s, b)
            local product = 1
            for _, axis in ipairs { "x", "y", "z" } do product = product * (threads["threadIdx." .. axis] or 1) end
            if view.annotations.warp_execution then product = product * target.warp end
            local least, most = view.annotations[low], view.annotations[high]
            if least and most and (product < least or product > most) then
                return false, ("%d threads, not %d to %d"):format(product, least, most)
            end
            for name, n in pairs(threads) do
                if name:find("^vthread") and n and n > 8 then return false, n .. " virtual threads, at most 8" end
            end
            for _, l in ipairs(s:loops(b)) do
                local info = s:get(l)
                local most = target.limits.max_vector_bytes
                if most < 0 then most = 16 end
                if info.kind == "vectorized" and info.extent and info.extent * view.bytes > most then
                    return false, ("a vector of %d bytes, at most %d"):format(info.extent * view.bytes, most)
                end
            end
        end
        for _, finding in ipairs(moon.verify(s:mod(), { what = { "threading", "gpu" }, target = target.limits })) do
            -- what may take more than there is of memory or registers is left to others, though it may be legal
            local limit = finding.code == "memory-limit" or finding.code == "launch-limit"
            if finding.severity == "error" or limit then return false, finding.message end
        end
        return true
    end
end

-- rewrite-cooperative-fetch - the threads of a block share the copies that a rule marked.
-- Source: auto-scheduler 7.2.
local moon, core = ...

local key = "meta_schedule.cooperative_fetch"

-- Extents of threadIdx.x and threadIdx.y as they stand in the program.
local function threads(s, target)
    local found = {}
    for _, b in ipairs(s:blocks()) do
        for _, l in ipairs(s:loops(b)) do
            local info = s:get(l)
            if info.thread then found[info.thread] = info.extent end
        end
        if core.block_view(s, b).annotations.warp_execution then found["threadIdx.x"] = target.warp end
    end
    return found["threadIdx.x"], found["threadIdx.y"]
end

return function(_, target)
    return function(s)
        local x, y = threads(s, target)
        for _, b in ipairs(s:blocks()) do
            local view = core.block_view(s, b)
            local lanes = view.annotations[key]
            if lanes then
                s:unannotate(b, key)
                local loops = s:get_loops(b)
                local loop = loops[#loops]
                local extent = loop and s:get(loop).extent
                if extent then
                    if extent % lanes ~= 0 or view.bytes > 4 then lanes = 1 end
                    local factors, binds = { moon.auto }, {}
                    if y then
                        factors[2], binds[2] = y, "threadIdx.y"
                    end
                    if x then
                        factors[#factors + 1] = x
                        binds[#factors] = "threadIdx.x"
                    end
                    if lanes > 1 then factors[#factors + 1] = lanes end
                    if #factors > 1 then
                        local parts = s:split(loop, factors)
                        if lanes > 1 then s:vectorize(parts[#factors]) end
                        for k = 2, #factors do
                            if binds[k] then s:bind(parts[k], binds[k]) end
                        end
                    end
                end
            end
        end
        return true
    end
end

-- cross-thread-reduction - the threads of a block share the terms of a sum.
--
-- opts: extents (numbers of threads). Source: auto-scheduler 6.10.
local moon, core, is = ...

local function thread_of(s, loop) return s:get(loop).thread end

-- The consumer at whose loop the block can be computed, its loops, and the position of that loop; nil: none.
local function find_target(s, block)
    local view, consumers = core.block_view(s, s:handle(block)), s:get_consumers(block)
    if #view.writes ~= 1 or #consumers == 0 then return nil end
    local consumer = consumers[1]
    if is.worth_tiling(s, consumer) then return nil end
    local own, types = s:loops(block), is.loop_types(s, block)
    local there, there_types = s:loops(consumer), nil
    local common
    if #consumers > 1 then
        there_types = {}
        for k, l in ipairs(there) do
            local all = true
            for _, c in ipairs(consumers) do
                local list = s:loops(c)
                if list[k] ~= l then all = false end
            end
            if all then common = k end
        end
        if not common then return nil end
    end
    local n = math.min(#own, #there)
    local at = n
    for k = 1, n do
        if types[k] ~= "S" then
            at = k - 1
            break
        end
        if k == common then
            at = k
            break
        end
    end
    if at < 1 then return nil end
    return consumer, at
end

return function(opts)
    local extent_of = setmetatable({}, { __mode = "k" }) -- by schedule: what threadIdx.x was split by
    return function(s, block, target)
        local view = core.block_view(s, s:handle(block))
        if not target.max_threads or not target.warp or view.root or
            not is.worth_dividing(s, block, target.max_threads) then
            return { s }
        end
        local whole = s:copy()
        extent_of[whole] = extent_of[s]
        local ok = is.done(function()
            local extent = is.choice(s, opts.extents)
            local consumer, at = find_target(s, block)
            if consumer then
                local loops = s:get_loops(consumer)
                local to, bound = loops[at], nil
                for _, l in ipairs(loops) do
                    if (thread_of(s, l) or ""):find("^threadIdx") then bound = bound or l end
                end
                if bound then
                    extent = extent_of[s] or s:get(bound).extent
                else
                    local parts = s:split(loops[#loops], { moon.auto, extent })
                    s:bind(parts[2], "threadIdx.x")
                    if at == #loops then to = parts[1] end
                end
                s:compute_at(block, to, true)
                s:set_scope(block, 0, "shared")
            end
            local fused = is.fuse_reductions(s, block)
            s:bind(s:split(fused, { moon.auto, extent })[2], "threadIdx.x")
            extent_of[s] = extent
        end)
        return ok and { s, whole } or { whole }
    end
end

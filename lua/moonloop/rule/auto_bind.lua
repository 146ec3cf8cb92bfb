-- auto-bind - a block that no thread runs gets blocks of threads and threads.
--
-- opts: blocks (the most of them), extents (numbers of threads to choose from). Source: auto-scheduler 6.11.
local moon, core, is = ...

local bind = {}

-- Binds the loops of the block; choose(s, extent) gives the number of threads.
function bind.block(s, block, blocks, max_threads, choose)
    local loops, types = s:loops(block), is.loop_types(s, block)
    local block_at, thread_at, stop, spatial
    for k, l in ipairs(loops) do
        local info = s:get(l)
        local thread = info.thread or ""
        if thread:find("^blockIdx") then block_at = block_at or k end
        if thread:find("^threadIdx") then thread_at = thread_at or k end
        if not stop and (info.kind ~= "serial" or k > 1 and not is.alone(s, l)) then stop = k - 1 end
        if not spatial and types[k] ~= "S" then spatial = k - 1 end
    end
    stop, spatial = stop or #loops, spatial or #loops
    if block_at and thread_at then return end
    if block_at then
        core.fail("not-supported", "auto-bind: a block under blockIdx without threadIdx")
    end
    loops = s:get_loops(block)
    if spatial == 0 then
        local unit = s:add_unit_loop(loops[1] or block)
        loops = { unit, table.unpack(loops) }
        stop, spatial, thread_at = stop + 1, 1, thread_at and thread_at + 1
    end
    if thread_at then
        local n = math.min(stop, thread_at - 1, spatial)
        if n == 0 then
            loops = { s:add_unit_loop(loops[1]) }
            n = 1
        end
        s:bind(s:fuse(table.unpack(loops, 1, n)), "blockIdx.x")
        return
    end
    local fused = s:fuse(table.unpack(loops, 1, math.max(1, math.min(stop, spatial))))
    local extent = s:get(fused).extent
    if extent and extent <= blocks * max_threads then
        local parts = s:split(fused, { moon.auto, choose(s, math.min(extent, max_threads)) })
        s:bind(parts[1], "blockIdx.x")
        s:bind(parts[2], "threadIdx.x")
    else
        local parts = s:split(fused, { moon.auto, blocks, max_threads })
        s:reorder(parts[2], parts[3], parts[1])
        s:bind(parts[2], "blockIdx.x")
        s:bind(parts[3], "threadIdx.x")
    end
end

return setmetatable(bind, {
    __call = function(_, opts)
        return function(s, block, target)
            local view = core.block_view(s, s:handle(block))
            if view.root or is.tiled(view) then return { s } end
            bind.block(s, block, opts.blocks, target.max_threads or 1024, function(_, limit)
                local list = {}
                for _, n in ipairs(opts.extents) do
                    if n <= limit then list[#list + 1] = n end
                end
                if #list == 0 then return limit end
                return #list == 1 and list[1] or is.choice(s, list)
            end)
            return { s }
        end
    end,
})

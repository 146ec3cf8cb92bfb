-- scan - blocks with an axis whose order is kept: running sums.
--
-- Rows are independent of each other and go to the threads; along the axis the running value
-- stays in a register (the pass carry_values). Sums of blocks before it are rows of their
-- own. Source: auto-scheduler 6; lowering-and-codegen 7.4.
local moon, core, facts, plain = ...

local scan = {}
local rows = core.load("space/rows")(moon, core, facts, plain)

local function is_scan(f)
    for _, it in ipairs(f.iters) do
        if it.kind == "opaque" then return true end
    end
end

-- The outer loops that order nothing, all of them at once, fused and parallel.
local function parallel_rows(s, name, f)
    local outer = {}
    for _, l in ipairs(s:get_loops(name)) do
        for _, it in ipairs(f.iters) do
            if it.loop == l and it.kind ~= "spatial" then goto done end
        end
        if s:get(l).extent and s:get(l).extent > 1 then outer[#outer + 1] = l end
    end
    ::done::
    local points = 1
    for _, it in ipairs(f.iters) do points = points * (it.extent or 1) end
    if #outer > 0 and points >= facts.serial_below then
        facts.try(s, function(x) x:parallel(#outer > 1 and x:fuse(table.unpack(outer)) or outer[1]) end)
    end
end

function scan.sketches(list, program, target, threads)
    local probe = core.schedule(program, { name = "probe" })
    local some = false
    for _, name in ipairs(facts.blocks(probe)) do
        local f = core.block_body(probe, probe:get_block(name))
        some = some or (f and is_scan(f))
    end
    if not some then return end
    facts.sketch(list, program, "scans of rows", function(s)
        for _, name in ipairs(facts.blocks(s)) do
            local f = core.block_body(s, s:get_block(name))
            if f and is_scan(f) then
                if threads > 1 then parallel_rows(s, name, f) end
            elseif not facts.try(s, function(x) assert(rows.alone(x, name, target, threads)) end) then
                facts.try(s, function(x) plain.block(x, name, target, threads) end)
            end
        end
    end)
end

return scan

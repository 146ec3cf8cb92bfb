-- scan - blocks with an axis whose order is kept: running sums.
--
-- Rows are independent of each other and go to the threads; some of them take each step of the
-- axis by turns, for a running value waits for its addition. It stays in a register (the pass
-- carry_values). Sums of blocks before it are rows of their own.
-- Source: auto-scheduler 6; lowering-and-codegen 7.4.
local moon, core, facts, plain = ...

local scan = {}
local rows = core.load("space/rows")(moon, core, facts, plain)

local function is_scan(f)
    for _, it in ipairs(f.iters) do
        if it.kind == "opaque" then return true end
    end
end

-- Rows of the innermost loop that orders nothing come inside of the axis: what is left outside of
-- them, or nil. Each is a line of what is read and one of what is written: many of them, a power of
-- two apart, push each other out of the cache.
local function interleave(s, row, extent, axes)
    local list, left = {}, nil
    for _, n in ipairs { 4, 2, 8, 1 } do
        if n <= extent then list[#list + 1] = n end
    end
    if #list < 2 then return end
    facts.try(s, function(x)
        local rest, some = table.unpack(x:split(row, { moon.auto, facts.choose(x, list) }))
        x:reorder(table.unpack(table.move({ some }, 1, 1, #axes + 1, table.move(axes, 1, #axes, 1, {}))))
        x:unroll(some)
        left = rest
    end)
    return left
end

-- The loops that order nothing outside of those that do: the innermost one by turns, all at once
-- fused and parallel.
local function schedule_rows(s, name, f, threads)
    local rows, axes, last, points = {}, {}, 1, 1
    for _, l in ipairs(s:get_loops(name)) do
        for _, it in ipairs(f.iters) do
            if it.loop == l and it.extent ~= 1 then
                local free = it.kind == "spatial" and #axes == 0
                table.insert(free and rows or axes, l)
                if free then last = it.extent or 1 end
            end
        end
    end
    for _, it in ipairs(f.iters) do points = points * (it.extent or 1) end
    if #rows > 0 and #axes > 0 then rows[#rows] = interleave(s, rows[#rows], last, axes) or rows[#rows] end
    if threads > 1 and #rows > 0 and points >= facts.serial_below then
        facts.try(s, function(x) x:parallel(#rows > 1 and x:fuse(table.unpack(rows)) or rows[1]) end)
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
                schedule_rows(s, name, f, threads)
            elseif not facts.try(s, function(x) assert(rows.alone(x, name, target, threads)) end) then
                facts.try(s, function(x) plain.block(x, name, target, threads) end)
            end
        end
    end)
end

return scan

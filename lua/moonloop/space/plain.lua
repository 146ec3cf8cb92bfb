-- plain - every block by itself: loops fused and parallel, the contiguous one vectorised.
--
-- For element-wise stages, copies, and what no other family knows. Source: auto-scheduler 6.
local moon, core, facts = ...

local plain = {}
local transpose = core.load("space/transpose")(moon, core, facts)
local matrix = core.load("space/matrix")(moon, core, facts)
local auto = moon.auto

-- ---- simple blocks: elementwise, copies, transposes, small reductions

-- Outer spatial loops fused and parallel, the innermost contiguous one vectorised.
-- free: how many vectors are in flight is left open.
function plain.block(s, name, target, threads, free)
    local b = s:get_block(name)
    local f = facts.of(s, b)
    if not f or #f.spatial == 0 then return end
    if #s:get_loops(b) ~= #f.iters then return end
    local loops = {} -- of the iterators; their order in the nest is another matter
    for k, it in ipairs(f.iters) do loops[k] = it.loop end
    if free and transpose.block(s, name, f, target, threads) then return end
    local v = facts.contiguous(f)
    local lanes, bytes = facts.lanes(target, f.write.dtype), facts.bytes(f.write.dtype)
    -- a line shorter than a vector: half of one, or a quarter
    while v and lanes > f.iters[v].extent and lanes * bytes > 16 do lanes = lanes // 2 end
    if matrix.block(s, b, f, v, loops, lanes, threads) then return end
    local outer, order = {}, {}
    for _, k in ipairs(f.spatial) do
        if k ~= v then outer[#outer + 1] = loops[k] end
    end
    for _, l in ipairs(outer) do order[#order + 1] = l end
    local wide = v and f.iters[v].extent >= lanes
    if wide then
        local vo, vi, vu
        if free and #f.reduce == 0 then
            vo, vu, vi = table.unpack(s:split(loops[v], { auto, facts.choose(s, { 1, 4, 2, 8 }), lanes }))
        else
            vo, vi = table.unpack(s:split(loops[v], { auto, lanes }))
        end
        order[#order + 1] = vo
        outer[#outer + 1] = vo
        for _, k in ipairs(f.reduce) do order[#order + 1] = loops[k] end
        order[#order + 1] = vu
        order[#order + 1] = vi
        if #order > 1 then s:reorder(table.unpack(order)) end
        if f.init then
            local first = loops[f.reduce[1]]
            if first then
                local init = s:decompose_reduction(b, first)
                local il = s:get_loops(init)
                s:vectorize(il[#il])
            end
        end
        s:vectorize(vi)
        if vu then s:unroll(vu) end
    else
        if v then
            order[#order + 1] = loops[v]
            outer[#outer + 1] = loops[v]
        end
        for _, k in ipairs(f.reduce) do order[#order + 1] = loops[k] end
        if #order > 1 then s:reorder(table.unpack(order)) end
    end
    if threads > 1 and f.points >= facts.serial_below and #outer > 0 then
        local function parallel(n)
            return facts.try(s, function(x)
                local whole = n > 1 and x:fuse(table.unpack(outer, 1, n)) or outer[1]
                x:parallel(whole)
                if free and wide then facts.stream(x, whole, f, target) end
            end)
        end
        local function extent(n)
            local product = 1
            for k = 1, n do product = product * (s:get(outer[k]).extent or 1) end
            return product
        end
        -- a loop of vectors with a rest keeps it to itself where there are tasks enough: a
        -- parallel one asks for it each time
        local rest = wide and f.iters[v].extent % lanes > 0 and extent(#outer - 1) >= 4 * threads
        -- all of them as one; where that cannot be shown to be sound, fewer
        for n = rest and #outer - 1 or #outer, 1, -1 do
            if extent(n) > 1 and parallel(n) then break end
        end
    end
end

-- ---- inlining

-- Elementwise producers go into their consumers when that does not repeat real work: plain
-- copies always, others unless the consumer is a reduction (which would repeat them).
function plain.inline(s, keep)
    local again = true
    while again do
        again = false
        for _, name in ipairs(facts.blocks(s)) do
            local b = s:get_block(name)
            local f = facts.of(s, b)
            if f and #f.reduce == 0 and not f.init and not f.write.param and not keep[name] then
                local cheap = f.copy and not f.guard
                local into_reduction = false
                for _, c in ipairs(s:get_consumers(b)) do
                    local cf = facts.of(s, c)
                    if not cf or #cf.reduce > 0 then into_reduction = true end
                end
                if (cheap or not into_reduction) and facts.try(s, function(x) x:compute_inline(name) end) then
                    again = true
                    break
                end
            end
        end
    end
end

-- Inlines, and gives results between blocks the layout in which they are made.
function plain.inline_and_lay(s, target)
    plain.inline(s, {})
    matrix.lay(s, target)
end

-- What is left after a block: the elementwise block that reads it alone, once inlined; nil
-- where the block's own result is given back, too, so that it cannot stay in registers.
function plain.follower(s, name)
    local b = s:get_block(name)
    local list = s:get_consumers(b)
    local own = facts.of(s, b)
    if #list ~= 1 or (own and own.write.param) then return nil end
    local f = facts.of(s, list[1])
    if not f or #f.reduce > 0 then return nil end
    return s:get(list[1]).name
end

-- The block that brings results of `block` out of registers, with the element-wise block that
-- follows (its name, or nil) in it. reindexed: in the order of the block's iterators.
function plain.bring_out(s, block, follower, reindexed)
    local back = reindexed and s:reindex(block, { "write", 0 }) or s:cache_write(block, 0, "local")
    if follower then s:reverse_compute_inline(follower) end
    return back
end

-- Every block by itself, with and without inlining.
function plain.sketches(list, program, target, threads)
    local function each(s)
        for _, n in ipairs(facts.blocks(s)) do
            facts.try(s, function(x) plain.block(x, n, target, threads, true) end)
        end
    end
    facts.sketch(list, program, "fused, vectorised", function(s)
        plain.inline_and_lay(s, target)
        each(s)
    end)
    facts.sketch(list, program, "vectorised", each)
end

return plain

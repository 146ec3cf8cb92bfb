-- columns - reductions across what is contiguous, of operands that are read once.
--
-- Column sums, means over pixels: vectors of results side by side, nothing to reuse and so
-- nothing to pack. Few rows: a tile of results stays in registers over all of them. Many:
-- each thread takes rows of its own, blocks of rows are reduced in registers and added to
-- partial results that stay near, and the threads' are combined at the end.
-- Source: auto-scheduler 6; lowering-and-codegen 8.3.
local moon, core, facts, plain = ...

local columns = {}
local auto = moon.auto

-- Whether the block reduces across vectors of its result, reading each element once.
local function is_column_reduction(f)
    local v = facts.contiguous(f)
    if #f.reduce == 0 or not f.init or not v then return false end
    local once = false
    for _, r in ipairs(f.reads) do
        if r.irregular or (r.strides[v] and r.strides[v] ~= 1) then return false end
        once = once or r.strides[v] == 1 and r.elements >= f.points
    end
    return once
end

-- The one reduction of the program, known blocks around it; nil otherwise.
local function anchor(s)
    local found
    for _, name in ipairs(facts.blocks(s)) do
        local f = facts.of(s, s:get_block(name))
        if not f then return nil end
        if #f.reduce > 0 then
            if found or not is_column_reduction(f) then return nil end
            found = name
        end
    end
    return found
end

-- Vectors of results in registers; those that leave nothing over first.
local function widths(lanes, columns_)
    local out, rest = {}, {}
    for _, n in ipairs { 8, 4, 16, 2, 1 } do
        if n * lanes <= columns_ then
            local list = columns_ % (n * lanes) == 0 and out or rest
            list[#list + 1] = n
        end
    end
    return table.move(rest, 1, #rest, #out + 1, out)
end

local function vectorize_init(s, b, first, depth)
    local init = s:decompose_reduction(b, first)
    local loops = s:get_loops(init)
    s:vectorize(loops[#loops])
    for k = 1, depth do s:unroll(loops[#loops - k]) end
end

-- Results in registers over all rows, which are the innermost serial loops.
local function in_registers(s, name, f, target, threads, follower)
    local b, lanes = s:get_block(name), facts.lanes(target, f.write.dtype)
    local v = facts.contiguous(f)
    local whole = plain.bring_out(s, b, follower)
    local loops = s:get_loops(b)
    local c0, c1, c2 = table.unpack(s:split(loops[v], { auto, facts.choose(s, widths(lanes, f.iters[v].extent)), lanes }))
    local order = {}
    for _, k in ipairs(f.spatial) do
        if k ~= v then order[#order + 1] = loops[k] end
    end
    order[#order + 1] = c0
    local outer = #order
    for _, k in ipairs(f.reduce) do order[#order + 1] = loops[k] end
    order[#order + 1], order[#order + 2] = c1, c2
    s:reorder(table.unpack(order))
    s:vectorize(c2)
    s:unroll(c1)
    s:reverse_compute_at(whole, c0, true)
    local back = s:get_loops(whole)
    local o, i = table.unpack(s:split(back[#back], { auto, lanes }))
    s:vectorize(i)
    s:unroll(o)
    vectorize_init(s, b, order[outer + 1], 1)
    if threads > 1 and f.points >= facts.serial_below then
        s:parallel(outer > 1 and s:fuse(table.unpack(order, 1, outer)) or c0)
    end
end

-- Rows of a block, and so that each thread has blocks of its own.
local function row_blocks(rows, threads)
    local out = {}
    for _, n in ipairs { 8, 16, 4, 32 } do
        if rows % (threads * n) == 0 and rows >= threads * n * 2 then out[#out + 1] = n end
    end
    return out
end

-- Partial results of blocks of rows, of threads, and of all.
local function in_blocks(s, name, f, target, threads)
    local b, lanes = s:get_block(name), facts.lanes(target, f.write.dtype)
    local v, n = facts.contiguous(f), #f.spatial
    local loops = s:get_loops(b)
    local first = loops[f.reduce[1]]
    local rows = facts.choose(s, row_blocks(f.iters[f.reduce[1]].extent, threads))
    local own, block = table.unpack(s:split(first, { threads, auto, rows }))
    local partial = s:rfactor(own, 0)
    local inside = s:get_loops(partial)
    local tile = s:rfactor(inside[f.reduce[1] + 1], 0)
    -- of a thread: blocks of rows, tiles of columns
    local l = s:get_loops(partial)
    local t, kb = l[f.reduce[1]], l[f.reduce[1] + 1]
    local c0, c1, c2 = table.unpack(s:split(l[v], { auto, facts.choose(s, widths(lanes, f.iters[v].extent)), lanes }))
    local order = { t }
    for _, k in ipairs(f.spatial) do
        if k ~= v then order[#order + 1] = l[k] end
    end
    order[#order + 1], order[#order + 2], order[#order + 3], order[#order + 4] = kb, c0, c1, c2
    s:reorder(table.unpack(order))
    s:compute_at(tile, c0, true)
    s:set_scope(tile, 0, "local")
    -- of a block: rows outside, vectors inside
    local inner = s:get_loops(tile)
    local reduce, last = {}, inner[#inner - #f.reduce]
    for k = #inner - #f.reduce + 1, #inner do reduce[#reduce + 1] = inner[k] end
    local ro, ri = table.unpack(s:split(last, { auto, lanes }))
    s:reorder(table.unpack(table.move({ ro, ri }, 1, 2, #reduce + 1, table.move(reduce, 1, #reduce, 1, {}))))
    s:vectorize(ri)
    s:unroll(ro)
    s:unroll(reduce[#reduce])
    vectorize_init(s, tile, reduce[1], 1)
    s:vectorize(c2)
    s:unroll(c1)
    vectorize_init(s, partial, kb, 0)
    if threads > 1 then s:parallel(t) end
    plain.block(s, name, target, threads)
end

function columns.sketches(list, program, target, threads)
    local probe = core.schedule(program, { name = "probe" })
    plain.inline(probe, {})
    local name = anchor(probe)
    if not name then return end
    local f = facts.of(probe, probe:get_block(name))
    local lanes, v = facts.lanes(target, f.write.dtype), facts.contiguous(f)
    if f.iters[v].extent < lanes then return end
    local function whole(fn, follower)
        return function(s)
            plain.inline(s, {})
            for _, other in ipairs(facts.blocks(s)) do
                if other ~= name and other ~= follower then
                    facts.try(s, function(x) plain.block(x, other, target, threads) end)
                end
            end
            fn(s, name, f, target, threads, follower)
        end
    end
    if f.points >= facts.serial_below and #row_blocks(f.iters[f.reduce[1]].extent, threads) > 0 then
        facts.sketch(list, program, "columns in blocks of rows", whole(in_blocks))
    end
    local before = #list
    local follower = plain.follower(probe, name)
    facts.sketch(list, program, "columns in registers", whole(in_registers, follower))
    if follower and #list == before then facts.sketch(list, program, "columns in registers", whole(in_registers)) end
    list.known = #list > before -- there is nothing that packing would save
end

return columns

-- pack_parts - what a product of two tensors is made of, and the pieces of its schedules.
--
-- Of the iterators of a product some are the batch (both operands have them), some rows (the
-- left operand alone), some columns (the right one) and the rest is summed. Along one column
-- iterator the result is contiguous: vectors lie there.
-- Source: auto-scheduler 6; lowering-and-codegen 8.
local moon, core, facts = ...

local parts = {}
local auto = moon.auto

-- ---- what is a product

local function used_extent(f, r)
    local n = 1
    for k, it in ipairs(f.iters) do
        if r.strides[k] then n = n * it.extent end
    end
    return n
end

-- The parts of a product, by position among the iterators: v (vectors), batch, rows, columns,
-- reduce; left and right operands; nil when it is none. v: where vectors are to lie, if not
-- where the result is contiguous.
function parts.of(f, v)
    v = v or facts.contiguous(f)
    if not v or not f.init or #f.reduce == 0 or f.guard or f.calls or #f.reads ~= 2 then return nil end
    local left, right
    for k, r in ipairs(f.reads) do
        if r.irregular or used_extent(f, r) ~= r.elements then return nil end -- each element is used, at one place
        r.at = k - 1
        if r.strides[v] then right = r else left = r end
    end
    if not left or not right then return nil end
    local p = { v = v, left = left, right = right, batch = {}, rows = {}, columns = {} }
    for _, k in ipairs(f.spatial) do
        local list = left.strides[k] and (right.strides[k] and p.batch or p.rows) or p.columns
        if not left.strides[k] and not right.strides[k] then
            if f.iters[k].extent > 1 then return nil end
            list = p.batch
        end
        if k ~= v then list[#list + 1] = k end
    end
    for _, k in ipairs(f.reduce) do
        if not left.strides[k] or not right.strides[k] then return nil end
    end
    -- rows of a tile: the most of them, of equal ones the inner
    for _, k in ipairs(p.rows) do
        if f.iters[k].extent > 1 and (not p.r or f.iters[k].extent >= f.iters[p.r].extent) then p.r = k end
    end
    local function extent(list)
        local n = 1
        for _, k in ipairs(list) do n = n * f.iters[k].extent end
        return n
    end
    p.m, p.n = p.r and f.iters[p.r].extent or 1, f.iters[v].extent
    p.depth = extent(f.reduce)
    p.among = extent(p.batch) * extent(p.columns) -- products one after the other
    return p
end

-- ---- tiles

function parts.up(n, by) return (n + by - 1) // by end

-- How much of the threads' time is used when equal tasks are dealt out to them.
function parts.balance(tasks, threads) return tasks / (parts.up(tasks, threads) * threads) end

-- Lanes of a vector: fewer where columns are few.
function parts.lanes(target, f, p)
    local lanes = facts.lanes(target, f.write.dtype)
    while lanes > 4 and lanes >= 2 * p.n do lanes = lanes // 2 end
    return lanes
end

-- Cycles of one step of the sum over all of rows x vectors, with two multiply-adds and two
-- loads a cycle; an accumulator waits four cycles for itself.
local function steps(rows, vectors, mr, nv, ragged)
    local function one(m, n) return math.max(m * n / 2, (m + n) / 2, 4) end
    local function row(n)
        local rest = rows % mr
        return rows // mr * one(mr, n) + (rest > 0 and one(rest, n) or 0)
    end
    local tails = (vectors % nv > 0 and ragged or 0) + (rows % mr > 0 and 0.03 or 0) -- code of their own
    return (vectors // nv * row(nv) + (vectors % nv > 0 and row(vectors % nv) or 0)) * (1 + tails)
end

-- Tiles as rows * 1000 + vectors, the one with the fewest cycles first. ragged: what panels of
-- another width cost, in parts of all; only: as many vectors; weigh(rows, vectors): what a tile costs besides, as a factor.
function parts.tiles_of(target, lanes, rows, columns, ragged, only, weigh)
    local list, vectors, room = {}, parts.up(columns, lanes), target.registers
    for nv = only or 1, only or math.min(vectors, rows < 4 and 16 // rows or 6) do
        for mr = 1, math.min(rows, 28) do
            if mr * nv + nv + 1 <= room and (mr <= 8 or mr % 2 == 0) and mr * nv >= math.min(8, mr * vectors, rows * nv) then
                -- of equal ones fewer loads
                local cycles = steps(rows, vectors, mr, nv, ragged) * (1 + 0.2 * (mr + nv) / (mr * nv))
                list[#list + 1] = { mr * 1000 + nv, cycles * (weigh and weigh(mr, nv) or 1) }
            end
        end
    end
    table.sort(list, function(a, b) return a[2] < b[2] or a[2] == b[2] and a[1] < b[1] end)
    local out = {}
    for k = 1, math.min(#list, 8) do out[k] = list[k][1] end
    return out
end

-- ---- pieces of the schedule

function parts.below(extent, list)
    local out = {}
    for _, x in ipairs(list) do
        if x <= extent then out[#out + 1] = x end
    end
    return #out > 0 and out or { 1 }
end

-- The dimensions of the copy of an operand, by the strides of what it copies.
local function dimensions(s, copy, f, operand)
    local c, by = core.block_body(s, copy), {}
    for k, it in ipairs(f.iters) do
        for d, of in ipairs(c.iters) do
            if operand.strides[k] and of.extent == it.extent and c.reads[1].strides[d] == operand.strides[k] then by[k] = d end
        end
    end
    return by, #c.iters
end

-- A copy of an operand with the dimensions of `inner` last, in this order; width: in panels of
-- as many elements of the last one, each panel by itself.
function parts.relaid(s, b, f, operand, inner, width)
    local copy = s:cache_read(b, operand.at, "global")
    local by, rank = dimensions(s, copy, f, operand)
    local last, order, names, seen = {}, {}, {}, {}
    for _, k in ipairs(inner) do last[#last + 1] = by[k] end
    for _, d in ipairs(last) do seen[d] = true end
    for d = 1, rank do
        names[d] = "i" .. d
        if not seen[d] then order[#order + 1] = names[d] end
    end
    for _, d in ipairs(last) do order[#order + 1] = names[d] end
    if width then
        local v = table.remove(order)
        table.insert(order, #order - #last + 2, ("%s // %d"):format(v, width))
        order[#order + 1] = ("%s %% %d"):format(v, width)
    end
    local from, to = table.concat(names, ", "), table.concat(order, ", ")
    if from ~= to then s:transform_layout(copy, { "write", 0 }, ("lambda %s: (%s)"):format(from, to)) end
    return copy, by
end

-- Vectors of a copy along its last dimension, and how its loops lie about them: where the
-- source is contiguous along another, that one is directly outside, so that rows are turned.
function parts.vectorize_copy(s, copy, by, operand, inner, lanes)
    local rank = #core.block_body(s, copy).iters
    local all = s:get_loops(copy)
    local loops = table.move(all, #all - rank + 1, #all, 1, {})
    local v = inner[#inner]
    local turned = operand.strides[v] ~= 1
    while lanes > 1 and lanes > s:get(loops[by[v]]).extent do lanes = lanes // 2 end
    local jo, jl = table.unpack(s:split(loops[by[v]], { auto, lanes }))
    local order, near = {}, {}
    for d, l in ipairs(loops) do
        local k
        for _, x in ipairs(inner) do k = by[x] == d and x or k end
        local list = (k and operand.strides[k] == 1 or not turned and k) and near or order
        if k ~= v then list[#list + 1] = l end
    end
    if turned then order[#order + 1] = jo end
    table.move(near, 1, #near, #order + 1, order)
    if not turned then order[#order + 1] = jo end
    order[#order + 1] = jl
    s:reorder(table.unpack(order))
    s:vectorize(jl)
    if not turned then s:unroll(jo) end
end

-- A copy of a whole tensor with dimensions r and c exchanged, c innermost: blocks of r are dealt
-- out, so that what is written of a row stays near.
function parts.turn(s, copy, r, c, lanes, threads)
    local loops, order = s:get_loops(copy), {}
    local ro, ri = table.unpack(s:split(loops[r], { auto, math.min(64, s:get(loops[r]).extent) }))
    local co, cl = table.unpack(s:split(loops[c], { auto, math.min(lanes, s:get(loops[c]).extent) }))
    for d, l in ipairs(loops) do
        if d ~= r and d ~= c then order[#order + 1] = l end
    end
    order[#order + 1] = ro
    local n = #order
    for _, l in ipairs { co, ri, cl } do order[#order + 1] = l end
    s:reorder(table.unpack(order))
    s:vectorize(cl)
    if threads > 1 then s:parallel(n > 1 and s:fuse(table.unpack(order, 1, n)) or ro) end
end

-- `list` and then x.
function parts.with(list, x)
    local out = table.move(list, 1, #list, 1, {})
    out[#out + 1] = x
    return out
end

function parts.unroll_all(s, list)
    for _, l in ipairs(list) do s:unroll(l) end
end

-- The tile goes back, vectors at a time.
function parts.store_tile(s, back, lanes, tile_loop, depth)
    s:reverse_compute_at(back, tile_loop, true)
    local loops = s:get_loops(back)
    local o, i = table.unpack(s:split(loops[#loops], { auto, lanes }))
    s:vectorize(i)
    s:unroll(o)
    for k = depth + 1, #loops - 1 do s:unroll(loops[k]) end
end

return parts

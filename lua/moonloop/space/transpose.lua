-- transpose - blocks without reductions that read across what they write.
--
-- Squares of vectors, read along one axis and written along the other, change places in
-- registers (the pass transpose); squares lie in blocks, so that few pages are open at
-- a time. Source: lowering-and-codegen 8.3.
local moon, core, facts = ...

local transpose = {}
local auto = moon.auto

-- The spatial iterators along which the block writes and along which it reads contiguously,
-- where some read has the two change places; nil when none does.
local function axes_of(f)
    local v = facts.contiguous(f)
    if not v or #f.reduce > 0 then return nil end
    for _, r in ipairs(f.reads) do
        local across = not r.irregular and r.strides[v]
        for _, u in ipairs(f.spatial) do
            if across and across > 1 and u ~= v and r.strides[u] == 1 and f.iters[u].extent > 1 then return v, u end
        end
    end
end

-- Lanes of the squares: those with the least work first, that of squares over the edges
-- counted. Parts of a line are stored by narrow ones.
local function widths(lanes, rows, columns)
    local out, cost = {}, {}
    for _, w in ipairs { lanes, lanes // 2, lanes // 4 } do
        if w >= 4 and w <= rows and w <= columns then
            out[#out + 1] = w
            local squares = ((rows + w - 1) // w) * ((columns + w - 1) // w)
            cost[w] = squares * w * w * (1 + 0.25 * (lanes // w - 1))
        end
    end
    table.sort(out, function(a, b) return cost[a] < cost[b] end)
    return out
end

-- The divisor of n nearest to x.
local function divisor_near(n, x)
    for away = 0, x do
        for _, d in ipairs { x - away, x + away } do
            if d > 0 and n % d == 0 then return d end
        end
    end
    return 1
end

-- Squares in each block: rows of them times 1000 and columns; where they divide the whole,
-- no square is cut. Long runs along what is read come first: few lines of few pages are open then.
-- Where squares are cut, small blocks do: in a cut block each square is guarded.
local function shapes_for(width, rows, columns)
    local out, seen = {}, {}
    local list = { { 64, 2 }, { 16, 4 }, { 4, 16 }, { 1, 1 }, { 4, 4 }, { 1, 64 }, { 64, 1 } }
    if rows % width ~= 0 or columns % width ~= 0 then table.insert(list, 1, { 1, 4 }) end
    for _, shape in ipairs(list) do
        local r, c = shape[1], shape[2]
        if rows % width == 0 then r = divisor_near(rows // width, r) end
        if columns % width == 0 then c = divisor_near(columns // width, c) end
        if not seen[r * 1000 + c] then out[#out + 1] = r * 1000 + c end
        seen[r * 1000 + c] = true
    end
    return out
end

-- Schedules the block; false: it does not read across.
function transpose.block(s, name, f, target, threads)
    local v, u = axes_of(f)
    if not v then return false end
    local list = widths(facts.lanes(target, f.write.dtype), f.iters[u].extent, f.iters[v].extent)
    if #list == 0 then return false end
    local loops = s:get_loops(name)
    local width = facts.choose(s, list)
    local shape = facts.choose(s, shapes_for(list[1], f.iters[u].extent, f.iters[v].extent))
    local v0, v1, v2 = table.unpack(s:split(loops[v], { auto, shape % 1000, width }))
    local u0, u1, u2 = table.unpack(s:split(loops[u], { auto, shape // 1000, width }))
    local outer = {}
    for _, k in ipairs(f.spatial) do
        if k ~= v and k ~= u then outer[#outer + 1] = loops[k] end
    end
    outer[#outer + 1], outer[#outer + 2] = u0, v0
    s:reorder(table.unpack(table.move({ u1, v1, u2, v2 }, 1, 4, #outer + 1, table.move(outer, 1, #outer, 1, {}))))
    s:vectorize(v2)
    s:unroll(u2)
    local whole = #outer > 1 and s:fuse(table.unpack(outer)) or outer[1]
    if threads > 1 and f.points >= facts.serial_below then s:parallel(whole) end
    facts.stream(s, whole, f, target)
    return true
end

return transpose

-- blocked - convolutions whose sum is cut into blocks: weights of one block stay in the first caches.
--
-- A panel of weights over the whole sum, read by each tile of results, comes from where it fits: the
-- second cache, or farther. Here each block of the sum is added up for all tiles of a panel before the
-- next: partial sums of a block in registers, what they add up to in the panel's results, which the
-- near caches hold. Source: auto-scheduler 6; lowering-and-codegen 8.
local moon, core, facts, plain = ...

local blocked = {}
local auto = moon.auto
local image = core.load("space/image")(moon, core, facts, plain)
local product = image.product

-- Bytes of weights of a block that the first cache holds beside the image, and of results of a panel that the second
-- does; where their sizes are not known, as on any machine of today.
local function near(target) return (target.l1 > 0 and target.l1 or 32 << 10) // 2 end
local function results(target) return (target.l2 > 0 and target.l2 or 1 << 20) // 4 end

-- Lengths of a block along the last sum, the promising ones first. taps: of sums that are in each block.
local function lengths(f, a, target, taps, width)
    local extent, list = f.iters[f.reduce[#f.reduce]].extent, {}
    local function away(n) return math.abs(math.log(n * taps * width * facts.bytes(a.weights.dtype) / near(target))) end
    for n = 1, extent do
        if extent % n == 0 and (n >= 16 or n == extent) then list[#list + 1] = n end
    end
    table.sort(list, function(x, y) return away(x) < away(y) end)
    return table.move(list, 1, math.min(#list, 4), 1, {})
end

-- Points of sums whose loops are written out: all of them are in each block.
local function written_taps(f, written)
    local n = 1
    for k in pairs(written or {}) do n = n * f.iters[k].extent end
    return n
end

-- Rows that are outside of the blocks: the results of the others stay near. From the outermost on.
local function rows_outside(f, a, target, width)
    local out, left = {}, product(f, a.rows)
    for _, k in ipairs(a.rows) do
        if left * width * facts.bytes(f.write.dtype) <= results(target) or k == a.w or k == a.h then break end
        out[k], left = true, left // f.iters[k].extent
    end
    return out, left
end

-- How many parts the panels are of, each of which has all its panels in a block, so that lines of weights are read as they
-- lie; nil: as many as there are panels.
local function parts_of(f, a, target, tile, lanes, threads)
    local n, dealt = f.iters[a.v].extent // (tile % 100 * lanes), product(f, a.shared) % threads == 0
    local sums = product(f, a.rows) * f.iters[a.v].extent * facts.bytes(f.write.dtype)
    local least = dealt and 1 or threads
    for p = least, n - 1, least do
        if n % p == 0 and sums <= results(target) * p then return p end
    end
end

-- Ways to cut the sum for such a tile, {parts, pack, ahead: see scheduled}, the promising one first, and whether they are
-- better than the whole panel: weights from far away are asked for ahead, the panel is too large for the second cache, or
-- few tiles bring it there. Copies of panels by themselves come first where many tiles read a block.
function blocked.ways(f, a, target, tile, lanes, depth, written, threads)
    local list, last = {}, f.iters[f.reduce[#f.reduce]].extent
    if not tile or last < 16 or depth // written_taps(f, written) < 64 then return list, false end
    local width = tile % 100 * lanes
    local _, rows = rows_outside(f, a, target, width)
    local sums = rows * width * facts.bytes(f.write.dtype)
    if sums > 2 * results(target) then return list, false end
    local tiles = rows // ((tile // 10000) * (tile // 100 % 100))
    local panel = depth * width * facts.bytes(a.weights.dtype)
    local alone = panel > 2 * near(target) and tiles >= 3
    local far = a.weights.elements * facts.bytes(a.weights.dtype) > target.l2
    local parts = (alone or far) and parts_of(f, a, target, tile, lanes, threads)
    local function add(p, pack)
        if p and (not pack or tiles >= 3) then list[#list + 1] = { parts = p > 0 and p or nil, pack = pack, ahead = far } end
    end
    local each = alone and 0
    for _, p in ipairs { far and parts or each, far and each or parts } do
        local often = p == 0 and tiles >= 64
        add(p, often)
        add(p, not often)
    end
    return list, parts and far or alone and tiles >= 6 and (tiles <= 40 or panel > 2 * results(target))
end

local function written_out(s, block, depth, lanes)
    local loops = s:get_loops(block)
    local last = loops[#loops]
    if lanes then
        loops[#loops], last = table.unpack(s:split(last, { auto, lanes }))
    end
    s:vectorize(last)
    for k = depth + 1, lanes and #loops or #loops - 1 do s:unroll(loops[k]) end
end

-- how: parts (of the panels; nil: each by itself), pack (blocks of weights are copied first), ahead (weights are asked for a
-- block ahead), written (reduce iterators whose loops are written out), copies (of a tile that this makes), consumer (an
-- elementwise block computed with each panel).
function blocked.scheduled(s, name, f, a, lanes, target, threads, how)
    local b = s:get_block(name)
    local back = plain.bring_out(s, b, how.consumer, true)
    local tile = facts.choose(s, how.tiles)
    local first = how.tiles[1]
    local far = rows_outside(f, a, target, first % 100 * lanes)

    -- the sum: blocks, and what is in one
    local loops = s:get_loops(b)
    local spatial, outer, inner = {}, {}, {}
    for _, k in ipairs(f.spatial) do spatial[#spatial + 1] = loops[k] end
    for p, k in ipairs(f.reduce) do
        local list = how.written and how.written[k] and inner or outer
        if p < #f.reduce then
            list[#list + 1] = loops[k]
        else
            local length = facts.choose(s, lengths(f, a, target, written_taps(f, how.written), first % 100 * lanes))
            outer[#outer + 1], inner[#inner + 1] = table.unpack(s:split(loops[k], { auto, length }))
        end
    end
    local order = table.move(outer, 1, #outer, #spatial + 1, table.move(spatial, 1, #spatial, 1, {}))
    s:reorder(table.unpack(table.move(inner, 1, #inner, #order + 1, order)))
    local part = s:rfactor(#outer > 1 and s:fuse(table.unpack(outer)) or outer[1], 0)
    local panel = how.pack and s:cache_read(part, a.at - 1, "global")

    -- the block that adds partial sums up: its tiles, each of which computes its own
    loops = s:get_loops(b)
    local sum = loops[#loops]
    local of, at = {}, 0
    for _, k in ipairs(f.spatial) do
        at = at + 1
        of[k] = loops[at]
    end
    local jp, jo, jv, jl = table.unpack(s:split(of[a.v], { how.parts or auto, how.parts and auto or 1, tile % 100, lanes }))
    local wo, wi = table.unpack(s:split(of[a.w], { auto, tile // 100 % 100 }))
    local ho, hi
    if a.h then ho, hi = table.unpack(s:split(of[a.h], { auto, tile // 10000 })) end
    order = {}
    local function add(l) order[#order + 1] = l end
    for _, k in ipairs(a.shared) do add(of[k]) end
    add(jp)
    local n_parallel = #order
    for _, k in ipairs(a.rows) do
        if far[k] then add(of[k]) end
    end
    local n_panel = #order
    add(sum)
    for _, k in ipairs(a.rows) do
        if not far[k] and k ~= a.w and k ~= a.h then add(of[k]) end
    end
    add(jo)
    if ho then add(ho) end
    add(wo)
    local n_outer = #order
    if hi then add(hi) end
    for _, l in ipairs { wi, jv, jl } do add(l) end
    s:reorder(table.unpack(order))
    s:reverse_compute_at(back, order[n_panel], true)
    s:compute_at(part, order[n_outer], true)
    s:set_scope(part, 0, "local")
    if panel then
        s:compute_at(panel, jo, true)
        local l = s:get_loops(panel)
        local o, i = table.unpack(s:split(l[#l], { auto, lanes }))
        s:vectorize(i)
        s:unroll(o)
    end

    -- a tile of partial sums
    local l = table.move(s:get_loops(part), n_outer + 1, n_outer + 1 + #spatial + #inner, 1, {})
    local reduced, tiled, vectors, lane = {}, {}, nil, nil
    for p, k in ipairs(f.spatial) do
        if k == a.v then
            vectors, lane = table.unpack(s:split(l[p + 1], { auto, lanes }))
        elseif k == a.w or k == a.h then
            tiled[#tiled + 1] = l[p + 1]
        end
    end
    table.move(l, #spatial + 2, #l, 1, reduced)
    local steps = {}
    for _, n in ipairs { 4, 8, 2, 1 } do
        if n == 1 or n * (how.copies or 1) <= 40 then steps[#steps + 1] = n end
    end
    local k0, k1 = table.unpack(s:split(reduced[#reduced], { auto, steps[1] }))
    reduced[#reduced] = k0
    order = table.move(reduced, 1, #reduced, 1, {})
    add(k1)
    for _, x in ipairs(tiled) do add(x) end
    add(vectors)
    add(lane)
    s:reorder(table.unpack(order))
    local init = s:decompose_reduction(part, reduced[1])
    written_out(s, init, n_outer)
    for k = 1, #reduced - 1 do s:unroll(reduced[k]) end
    for _, x in ipairs { k1, vectors } do s:unroll(x) end
    for _, x in ipairs(tiled) do s:unroll(x) end
    s:vectorize(lane)
    -- weights from far away are asked for while the block before them is added up
    if how.ahead then
        s:annotate(sum, "prefetch", { { buffer = a.weights.buffer, distance = 1, spread = 1, locality = 2 } })
        s:annotate(k0, "prefetch_here", 1)
    end

    -- results of a panel start at zero, take the sums of each tile, and go back
    local zero = s:get_loops(s:decompose_reduction(b, sum))
    s:vectorize(zero[#zero])
    s:vectorize(jl)
    for _, x in ipairs { hi or false, wi, jv } do
        if x then s:unroll(x) end
    end
    local bl = s:get_loops(back)
    local _, bi = table.unpack(s:split(bl[#bl], { auto, lanes }))
    s:vectorize(bi)
    if threads > 1 then
        local l = s:get_loops(b)
        s:parallel(n_parallel > 1 and s:fuse(table.unpack(l, 1, n_parallel)) or l[1])
    end
end

return blocked

-- attention - two products with stages of rows between them, in one nest.
--
-- scores = Q K', element-wise stages and reductions of its rows (scale, softmax), then the
-- product with V. For a block of rows all scores stay in the caches, transposed: vectors lie
-- along the rows, so that maxima and sums of rows are element-wise operations of vectors, and
-- only the block of Q is packed. Source: auto-scheduler 6; lowering-and-codegen 8.
local moon, core, facts, plain = ...

local attention = {}
local auto = moon.auto
local parts = core.load("space/pack_parts")(moon, core, facts)

-- ---- what is a chain

local function same_extents(f, list, extents)
    if #list ~= #extents then return false end
    for k, i in ipairs(list) do
        if f.iters[i].extent ~= extents[k] then return false end
    end
    return true
end

local function extents_of(f, list)
    local out = {}
    for k, i in ipairs(list) do out[k] = f.iters[i].extent end
    return out
end

-- Whether a block is a stage over rows of scores: element-wise, or a reduction along the columns.
local function is_stage(f, whole)
    local all = {}
    for k in ipairs(f.iters) do all[k] = k end
    if f.write.irregular or not same_extents(f, all, whole) then return false end
    if #f.reduce == 0 then return not f.init end
    return #f.reduce == 1 and f.reduce[1] == #f.iters and f.init
end

-- first, last: products with their facts and parts; stages between them, in order; follower: name of the
-- element-wise block that reads the result alone, or nil; others: of those in front and behind.
-- nil when the program is no such chain. `whole`: extents of a scores' tensor.
local function chain_of(s)
    local list, before = {}, {}
    for _, name in ipairs(facts.blocks(s)) do
        local f = facts.of(s, s:get_block(name))
        if not f then return nil end
        local to = #list == 0 and #f.reduce == 0 and not f.init and before or list
        to[#to + 1] = to == before and name or { name = name, f = f }
    end
    local behind = {}
    while #list > 3 and #list[#list].f.reduce == 0 do table.insert(behind, 1, table.remove(list).name) end
    if #list < 3 then return nil end
    local follower = plain.follower(s, list[#list].name)
    if follower then table.move(behind, 2, #behind + 1, 1) end
    local first, last = list[1], list[#list]
    local rank = #first.f.spatial
    if rank < 2 or #first.f.iters ~= rank + #first.f.reduce or not (follower or last.f.write.param) then return nil end
    local row = first.f.spatial[rank - 1]
    first.p, last.p = parts.of(first.f, row), parts.of(last.f)
    if not first.p or not last.p or #last.f.reduce ~= 1 then return nil end
    local whole = extents_of(first.f, first.f.spatial)
    local reduces = false -- without it nothing keeps the products from one nest each
    for k = 2, #list - 1 do
        if list[k].f.write.param or not is_stage(list[k].f, whole) then return nil end
        reduces = reduces or #list[k].f.reduce > 0
    end
    if not reduces then return nil end
    local weights = list[#list - 1]
    if weights.f.write.buffer ~= last.p.left.buffer or #weights.f.reduce > 0 then return nil end
    return { first = first, last = last, stages = table.move(list, 2, #list - 1, 1, {}), rank = rank, whole = whole,
        follower = follower, others = table.move(behind, 1, #behind, #before + 1, before) }
end

-- ---- pieces

-- Rows of a stage that lies below `depth` loops: its loops are rows x columns, columns go
-- outside, vectors of rows inside.
local function by_vectors(s, name, depth, nv, lanes)
    local b = s:get_block(name)
    local loops = s:get_loops(b)
    local row, column = loops[#loops - 1], loops[#loops]
    local i1, i2 = table.unpack(s:split(row, { nv, lanes }))
    s:reorder(column, i1, i2)
    if core.block_body(s, b).init then
        local init = s:decompose_reduction(b, column)
        local own = s:get_loops(init)
        s:vectorize(own[#own])
        s:unroll(own[#own - 1])
        s:set_scope(b, 0, "local")
    end
    s:vectorize(i2)
    s:unroll(i1)
end

-- The dimensions of a tensor of scores with the last two exchanged.
local function turned_map(rank)
    local from, to = {}, {}
    for k = 1, rank do
        from[k], to[k] = "i" .. k, "i" .. k
    end
    to[rank - 1], to[rank] = from[rank], from[rank - 1]
    return ("lambda %s: (%s)"):format(table.concat(from, ", "), table.concat(to, ", "))
end

-- A product below `depth` loops: its tile, and what it goes back to. own: its loops there, by
-- position among its iterators.
local function tiled(s, part, depth, target, lanes, back, opts)
    local f, p = part.f, part.p
    local b = s:get_block(part.name)
    local all = s:get_loops(b)
    local loops = table.move(all, #all - #f.iters + 1, #all, 1, {})
    local jo, jv, jl
    local tile = facts.choose(s, opts.tiles)
    jo, jv, jl = table.unpack(s:split(loops[p.v], { auto, opts.nv or tile % 1000, lanes }))
    local io, ii = table.unpack(s:split(loops[p.r], { auto, tile // 1000 }))
    local sum = {}
    for _, k in ipairs(f.reduce) do sum[#sum + 1] = loops[k] end
    local extent = f.iters[f.reduce[#f.reduce]].extent
    local k0, k1 = table.unpack(s:split(sum[#sum], { auto, facts.choose(s, parts.below(extent, { 4, 2, 8 })) }))
    sum[#sum] = k0
    local order = {}
    for _, k in ipairs(f.spatial) do
        if k ~= p.v and k ~= p.r then order[#order + 1] = loops[k] end
    end
    order[#order + 1] = jo
    order[#order + 1] = io
    local outer = #all - #f.iters + #order
    table.move(sum, 1, #sum, #order + 1, order)
    for _, l in ipairs { k1, ii, jv, jl } do order[#order + 1] = l end
    s:reorder(table.unpack(order))
    opts.store(s, back, io, outer)
    local init = s:decompose_reduction(b, sum[1])
    s:vectorize(jl)
    parts.unroll_all(s, { jv, k1, ii })
    local il = s:get_loops(init)
    s:vectorize(il[#il])
    parts.unroll_all(s, table.move(il, outer + 1, #il - 1, 1, {}))
end

-- Tiles whose rows divide a block of rows: the last block has a guard of its own.
local function dividing(tiles, rows)
    local out = {}
    for _, tile in ipairs(tiles) do
        if rows % (tile // 1000) == 0 then out[#out + 1] = tile end
    end
    return #out > 0 and out or { 4000 + tiles[1] % 1000 }
end

-- ---- the sketch

local function scheduled(s, c, target, threads, nv)
    local first, last, rank = c.first, c.last, c.rank
    local lanes = facts.lanes(target, first.f.write.dtype)
    local tail = c.stages[#c.stages].name
    local follows = plain.follower(s, first.name)
    local acc1 = not follows and s:cache_write(first.name, 0, "local") -- then the scores are its copy
    local acc2 = plain.bring_out(s, last.name, c.follower)
    local map = turned_map(rank)
    local queries, by = parts.relaid(s, s:get_block(first.name), first.f, first.p.right, parts.with(first.f.reduce, first.p.v))
    if acc1 then s:transform_layout(acc1, { "write", 0 }, map) end
    s:transform_layout(first.name, { "write", 0 }, map)
    for _, m in ipairs(c.stages) do
        if #m.f.reduce == 0 then s:transform_layout(m.name, { "write", 0 }, map) end
    end
    -- the block of rows of the last stage holds everything
    local loops = s:get_loops(tail)
    local io, i1, i2 = table.unpack(s:split(loops[rank - 1], { auto, nv, lanes }))
    s:reorder(io, loops[rank], i1, i2)
    s:reverse_compute_at(last.name, io, true)
    for k = #c.stages - 1, 1, -1 do s:compute_at(c.stages[k].name, io, true) end
    if acc1 then s:compute_at(acc1, io, true) end
    s:compute_at(first.name, io, true)
    s:compute_at(queries, io, true)
    parts.vectorize_copy(s, queries, by, first.p.right, parts.with(first.f.reduce, first.p.v), lanes)
    s:vectorize(i2)
    s:unroll(i1)
    for k = 1, #c.stages - 1 do
        if c.stages[k].name ~= follows then by_vectors(s, c.stages[k].name, rank, nv, lanes) end
    end
    -- scores: rows of the tile are columns of the scores
    if follows then s:set_scope(first.name, 0, "local") end
    local back = acc1 or s:get_block(follows)
    tiled(s, first, rank - 1, target, lanes, back, {
        tiles = parts.tiles_of(target, lanes, first.p.m, nv * lanes, 0.05), nv = nv,
        store = function(s, block, loop, depth)
            s:reverse_compute_at(block, loop, true)
            local l = s:get_loops(block)
            local o, i = table.unpack(s:split(l[#l - 1], { auto, lanes }))
            s:reorder(l[#l], o, i)
            s:vectorize(i)
            parts.unroll_all(s, { l[#l], o, table.unpack(l, depth + 1, #l - 2) })
        end,
    })
    tiled(s, last, rank - 1, target, lanes, acc2, {
        tiles = dividing(parts.tiles_of(target, lanes, nv * lanes, last.p.n, 0.05), nv * lanes),
        store = function(s, block, loop, depth) parts.store_tile(s, block, lanes, loop, depth) end,
    })
    if threads > 1 then
        local outer = s:get_loops(tail)
        local batch = 1
        for k = 1, rank - 2 do batch = batch * c.whole[k] end
        local whole = c.whole[rank - 1] % (nv * lanes) == 0
        local n = (whole or parts.balance(batch, threads) < 0.9) and rank - 1 or rank - 2
        s:parallel(n > 1 and s:fuse(table.unpack(outer, 1, n)) or outer[1])
    end
end

function attention.sketches(list, program, target, threads)
    local probe = core.schedule(program, { name = "probe" })
    plain.inline(probe, {})
    local c = chain_of(probe)
    if not c then return end
    local n = #list
    for _, nv in ipairs { 2, 4, 1, 3 } do
        facts.sketch(list, program, ("chain, blocks of %d vectors of rows"):format(nv), function(s)
            plain.inline(s, {})
            local own = chain_of(s)
            for _, name in ipairs(own.others) do facts.try(s, function(x) plain.block(x, name, target, threads) end) end
            scheduled(s, own, target, threads, nv)
        end)
    end
    list.known = list.known or #list > n
end

return attention

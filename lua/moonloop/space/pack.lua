-- pack - products of two tensors, of every layout: panels packed for a tile of registers.
--
-- Panels of the right operand are copied so that a vector is contiguous in them; where the
-- operand is contiguous along the sum, that copy is a transposition, which the pass of that
-- name does in registers. Source: auto-scheduler 6; lowering-and-codegen 8.
local moon, core, facts, plain = ...

local pack = {}
local auto = moon.auto
local parts = core.load("space/pack_parts")(moon, core, facts)

-- ---- a sketch

-- The loops outside the sum, in order, how many of them are dealt out, and where panels are
-- copied. l: loops of the product as they were split; loops: those that were not, by iterator.
local function outside(s, l, loops, f, p, target, threads, how)
    local outer, more = {}, {}
    for _, list in ipairs { p.batch, p.columns } do
        for _, k in ipairs(list) do outer[#outer + 1] = loops[k] end
    end
    for _, k in ipairs(p.rows) do
        if k ~= p.r then more[#more + 1] = loops[k] end
    end
    local n = #outer
    if how.order == "rows" then
        table.move(more, 1, #more, n + 1, outer)
        outer[#outer + 1] = l.ic
        n = #outer
        outer[#outer + 1] = l.jo
        outer[#outer + 1] = l.io
        return outer, n, l.jo
    end
    local panels, most, first = s:get(l.jo).extent, 4, 1
    if how.width then
        most, first = 32, 16
        while panels % first > 0 do first = first // 2 end
    elseif how.pack then
        -- rows from beyond the second cache are read once for as many panels as a quarter of it holds
        local far = p.m * p.depth * facts.bytes(p.left.dtype) * 4 > target.l2
        local bytes = p.depth * parts.up(p.n, panels) * facts.bytes(p.right.dtype)
        local dealt = parts.balance(p.among * panels, threads)
        for _, g in ipairs { 2, 4 } do
            local stays = far and panels % g == 0 and g * bytes * 4 <= target.l2
            if stays and parts.balance(p.among * panels // g, threads) >= dealt then first = g end
        end
    end
    local jc, jr = table.unpack(s:split(l.jo,
        s:sample_perfect_tile { loop = l.jo, n = 2, max_innermost_factor = most, decision = { panels // first, first } }))
    outer[#outer + 1] = jc
    if parts.balance(p.among, threads) < 0.9 then n = #outer end
    table.move(more, 1, #more, #outer + 1, outer)
    outer[#outer + 1] = l.io
    outer[#outer + 1] = jr
    return outer, n, jc
end

-- The loops of the product: columns jo, jv, jl; rows ic, io, ii; the sum.
local function split(s, loops, f, p, lanes, target, threads, how)
    local tiles = parts.tiles_of(target, lanes, p.m, p.n, how.ragged, how.width and how.width // lanes)
    local tile = facts.choose(s, tiles)
    local l = { sum = {} }
    l.jo, l.jv, l.jl = table.unpack(s:split(loops[p.v], { auto, tile % 1000, lanes }))
    if p.r and how.order == "rows" then
        local height = tile // 1000
        local blocks = threads * facts.choose(s, parts.below(parts.up(p.m, tiles[1] // 1000 * threads), { 1, 2, 4, 8 }))
        l.ic, l.io, l.ii = table.unpack(s:split(loops[p.r], { auto, (p.m + blocks * height - 1) // (blocks * height), height }))
    elseif p.r then
        l.io, l.ii = table.unpack(s:split(loops[p.r], { auto, tile // 1000 }))
    end
    for _, k in ipairs(f.reduce) do l.sum[#l.sum + 1] = loops[k] end
    local extent = f.iters[f.reduce[#f.reduce]].extent
    l.sum[#l.sum], l.k1 = table.unpack(s:split(l.sum[#l.sum], { auto, facts.choose(s, parts.below(extent, { 4, 2, 8 })) }))
    return l
end

-- how: pack (panels are copied), width (of panels, several of which are copied at a time),
-- left (the rows are turned beforehand), order ("panels": groups of panels outermost; "rows":
-- blocks of rows outermost), consumer (name of the elementwise block that follows).
local function scheduled(s, name, f, p, target, threads, how)
    local b = s:get_block(name)
    local lanes = parts.lanes(target, f, p)
    local columns, sum_and_row = parts.with(f.reduce, p.v), f.reduce[#f.reduce]
    local acc = not how.consumer and s:cache_write(b, 0, "local")
    local right, right_by, left, left_by
    if how.pack then right, right_by = parts.relaid(s, b, f, p.right, columns, how.width) end
    if how.left then left, left_by = parts.relaid(s, b, f, p.left, { p.r, sum_and_row }) end
    local loops = s:get_loops(b)
    local l = split(s, loops, f, p, lanes, target, threads, how)
    local outer, tasks, at = outside(s, l, loops, f, p, target, threads, how)
    local order = table.move(l.sum, 1, #l.sum, #outer + 1, table.move(outer, 1, #outer, 1, {}))
    for _, x in ipairs { l.k1, l.ii or false, l.jv, l.jl } do
        if x then order[#order + 1] = x end
    end
    s:reorder(table.unpack(order))
    if right then
        s:compute_at(right, at, true)
        parts.vectorize_copy(s, right, right_by, p.right, columns, lanes)
    end
    if left then parts.turn(s, left, left_by[p.r], left_by[sum_and_row], lanes, threads) end
    if how.consumer then s:set_scope(b, 0, "local") end
    parts.store_tile(s, acc or s:get_block(how.consumer), lanes, outer[#outer], #outer)
    local init = s:decompose_reduction(b, l.sum[1])
    s:vectorize(l.jl)
    parts.unroll_all(s, { l.jv, l.k1, l.ii })
    local il = s:get_loops(init)
    s:vectorize(il[#il])
    parts.unroll_all(s, table.move(il, #outer + 1, #il - 1, 1, {}))
    -- what the tile goes back to is fetched while it is computed
    if not how.consumer then s:annotate(outer[#outer], "prefetch", { { buffer = f.write.buffer, rw = 1 } }) end
    if threads > 1 and tasks > 0 and f.points >= 1 << 17 then -- waking threads costs more than less work
        s:parallel(tasks > 1 and s:fuse(table.unpack(outer, 1, tasks)) or outer[1])
    end
end

-- The sketches, the promising one first: rows are dealt out where there are too few panels, or
-- where panels would be ragged; what lies as it is read, and stays in the second cache or is
-- read for few rows, is not packed.
local function ways(f, p, target, threads)
    local lanes = parts.lanes(target, f, p)
    local tile = parts.tiles_of(target, lanes, p.m, p.n, 0.1)[1]
    local dealt = parts.balance(p.among, threads) >= 0.9
    local ragged = threads > 1 and not dealt and p.n % (tile % 1000 * lanes) > 0
    local by_panels = parts.balance(p.among * parts.up(p.n, tile % 1000 * lanes), threads)
    local by_rows = parts.balance(p.among * parts.up(p.m, tile // 1000), threads)
    local bytes = p.depth * p.n * facts.bytes(p.right.dtype)
    local as_read = p.right.strides[p.v] == 1
    local rows_first = p.m > 1 and (by_panels < 0.9 or ragged) and by_rows > by_panels - 0.2
    -- rows that are not contiguous along the sum are turned beforehand
    local turned = p.m >= 16 and p.m * p.depth * p.among >= 1 << 17 and p.left.strides[f.reduce[#f.reduce]] ~= 1
    local list = {}
    local function add(packed, order, left, rank, width)
        list[#list + 1] = { name = ("product, %s, %s outermost%s"):format(packed and "packed" or "in place",
            width and "groups of panels" or order, left and ", rows turned" or ""),
            pack = packed, order = order, left = left, rank = rank, width = width,
            -- a panel that is a task of its own has masks throughout
            ragged = order == "panels" and threads > 1 and not dealt and 0.5 or 0.05 }
    end
    for _, packed in ipairs { false, true } do
        for _, order in ipairs { "panels", "rows" } do
            if (packed or as_read) and (order == "panels" or p.m > 1) then
                local away = packed == (as_read and (bytes <= 1 << 17 or p.m < 12)) and 1 or 0
                local rank = (rows_first == (order == "rows") and 0 or 2) + away
                add(packed, order, turned, rank)
                if turned and packed then add(packed, order, false, rank + 4) end
            end
        end
    end
    -- panels that the second cache cannot keep stay in the third, many of them for each row
    local large = p.depth * (tile % 1000) * lanes * facts.bytes(p.right.dtype) * 4 > target.l2 * 3
    if p.n % (2 * lanes) == 0 and p.n >= 32 * lanes then add(true, "panels", turned, large and -1 or 9, 2 * lanes) end
    table.sort(list, function(a, b) return a.rank < b.rank end)
    return list
end

-- The product with the most work.
local function anchor(s)
    local best, f, p
    for _, name in ipairs(facts.blocks(s)) do
        local of = facts.of(s, s:get_block(name))
        local product = of and parts.of(of)
        if product and (not f or of.points > f.points) then best, f, p = name, of, product end
    end
    return best, f, p
end

function pack.sketches(list, program, target, threads)
    local probe = core.schedule(program, { name = "probe" })
    plain.inline_and_lay(probe, target)
    local name, f, p = anchor(probe)
    if not name then return end
    local several = 0
    for _, k in ipairs(p.rows) do several = several + (f.iters[k].extent > 1 and 1 or 0) end
    -- of other rows than those of a tile the general family knows more
    if several > 1 and p.right.strides[p.v] == 1 then return end
    local blocks = {} -- of the program, not of its schedules
    for _, n in ipairs(facts.blocks(probe)) do blocks[n] = true end
    local function add(text, how)
        facts.sketch(list, program, text, function(s)
            plain.inline_and_lay(s, target)
            local done = { [name] = true }
            how.consumer = plain.follower(s, name)
            done[how.consumer or name] = true
            -- other products, each with what follows it, then what is left
            for _, n in ipairs(facts.blocks(s)) do
                local of = not done[n] and facts.of(s, s:get_block(n))
                local product = of and parts.of(of)
                if product then
                    local way = ways(of, product, target, threads)[1]
                    way.consumer = plain.follower(s, n)
                    if done[way.consumer or ""] then way.consumer = nil end
                    if facts.try(s, function(x) scheduled(x, n, of, product, target, threads, way) end) then
                        done[n], done[way.consumer or n] = true, true
                    end
                end
            end
            scheduled(s, name, f, p, target, threads, how) -- a stage that is cut in two has no copy
            for _, n in ipairs(facts.blocks(s)) do
                if blocks[n] and not done[n] then facts.try(s, function(x) plain.block(x, n, target, threads) end) end
            end
        end)
    end
    local n = #list
    for _, how in ipairs(ways(f, p, target, threads)) do add(how.name, how) end
    list.known = list.known or #list > n
    list.narrow = p.n * 2 <= facts.lanes(target, f.write.dtype) -- vectors mostly empty
end

return pack

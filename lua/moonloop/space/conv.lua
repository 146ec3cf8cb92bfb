-- conv - convolutions: register tiles over the rows of an image, panels of the weights.
--
-- The block with the most work adds up products of an image and weights: spatial iterators are
-- the vector axis v (channels of the result, along which the weights lie), rows that the
-- weights do not know (batch, depth, height, width), and shared ones that both know (groups,
-- parity classes). A panel of weights is as wide as the register tile. What is chosen first
-- follows from sizes alone: lanes that a tile wastes, loads of a multiply-add, what fits into
-- the caches. Source: auto-scheduler 6; lowering-and-codegen 8.
local moon, core, facts, plain = ...

local conv = {}
local auto = moon.auto
local image = core.load("space/image")(moon, core, facts, plain)
local padding = core.load("space/padding")(moon, core, facts)
local blocked = core.load("space/blocked")(moon, core, facts, plain)
local product, up = image.product, image.up

-- How often a tile may be written out: code that is not fetched over and over.
local most_copies = 40

-- Bytes of a core's caches that panels may take, on any machine of today.
local l1, l2 = 32 << 10, 640 << 10

-- ---- what there is to tile

-- The operand along v: affine along v and what is reduced. By position among the reads.
local function weights_of(f, v)
    for k, r in ipairs(f.reads) do
        local straight = r.strides[v] == 1 and not r.by[v]
        for _, x in ipairs(f.reduce) do straight = straight and not r.by[x] end
        if straight then return k, r end
    end
end

-- The axes of a block, or nil when it is no convolution: rows over two iterators or more,
-- sums over two or more. classes: it has parity classes, each of which may have one tap alone,
-- or more taps than the next (a guard).
local function axes_of(f, classes)
    local v = facts.contiguous(f)
    if not f.init or not v or #f.reduce < (classes and 1 or 2) or #f.reads ~= 2 or (f.guard and not classes) then return nil end
    local at, w = weights_of(f, v)
    if not at then return nil end
    local x = f.reads[3 - at]
    local a = { v = v, weights = w, at = at, image = x, rows = {}, shared = {}, step = x.by[v] or nil }
    if x.strides[v] and not x.by[v] then return nil end
    for _, k in ipairs(f.spatial) do
        if k ~= v then
            local list = w.strides[k] and a.shared or a.rows
            list[#list + 1] = k
        end
    end
    -- the widest row axis in a line of the image is tiled, the next one with it
    local order = {}
    for _, k in ipairs(a.rows) do
        if f.iters[k].extent > 1 then
            if not x.strides[k] or x.by[k] then return nil end
            order[#order + 1] = k
        end
    end
    table.sort(order, function(p, q) return x.strides[p] < x.strides[q] end)
    a.w, a.h = order[1], order[2]
    if not a.w then return nil end
    return a
end

-- Elements of a line of the image that the last two sums run along as one, where channels are
-- few; nil: they do not.
local function line_of(f, a)
    local last, before = f.reduce[#f.reduce], f.reduce[#f.reduce - 1]
    local extent = f.iters[last].extent
    local line = before and a.image.strides[before] == extent and a.image.strides[last] == 1
    local wline = line and a.weights.strides[before] == extent * (a.weights.strides[last] or 0)
    return wline and extent < 16 and not a.image.by[before] and extent * f.iters[before].extent or nil
end

-- Whether the weights of one part lie between those of others along a sum: a copy has both.
local function is_interleaved(f, a)
    local w, of = a.weights, {}
    local function along(k) -- nil: not at all, or once
        return f.iters[k].extent > 1 and w.strides[k] and (padding.dimension(w, w.strides[k])) or nil
    end
    for _, k in ipairs(f.reduce) do of[along(k) or 0] = true end
    for _, k in ipairs(a.shared) do
        if along(k) and of[along(k)] then return true end
    end
    return false
end

-- ---- register tiles

-- The axis that is cut for the threads' parts; nil: those are of the shared ones.
local function axis_of(a, part)
    if part == "lines" then return a.h or a.w end
    return part == "panels" and a.v or nil
end

-- Tiles as numbers h * 10000 + w * 100 + vectors, the promising ones first: cycles of a
-- useful multiply-add, by what is wasted, waited for and loaded.
-- parts: as many parts, even ones, are made of the tiles along the axis `cut`; fits(mh, mw,
-- acc): which are looked at. Also the cycles of the first.
local function tiles_for(f, a, target, lanes, depth, cut, parts, fits)
    local n, width = f.iters[a.v].extent, f.iters[a.w].extent
    local height = a.h and f.iters[a.h].extent or 1
    local function even(nv, mw, mh)
        local by = cut == a.v and nv * lanes or cut == a.h and mh or mw
        return not cut or up(f.iters[cut].extent, by) // by % parts == 0
    end
    local most = target.registers >= 32 and 28 or 12
    local list = {}
    -- pixels beside each other read the same elements of a line: few steps can be written out
    local overlap = line_of(f, a) and a.image.strides[a.w] < line_of(f, a)
    for nv = 1, 6 do
        local whole = nv == 1 or nv * lanes <= up(n, lanes)
        if a.step and a.step % (nv * lanes) ~= 0 then whole = false end
        for mw = 1, whole and math.min(width, most) or 0 do
            for mh = 1, math.min(height, most // mw) do
                local rows = mh * mw
                local acc = rows * nv
                -- a second line only where one is too short, or pixels below each other read other lines
                local sense = mh == 1 or mw == width or overlap and mw == 1
                if sense and acc <= most and acc + nv <= target.registers and even(nv, mw, mh) and
                    not (fits and not fits(mh, mw, acc, nv)) then
                    local useful = (n / up(n, nv * lanes)) * (width / up(width, mw)) * (height / up(height, mh))
                    local wait = math.max(1, 10 / acc)
                    local loads = math.max(1, 0.94 + 0.35 * (rows + nv) / acc) * (overlap and mw > 1 and 1.04 or 1)
                    -- a panel comes from a cache: lines of a row of the tile
                    local panel = depth * nv * lanes * facts.bytes(a.weights.dtype)
                    local far = panel <= l1 and 0 or panel <= l2 and 1.5 or 4
                    list[#list + 1] = { mh * 10000 + mw * 100 + nv, wait * loads / useful * (1 + far / rows) - acc * 1e-3 }
                end
            end
        end
    end
    table.sort(list, function(p, q) return p[2] < q[2] or (p[2] == q[2] and p[1] < q[1]) end)
    local out = {}
    for k = 1, math.min(#list, 8) do out[k] = list[k][1] end
    return out, list[1] and list[1][2]
end

-- ---- one nest

-- Loops of a block by what they are, vectors and tiles split off.
local function split_tiles(s, f, a, loops, tiles, lanes)
    local t = { tile = facts.choose(s, tiles) }
    t.jo, t.jv, t.jl = table.unpack(s:split(loops[a.v], { auto, t.tile % 100, lanes }))
    t.wo, t.wi = table.unpack(s:split(loops[a.w], { auto, t.tile // 100 % 100 }))
    if a.h then t.ho, t.hi = table.unpack(s:split(loops[a.h], { auto, t.tile // 10000 })) end
    t.far, t.shared = {}, {} -- row loops outside of the tiled ones
    for _, k in ipairs(a.rows) do
        if k ~= a.w and k ~= a.h then t.far[#t.far + 1] = loops[k] end
    end
    for _, k in ipairs(a.shared) do t.shared[#t.shared + 1] = loops[k] end
    return t
end

-- The reduce loops, outermost first; the innermost is cut for unrolling. tile: the rule's own; copies: how often
-- the tile is written out without that.
local function split_reduced(s, f, a, loops, tile, copies)
    local r = {}
    for _, k in ipairs(f.reduce) do r[#r + 1] = loops[k] end
    local extent = line_of(f, a)
    if extent then
        r[#r] = s:fuse(r[#r - 1], r[#r])
        table.remove(r, #r - 1)
    else
        extent = f.iters[f.reduce[#f.reduce]].extent
    end
    local candidates = {}
    -- not so many that neighbouring rows read the same elements: those would be kept, and spill
    local apart = tile // 100 % 100 == 1 and extent or math.max(1, a.image.strides[a.w])
    for _, n in ipairs { 4, 7, 8, 6, 5, 3, 2, 1 } do
        if extent % n == 0 and n <= apart and (n == 1 or n * copies <= most_copies) then candidates[#candidates + 1] = n end
    end
    local k0, k1 = table.unpack(s:split(r[#r], { auto, facts.choose(s, candidates) }))
    r[#r] = k0
    return r, k1
end

local function append(list, ...)
    for _, l in ipairs { ... } do
        if l then list[#list + 1] = l end
    end
end

local function add_all(list, more) append(list, table.unpack(more)) end

local function vectorize_copy(s, block, lanes)
    local loops = s:get_loops(block)
    local o, i = table.unpack(s:split(loops[#loops], { auto, lanes }))
    s:vectorize(i)
    s:unroll(o)
end

-- how: pack (panels of weights are copied first), order ("panels": each panel with all rows;
-- "rows": rows outermost), written (reduce iterators whose loops are written out, and the
-- tiles of a line with them), consumer (an elementwise block computed with each tile), own (the
-- stage that pads the image, which each thread does for its part), part ("shared", "lines",
-- "panels": what the threads' parts are).
local function tiled(s, name, f, a, tiles, lanes, target, threads, how)
    local b = s:get_block(name)
    local back = plain.bring_out(s, b, how.consumer, true)
    local panel = how.pack and s:cache_read(b, a.at - 1, "global")
    local loops = s:get_loops(b)
    local t = split_tiles(s, f, a, loops, tiles, lanes)
    local cut, part = ({ lines = a.h and "ho" or "wo", panels = "jo" })[how.part], nil
    if cut then part, t[cut] = table.unpack(s:split(t[cut], { threads, auto })) end
    local reduced, k1 = split_reduced(s, f, a, loops, tiles[1], how.copies or 1)

    local order = {}
    append(order, part or false)
    add_all(order, t.shared)
    if how.order == "panels" then append(order, t.jo) end
    add_all(order, t.far)
    append(order, t.ho or false)
    if how.order == "rows" then append(order, t.jo) end
    append(order, t.wo)
    local n_outer = #order
    add_all(order, reduced)
    append(order, k1, t.hi or false, t.wi, t.jv, t.jl)
    s:reorder(table.unpack(order))
    local tile_loop = order[n_outer]

    if panel then
        s:compute_at(panel, t.jo, true)
        vectorize_copy(s, panel, lanes)
    end
    s:set_scope(b, 0, "local")
    s:reverse_compute_at(back, tile_loop, true)
    local bl = s:get_loops(back)
    vectorize_copy(s, back, lanes)
    for k = n_outer + 1, #bl - 1 do s:unroll(bl[k]) end

    local init = s:decompose_reduction(b, reduced[1])
    for _, l in ipairs { t.hi or false, t.wi, t.jv, k1 } do
        if l then s:unroll(l) end
    end
    s:vectorize(t.jl)
    for k, of in ipairs(f.reduce) do
        if how.written and how.written[of] then s:unroll(reduced[k]) end
    end
    local il = s:get_loops(init)
    s:vectorize(il[#il])
    for k = n_outer + 1, #il - 1 do s:unroll(il[k]) end

    -- lines of weights that come from far away are asked for two steps ahead
    if not panel and a.weights.elements * facts.bytes(a.weights.dtype) > target.l2 then
        s:annotate(reduced[#reduced], "prefetch", { { buffer = a.weights.buffer, distance = 2 } })
    end
    local outer = {}
    if how.order == "panels" then
        add_all(outer, t.shared)
        append(outer, t.jo)
    else
        add_all(outer, t.shared)
        add_all(outer, t.far)
        append(outer, t.ho or false)
        if not a.h then
            append(outer, t.jo, not how.written and t.wo)
        end
    end
    if how.own then
        part = part or (#t.shared > 1 and s:fuse(table.unpack(t.shared)) or t.shared[1])
        s:compute_at(how.own, part, true)
        vectorize_copy(s, how.own, lanes)
        s:parallel(part)
    elseif threads > 1 then
        s:parallel(#outer > 1 and s:fuse(table.unpack(outer)) or outer[1])
    end
    if how.written then s:unroll(t.wo) end
end

-- The stage that pads the image for the block alone, along whose lines vectors lie; nil: there is none.
local function padding_of(s, name, a, lanes)
    for _, p in ipairs(s:get_producers(s:get_block(name))) do
        local f = facts.of(s, p)
        local v = f and facts.contiguous(f)
        local alone = v and #f.reduce == 0 and f.write.buffer == a.image.buffer and #s:get_consumers(p) == 1
        if alone and f.iters[v].extent >= lanes then return s:get(p).name end
    end
end

-- How threads may share the work so that each pads what it reads, which is slow where another
-- has written it; the promising way first. More weights than image are read once.
local function parts_of(f, a, threads)
    if #a.shared > 0 and product(f, a.shared) % threads == 0 then return { "shared" } end
    return a.weights.elements > 16 * a.image.elements and { "panels", "lines" } or { "lines", "panels" }
end

-- ---- padding

-- A vector of the padded image takes some cycles, two multiply-adds take one.
local function cost_of_padding(f, pads) return pads and 8 * pads.elements / f.points or 0 end

-- Ways to deal with the padding, the promising one first: {tiles, cost, skip = the taps whose
-- zeros are left out; unpadded = the stage that goes; written, copies: see tiled}. What is far
-- from the tile is left out anyway; of the lines where a tile has one; of the pixels where tiles
-- cover lines, few of them, for which the taps are written out.
local function ways_of(f, a, target, lanes, depth, pads)
    local far, lines, pixels = {}, nil, nil
    for _, t in ipairs(pads and pads.taps or {}) do
        if t.row == a.h then
            lines = t
        elseif t.row == a.w then
            pixels = t
        else
            far[#far + 1] = t
        end
    end
    local list, padded = {}, cost_of_padding(f, pads)
    local function add(way, skip, more, fits)
        way.skip = table.move(skip, 1, #skip, 1, {})
        for _, t in ipairs(more) do way.skip[#way.skip + 1] = t end
        way.tiles, way.cost = tiles_for(f, a, target, lanes, depth, nil, nil, fits)
        way.fits = fits
        if not way.cost then return end
        way.cost = way.cost * padding.part(way.skip) + (way.unpadded and 0 or padded)
        list[#list + 1] = way
    end
    add({}, far, {})
    if lines then add({ lines = true }, far, { lines }, function(mh) return mh == 1 end) end
    local last = f.reduce[#f.reduce] -- its loop is cut, not written out
    if pixels and pads.all and not line_of(f, a) and pixels.tap ~= last and not (lines and lines.tap == last) then
        local width, taps = f.iters[a.w].extent, f.iters[pixels.tap].extent
        for n = 1, 2 do
            if width % n == 0 and n * taps <= most_copies then
                add({ unpadded = pads.stage, written = { [pixels.tap] = true }, copies = n * taps }, far, { pixels, lines },
                    function(mh, mw) return mh == 1 and mw * n == width end)
            end
        end
        local height = a.h and f.iters[a.h].extent
        local all = lines and taps * f.iters[lines.tap].extent
        if all and all <= most_copies then
            add({ unpadded = pads.stage, written = { [pixels.tap] = true, [lines.tap] = true }, copies = all }, far,
                { pixels, lines }, function(mh, mw) return mh == height and mw == width end)
        end
    end
    table.sort(list, function(p, q) return p.cost < q.cost end)
    return list
end

-- ---- the family

function conv.sketches(list, program, target, threads)
    local probe = core.schedule(program, { name = "probe" })
    local name, classes = image.prepare(probe)
    local f = name and facts.of(probe, probe:get_block(name))
    local a = f and axes_of(f, classes)
    if not a then return end
    local lanes, depth = facts.lanes(target, f.write.dtype), product(f, f.reduce)
    local padded = not classes and padding.of(probe, name, f, a.image)
    local ways = ways_of(f, a, target, lanes, depth, padded)
    if #ways == 0 or f.iters[a.v].extent * 2 <= lanes then return end
    local own, consumer, before = { [name] = true }, image.follower(probe, name, f), #list
    local pads = threads > 1 and padding_of(probe, name, a, lanes)
    -- kind: name and how; more: what differs from the way
    local function sketch(way, text, how)
        for k, x in pairs(way) do
            if how[k] == nil then how[k] = x end
        end
        local apart = how.own or way.unpadded
        if apart then own[apart] = true end
        text = text .. (way.unpadded and ", unpadded" or way.lines and ", lines beside the image left out" or "")
        image.sketch(list, program, text, target, threads, own, consumer, function(s, with, others)
            image.prepare(s)
            padding.leave(s, name, how.skip, how.unpadded)
            others()
            how.consumer = with
            if how.blocked then return blocked.scheduled(s, name, f, a, lanes, target, threads, how) end
            tiled(s, name, f, a, how.tiles, lanes, target, threads, how)
        end)
        if apart then own[apart] = nil end
    end
    local bytes = a.weights.elements * facts.bytes(a.weights.dtype)
    local far = bytes > target.l2 and not is_interleaved(f, a)
    -- Sketches whose sum is cut into blocks, for tiles without a tail; whether they come first; their cost.
    local function blocks_of(way)
        local tiles, cost = {}, nil
        if not line_of(f, a) then
            tiles, cost = tiles_for(f, a, target, lanes, 1, nil, nil, function(mh, mw, acc, nv)
                return f.iters[a.v].extent % (nv * lanes) == 0 and f.iters[a.w].extent % mw == 0 and
                    (not a.h or f.iters[a.h].extent % mh == 0) and (not way.fits or way.fits(mh, mw, acc))
            end)
        end
        local list, first = blocked.ways(f, a, target, tiles[1], lanes, depth, way.written, threads)
        for k, how in ipairs(list) do
            how.blocked, how.tiles = true, tiles
            list[k] = { ("blocks of the sum%s%s"):format(how.parts and ", for all panels" or "", how.pack and ", copied" or ""), how }
        end
        return list, first and #list > 0, cost and cost * padding.part(way.skip) + (way.unpadded and 0 or cost_of_padding(f, padded))
    end
    local function add(way, sketches, most)
        for _, x in ipairs(sketches) do
            if #list - before < most then sketch(way, table.unpack(x)) end
        end
    end
    local best
    for _, way in ipairs(ways) do
        way.blocks, way.first, way.blocks_cost = blocks_of(way)
        -- threads that pad their own parts wait for nobody: better, but for weights that come from far away
        local waits = pads and not way.unpadded and bytes <= target.l2
        if way.first and not waits and (not best or way.blocks_cost < best.blocks_cost) then best = way end
    end
    if best then add(best, best.blocks, 99) end
    local function all_of(way, most)
        -- a copy pays where many tiles read it, and lines of the weights lie far apart; where they
        -- come from beyond the second cache, a second tile is enough
        local tile = way.tiles[1]
        local width = tile % 100 * lanes
        local panels = (f.iters[a.v].extent + width - 1) // width * product(f, a.shared)
        local rows = (tile // 10000) * (tile // 100 % 100)
        local read = product(f, a.rows) >= (far and rows + 1 or 10 * rows)
        local pays = panels > 1 and read
        local copied = { "panels of weights, copied", { pack = true, order = "panels" } }
        local in_place = { "panels of weights", { order = "panels" } }
        local by_rows = { "rows of the image", { order = "rows" } }
        local kinds = pays and { copied, in_place, by_rows } or { in_place, by_rows, copied }
        -- few weights stay in a near cache whatever the order: lines of the image are read once
        local lines = product(f, a.rows) // f.iters[a.w].extent
        local few = bytes <= 256 << 10 and lines >= 4 * threads
        if few or (panels < 2 * threads and panels % threads ~= 0) then kinds = { by_rows, in_place, copied } end
        for _, part in ipairs(pads and not way.unpadded and parts_of(f, a, threads) or {}) do
            local tiles = tiles_for(f, a, target, lanes, depth, axis_of(a, part), threads,
                way.lines and function(mh) return mh == 1 end)
            local often = part == "panels" and far and product(f, a.rows) >= 3 * rows
            for _, pack in ipairs(#tiles == 0 and {} or part ~= "panels" and { false } or { often, not often }) do
                if #list - before < most then
                    sketch(way, ("%s, each thread pads its own%s"):format(part, pack and ", panels copied" or ""),
                        { order = part == "lines" and "rows" or "panels", part = part, own = pads, pack = pack, tiles = tiles })
                end
            end
        end
        add(way, kinds, most)
        if way ~= best then add(way, way.blocks, most) end
    end
    for k, way in ipairs(ways) do all_of(way, k == 1 and 99 or #list - before + 2) end
    list.known = #list > before
end

return conv

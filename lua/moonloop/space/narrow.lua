-- narrow - convolutions of fewer results a pixel than half a vector: vectors lie along lines.
--
-- The image is turned so that a line of one channel is contiguous; the weights, of which
-- there are few for a pixel, are the same for all lanes. A tile holds all results of several
-- lines and vectors. Source: auto-scheduler 6; lowering-and-codegen 8.
local moon, core, facts, plain = ...

local narrow = {}
local auto = moon.auto
local image = core.load("space/image")(moon, core, facts, plain)

-- The dimension of a buffer in which an iterator alone counts by ones, or nil.
local function dimension_of(access, k)
    local stride = 1
    for d = #access.shape, 1, -1 do
        if not access.shape[d] then return nil end
        if stride == access.strides[k] and access.shape[d] > 1 then return d end
        stride = stride * access.shape[d]
    end
end

-- The axes: v (results of a pixel), w (pixels of a line), h (lines) and what else is
-- spatial; nil when lines cannot be vectors.
local function axes_of(f, lanes)
    local v = facts.contiguous(f)
    if not v or not f.init or f.guard or #f.reads ~= 2 or #f.reduce < 2 or f.iters[v].extent * 2 > lanes then return nil end
    local at = f.reads[1].strides[v] and 2 or 1
    local x, weights = f.reads[at], f.reads[3 - at]
    local c = f.reduce[#f.reduce]
    if x.strides[v] or not weights.strides[v] or x.strides[c] ~= 1 or x.by[c] then return nil end
    local a = { v = v, at = at, image = x, shared = {}, far = {}, rank = #x.shape }
    local rows = {}
    for _, k in ipairs(f.spatial) do
        if k ~= v then
            local list = weights.strides[k] and a.shared or rows
            list[#list + 1] = k
        end
    end
    table.sort(rows, function(p, q) return (x.strides[p] or 0) < (x.strides[q] or 0) end)
    for _, k in ipairs(rows) do
        local straight = f.iters[k].extent > 1 and x.strides[k] and not x.by[k]
        if not a.w and straight then
            a.w = k
        elseif a.w and not a.h and straight then
            a.h = k
        else
            a.far[#a.far + 1] = k
        end
    end
    if not a.w or not a.h or f.iters[a.w].extent < lanes or dimension_of(x, a.w) ~= a.rank - 1 then return nil end
    return a
end

-- A map that puts dimension d last.
local function last(rank, d)
    local from, to = {}, {}
    for k = 1, rank do
        from[k] = "i" .. k
        if k ~= d then to[#to + 1] = from[k] end
    end
    to[#to + 1] = from[d]
    return ("lambda %s: (%s)"):format(table.concat(from, ", "), table.concat(to, ", "))
end

-- Tiles as numbers lines * 100 + vectors: all that the registers hold, the fullest first.
local function tiles_for(f, a, target, lanes)
    local list, n = {}, f.iters[a.v].extent
    local most = target.registers >= 32 and 28 or 12
    for nv = 1, f.iters[a.w].extent // lanes do
        for lines = 1, f.iters[a.h].extent do
            local acc = n * nv * lines
            if acc <= most and acc + n < target.registers then
                local waste = image.up(f.iters[a.h].extent, lines) / f.iters[a.h].extent
                    * image.up(f.iters[a.w].extent, nv * lanes) / f.iters[a.w].extent
                list[#list + 1] = { lines * 100 + nv, math.max(1, 10 / acc) * waste * (1 + 0.5 / n) - acc * 1e-2 }
            end
        end
    end
    table.sort(list, function(p, q) return p[2] < q[2] or (p[2] == q[2] and p[1] < q[1]) end)
    local out = {}
    for k = 1, math.min(#list, 8) do out[k] = list[k][1] end
    return out
end

-- The stage that makes the turned image: lines of a channel, vectors of neighbours in a line.
local function turn_copy(s, block, lanes, threads)
    local loops = s:get_loops(block)
    local n = #loops
    local wo, wi = table.unpack(s:split(loops[n - 1], { auto, lanes }))
    s:reorder(wo, loops[n], wi)
    s:vectorize(wi)
    if threads > 1 and n > 2 then s:parallel(n > 3 and s:fuse(table.unpack(loops, 1, n - 2)) or loops[1]) end
end

local function tiled(s, name, f, a, tiles, lanes, threads, producer, consumer)
    local b = s:get_block(name)
    local turned = producer and s:get_block(producer) or s:cache_read(b, a.at - 1, "global")
    s:transform_layout(turned, { "write", 0 }, last(a.rank, a.rank - 1))
    local fill
    if facts.try(s, function(x) fill = x:decompose_padding(turned, x:get_loops(turned)[1]) end) then
        turn_copy(s, fill, lanes, threads)
    end
    turn_copy(s, turned, lanes, threads)

    local back = plain.bring_out(s, b, consumer, true)
    s:set_scope(b, 0, "local")
    local w = core.block_body(s, b).write
    s:transform_layout(b, { "write", 0 }, last(#w.shape, dimension_of(w, a.w)))
    local loops = s:get_loops(b)
    local tile = facts.choose(s, tiles)
    local wo, wv, wl = table.unpack(s:split(loops[a.w], { auto, tile % 100, lanes }))
    local ho, hi = table.unpack(s:split(loops[a.h], { auto, tile // 100 }))
    local order = {}
    for _, k in ipairs(a.shared) do order[#order + 1] = loops[k] end
    for _, k in ipairs(a.far) do order[#order + 1] = loops[k] end
    order[#order + 1] = ho
    order[#order + 1] = wo
    local n_outer = #order
    local outer = table.move(order, 1, n_outer - 1, 1, {})
    for _, k in ipairs(f.reduce) do order[#order + 1] = loops[k] end
    local first = order[n_outer + 1]
    for _, l in ipairs { hi, wv, loops[a.v], wl } do order[#order + 1] = l end
    s:reorder(table.unpack(order))
    s:reverse_compute_at(back, wo, true)
    local bl = s:get_loops(back)
    -- the last two are a line and the results of its pixels: as the accumulators lie
    local _, bi = table.unpack(s:split(bl[#bl - 1], { auto, lanes }))
    s:reorder(bl[#bl], bi)
    s:vectorize(bi)
    local init = s:decompose_reduction(b, first)
    for _, l in ipairs { loops[a.v], hi, wv } do s:unroll(l) end
    s:vectorize(wl)
    local il = s:get_loops(init)
    s:vectorize(il[#il])
    for k = n_outer + 1, #il - 1 do s:unroll(il[k]) end
    if threads > 1 then s:parallel(#outer > 1 and s:fuse(table.unpack(outer)) or outer[1]) end
end

function narrow.sketches(list, program, target, threads)
    local probe = core.schedule(program, { name = "probe" })
    local name = image.prepare(probe)
    local f = name and facts.of(probe, probe:get_block(name))
    local lanes = f and facts.lanes(target, f.write.dtype)
    local a = f and axes_of(f, lanes)
    if not a then return end
    local tiles = tiles_for(f, a, target, lanes)
    if #tiles == 0 then return end
    local producers = probe:get_producers(probe:get_block(name))
    local producer = #producers == 1 and probe:get(producers[1]).name or nil
    local own, before = { [name] = true, [producer or name] = true }, #list
    image.sketch(list, program, "lines of the image are vectors", target, threads, own, image.follower(probe, name, f),
        function(s, consumer, others)
            image.prepare(s)
            others()
            tiled(s, name, f, a, tiles, lanes, threads, producer, consumer)
        end)
    list.known = #list > before
end

return narrow

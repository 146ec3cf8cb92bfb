-- depthwise - small windows over an image, each channel by itself: memory is the bound.
--
-- Sums, averages and maxima of a few taps, of which image and result know the same contiguous
-- channels. Channels are vectors; the taps are unrolled over several results of a line, so
-- that what neighbours share is loaded once and the weights stay in registers. The image is
-- padded part by part: lines enough for a near cache. Source: auto-scheduler 6;
-- lowering-and-codegen 8.
local moon, core, facts, plain = ...

local depthwise = {}
local auto = moon.auto
local image = core.load("space/image")(moon, core, facts, plain)

-- Bytes of lines that a part may have: padded ones in the first and the second cache, others;
-- and taps that are unrolled.
local near, nearby, lines_near, most_taps = 48 << 10, 256 << 10, 1 << 20, 32

-- The axes: v (channels), w (pixels of a line), h (lines); nil when it is no such block.
local function axes_of(f, lanes)
    local v = facts.contiguous(f)
    if not v or not f.init or f.guard or #f.reduce == 0 or f.iters[v].extent < lanes then return nil end
    local taps = image.product(f, f.reduce)
    local x
    for _, r in ipairs(f.reads) do
        if r.irregular or r.strides[v] ~= 1 then return nil end
        local lines = false
        for _, k in ipairs(f.spatial) do lines = lines or (k ~= v and r.strides[k]) end
        if lines then
            if x then return nil end
            x = r
        end
    end
    if not x or taps > most_taps then return nil end
    local a = { v = v, image = x, taps = taps, far = {} }
    local rows = {}
    for _, k in ipairs(f.spatial) do
        if k ~= v then
            if not x.strides[k] and f.iters[k].extent > 1 then return nil end
            rows[#rows + 1] = k
        end
    end
    table.sort(rows, function(p, q) return (x.strides[p] or 0) < (x.strides[q] or 0) end)
    for _, k in ipairs(rows) do
        if f.iters[k].extent == 1 then
            a.far[#a.far + 1] = k
        elseif not a.w then
            a.w = k
        elseif not a.h then
            a.h = k
        else
            table.insert(a.far, 1, k)
        end
    end
    return a.w and a.h and a or nil
end

-- Parts as numbers lines * 10000 + vectors of channels: those whose lines of the image stay
-- near, enough for the threads, with few lines read twice.
local function parts_for(f, a, lanes, threads, unpadded)
    local lines, channels = f.iters[a.h].extent, f.iters[a.v].extent // lanes
    local step, line = a.image.strides[a.h], a.image.strides[a.w]
    local list = {}
    local reach = a.image.elements -- elements of the image that a line of results needs
    for k = #a.image.shape - 2, 1, -1 do reach = reach // (a.image.shape[k] > 1 and a.image.shape[k] or 1) end
    local down = math.max(1, step // reach) -- lines of the image a line of results
    local taps = 1
    for _, k in ipairs(f.reduce) do
        if (a.image.strides[k] or 0) >= reach then taps = taps * f.iters[k].extent end
    end
    local cv = channels
    while line > 0 do
        for lb = 1, lines do
            local parts = image.up(lines, lb) // lb * (channels // cv)
            local deep = (lb - 1) * down + taps
            local bytes = deep * reach // channels * cv * facts.bytes(a.image.dtype)
            local last = lines - (lines - 1) // lb * lb
            if lb == 1 or lb == lines or (lb <= 32 and last == lb) then
                local again = deep / (lb * down)
                local idle = image.up(parts, threads) / parts
                local far = bytes > (unpadded and lines_near or nearby) and 1.5 or not unpadded and bytes > near and 1.4 or 1
                -- a piece of a pixel: what is fetched ahead of it is for others
                local piece = cv < channels and 1 + 64 / (cv * lanes * facts.bytes(a.image.dtype)) or 1
                list[#list + 1] = { lb * 10000 + cv, again * idle * far * piece * (1 + 0.02 * channels / cv) }
            end
        end
        if cv % 2 ~= 0 then break end
        cv = cv // 2
    end
    table.sort(list, function(p, q) return p[2] < q[2] or (p[2] == q[2] and p[1] < q[1]) end)
    local out = {}
    for k = 1, math.min(#list, 8) do out[k] = list[k][1] end
    return out
end

-- Results of a line in a tile, the promising ones first: a divisor, with the weights and a
-- line of the image in registers; where each tap asks whether it is inside, few.
local function widths_for(f, a, target, unpadded, by_pixels)
    local list, n = {}, f.iters[a.w].extent
    local most = math.min(target.registers >= 32 and not unpadded and 14 or unpadded and 8 or 4, n)
    for m = most, 1, -1 do
        if n % m == 0 or m == 4 then list[#list + 1] = m end
    end
    local few = by_pixels and 2 or 4
    local function away(m) return math.abs(m - few + 0.1) end
    if unpadded and n > most then table.sort(list, function(x, y) return away(x) < away(y) end) end
    return list
end

local function vectors(s, block, lanes, unrolled)
    local loops = s:get_loops(block)
    local o, i = table.unpack(s:split(loops[#loops], { auto, lanes }))
    s:vectorize(i)
    if unrolled then s:unroll(o) end
end

-- by_pixels: all channels of a tile before the next one; else the line for each channel.
local function tiled(s, name, f, a, target, threads, producer, consumer, unpadded, by_pixels)
    local lanes = facts.lanes(target, f.write.dtype)
    local b = s:get_block(name)
    if producer and unpadded then s:compute_inline(producer) end -- before any choice: what follows has closed forms
    local acc = plain.bring_out(s, b, consumer)
    local loops = s:get_loops(b)
    local part = facts.choose(s, parts_for(f, a, lanes, threads, unpadded))
    local width = facts.choose(s, widths_for(f, a, target, unpadded, by_pixels))
    local co, ci, cl = table.unpack(s:split(loops[a.v], { auto, part % 10000, lanes }))
    local ho, hi = table.unpack(s:split(loops[a.h], { auto, part // 10000 }))
    local wo, wi = table.unpack(s:split(loops[a.w], { auto, width }))
    local order = {}
    for _, k in ipairs(a.far) do order[#order + 1] = loops[k] end
    local tile = by_pixels and ci or wo -- the innermost loop outside the tile
    for _, l in ipairs { co, ho, hi, by_pixels and wo or ci, tile } do order[#order + 1] = l end
    local n_outer = #order
    local outer = table.move(order, 1, n_outer - 3, 1, {})
    for _, k in ipairs(f.reduce) do order[#order + 1] = loops[k] end
    order[#order + 1], order[#order + 2] = wi, cl
    s:reorder(table.unpack(order))
    s:reverse_compute_at(acc, tile, true)
    local bl = s:get_loops(acc)
    vectors(s, acc, lanes, true)
    for k = n_outer + 1, #bl - 1 do s:unroll(bl[k]) end
    if producer and not unpadded then
        s:compute_at(producer, ho, true)
        vectors(s, producer, lanes)
    end
    local init = s:decompose_reduction(b, order[n_outer + 1])
    for k = n_outer + 1, #order - 1 do s:unroll(order[k]) end
    s:vectorize(cl)
    local il = s:get_loops(init)
    s:vectorize(il[#il])
    for k = n_outer + 1, #il - 1 do s:unroll(il[k]) end
    if threads > 1 and f.points >= 32768 then s:parallel(#outer > 1 and s:fuse(table.unpack(outer)) or outer[1]) end
end

function depthwise.sketches(list, program, target, threads)
    local probe = core.schedule(program, { name = "probe" })
    plain.inline(probe, {})
    local name = image.anchor(probe)
    local f = name and facts.of(probe, probe:get_block(name))
    local a = f and axes_of(f, facts.lanes(target, f.write.dtype))
    if not a then return end
    local producers = probe:get_producers(probe:get_block(name))
    local producer = #producers == 1 and probe:get(producers[1]).name or nil
    local function whole(unpadded, by_pixels)
        return function(s, consumer, others)
            plain.inline(s, {})
            others()
            tiled(s, name, f, a, target, threads, producer, consumer, unpadded, by_pixels)
        end
    end
    local kinds = {
        { "taps in registers", whole(false) },
        { "taps in registers, by pixels", whole(false, true) },
        { "taps in registers, unpadded", whole(true) },
        { "taps in registers, unpadded, by pixels", whole(true, true) },
    }
    -- short pixels follow each other as they lie in memory; where taps are shared by few results, to ask at
    -- each one is cheaper than a copy of the image
    local far = a.image.strides[a.w] > a.image.shape[#a.image.shape]
    local short = f.iters[a.v].extent * facts.bytes(a.image.dtype) < 1024
    local order = short and { 4, 3, 1, 2 } or far and { 3, 4, 1, 2 } or { 1, 3, 4, 2 }
    if not producer then order = short and { 2, 1 } or { 1, 2 } end
    local own, consumer, before = { [name] = true, [producer or name] = true }, plain.follower(probe, name), #list
    for _, k in ipairs(order) do
        image.sketch(list, program, kinds[k][1], target, threads, own, consumer, kinds[k][2])
    end
    list.known = #list > before
end

return depthwise

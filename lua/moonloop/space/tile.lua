-- tile - matrix products and convolutions: a register tile over rows and vectors.
--
-- Source: auto-scheduler 6; lowering-and-codegen 8.
local moon, core, facts, plain = ...

local tile = {}
local auto = moon.auto
local image = core.load("space/image")(moon, core, facts, plain)

-- A reduction whose results lie side by side, from operands that do so too or are the same
-- for all of them: accumulators in registers pay.
local function is_tileable(f)
    local v = facts.contiguous(f)
    if #f.reduce == 0 or not f.init or not v then return false end
    for _, r in ipairs(f.reads) do
        if not r.irregular and r.strides[v] and r.strides[v] ~= 1 then return false end
    end
    return true
end

-- All pairs that fit into the vector registers, the better ones first (lowering 8.2): rows
-- times vectors of accumulators, one row of vectors, one broadcast.
local tiles_512 = { { 8, 2 }, { 6, 4 }, { 4, 4 }, { 12, 2 }, { 8, 3 }, { 14, 2 }, { 5, 5 }, { 9, 3 }, { 7, 3 }, { 16, 1 }, { 7, 4 }, { 10, 2 },
    { 4, 6 }, { 24, 1 }, { 28, 1 }, { 4, 3 }, { 5, 2 }, { 2, 4 }, { 8, 1 }, { 1, 8 }, { 1, 4 } }
local tiles_256 = { { 6, 2 }, { 4, 3 }, { 4, 2 }, { 12, 1 }, { 5, 2 }, { 3, 4 }, { 7, 1 }, { 8, 1 }, { 2, 4 }, { 2, 2 }, { 1, 8 }, { 1, 4 } }

-- How much of the work a tile of `by` over `extent` wastes.
local function waste(extent, by) return ((extent + by - 1) // by * by) / extent - 1 end

-- Tiles for rows x columns, as numbers rows * 1000 + vectors, the promising ones first.
local function tiles_for(target, lanes, rows, columns)
    local list = {}
    for order, t in ipairs(target.registers >= 32 and tiles_512 or tiles_256) do
        local mr, nv = t[1], t[2]
        if mr <= rows and nv * lanes <= (columns + lanes - 1) // lanes * lanes then
            local w = waste(rows, mr) + waste(columns, nv * lanes)
            local acc = mr * nv
            local weak = acc < 8 and (8 - acc) * 0.1 or 0
            local loads = (mr + nv) / acc -- of a multiply-add
            list[#list + 1] = { mr * 1000 + nv, w * 2 + weak + loads * 0.2 + order * 0.01 }
        end
    end
    table.sort(list, function(a, b) return a[2] < b[2] end)
    local out = {}
    for k = 1, math.min(#list, 8) do out[k] = list[k][1] end
    if #out == 0 then out[1] = 1000 * math.min(rows, 4) + 1 end
    return out
end

-- ---- matrix products, convolutions: a register tile over rows x vectors

-- The row axis: the spatial iterator with the most iterations that the operand with the
-- vector axis does not know; nil when there is none.
local function row_axis(f, v)
    local best
    for _, k in ipairs(f.spatial) do
        if k ~= v and f.iters[k].extent > 1 then
            local reuse = false
            for _, r in ipairs(f.reads) do
                if r.strides[v] and not r.strides[k] then reuse = true end
            end
            -- of equal ones the inner: rows next to each other
            if reuse and (not best or f.iters[k].extent >= f.iters[best].extent) then best = k end
        end
    end
    return best
end

-- The operand along the vector axis, by position among the block's reads: it is packed.
local function packed_operand(f, v)
    for k, r in ipairs(f.reads) do
        if r.strides[v] == 1 and not r.irregular then return k, r end
    end
end

local function first_below(extent, list)
    local out = {}
    for _, x in ipairs(list) do
        if x <= extent then out[#out + 1] = x end
    end
    return out
end

-- One sketch. how: pack (the vector operand is copied panel by panel), order ("jr": panels
-- outermost; "ir": rows outermost; "two": two panels at a time, so that a row tile is read
-- from far away once for both; "blocks": of panels and rows), consumer (name of an elementwise block to be computed
-- with each tile), pad (name of a producer and where it goes).
local function tiled(s, name, f, target, threads, how)
    local b = s:get_block(name)
    local loops = s:get_loops(b)
    local v = facts.contiguous(f)
    local lanes = facts.lanes(target, f.write.dtype)
    local r = row_axis(f, v)
    local columns, rows = f.iters[v].extent, r and f.iters[r].extent or 1
    local acc, panel

    if not how.consumer then acc = s:cache_write(b, 0, "local") end
    if how.pack then
        local at = packed_operand(f, v)
        -- the reads of a reduction begin with what it writes to, except under an init
        panel = s:cache_read(b, how.read_index or at - 1, "global")
    end
    loops = s:get_loops(b)

    local tiles = tiles_for(target, lanes, rows, columns)
    local tile = facts.choose(s, tiles)
    local jo, jv, jl = table.unpack(s:split(loops[v], { auto, tile % 1000, lanes }))
    local io, ii
    if r then
        io, ii = table.unpack(s:split(loops[r], { auto, tile // 1000 }))
    end

    -- reductions: all outer ones as they are, the innermost cut for unrolling
    local reduce = {}
    for _, k in ipairs(f.reduce) do reduce[#reduce + 1] = loops[k] end
    local last = f.reduce[#f.reduce]
    local unroll = facts.choose(s, first_below(f.iters[last].extent, { 4, 1, 2, 8 }))
    local k0, k1 = table.unpack(s:split(loops[last], { auto, unroll }))
    reduce[#reduce] = k0

    local others = {}
    for _, k in ipairs(f.spatial) do
        if k ~= v and k ~= r then others[#others + 1] = loops[k] end
    end

    -- blocks of panels and rows
    local order = {}
    for _, l in ipairs(others) do order[#order + 1] = l end
    local jc, jr, ic, ir
    if how.order == "two" then
        jc, jr = table.unpack(s:split(jo, { auto, 2 }))
        ir = io
    elseif how.order == "blocks" then
        jc, jr = table.unpack(s:split(jo, s:sample_perfect_tile { loop = jo, n = 2, max_innermost_factor = 64 }))
        if io then
            ic, ir = table.unpack(s:split(io, s:sample_perfect_tile { loop = io, n = 2, max_innermost_factor = 64 }))
        end
    else
        jr, ir = jo, io
    end
    local list
    if how.order == "jr" then
        list = { jr, ir }
    elseif how.order == "ir" then
        list = { ir or false, jr }
    elseif how.order == "two" then
        list = { jc, ir or false, jr }
    else
        list = { ic or false, jc, jr, ir or false }
    end
    for _, l in ipairs(list) do
        if l then order[#order + 1] = l end
    end
    local n_outer = #order
    for _, l in ipairs(reduce) do order[#order + 1] = l end
    order[#order + 1] = k1
    if ii then order[#order + 1] = ii end
    order[#order + 1] = jv
    order[#order + 1] = jl
    s:reorder(table.unpack(order))
    local tile_loop = order[n_outer]

    if panel then
        s:compute_at(panel, how.order == "two" and jc or jr, true)
        local pl = s:get_loops(panel)
        local o, i = table.unpack(s:split(pl[#pl], { auto, lanes }))
        s:vectorize(i)
        s:unroll(o)
    end
    -- the tile goes back, with what follows it
    local back = how.consumer and s:get_block(how.consumer) or acc
    if how.consumer then s:set_scope(b, 0, "local") end
    s:reverse_compute_at(back, tile_loop, true)
    local bl = s:get_loops(back)
    local o, i = table.unpack(s:split(bl[#bl], { auto, lanes }))
    s:vectorize(i)
    s:unroll(o)
    if ii and #bl > n_outer + 1 then s:unroll(bl[#bl - 1]) end

    local init = s:decompose_reduction(b, reduce[1])
    s:vectorize(jl)
    s:unroll(jv)
    if ii then s:unroll(ii) end
    s:unroll(k1)
    local il = s:get_loops(init)
    s:vectorize(il[#il])
    s:unroll(il[#il - 1])
    if ii then s:unroll(il[#il - 2]) end

    -- a producer that stays is computed for each iteration of the first loop that has some
    local first = 1
    while first < n_outer and s:get(order[first]).extent == 1 do first = first + 1 end
    if how.pad then s:compute_at(how.pad, order[first], true) end

    -- what the tile goes back to is fetched while it is computed; last, since an annotated loop
    -- cannot be split
    if how.order == "two" and not how.consumer then
        s:annotate(tile_loop, "prefetch", { { buffer = f.write.buffer, rw = 1 } })
    end
    if threads > 1 then
        local fused = {}
        local outer = how.order == "blocks" and #others + (ic and 2 or 1) or #others + 1
        for k = 1, math.min(outer, n_outer) do fused[k] = order[k] end
        if how.pad then fused = { order[first] } end
        local all = #fused > 1 and s:fuse(table.unpack(fused)) or fused[1]
        s:parallel(all)
    end
end

-- The block with the most work among the reductions.
local function anchor(s)
    local best, work
    for _, name in ipairs(facts.blocks(s)) do
        local f = facts.of(s, s:get_block(name))
        if f and is_tileable(f) and (not work or f.points > work) then best, work = name, f.points end
    end
    return best
end

local function prologues(s, name)
    local out = {}
    for _, p in ipairs(s:get_producers(s:get_block(name))) do out[#out + 1] = s:get(p).name end
    return out
end

-- The program brought to one block with the most work, without zeros between elements where
-- something is left to be summed then; its name.
local function prepare(s)
    plain.inline(s, {})
    local name = anchor(s)
    if not name then return nil end
    local copy = s:copy()
    image.split_parity(copy, name)
    local f = facts.of(copy, copy:get_block(name))
    if f and is_tileable(f) then image.split_parity(s, name) end
    return name
end

function tile.sketches(list, program, target, threads)
    local probe = core.schedule(program, { name = "probe" })
    local name = prepare(probe)
    if not name then return end
    local f = facts.of(probe, probe:get_block(name))
    local consumer, before = plain.follower(probe, name), prologues(probe, name)
    local rest = {}
    for _, n in ipairs(facts.blocks(probe)) do
        if n ~= name and n ~= consumer then rest[#rest + 1] = n end
    end
    local function whole(how)
        return function(s)
            prepare(s)
            for _, n in ipairs(rest) do
                if how.pad ~= n then facts.try(s, function(x) plain.block(x, n, target, threads) end) end
            end
            how.consumer = consumer
            tiled(s, name, f, target, threads, how)
        end
    end
    local v = facts.contiguous(f)
    list.narrow = f.iters[v].extent * 2 <= facts.lanes(target, f.write.dtype) -- vectors mostly empty
    local at, r = packed_operand(f, v)
    local small = r and r.elements * facts.bytes(r.dtype) <= 1 << 18
    local pack = { "pack, panels outermost", { pack = true, order = "jr" } }
    local plain = { "in place, panels outermost", { order = "jr" } }
    local two = { "pack, two panels outermost", { pack = true, order = "two" } }
    local kinds = small and { plain, pack } or { pack, plain }
    if f.iters[v].extent >= 8 * facts.lanes(target, f.write.dtype) then -- two panels there are
        table.insert(kinds, small and 3 or 1, two)
    end
    kinds[#kinds + 1] = { "in place, rows outermost", { order = "ir" } }
    kinds[#kinds + 1] = { "in place, blocks", { order = "blocks" } }
    if at then kinds[#kinds + 1] = { "pack, blocks", { pack = true, order = "blocks" } } end
    for _, k in ipairs(kinds) do
        if at or not k[2].pack then facts.sketch(list, program, k[1], whole(k[2])) end
    end
    if #before == 1 then
        facts.sketch(list, program, "in place, producer with each part", whole { order = "ir", pad = before[1] })
    end
end

return tile

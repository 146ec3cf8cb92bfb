-- space - design spaces: schedules of a program whose sampling decisions are left open.
--
-- A rule looks at the program and the target, never at measurements. It gives sketches:
-- schedules on the start version, whose traces the search replays with other decisions; the
-- decisions they carry are the rule's own choice, tried first and used by moon.draft.
-- Source: auto-scheduler 2 to 6; lowering-and-codegen 8.
local moon, core = ...

local space = { name = "cpu-1" }
local auto = moon.auto

-- ---- what a program is made of

local function product(list)
    local n = 1
    for _, x in ipairs(list) do n = n * x end
    return n
end

-- Facts of a block, or nil when no rule knows what to do with it.
local function facts_of(s, block)
    local f = core.block_body(s, block)
    if not f or f.write.irregular then return nil end
    f.block, f.spatial, f.reduce = block, {}, {}
    for k, it in ipairs(f.iters) do
        if not it.extent or not it.plain then return nil end
        local list = it.kind == "spatial" and f.spatial or it.kind == "reduce" and f.reduce
        if not list then return nil end
        list[#list + 1] = k
    end
    f.points = 1
    for _, it in ipairs(f.iters) do f.points = f.points * it.extent end
    return f
end

-- The spatial iterator along which the written buffer is contiguous.
local function contiguous(f)
    for _, k in ipairs(f.spatial) do
        if f.write.strides[k] == 1 and f.iters[k].extent > 1 then return k end
    end
end

-- A reduction whose results lie side by side, from operands that do so too or are the same
-- for all of them: accumulators in registers pay.
local function is_tileable(f)
    local v = contiguous(f)
    if #f.reduce == 0 or not f.init or not v then return false end
    for _, r in ipairs(f.reads) do
        if not r.irregular and r.strides[v] and r.strides[v] ~= 1 then return false end
    end
    return true
end

local function block_list(s)
    local list = {}
    for _, b in ipairs(s:blocks()) do
        local name = s:get(b).name
        if name ~= "root" then list[#list + 1] = name end
    end
    return list
end

-- ---- pieces of schedules

local function loops_of(s, b) return s:get_loops(b) end

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

local function uniform(n)
    local p = {}
    for k = 1, n do p[k] = 1.0 / n end
    return p
end

-- A choice among integers whose first is the rule's own.
local function choose(s, list, first)
    return s:sample_categorical { candidates = list, probs = uniform(#list), decision = first or 0 }
end

local function bytes_of(dtype)
    local bits = tonumber(dtype:match("%d+")) or 32
    return math.max(1, bits // 8)
end

local function lanes_of(target, dtype) return math.max(1, target.vector_bits // 8 // bytes_of(dtype)) end

-- Vectorises the loop given and leaves what is outside it.
local function split_vector(s, loop, lanes)
    local extent = s:get(loop).extent
    if extent == lanes then
        s:vectorize(loop)
        return nil, loop
    end
    local o, i = table.unpack(s:split(loop, { auto, lanes }))
    s:vectorize(i)
    return o, i
end

-- Does fn to s where a copy of s stands it.
local function try(s, fn)
    local copy = s:copy()
    if pcall(fn, copy) then
        fn(s)
        return true
    end
    return false
end

-- ---- simple blocks: elementwise, copies, transposes, small reductions

-- Outer spatial loops fused and parallel, the innermost contiguous one vectorised.
-- free: how many vectors are in flight is left open.
local function plain_block(s, name, target, threads, free)
    local b = s:get_block(name)
    local f = facts_of(s, b)
    if not f or #f.spatial == 0 then return end
    local loops = loops_of(s, b)
    if #loops ~= #f.iters then return end
    local v = contiguous(f)
    local lanes = lanes_of(target, f.write.dtype)
    local outer, order = {}, {}
    for _, k in ipairs(f.spatial) do
        if k ~= v then outer[#outer + 1] = loops[k] end
    end
    for _, l in ipairs(outer) do order[#order + 1] = l end
    local wide = v and f.iters[v].extent >= lanes
    if wide then
        local vo, vi, vu
        if free and #f.reduce == 0 then
            vo, vu, vi = table.unpack(s:split(loops[v], { auto, choose(s, { 1, 4, 2, 8 }), lanes }))
        else
            vo, vi = table.unpack(s:split(loops[v], { auto, lanes }))
        end
        order[#order + 1] = vo
        outer[#outer + 1] = vo
        for _, k in ipairs(f.reduce) do order[#order + 1] = loops[k] end
        order[#order + 1] = vu
        order[#order + 1] = vi
        if #order > 1 then s:reorder(table.unpack(order)) end
        if f.init then
            local first = loops[f.reduce[1]]
            if first then
                local init = s:decompose_reduction(b, first)
                local il = loops_of(s, init)
                s:vectorize(il[#il])
            end
        end
        s:vectorize(vi)
        if vu then s:unroll(vu) end
    else
        if v then
            order[#order + 1] = loops[v]
            outer[#outer + 1] = loops[v]
        end
        for _, k in ipairs(f.reduce) do order[#order + 1] = loops[k] end
        if #order > 1 then s:reorder(table.unpack(order)) end
    end
    if threads > 1 and f.points >= 32768 and #outer > 0 then
        local function parallel(n)
            return try(s, function(x) x:parallel(n > 1 and x:fuse(table.unpack(outer, 1, n)) or outer[1]) end)
        end
        -- all of them as one; where that cannot be shown to be sound, fewer
        for n = #outer, 1, -1 do
            local extent = 1
            for k = 1, n do extent = extent * (s:get(outer[k]).extent or 1) end
            if extent > 1 and parallel(n) then break end
        end
    end
end

-- ---- inlining

-- Elementwise producers go into their consumers when that does not repeat real work: plain
-- copies always, others unless the consumer is a reduction (which would repeat them).
local function inline_producers(s, keep)
    local again = true
    while again do
        again = false
        for _, name in ipairs(block_list(s)) do
            local b = s:get_block(name)
            local f = facts_of(s, b)
            if f and #f.reduce == 0 and not f.init and not f.write.param and not keep[name] then
                local cheap = f.copy and not f.guard
                local into_reduction = false
                for _, c in ipairs(s:get_consumers(b)) do
                    local cf = facts_of(s, c)
                    if not cf or #cf.reduce > 0 then into_reduction = true end
                end
                if (cheap or not into_reduction) and try(s, function(x) x:compute_inline(name) end) then
                    again = true
                    break
                end
            end
        end
    end
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
    local loops = loops_of(s, b)
    local v = contiguous(f)
    local lanes = lanes_of(target, f.write.dtype)
    local r = row_axis(f, v)
    local columns, rows = f.iters[v].extent, r and f.iters[r].extent or 1
    local acc, panel

    if not how.consumer then acc = s:cache_write(b, 0, "local") end
    if how.pack then
        local at = packed_operand(f, v)
        -- the reads of a reduction begin with what it writes to, except under an init
        panel = s:cache_read(b, how.read_index or at - 1, "global")
    end
    loops = loops_of(s, b)

    local tiles = tiles_for(target, lanes, rows, columns)
    local tile = choose(s, tiles)
    local jo, jv, jl = table.unpack(s:split(loops[v], { auto, tile % 1000, lanes }))
    local io, ii
    if r then
        io, ii = table.unpack(s:split(loops[r], { auto, tile // 1000 }))
    end

    -- reductions: all outer ones as they are, the innermost cut for unrolling
    local reduce = {}
    for _, k in ipairs(f.reduce) do reduce[#reduce + 1] = loops[k] end
    local last = f.reduce[#f.reduce]
    local unroll = choose(s, first_below(f.iters[last].extent, { 4, 1, 2, 8 }))
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
        local pl = loops_of(s, panel)
        local o, i = table.unpack(s:split(pl[#pl], { auto, lanes }))
        s:vectorize(i)
        s:unroll(o)
    end
    -- the tile goes back, with what follows it
    local back = how.consumer and s:get_block(how.consumer) or acc
    if how.consumer then s:set_scope(b, 0, "local") end
    s:reverse_compute_at(back, tile_loop, true)
    local bl = loops_of(s, back)
    local o, i = table.unpack(s:split(bl[#bl], { auto, lanes }))
    s:vectorize(i)
    s:unroll(o)
    if ii and #bl > n_outer + 1 then s:unroll(bl[#bl - 1]) end

    local init = s:decompose_reduction(b, reduce[1])
    s:vectorize(jl)
    s:unroll(jv)
    if ii then s:unroll(ii) end
    s:unroll(k1)
    local il = loops_of(s, init)
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

-- ---- sketches of a program

local function sketch(list, program, name, fn)
    local s = core.schedule(program, { name = "sketch" })
    local ok, e = pcall(fn, s)
    if ok then
        list[#list + 1] = { name = name, schedule = s }
    else
        list.refused[#list.refused + 1] = { name = name, error = e }
        if type(e) ~= "userdata" then error(e, 0) end -- a mistake of a rule, not a refusal
        if e.code == "interrupted" then error(e, 0) end
    end
end

-- The block with the most work among the reductions.
local function anchor(s)
    local best, work
    for _, name in ipairs(block_list(s)) do
        local f = facts_of(s, s:get_block(name))
        if f and is_tileable(f) and (not work or f.points > work) then best, work = name, f.points end
    end
    return best
end

-- What is left after the anchor: the elementwise block that reads it alone, once inlined.
local function epilogue(s, name)
    local list = s:get_consumers(s:get_block(name))
    if #list ~= 1 then return nil end
    local f = facts_of(s, list[1])
    if not f or #f.reduce > 0 then return nil end
    return s:get(list[1]).name
end

local function prologues(s, name)
    local out = {}
    for _, p in ipairs(s:get_producers(s:get_block(name))) do out[#out + 1] = s:get(p).name end
    return out
end

local function tiled_sketches(list, program, target, threads)
    local probe = core.schedule(program, { name = "probe" })
    inline_producers(probe, {})
    local name = anchor(probe)
    if not name then return end
    local f = facts_of(probe, probe:get_block(name))
    local consumer, before = epilogue(probe, name), prologues(probe, name)
    local rest = {}
    for _, n in ipairs(block_list(probe)) do
        if n ~= name and n ~= consumer then rest[#rest + 1] = n end
    end
    local function whole(how)
        return function(s)
            inline_producers(s, {})
            for _, n in ipairs(rest) do
                if how.pad ~= n then try(s, function(x) plain_block(x, n, target, threads) end) end
            end
            how.consumer = consumer
            tiled(s, name, f, target, threads, how)
        end
    end
    local v = contiguous(f)
    list.narrow = f.iters[v].extent * 2 <= lanes_of(target, f.write.dtype) -- vectors mostly empty
    local at, r = packed_operand(f, v)
    local small = r and r.elements * bytes_of(r.dtype) <= 1 << 18
    local pack = { "pack, panels outermost", { pack = true, order = "jr" } }
    local plain = { "in place, panels outermost", { order = "jr" } }
    local two = { "pack, two panels outermost", { pack = true, order = "two" } }
    local kinds = small and { plain, pack } or { pack, plain }
    if f.iters[v].extent >= 8 * lanes_of(target, f.write.dtype) then -- two panels there are
        table.insert(kinds, small and 3 or 1, two)
    end
    kinds[#kinds + 1] = { "in place, rows outermost", { order = "ir" } }
    kinds[#kinds + 1] = { "in place, blocks", { order = "blocks" } }
    if at then kinds[#kinds + 1] = { "pack, blocks", { pack = true, order = "blocks" } } end
    for _, k in ipairs(kinds) do
        if at or not k[2].pack then sketch(list, program, k[1], whole(k[2])) end
    end
    if #before == 1 then
        sketch(list, program, "in place, producer with each part", whole { order = "ir", pad = before[1] })
    end
end

-- Every block by itself, with and without inlining.
local function plain_sketches(list, program, target, threads)
    local function each(s)
        for _, n in ipairs(block_list(s)) do
            try(s, function(x) plain_block(x, n, target, threads, true) end)
        end
    end
    sketch(list, program, "fused, vectorised", function(s)
        inline_producers(s, {})
        each(s)
    end)
    sketch(list, program, "vectorised", each)
end

-- The sketches of a program for a target; never empty.
function space.sketches(program, opts)
    local json, target = core.tune_target()
    local threads = opts and opts.threads or target.threads
    local list = { refused = {}, target = json, threads = threads }
    tiled_sketches(list, program, target, threads)
    if #list == 0 or list.narrow then plain_sketches(list, program, target, threads) end
    if #list == 0 then sketch(list, program, "as it is", function() end) end
    return list
end

return space

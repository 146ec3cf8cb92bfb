-- quant - products by instructions that add up several products in each lane: bytes, bfloat16.
--
-- A sum of products of two narrow operands, widened: one (left) is the same for all lanes of a
-- vector of results, the other (right) lies along them. The left one is contiguous along a
-- summed axis, of which the instruction takes `taps` elements at once. The right one is copied
-- in the order of the instruction, (taps outside, vector, lane, tap), panel by panel, unless
-- it lies so. Rows are any axes that the left operand alone has: those of a matrix, or of an
-- image whose window is summed. Source: auto-scheduler 6; lowering-and-codegen 8, 9.1.
local moon, core, facts, plain = ...

local quant = {}
local auto = moon.auto
local parts = core.load("space/pack_parts")(moon, core, facts)
local inner = core.load("space/inner")(moon, core, facts)

-- What the instructions take and give, the widest first; bits: of a vector of results; lanes: the form whose operands both
-- lie along the lanes.
local dots = {
    { left = "uint8", right = "int8", sum = "int32", taps = 4, bits = 512, needs = "vnni", name = "dot_16x4_vnni_local",
        lanes = "dot_16x4_vnni_lanes", sums = "sum_16x4_vnni_local" },
    { left = "uint8", right = "int8", sum = "int32", taps = 4, bits = 256, needs = "avxvnni", name = "dot_8x4_avxvnni_local" },
    { left = "int8", right = "int8", sum = "int32", taps = 4, bits = 512, needs = "vnni", name = "dot_16x4_s8s8_vnni_local",
        lanes = "dot_16x4_s8s8_vnni_lanes", offset = true },
    { left = "bfloat16", right = "bfloat16", sum = "float32", taps = 2, bits = 512, needs = "bf16", name = "dot_16x2_bf16_local",
        lanes = "dot_16x2_bf16_lanes" },
}

local few_rows = 12 -- so many or fewer: a vector of the right operand is turned or corrected for them alone

-- ---- what is such a product

local function extent_of(f, list)
    local n = 1
    for _, k in ipairs(list) do n = n * f.iters[k].extent end
    return n
end

-- The instruction for a block, by the types of its operands.
local function dot_for(f, target)
    for _, d in ipairs(dots) do
        local l, r = f.reads[1], f.reads[2]
        if target[d.needs] and target.vector_bits >= d.bits and l.dtype == d.left and r.dtype == d.right and
            f.write.dtype == d.sum then
            return d
        end
    end
end

-- Whether an operand is affine along an iterator.
local function straight(r, k) return r.strides[k] and not r.by[k] end

-- The axes of a block by position among its iterators, or nil when it is no such product.
local function axes_of(f, target)
    local v = facts.contiguous(f)
    if not v or not f.init or #f.reduce == 0 or f.guard or f.calls or #f.reads ~= 2 then return nil end
    local dot, left, right = dot_for(f, target), f.reads[1], f.reads[2]
    if not dot or left.strides[v] or not right.strides[v] then return nil end
    local a = { v = v, dot = dot, left = left, right = right, lanes = dot.bits // 32, batch = {}, rows = {}, columns = {} }
    for _, k in ipairs(f.reduce) do
        if straight(left, k) and left.strides[k] == 1 and right.strides[k] then a.tap = k end
    end
    if not a.tap then return nil end
    a.packed = not (straight(right, v) and straight(right, a.tap)) -- lies as the instruction wants it, or is refused
    for _, k in ipairs(f.spatial) do
        if k ~= v then
            local list = left.strides[k] and (right.strides[k] and a.batch or a.rows) or right.strides[k] and a.columns or a.batch
            list[#list + 1] = k
        end
    end
    -- rows of a tile: the most of them; of equal ones, and of an image, the inner
    for _, k in ipairs(a.rows) do
        local e = f.iters[k].extent
        if e > 1 and (not a.r or e >= f.iters[a.r].extent) then a.r = k end
    end
    -- vectors beside each other: along v, or, where that is one vector, of another axis
    local lanes = a.lanes
    a.wide = v
    if f.iters[v].extent == lanes and a.packed and #a.columns > 0 then
        a.wide = a.columns[#a.columns]
        table.remove(a.columns)
    end
    a.m = a.r and f.iters[a.r].extent or 1
    a.depth = extent_of(f, f.reduce)
    a.vectors = a.wide == v and parts.up(f.iters[v].extent, lanes) or f.iters[a.wide].extent
    a.ragged = f.iters[v].extent % lanes ~= 0 or f.iters[a.tap].extent % dot.taps ~= 0
    return a
end

-- ---- the right operand in the order of the instruction

-- The copy of the right operand: its dimensions with the taps and lanes last.
local function relay(s, copy, f, a)
    local c = core.block_body(s, copy)
    local d = a.dot
    local outer, names, tap, lane = {}, {}, nil, nil
    for k, it in ipairs(c.iters) do
        names[k] = "i" .. k
        local stride = c.write.strides[k]
        if stride == a.right.strides[a.tap] and it.extent == f.iters[a.tap].extent then
            tap = names[k]
        elseif stride == a.right.strides[a.v] and it.extent == f.iters[a.v].extent then
            lane = names[k]
        else
            outer[#outer + 1] = names[k]
        end
    end
    local to = {}
    for _, n in ipairs(outer) do to[#to + 1] = n end
    to[#to + 1] = ("%s // %d"):format(tap, d.taps)
    to[#to + 1] = ("%s // %d"):format(lane, a.lanes)
    to[#to + 1] = ("%s %% %d"):format(lane, a.lanes)
    to[#to + 1] = ("%s %% %d"):format(tap, d.taps)
    s:transform_layout(copy, { "write", 0 }, ("lambda %s: (%s)"):format(table.concat(names, ", "), table.concat(to, ", ")))
    local at = {}
    for k, n in ipairs(names) do at[n] = k end
    return at[tap], at[lane]
end

-- Rows of the source are interleaved: the taps are the vector, lanes go by outside of them.
-- The loops of the copy from the first one on, which is left for threads.
local function vectorize_copy(s, copy, a, tap, lane)
    local rank = #core.block_body(s, copy).iters
    local all = s:get_loops(copy)
    local loops = table.move(all, #all - rank + 1, #all, 1, {})
    local to, ti = table.unpack(s:split(loops[tap], { auto, a.dot.taps }))
    local order = {}
    for k, l in ipairs(loops) do
        if k ~= tap and k ~= lane then order[#order + 1] = l end
    end
    order[#order + 1] = to
    order[#order + 1] = loops[lane]
    order[#order + 1] = ti
    s:reorder(table.unpack(order))
    s:vectorize(ti)
    return order
end

-- ---- a sketch

-- Tiles as rows * 1000 + vectors where each vector of the right operand takes a product of its
-- own, which is taken off the sums of all rows: tall ones, with registers for both.
local function offset_tiles(target, rows, vectors)
    local list, out = {}, {}
    for nv = 1, math.min(vectors, 4) do
        for mr = 1, math.min(rows, 14) do
            if mr * nv + 3 * nv + 2 <= target.registers then
                local used = parts.up(rows, mr) * mr / rows * parts.up(vectors, nv) * nv / vectors
                list[#list + 1] = { mr * 1000 + nv, used * (1 + 1 / mr + 0.2 / nv) * math.max(1, 12 / (mr * nv)) }
            end
        end
    end
    table.sort(list, function(x, y) return x[2] < y[2] or x[2] == y[2] and x[1] < y[1] end)
    for k = 1, math.min(#list, 8) do out[k] = list[k][1] end
    return out
end

-- All rows, and vectors that are turned in registers: even parts for the threads, of two lines of each row of the source
-- if there are registers for it.
local function direct_tiles(a, target, threads)
    local list, out = {}, {}
    for _, nv in ipairs { 8, 16, 4, 12, 6, 3, 2, 1 } do
        if nv == 1 or nv <= a.vectors and (a.m + 1) * nv <= target.registers then
            list[#list + 1] = { a.m * 1000 + nv, parts.up(parts.up(a.vectors, nv), threads) * nv, #list }
        end
    end
    table.sort(list, function(x, y) return x[2] < y[2] or x[2] == y[2] and x[3] < y[3] end)
    for k, x in ipairs(list) do out[k] = x[1] end
    return out
end

-- far: a panel is read again for each tile of rows, from the second cache if the first cannot keep it.
local function tiles_for(a, target, ragged, far)
    if a.dot.offset then return offset_tiles(target, a.m, a.vectors) end
    return parts.tiles_of(target, a.lanes, a.m, a.vectors * a.lanes, ragged, nil, function(mr, nv)
        local bytes = a.depth * nv * a.lanes * facts.bytes(a.right.dtype)
        return far and bytes * 5 > (target.l1 or 0) * 4 and 1 + 0.6 / mr or 1
    end)
end

-- Steps of the sum that are written out, the promising number first: all of a few, two of many.
local function unrolled(n)
    local out = {}
    for _, x in ipairs(n <= 4 and { 4, 3, 2, 1 } or { 2, 1, 4, 8, 3 }) do
        if n % x == 0 then out[#out + 1] = x end
    end
    return out
end

local function append(list, more)
    for _, l in ipairs(more) do list[#list + 1] = l end
end

local function loops_of(list, loops)
    local out = {}
    for k, x in ipairs(list) do out[k] = loops[x] end
    return out
end

-- Extents become multiples of what the instruction takes; zeros beside the operands. The
-- blocks that copy: of the left operand and the right one, nil where there is none.
local function padded(s, name, f, a)
    local by = {}
    for k in ipairs(f.iters) do by[k] = k == a.v and a.lanes or k == a.tap and a.dot.taps or 1 end
    local before = {}
    for _, n in ipairs(facts.blocks(s)) do before[n] = true end
    s:pad_einsum(name, by)
    local made = {}
    for _, n in ipairs(facts.blocks(s)) do
        if not before[n] then made[#made + 1] = n end
    end
    return made
end

-- Steps of a part of the sum of n, in pairs: what is copied for them stays in half of the first cache. The promising
-- number first.
local function part_steps(n, a, tile, target)
    local bytes = tile % 1000 * a.lanes * a.dot.taps * facts.bytes(a.right.dtype)
    local x = math.max(1, math.min(n, (target.l1 or 0) // 2 // bytes))
    while n % x > 0 do x = x - 1 end
    return { (x + 1) // 2, (x + 3) // 4, x }
end

-- The sums of the right operand, of which those of the products start (quant.lifted), in the order of the instruction: all
-- of them, or those of a panel (at: its loop), by way of registers (acc).
local function schedule_sums(s, f, a, acc, at, threads)
    local b, place, n = s:get_block(a.sums), {}, 0
    for k, it in ipairs(f.iters) do
        if it.kind == "reduce" or a.right.strides[k] then
            n = n + 1
            place[k] = n
        end
    end
    local all, loops, order = s:get_loops(b), {}, {}
    for k, x in pairs(place) do loops[k] = all[#all - n + x] end
    local jo, jl = table.unpack(s:split(loops[a.v], { auto, a.lanes }))
    local ko, kl = table.unpack(s:split(loops[a.tap], { auto, a.dot.taps }))
    for _, k in ipairs(f.spatial) do
        if loops[k] and k ~= a.v then order[#order + 1] = loops[k] end
    end
    if not at then order[#order + 1] = jo end
    local tasks = #order
    for _, k in ipairs(f.reduce) do order[#order + 1] = k == a.tap and ko or loops[k] end
    local first = order[tasks + 1]
    if at then order[#order + 1] = jo end
    order[#order + 1] = jl
    order[#order + 1] = kl
    s:reorder(table.unpack(order))
    if not at then
        s:reverse_compute_at(acc, jo, true)
        if threads > 1 and a.right.elements >= facts.serial_below then
            s:parallel(tasks > 1 and s:fuse(table.unpack(order, 1, tasks)) or jo)
        end
    end
    local init = s:decompose_reduction(b, first)
    s:tensorize(jl, a.dot.sums)
    if at then s:unroll(jo) end
    for _, x in ipairs { init, acc } do
        local l = s:get_loops(x)
        if at and s:get(l[#l]).extent > a.lanes then
            local o, i = table.unpack(s:split(l[#l], { auto, a.lanes }))
            s:unroll(o)
            s:vectorize(i)
        else
            s:vectorize(l[#l])
        end
    end
end

-- how: order ("panels": a panel of the right operand with all rows; "rows": rows outermost,
-- the right operand copied before; "few rows": turned in registers for a step of the sum;
-- "parts": a panel for a part of the sum with all rows, whose results wait in the first cache),
-- consumer (name of the elementwise block that follows).
local function scheduled(s, name, f, a, target, threads, how)
    local d, lanes = a.dot, a.lanes
    local b = s:get_block(name)
    local acc = not how.consumer and s:cache_write(b, 0, "local")
    local copy, tap_at, lane_at
    local sums -- what brings those of the right operand out of registers, where they are taken of what the product reads
    if a.sums and (how.order == "panels" or how.order == "rows") and
        core.block_body(s, s:get_block(a.sums)).reads[1].buffer == a.right.buffer then
        sums = s:cache_write(a.sums, 0, "local")
    elseif a.sums then
        plain.block(s, a.sums, target, threads)
    end
    if not a.packed then
        copy = s:cache_read(b, a.right.buffer, "global", a.sums and not sums and { b } or nil)
        tap_at, lane_at = relay(s, copy, f, a)
        if a.pad then s:compute_inline(a.pad) end
    end
    local direct = copy and how.order == "few rows"
    local loops = s:get_loops(b)
    local tiles = direct and direct_tiles(a, target, threads)
        or tiles_for(a, target, how.order == "panels" and 0.5 or 0.05, how.order == "panels")
    local tile = facts.choose(s, tiles)
    local jx, jl
    if a.wide == a.v then
        jx, jl = table.unpack(s:split(loops[a.v], { auto, lanes }))
    else
        jx, jl = loops[a.wide], loops[a.v]
    end
    local jo, jv = table.unpack(s:split(jx, { auto, tile % 1000 }))
    local io, ii
    if a.r then io, ii = table.unpack(s:split(loops[a.r], { auto, tile // 1000 })) end
    local kx, kl = table.unpack(s:split(loops[a.tap], { auto, d.taps }))
    local steps = s:get(kx).extent
    local k0, k1 = table.unpack(s:split(kx, { auto, facts.choose(s, unrolled(steps)) }))
    local sum = {}
    for _, k in ipairs(f.reduce) do
        if k ~= a.tap then sum[#sum + 1] = loops[k] end
    end
    sum[#sum + 1] = k0
    local part = {} -- loops over parts of the sum, outside of the rows
    if how.order == "parts" then
        part = sum
        part[#part], k0 = table.unpack(s:split(k0, { auto, facts.choose(s, part_steps(steps, a, tiles[1], target)) }))
        sum = { k0 }
    end

    local outer, tasks = loops_of(a.batch, loops), nil
    append(outer, loops_of(a.columns, loops))
    local more = {}
    for _, k in ipairs(a.rows) do
        if k ~= a.r then more[#more + 1] = loops[k] end
    end
    if how.order == "rows" then
        append(outer, more)
        outer[#outer + 1] = io
        tasks = #outer
        outer[#outer + 1] = jo
    else
        outer[#outer + 1] = jo
        tasks = #outer
        if #part == 0 then append(outer, more) end
        if #part == 0 then outer[#outer + 1] = io end
    end
    local order = {}
    append(order, outer)
    if #part > 0 then
        append(order, part)
        append(order, more)
        order[#order + 1] = io
    end
    append(order, sum)
    append(order, { k1 })
    append(order, { ii })
    append(order, { jv, jl, kl })
    s:reorder(table.unpack(order))
    local tile_loop = outer[#outer]

    local at = how.order == "panels" and jo
    if sums and at then
        s:compute_at(sums, at, true)
        s:compute_at(a.sums, at, true)
    end
    if copy then
        if at then s:compute_at(copy, at, true) end
        if direct then s:compute_at(copy, k1, true) end
        if #part > 0 then s:compute_at(copy, part[#part], true) end
        local cl = vectorize_copy(s, copy, a, tap_at, lane_at)
        if direct then s:unroll(cl[#cl - 1]) end
        if how.order == "rows" and threads > 1 and a.right.elements >= facts.serial_below then
            cl[1] = #cl > 3 and s:fuse(table.unpack(cl, 1, #cl - 2)) or cl[1]
            s:parallel(cl[1])
        end
        -- zeros beside the operand are a copy's last part, of its own
        if a.pad then s:annotate(how.order == "rows" and cl[1] or outer[1], "pragma_loop_partition_hint", 1) end
    end
    if sums then schedule_sums(s, f, a, sums, at, threads) end
    if how.consumer then s:set_scope(b, 0, "local") end
    if acc then facts.stream(s, tile_loop, f, target) end
    -- what waits in memory keeps its loops over rows
    parts.store_tile(s, acc or s:get_block(how.consumer), lanes, tile_loop, #part == 0 and #outer or math.huge)
    local init = s:decompose_reduction(b, part[1] or sum[1])
    s:tensorize(jl, d.name)
    parts.unroll_all(s, { jv, k1 })
    if ii then s:unroll(ii) end
    local il = s:get_loops(init)
    s:vectorize(il[#il])
    parts.unroll_all(s, table.move(il, #part == 0 and #outer + 1 or #il - 1, #il - 1, 1, {}))
    if threads > 1 and f.points >= 16384 then
        s:parallel(tasks > 1 and s:fuse(table.unpack(outer, 1, tasks)) or outer[1])
    end
end

-- The orders, the promising one first.
local function orders(f, a, target, threads)
    local tile = tiles_for(a, target, 0.1)[1]
    local panels = extent_of(f, a.batch) * extent_of(f, a.columns) * parts.up(a.vectors, tile % 1000)
    local rows = extent_of(f, a.batch) * extent_of(f, a.columns) * extent_of(f, a.rows) // a.m * parts.up(a.m, tile // 1000)
    local by_panels, by_rows = parts.balance(panels, threads), parts.balance(rows, threads)
    -- few of the right operand stay near whatever the order: results are written line by line
    local few = a.right.elements * facts.bytes(a.right.dtype) * 16 <= target.l2 and by_rows > by_panels - 0.05
    local list = (few or by_panels < 0.9 and by_rows > by_panels) and { "rows", "panels" } or { "panels", "rows" }
    -- results of all rows and a panel's columns in a third of the first cache
    if not a.packed and a.r and extent_of(f, a.rows) * (tile % 1000) * target.vector_bits // 8 * 3 <= (target.l1 or 0) then
        table.insert(list, 1, "parts")
    end
    if extent_of(f, a.rows) <= few_rows and not a.packed then table.insert(list, 1, "few rows") end
    return list
end

-- The block that puts zeros beside the right operand, where copies of it can do that as well:
-- not in loops that are fused with others.
local function pad_of(s, name, f, a)
    if a.packed or extent_of(f, a.batch) * extent_of(f, a.columns) > 1 then return nil end
    for _, p in ipairs(s:get_producers(s:get_block(name))) do
        local w = core.block_body(s, p).write
        if w.buffer == a.right.buffer then return s:get(p).name end
    end
end

-- The product with the most work; its name, facts and axes.
local function find(s, target)
    plain.inline(s, {})
    local best, f, a
    for _, name in ipairs(facts.blocks(s)) do
        local of = facts.of(s, s:get_block(name))
        local axes = of and axes_of(of, target)
        if axes and (not f or of.points > f.points) then best, f, a = name, of, axes end
    end
    return best, f, a
end

-- The sign of the left operand is left out where the instruction wants none: what that adds to the sums is the same for all
-- rows, and is taken off once, in place of at each product. The block that adds it up; false: nothing was done.
function quant.lifted(s, name, f, a)
    if not a.dot.offset or extent_of(f, a.rows) <= few_rows then return false end
    return facts.try(s, function(x)
        local b, made = x:get_block(name), false
        for _, p in ipairs(x:get_producers(b)) do made = made or core.block_body(x, p).write.buffer == a.left.buffer end
        if not made then x:cache_read(b, 0, "global") end
        a.sums = x:get(x:lift_factor(b, 0)).name
    end) and a.sums
end

-- The same, made ready in s.
local function prepare(s, target)
    local best, f, a = find(s, target)
    local sums = best and quant.lifted(s, best, f, a)
    if sums then best, f, a = find(s, target) end
    if best and a.ragged then
        if not facts.try(s, function(x) padded(x, best, f, a) end) then return nil end -- of an image, say
        plain.inline(s, {})
        f = facts.of(s, s:get_block(best))
        a = f and axes_of(f, target)
        if not a or a.ragged then return nil end
        a.pad = pad_of(s, best, f, a)
    end
    if a then a.sums = sums end
    return best, f, a
end

-- What another family needs that brings a program to such a product.
quant.dots, quant.axes_of, quant.orders, quant.scheduled = dots, axes_of, orders, scheduled

-- Few rows and an operand that lies along the sum: nothing is turned, nor padded.
local function along_the_sum(list, program, target, threads)
    local probe = core.schedule(program, { name = "probe" })
    local name, f, a = find(probe, target)
    if not name or not inner.fits(f, a, target) then return end
    local consumer = plain.follower(probe, name)
    facts.sketch(list, program, ("dot products of %d, along the sum"):format(a.dot.taps), function(s)
        find(s, target)
        for _, n in ipairs(facts.blocks(probe)) do
            if n ~= name and n ~= consumer then facts.try(s, function(x) plain.block(x, n, target, threads) end) end
        end
        inner.scheduled(s, name, f, a, target, threads, consumer)
    end)
end

function quant.sketches(list, program, target, threads)
    along_the_sum(list, program, target, threads)
    local probe = core.schedule(program, { name = "probe" })
    local name, f, a = prepare(probe, target)
    if not name then return end
    local consumer = plain.follower(probe, name)
    local rest = {}
    for _, n in ipairs(facts.blocks(probe)) do
        if n ~= name and n ~= consumer and n ~= a.pad and n ~= a.sums then rest[#rest + 1] = n end
    end
    for _, order in ipairs(orders(f, a, target, threads)) do
        local before = #list
        facts.sketch(list, program, ("dot products of %d, %s"):format(a.dot.taps, order), function(s)
            prepare(s, target)
            for _, n in ipairs(rest) do facts.try(s, function(x) plain.block(x, n, target, threads) end) end
            scheduled(s, name, f, a, target, threads, { order = order, consumer = consumer })
        end)
        list.known = list.known or #list > before
    end
end

return quant

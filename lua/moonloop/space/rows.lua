-- rows - reductions along a contiguous axis, and the stages that share their rows.
--
-- Sums and maxima of rows, softmax, layer norm, norms: each element is read once, so that
-- vectors along the reduced axis pay. Partial results lie in vector registers, several of
-- them, since one would wait for itself; what follows in the same row is computed there.
-- Where rows are fewer than threads, a row is cut into chunks first.
-- Source: auto-scheduler 6; lowering-and-codegen 8.
local moon, core, facts, plain = ...

local rows = {}
local auto = moon.auto
local near = 16 << 10 -- bytes of rows that are in work together

-- A reduction of one pass over its largest operand, along which the last reduced iterator is
-- contiguous.
local function is_row_reduction(f)
    local last = f.reduce[#f.reduce]
    if not last or not f.init then return false end
    for _, r in ipairs(f.reads) do
        if not r.irregular and r.strides[last] == 1 and r.elements >= f.points then return true end
    end
    return false
end

-- Short vectors must divide a row that shares its nest: a block with a guard is not moved.
local function is_even(f) return f.iters[f.reduce[#f.reduce]].extent % 4 == 0 end

-- The blocks in order with their facts, and which of them reduce rows; nil when there is
-- one that the family does not know.
local function members_of(s)
    local list, some = {}, false
    for _, name in ipairs(facts.blocks(s)) do
        local f = facts.of(s, s:get_block(name), true)
        if not f or (f.stores > 1 and #f.reduce == 0) then return nil end
        if #f.reduce > 0 then
            if not is_row_reduction(f) then return nil end
            some = true
        end
        list[#list + 1] = { name = name, f = f, reduces = #f.reduce > 0 }
    end
    return some and list or nil
end

local function extent_of(f, list)
    local n = 1
    for _, k in ipairs(list) do n = n * f.iters[k].extent end
    return n
end

-- Those whose multiple divides n.
local function dividing(n, unit, list)
    local out = {}
    for _, x in ipairs(list) do
        if n % (unit * x) == 0 then out[#out + 1] = x end
    end
    return out
end

-- Into how many chunks a thread may cut a reduction; none: the list is empty. Vectors must
-- divide what is left of a single iterator.
local function chunks_of(f, threads)
    local unit = #f.reduce == 1 and threads * 4 or threads
    return dividing(f.iters[f.reduce[1]].extent, unit, { 1, 4, 16, 2 })
end

-- Cuts the reduction of a block into vectors of partial results, several a time: the blocks
-- from the last sum to the first. `at` is the number of spatial iterators, n what the last
-- loop is a multiple of, whatever was decided before.
local function partial(s, name, at, lanes, n)
    local b = s:get_block(name)
    local loops = s:get_loops(b)
    local last = loops[#loops]
    n = n or s:get(last).extent
    while n % lanes ~= 0 do lanes = lanes // 2 end
    local several = facts.choose(s, dividing(n, lanes, { 4, 8, 2, 1 }))
    local vectors = s:rfactor(s:split(last, { auto, several, lanes })[3], at)
    local inner = s:get_loops(vectors)
    local many = s:rfactor(inner[#inner - 1], at)
    if lanes < 8 then return { b, vectors, many } end
    -- the lanes of the last vector: quarters first, so that few wait for each other
    local l = s:get_loops(b)
    return { b, s:rfactor(s:split(l[#l], { auto, 4 })[2], at), vectors, many }
end

-- The loops of a block by what its iterators are: reduced ones, and spatial ones by the
-- stride of what is written.
local function loops_by_kind(s, b, outside)
    local f = core.block_body(s, b, true)
    local reduced, spatial = {}, {}
    for k, it in ipairs(f.iters) do
        if it.loop and not outside[s:get(it.loop).name] then
            if it.kind == "reduce" then
                reduced[#reduced + 1] = it.loop
            else
                spatial[#spatial + 1] = { it.loop, f.write.strides[k] or 0 }
            end
        end
    end
    table.sort(spatial, function(x, y) return x[2] > y[2] end)
    for k, x in ipairs(spatial) do spatial[k] = x[1] end
    return reduced, spatial
end

-- Vectors of partial results: reduced loops outside, vectors and how many of them inside.
local function vectorize_partial(s, b, outside)
    local reduced, spatial = loops_by_kind(s, b, outside)
    local order = table.move(spatial, 1, #spatial, #reduced + 1, table.move(reduced, 1, #reduced, 1, {}))
    s:reorder(table.unpack(order))
    local init = s:decompose_reduction(b, order[1])
    for _, block in ipairs { b, init } do
        local _, inner = loops_by_kind(s, block, outside)
        s:vectorize(inner[#inner])
        for k = 1, #inner - 1 do s:unroll(inner[k]) end
    end
end

-- What a row's reduction alone reads, and is less work than to keep it, is computed there.
local function inline(s)
    plain.inline(s, {})
    for _, name in ipairs(facts.blocks(s)) do
        local b = s:get_block(name)
        local f, to = facts.of(s, b), s:get_consumers(b)
        local after = #to == 1 and facts.of(s, to[1], true)
        if f and after and #f.reduce == 0 and not f.init and not f.write.param and not f.calls and not f.guard and f.ops <= 4 and is_row_reduction(after) then
            facts.try(s, function(x) x:compute_inline(name) end)
        end
    end
end

local function keep_in_registers(s, b, f)
    for k = 0, f.stores - 1 do s:set_scope(b, k, "local") end
end

-- How many rows a region takes at a time: while one waits for its sum, the next one is read.
-- Their stages lie in the near cache, beside rows that are fetched meanwhile.
local function groups(list, count, fetched)
    local bytes, most = 0, 1
    for _, m in ipairs(list) do
        most = math.max(most, m.f.points // extent_of(m.f, m.f.spatial))
        bytes = math.max(bytes, facts.bytes(m.f.write.dtype))
    end
    local out, crowded = {}, {}
    for _, r in ipairs { 4, 8, 2, 1 } do
        if r == 1 or (count % r == 0 and r * most * bytes <= near) then
            local to = fetched and r > 1 and r * most * bytes > near // 2 and crowded or out
            to[#to + 1] = r
        end
    end
    return table.move(crowded, 1, #crowded, #out + 1, out)
end

-- What stages of a region read again, from beyond the near cache: the last of them fetches rows
-- to come while it computes. {stage=, map of the annotation}; nil: nothing. n: loops of rows.
local function fetched_in(list, n)
    local seen, found = {}, nil
    for _, m in ipairs(list) do
        local last = m.reduces and m.f.reduce[#m.f.reduce] or m.f.spatial[#m.f.spatial]
        for _, r in ipairs(m.f.reads) do
            local bytes = facts.bytes(r.dtype)
            local row = not r.irregular and r.strides[last] == 1 and r.strides[m.f.spatial[n]]
            if row and r.param and r.elements * bytes > 2 * near then
                local rows = row * bytes > near // 2 and 1 or math.max(2, near // 2 // (row * bytes))
                if seen[r.id] then found = { stage = m, map = { buffer = r.buffer, bytes = rows * row * bytes } } end
                seen[r.id] = true
            end
        end
    end
    return found
end

local function names_of(s, loops, n)
    local out = {}
    for k = 1, n do out[s:get(loops[k]).name] = true end
    return out
end

-- Below n loops: those of a block's rows, which choose an element together with loops outside,
-- go before the others; how many loops there are down to them.
local function rows_first(s, b, n)
    local loops, own = s:get_loops(b), {}
    local reduced, spatial = loops_by_kind(s, b, {})
    for _, list in ipairs { reduced, spatial } do
        for _, l in ipairs(list) do own[s:get(l).name] = true end
    end
    local order, rest = {}, {}
    for k = n + 1, #loops do
        local list = own[s:get(loops[k]).name] and rest or order
        list[#list + 1] = loops[k]
    end
    local at = n + #order
    s:reorder(table.unpack(table.move(rest, 1, #rest, #order + 1, order)))
    return at
end

-- One region: `list` computed for groups of rows, which are the first n loops of its last block.
local function region(s, list, n, target, threads)
    local head = list[#list]
    local parts = {}
    for k, m in ipairs(list) do
        if m.reduces then parts[k] = partial(s, m.name, #m.f.spatial, facts.lanes(target, m.f.write.dtype), m.multiple) end
    end
    local loops = s:get_loops(head.name)
    local count, fetched = s:get(loops[n]).extent, fetched_in(list, n)
    local row = s:split(loops[n], { auto, facts.choose(s, groups(list, count, fetched)) })[1]
    loops[n] = row
    for k = #list, 1, -1 do
        local m, p = list[k], parts[k]
        local b = s:get_block(m.name)
        local at = n + 1 -- its row of the group
        if k < #list then
            s:compute_at(b, row, true)
            at = rows_first(s, b, n)
        end
        local own, steps = s:get_loops(b), nil
        if p then
            local outside = names_of(s, own, at)
            for j = 2, #p do
                s:compute_at(p[j], own[at], true)
                keep_in_registers(s, p[j], m.f)
            end
            for j = 2, #p do vectorize_partial(s, p[j], outside) end
            if k < #list then keep_in_registers(s, p[1], m.f) end
            local reduced = loops_by_kind(s, p[#p], outside)
            steps = reduced[#reduced]
        else
            local lanes = facts.lanes(target, m.f.write.dtype)
            if #own > at and (s:get(own[#own]).extent or 0) >= lanes then
                local counts = dividing(s:get(own[#own]).extent, lanes, { 4, 2, 8, 1 })
                local several = #counts > 0 and facts.choose(s, counts) or 1
                local far, many, inner = table.unpack(s:split(own[#own], { auto, several, lanes }))
                s:vectorize(inner)
                s:unroll(many)
                facts.stream(s, far, m.f, target) -- its results alone: what else is stored here is read again
                steps = far
            end
        end
        if steps and fetched and fetched.stage == m then s:annotate(steps, "prefetch", { fetched.map }) end
    end
    if threads > 1 then
        local fused = n > 1 and s:fuse(table.unpack(loops, 1, n)) or row
        s:parallel(fused)
    end
end

-- One reduction of rows by itself; nil where it is none that vectors divide. multiple: of
-- what its rows are a multiple, whatever was decided before.
function rows.alone(s, name, target, threads, multiple)
    local f = facts.of(s, s:get_block(name), true)
    if not f or not is_row_reduction(f) or not is_even(f) then return end
    region(s, { { name = name, f = f, reduces = true, multiple = multiple } }, #f.spatial, target, threads)
    return true
end

-- Blocks up to one whose result is given back share the rows of their reductions.
local function together(s, list, target, threads)
    local first = 1
    for last, m in ipairs(list) do
        if m.f.write.param then
            local group, n = table.move(list, first, last, 1, {}), #m.f.spatial
            for _, one in ipairs(group) do
                if one.reduces then n = math.min(n, #one.f.spatial) end
            end
            region(s, group, n, target, threads)
            first = last + 1
        end
    end
end

-- One reduction of few rows, cut into chunks that are summed at the end.
local function in_chunks(s, list, target, threads)
    for _, m in ipairs(list) do
        if m.reduces then
            local first = s:get_loops(m.name)[#m.f.spatial + 1]
            local counts = chunks_of(m.f, threads)
            local chunks = facts.choose(s, counts)
            local multiple = #m.f.reduce == 1 and s:get(first).extent // (threads * math.max(table.unpack(counts))) or nil
            local part = s:rfactor(s:split(first, { chunks * threads, auto })[1], #m.f.spatial)
            local own = { name = s:get(part).name, f = facts.of(s, part, true), reduces = true, multiple = multiple }
            region(s, { own }, #m.f.spatial + 1, target, threads)
        else
            facts.try(s, function(x) plain.block(x, m.name, target, threads) end)
        end
    end
end

-- Rows that no vector divides: partial results of vectors, the last of them masked, go to
-- memory; what combines them is a row of another length.
local function with_rest(s, list, target, threads)
    for _, m in ipairs(list) do
        if m.reduces and not is_even(m.f) then
            local lanes, extent = facts.lanes(target, m.f.write.dtype), m.f.iters[m.f.reduce[#m.f.reduce]].extent
            local counts = {}
            for _, n in ipairs { 4, 2, 8, 1 } do
                if n * lanes * 2 <= extent then counts[#counts + 1] = n end
            end
            if #counts == 0 then goto next end
            local n, at = facts.choose(s, counts), #m.f.spatial
            local loops = s:get_loops(m.name)
            local part = s:rfactor(s:split(loops[#loops], { auto, n * lanes })[2], at)
            local own = s:get_loops(part)
            local many, one = table.unpack(s:split(own[#own], { auto, lanes }))
            s:decompose_reduction(part, own[at + 1])
            s:vectorize(one)
            s:unroll(many)
            local init = s:get_loops(s:get(part).name:gsub("_update$", "") .. "_init")
            s:vectorize(init[#init])
            if threads > 1 and at > 0 then s:parallel(at > 1 and s:fuse(table.unpack(own, 1, at)) or own[1]) end
            rows.alone(s, m.name, target, threads, lanes * math.min(table.unpack(counts)))
        elseif m.reduces then
            rows.alone(s, m.name, target, threads)
        else
            facts.try(s, function(x) plain.block(x, m.name, target, threads, true) end)
        end
        ::next::
    end
end

function rows.sketches(list, program, target, threads)
    local probe = core.schedule(program, { name = "probe" })
    inline(probe)
    local members = members_of(probe)
    if not members or not members[#members].f.write.param then return end
    local few, whole_chunks, most, even = false, true, 0, true
    for _, m in ipairs(members) do
        if m.reduces then
            even = even and is_even(m.f)
            few = few or extent_of(m.f, m.f.spatial) < 2 * threads
            whole_chunks = whole_chunks and #chunks_of(m.f, threads) > 0
            most = math.max(most, m.f.points)
        end
    end
    local serial = most < 16384 and 1 or threads -- waking threads costs more than the work
    local function whole(fn, n)
        return function(s)
            inline(s)
            fn(s, members_of(s), target, n)
        end
    end
    if not even then
        facts.sketch(list, program, "rows with a rest", whole(with_rest, serial))
        list.narrow = true
        return
    end
    if few and whole_chunks and serial > 1 then
        facts.sketch(list, program, "rows in chunks", whole(in_chunks, threads))
    end
    facts.sketch(list, program, "rows", whole(together, serial))
end

return rows

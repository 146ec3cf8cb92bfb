-- tensor - products brought to the form of a dot product instruction by a mapping of their iterators.
--
-- For what the family of dot products (quant) does not take as it lies: a left operand that is not contiguous along a
-- sum, an image whose channels no instruction divides, results that are not contiguous along the columns, groups. Each
-- operand is reindexed, what is fused and padded follows from the mapping (moonloop.mapping), and the product of plain
-- matrices that is left is scheduled as those are. Copies that the schedule does not need are inlined again.
-- Source: auto-scheduler 6, 9.
local moon, core, facts, plain = ...

local tensor = {}
local mapping = core.load("mapping")(moon, core)
local quant = core.load("space/quant")(moon, core, facts, plain)

-- ---- which block, by which mapping

local function access_of(f, o)
    if o.write then return f.write end
    for _, r in ipairs(f.reads) do
        if r.buffer == o.buffer then return r end
    end
end

-- Whether the intrinsic can take an operand where it lies, but for padding and the order of tiles: contiguous along
-- the iterator that its own last index is.
local function lies_so(f, m, o)
    local r, last = access_of(f, o), o.own[#o.own]
    local list = last and m.of[last]
    if not r or not list or #list ~= 1 then return false end
    return r.strides[list[1]] == 1 and not r.by[list[1]] and list.extent % m.all.iters[last].tile == 0
end

-- In times of an instruction: the products, and the elements that are copied, one by one where they do not lie so; and whether
-- copying is so much of it that a plain schedule may well be faster.
local function cost(f, m)
    local all, work, tile = m.all, 1.0, 1.0
    for _, it in ipairs(all.own) do work = work * (it.extent or 1) end
    for _, it in ipairs(all.iters) do tile = tile * it.tile end
    local copies = 0.0
    for _, o in ipairs(m.operands) do
        local n = 1.0
        for _, x in ipairs(o.iters) do n = n * (all.own[x].extent or 1) end
        if #o.own > 1 or not lies_so(f, m, o) then copies = copies + n * (o.write and 4 or 1) end
    end
    local products = work * (1 + m.waste) / tile
    return products + copies, copies > products / 2
end

-- The mapping with the least to do; of equal ones the first.
local function cheapest(f, list)
    local best, least
    for _, m in ipairs(list) do
        local c
        c, m.copies = cost(f, m)
        if not least or c < least then best, least = m, c end
    end
    return best
end

-- The block with the most work that a dot product of this machine maps to; it and the mapping, or nil.
local function find(s, target)
    local best, found, points
    for _, name in ipairs(facts.blocks(s)) do
        local f = facts.of(s, s:get_block(name))
        if f and #f.reduce > 0 and f.init and #f.reads == 2 and (not points or f.points > points) then
            for _, d in ipairs(quant.dots) do
                if target[d.needs] and target.vector_bits >= d.bits then
                    local m = cheapest(f, s:mappings(name, d.name))
                    if m then
                        best, found, points = name, m, f.points
                        break
                    end
                end
            end
        end
    end
    return best, found
end

-- ---- the product of matrices

-- The copy of the operand that all lanes share goes back into the block where it can be taken as it lies. That of the
-- other one is left: the schedule of dot products copies it once more, in its own order, and takes it in then.
local function inlined(s, made, target, sums)
    local left
    for _, o in ipairs(made.map.operands) do
        local name = made.copies[o.name]
        if name and not o.write and #o.own == 1 and not sums then -- else it is stored without a sign
            facts.try(s, function(x)
                x:compute_inline(name)
                local f = facts.of(x, x:get_block(made.block))
                if not f or not quant.axes_of(f, target) then core.fail("intrin-mismatch", "another form") end
            end)
        elseif name and not o.write and #o.own > 1 then
            left = name
        end
    end
    return left
end

-- Brings s to the product: the name of its block, its facts and axes, the block that copies the
-- operand of the columns, and whether others may well be faster; nil where no dot product takes it.
local function prepare(s, target)
    plain.inline(s, {})
    local groups = false -- their few columns keep an instruction from being fast
    for _, name in ipairs(facts.blocks(s)) do groups = mapping.separate(s, name) or groups end
    local name, m = find(s, target)
    if not name then return nil end
    local made = mapping.form(s, name, m, { pack = false })
    local keep = {}
    for _, copy in pairs(made.copies) do keep[copy] = true end
    plain.inline(s, keep)
    local f = facts.of(s, s:get_block(made.block))
    local a = f and quant.axes_of(f, target)
    local sums
    if a then
        facts.try(s, function(x)
            sums = quant.lifted(x, made.block, f, a)
            local g = facts.of(x, x:get_block(made.block))
            local b = g and quant.axes_of(g, target)
            if not b or b.ragged then
                sums = nil
                core.fail("intrin-mismatch", "another form")
            end
        end)
    end
    local right = inlined(s, made, target, sums)
    f = facts.of(s, s:get_block(made.block))
    a = f and quant.axes_of(f, target)
    if a then a.sums = sums end
    return made.block, f, a, right, m.copies or groups
end

function tensor.sketches(list, program, target, threads)
    local probe = core.schedule(program, { name = "probe" })
    local name, f, a, right, late = prepare(probe, target)
    if not a or a.ragged then return end
    if late then
        list.late = { refused = list.refused }
        list = list.late
    end
    local consumer, rest = plain.follower(probe, name), {}
    for _, n in ipairs(facts.blocks(probe)) do
        if n ~= name and n ~= consumer and n ~= right and n ~= a.sums then rest[#rest + 1] = n end
    end
    for _, order in ipairs(quant.orders(f, a, target, threads)) do
        facts.sketch(list, program, ("mapped to dot products of %d, %s"):format(a.dot.taps, order), function(s)
            prepare(s, target)
            for _, n in ipairs(rest) do facts.try(s, function(x) plain.block(x, n, target, threads) end) end
            quant.scheduled(s, name, f, a, target, threads, { order = order, consumer = consumer })
            if right and not facts.try(s, function(x) x:compute_inline(right) end) then
                facts.try(s, function(x) plain.block(x, right, target, threads) end)
            end
        end)
    end
end

return tensor

-- inner - dot products of few rows with an operand that lies along the sum: as weights of a linear layer do.
--
-- Neither operand is turned: a vector of each goes into as many parts of one result as it has lanes, which are added up at
-- the end, of several columns at a time, turned in registers so that columns are lanes again.
-- Source: auto-scheduler 6; lowering-and-codegen 9.1.
local moon, _, facts = ...

local inner = {}
local auto = moon.auto

-- Columns beside each other, powers of two, for which there are registers beside those of the rows; the promising number first.
local function tiles(a, target)
    local out = {}
    for _, nv in ipairs { 8, 16, 4, 2 } do
        if a.m * nv + a.m + 1 <= target.registers then out[#out + 1] = nv end
    end
    return out
end

-- Whether such a product (axes of the family quant) is one of them.
function inner.fits(f, a, target)
    local r = a.right
    if a.packed or not a.dot.lanes or #f.reduce > 1 or #tiles(a, target) == 0 then return false end
    for _, k in ipairs(f.spatial) do
        if k ~= a.v and k ~= a.r and f.iters[k].extent > 1 then return false end
    end
    return r.strides[a.tap] == 1 and not r.by[a.tap] and f.iters[a.tap].extent % (a.lanes * a.dot.taps) == 0
end

-- consumer: name of the elementwise block that follows.
function inner.scheduled(s, name, f, a, target, threads, consumer)
    local b, n = s:get_block(name), #f.spatial
    local acc = not consumer and s:cache_write(b, 0, "local")
    local loops = s:get_loops(b)
    local part = s:rfactor(s:split(loops[a.tap], { auto, a.lanes, a.dot.taps })[2], #f.write.shape)
    s:set_scope(part, 0, "local")
    local turned = s:cache_read(b, 0, "local")
    local from, to = {}, {}
    for d = 1, #f.write.shape do
        from[d] = "i" .. d
        to[d] = from[d]
    end
    from[#from + 1] = "lane"
    table.insert(to, #to, "lane")
    s:transform_layout(turned, { "write", 0 }, ("lambda %s: (%s)"):format(table.concat(from, ", "), table.concat(to, ", ")))

    loops = s:get_loops(b)
    local lane, order = loops[#loops], {}
    local jo, jv = table.unpack(s:split(loops[a.v], { auto, facts.choose(s, tiles(a, target)) }))
    order[1] = jo
    for k = 1, n do
        if k ~= a.v then order[#order + 1] = loops[k] end
    end
    order[#order + 1] = lane
    order[#order + 1] = jv
    s:reorder(table.unpack(order))
    s:compute_at(turned, jo, true)
    s:compute_at(part, jo, true)

    -- the parts: steps of the sum outside of rows and columns
    local p = s:get_loops(part)
    local steps = p[#p - 1]
    local tile = table.move(p, 3, 2 + n, 1, {})
    order = table.move(tile, 1, n, 2, { steps })
    order[#order + 1] = p[2]
    order[#order + 1] = p[#p]
    s:reorder(table.unpack(order))
    local init = s:decompose_reduction(part, steps)
    s:tensorize(p[2], a.dot.lanes)
    for _, l in ipairs(tile) do s:unroll(l) end

    -- a block below jo: its last loop is a vector, the others are written out
    local function written_out(block)
        local l = s:get_loops(block)
        s:vectorize(l[#l])
        for k = 2, #l - 1 do s:unroll(l[k]) end
    end
    written_out(init)
    local t = s:get_loops(turned)
    s:reorder(t[#t], t[#t - 1])
    s:vectorize(t[#t - 1])
    if consumer then s:set_scope(b, 0, "local") end
    local back = acc or s:get_block(consumer)
    s:reverse_compute_at(back, jo, true)
    written_out(back)
    written_out(s:decompose_reduction(b, s:get_loops(b)[2]))
    written_out(b)
    if threads > 1 and f.points >= 16384 then s:parallel(jo) end
end

return inner

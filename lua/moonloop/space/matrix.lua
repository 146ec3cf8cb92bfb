-- matrix - short sums with a small matrix of constants, as transforms of a convolution are.
--
-- Written out for one vector after the other, entries of the matrix are constants; the outer
-- ones of its axes stay loops where all of it would be more code than is worth its compilation.
-- Source: auto-scheduler 6.
local moon, core, facts = ...

local matrix = {}
local auto = moon.auto

local written, rolled = 2048, 64 -- products of the matrix, and those of them that are written out

-- The axes of the matrix, the sum among them: short spatial ones that the operand does not know;
-- nil: there is none. v: along which vectors lie.
local function axes_of(f, v)
    local r, n, list = f.reads[1], 1, {}
    if not v or not f.init or #f.reduce == 0 or #f.reads ~= 1 or r.irregular then return nil end
    for k, it in ipairs(f.iters) do
        if k ~= v and not (it.kind == "spatial" and r.strides[k]) then
            list[#list + 1] = k
            n = n * it.extent
        end
    end
    return n <= written and #list > #f.reduce and list or nil, n
end

-- Schedules the block; false: it is none. loops: of its iterators; v: where vectors of so many
-- lanes lie.
function matrix.block(s, b, f, v, loops, lanes, threads)
    local axes, n = axes_of(f, v)
    if not axes or f.iters[v].extent % lanes > 0 then return false end
    local is_in, outer, inner = {}, {}, {}
    local vo, vi = table.unpack(s:split(loops[v], { auto, lanes }))
    for _, k in ipairs(axes) do is_in[k] = true end
    for _, k in ipairs(f.spatial) do
        if is_in[k] then
            inner[#inner + 1] = k
        elseif k ~= v then
            outer[#outer + 1] = loops[k]
        end
    end
    outer[#outer + 1] = vo
    local dealt = #outer
    while #inner > 0 and n > rolled do
        local k = table.remove(inner, 1)
        outer[#outer + 1] = loops[k]
        n = n // f.iters[k].extent
    end
    local order = table.move(outer, 1, #outer, 1, {})
    for _, list in ipairs { inner, f.reduce } do
        for _, k in ipairs(list) do order[#order + 1] = loops[k] end
    end
    order[#order + 1] = vi
    s:reorder(table.unpack(order))
    local init = s:decompose_reduction(b, loops[inner[1] or f.reduce[1]])
    for _, block in ipairs { b, init } do
        local l = s:get_loops(block)
        s:vectorize(l[#l])
        for k = #outer + 1, #l - 1 do s:unroll(l[k]) end
    end
    if threads > 1 and f.points >= facts.serial_below then
        s:parallel(dealt > 1 and s:fuse(table.unpack(outer, 1, dealt)) or outer[1])
    end
    return true
end

-- The dimension of the written buffer that an iterator alone goes through; nil: none.
local function dimension(f, k)
    local stride = 1
    for d = #f.write.shape, 1, -1 do
        if f.write.strides[k] == stride and f.write.shape[d] == f.iters[k].extent then return d end
        stride = stride * (f.write.shape[d] or 0)
    end
end

-- Results that are the program's own get the layout in which operands are read as vectors.
function matrix.lay(s, target)
    for _, name in ipairs(facts.blocks(s)) do
        local f = facts.of(s, s:get_block(name))
        local v = f and facts.contiguous(f)
        local u, last
        for _, k in ipairs(v and not f.write.param and axes_of(f, v) and f.spatial or {}) do
            if k ~= v and f.reads[1].strides[k] == 1 and f.iters[k].extent % facts.lanes(target, f.write.dtype) == 0 then
                u, last = k, dimension(f, k)
            end
        end
        if u and last and axes_of(f, u) then
            local from, to = {}, {}
            for d = 1, #f.write.shape do
                from[d] = "i" .. d
                if d ~= last then to[#to + 1] = from[d] end
            end
            to[#to + 1] = from[last]
            s:transform_layout(name, { "write", 0 },
                ("lambda %s: (%s)"):format(table.concat(from, ", "), table.concat(to, ", ")))
        end
    end
end

return matrix

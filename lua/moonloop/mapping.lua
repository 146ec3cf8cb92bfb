-- mapping - a block brought to the form of a tensor intrinsic: which ways there are, and the steps of one.
--
-- A mapping says which iterators of the block are fused to each of the intrinsic's. Its steps: each operand gets a
-- buffer of its own (reindex), indexed by what stays outside and then by the fused iterators in the order of the
-- intrinsic; the block gets these iterators; extents are rounded up; where the intrinsic wants the elements of its
-- operand one after the other, tiles lie so. What is copied for nothing is inlined again.
-- Source: auto-scheduler 9.
local moon, core = ...

local mapping = {}
local auto = moon.auto

-- ---- which there are

local function up(n, by) return (n + by - 1) // by * by end

-- The intrinsic's iterators that index an operand, in the order in which they do.
local function in_order(all, o)
    local out, seen = {}, {}
    for word in table.concat(o.index, ","):gmatch("[%a_][%w_]*") do
        for k, it in ipairs(all.iters) do
            if it.name == word and not seen[k] then
                seen[k] = true
                out[#out + 1] = k
            end
        end
    end
    return out
end

-- The mappings of a block to an intrinsic, the one that fuses all it can first; why: the reason where there is none.
-- Each has text, waste (what padding adds to the work, 0 nothing), and apply(s, block).
function mapping.list(s, block, name)
    local all = core.intrin_maps(s, block, name)
    all.intrin = name
    for _, m in ipairs(all) do
        local padded, extent = 1.0, 1.0
        for k, it in ipairs(all.iters) do
            padded, extent = padded * up(m.of[k].extent, it.tile), extent * m.of[k].extent
        end
        for _, o in ipairs(m.operands) do o.own = in_order(all, o) end
        m.intrin, m.waste, m.all = name, padded / extent - 1, all
    end
    return all
end

-- ---- the steps

local function try(s, fn)
    if pcall(fn, core.trial_copy(s)) then
        fn(s)
        return true
    end
    return false
end

local function lambda(names, to) return ("lambda %s: (%s,)"):format(table.concat(names, ", "), table.concat(to, ", ")) end

-- Iterators that an operand knows only in steps, such as the groups of a convolution, become two; whether any did.
function mapping.separate(s, block)
    local f, from, to = core.block_body(s, s:get_block(block)), {}, {}
    if not f or f.write.irregular then return false end
    for k, it in ipairs(f.iters) do
        local step
        for _, r in ipairs(f.reads) do
            local by = r.by[k]
            if by and by > 1 and r.strides[k] == 0 then step = by end
        end
        from[k] = "i" .. k
        if step and it.kind == "spatial" and it.plain and it.extent and it.extent % step == 0 and it.extent > step then
            to[#to + 1] = ("i%d // %d"):format(k, step)
            to[#to + 1] = ("i%d %% %d"):format(k, step)
        else
            to[#to + 1] = from[k]
        end
    end
    return #to > #from and try(s, function(x) x:transform_block_layout(block, lambda(from, to)) end)
end

-- Those of `list` as one number, the first outermost.
local function fused(all, list, name)
    local e
    for _, x in ipairs(list) do
        e = e and ("(%s) * %d + %s"):format(e, all.own[x].extent, name[x]) or name[x]
    end
    return e
end

local function inside(list, x)
    for _, y in ipairs(list) do
        if x == y then return true end
    end
    return false
end

-- Names of what indexes an operand, and what it becomes: what stays outside, then what is fused.
local function layout(all, m, iters, own)
    local names, to, name = {}, {}, {}
    for k, x in ipairs(iters) do
        names[k] = "i" .. x
        name[x] = names[k]
    end
    for _, x in ipairs(iters) do
        local stays = true
        for _, list in ipairs(m.of) do stays = stays and not inside(list, x) end
        if stays then to[#to + 1] = name[x] end
    end
    local n_outside = #to
    for _, k in ipairs(own) do to[#to + 1] = fused(all, m.of[k], name) end
    return names, to, n_outside
end

local function same(a, b) return table.concat(a, ",") == table.concat(b, ",") end

-- The positions of the iterators that index an operand; of one that has a copy those that are left: an iterator of
-- extent 1 may have gone.
local function dimensions(s, block, copy, o)
    if not copy then return o.iters end
    local f, c = core.block_body(s, block), core.block_body(s, s:get_block(copy))
    local id, list = (o.write and c.reads[1] or c.write).id, { f.write, table.unpack(f.reads) }
    for _, r in ipairs(list) do
        if r.id == id then
            local out = {}
            for k in ipairs(f.iters) do
                if r.strides[k] then out[#out + 1] = k end
            end
            return out
        end
    end
    return o.iters
end

local function names_of(s)
    local set = {}
    for _, b in ipairs(s:blocks()) do set[s:get(b).name] = true end
    return set
end

-- Extents become multiples: pad_einsum with one number for each iterator. Copies into and out of padded buffers take
-- in those that reindex made.
local function pad(s, block, m, by, out)
    local any, before = false, names_of(s)
    for _, n in ipairs(by) do any = any or n > 1 end
    if not any then return end
    s:pad_einsum(block, by)
    for _, o in ipairs(m.operands) do
        local copy = out.copies[o.name]
        for _, b in ipairs(copy and (o.write and s:get_consumers(block) or s:get_producers(block)) or {}) do
            local name = s:get(b).name
            local next = not before[name] and (o.write and s:get_consumers(b) or s:get_producers(b))[1]
            if next and s:get(next).name == copy then
                s:compute_inline(o.write and b or next)
                if not o.write then out.copies[o.name] = name end
                out.padded[o.name] = true
            end
        end
    end
end

-- Elements of a tile one after the other, for operands that the intrinsic wants so: the indices of the intrinsic's
-- own buffer come last.
local function packed(all, o, n_outside)
    local names, to, inner = {}, {}, {}
    for k = 1, n_outside do
        names[k] = "u" .. k
        to[k] = names[k]
    end
    for _, k in ipairs(o.own) do
        local tile = all.iters[k].tile
        names[#names + 1] = "f" .. k
        to[#to + 1] = ("f%d // %d"):format(k, tile)
        inner[all.iters[k].name] = ("(f%d %% %d)"):format(k, tile)
    end
    for _, e in ipairs(o.index) do to[#to + 1] = (e:gsub("[%a_][%w_]*", inner)) end
    return lambda(names, to)
end

-- Whether a run of the operand's tile needs its own order: more than one of its iterators counts.
local function is_packed(all, o)
    local n = 0
    for _, k in ipairs(o.own) do
        if all.iters[k].tile > 1 then n = n + 1 end
    end
    return o.compact and n > 1
end

-- Brings the block to the form of the intrinsic, all of it up to the tiles: copies of operands that are not in
-- `direct` (by the intrinsic's name for them). pack: tiles of compact operands lie one after the other. multiple: by the
-- intrinsic's iter, extents become multiples of that, not of its tile.
-- What comes of it: block, outside (how many iterators stay), copies (by operand, the name of the block that copies,
-- where one does), padded (by operand, whether).
function mapping.form(s, block, m, how)
    local all, direct = m.all, how and how.direct or {}
    block = type(block) == "string" and s:get_block(block) or block
    local out = { block = s:get(block).name, copies = {}, intrin = m.intrin, all = all, map = m, padded = {} }
    for _, o in ipairs(m.operands) do
        if not direct[o.name] then
            out.copies[o.name] = s:get(s:reindex(block, { o.write and "write" or "read", o.at })).name
        end
    end
    local stay = {} -- dimensions of an operand that are not fused
    -- an iterator of extent 1 is no part of an index any more once others stand for it
    local by = {}
    local function tile(it) return how and how.multiple and how.multiple[it.name:gsub("^v", "")] or it.tile end
    for k in ipairs(all.own) do by[k] = 1 end
    for k, it in ipairs(all.iters) do
        if m.of[k].extent == 1 then by[m.of[k][1]] = tile(it) end
    end
    pad(s, block, m, by, out)
    for _, o in ipairs(m.operands) do
        local names, to, n = layout(all, m, dimensions(s, block, out.copies[o.name], o), o.own)
        stay[o.name] = n
        if not direct[o.name] and not same(names, to) then
            s:transform_layout(block, { o.write and "write" or "read", o.at }, lambda(names, to), nil, true)
        end
    end
    local every, own = {}, {}
    for k in ipairs(all.own) do every[k] = k end
    for k in ipairs(all.iters) do own[k] = k end
    local names, to, n_outside = layout(all, m, every, own)
    if not same(names, to) then s:transform_block_layout(block, lambda(names, to)) end
    out.outside = n_outside
    by = {}
    for k = 1, n_outside do by[k] = 1 end
    for k, it in ipairs(all.iters) do by[n_outside + k] = m.of[k].extent > 1 and m.of[k].extent % tile(it) ~= 0 and tile(it) or 1 end
    pad(s, block, m, by, out)
    for _, o in ipairs(m.operands) do
        if (how == nil or how.pack ~= false) and not direct[o.name] and is_packed(all, o) then
            s:transform_layout(block, { o.write and "write" or "read", o.at }, packed(all, o, stay[o.name]), nil, true)
        end
    end
    return out
end

-- Cuts the loops of a block in the form of an intrinsic and puts the intrinsic there.
function mapping.tensorize(s, made)
    local block, all = s:get_block(made.block), made.all
    local loops = s:get_loops(block)
    local order, tiles, sum = {}, {}, nil
    for k = 1, made.outside do order[k] = loops[k] end
    for k, it in ipairs(all.iters) do
        local o, i = table.unpack(s:split(loops[made.outside + k], { auto, it.tile }))
        order[#order + 1] = o
        tiles[k] = i
    end
    -- what is summed goes inside
    local spatial, reduce = {}, {}
    for k, l in ipairs(order) do
        local kind = k > made.outside and all.iters[k - made.outside].kind or s:get(block).iters[k].kind
        table.insert(kind == "reduce" and reduce or spatial, l)
    end
    local list = table.move(reduce, 1, #reduce, #spatial + 1, spatial)
    table.move(tiles, 1, #tiles, #list + 1, list)
    s:reorder(table.unpack(list))
    if core.block_body(s, block).init then s:decompose_reduction(block, reduce[1] or tiles[1]) end
    for _, o in ipairs(made.map.operands) do
        if o.scope ~= "global" then s:set_scope(o.write and block or made.copies[o.name], 0, o.scope) end
    end
    s:tensorize(tiles[1], made.intrin)
    return tiles
end

-- All of it: the operands that need no copy are used where they lie. Tried on copies of the schedule first, so that
-- nothing happens where nothing works; the first error is raised then.
function mapping.apply(s, block, m)
    local sets, why = {}, nil
    for mask = (1 << #m.operands) - 1, 0, -1 do
        local direct, n, ok = {}, 0, true
        for k, o in ipairs(m.operands) do
            if mask >> (k - 1) & 1 == 1 then
                direct[o.name], n = true, n + 1
                ok = ok and o.scope == "global" and not is_packed(m.all, o)
            end
        end
        if ok then sets[#sets + 1] = { n = n, direct = direct, mask = mask } end
    end
    table.sort(sets, function(x, y) return x.n > y.n or x.n == y.n and x.mask > y.mask end)
    for _, set in ipairs(sets) do
        local function all_of_it(x)
            local made = mapping.form(x, block, m, set)
            return mapping.tensorize(x, made), made
        end
        local ok, e = pcall(all_of_it, core.trial_copy(s))
        if ok then return all_of_it(s) end
        if type(e) ~= "userdata" or e.code == "interrupted" then error(e, 0) end
        why = e
    end
    error(why, 0)
end

-- One of a list, by its number; the first where none is said. The first loop of the tile's place is given back.
function mapping.apply_one(s, block, list, which)
    if which ~= nil and math.type(which) ~= "integer" then
        core.fail("bad-argument", "map_to_intrinsic: which is a whole number, not " .. tostring(which))
    end
    if #list == 0 then core.fail("bad-argument", "map_to_intrinsic: " .. list.why) end
    local m = list[which or 1]
    if not m then core.fail("bad-argument", ("map_to_intrinsic: which is 1 to %d, not %d"):format(#list, which)) end
    return mapping.apply(s, block, m)
end

return mapping

-- image - what the families of convolutions have in common: how a program is brought to one
-- block with the most work, and how the stages before it run.
--
-- Source: auto-scheduler 6; lowering-and-codegen 8.
local moon, core, facts, plain = ...

local image = {}
local auto = moon.auto

-- The number of points of these iterators.
function image.product(f, list)
    local n = 1
    for _, k in ipairs(list) do n = n * f.iters[k].extent end
    return n
end

-- The multiple of `by` at or above n.
function image.up(n, by) return (n + by - 1) // by * by end

-- ---- what comes before

-- Stages of short contiguous lines, such as the padding of an image of three channels: all
-- axes that follow each other in what is written and read are one line of vectors.
function image.in_lines(s, name, target, threads)
    local b = s:get_block(name)
    local f = facts.of(s, b)
    local v, lanes = facts.contiguous(f), facts.lanes(target, f.write.dtype)
    if #f.reduce > 0 or #f.reads ~= 1 or v ~= #f.iters or f.iters[v].extent >= 4 * lanes then return false end
    local first, n = v, f.iters[v].extent
    local x = f.reads[1]
    if x.strides[v] ~= 1 or x.irregular then return false end
    while first > 1 and n < 64 * lanes do
        local width = f.iters[first].extent
        -- the image itself may be narrower than what is padded, but not along c
        if f.write.strides[first - 1] ~= n or x.strides[first - 1] ~= x.strides[first] * width then break end
        first, n = first - 1, n * f.iters[first - 1].extent
    end
    if first == v or first == 1 or n < lanes then return false end
    -- a fill and a copy, rather than masks: what is masked out may lie on pages that are not there
    local parts, fill = { b }, nil
    if facts.try(s, function(x) fill = x:decompose_padding(b, x:get_loops(b)[1]) end) then parts[2] = fill end
    for _, part in ipairs(parts) do
        local loops = s:get_loops(part)
        local _, inner = table.unpack(s:split(s:fuse(table.unpack(loops, first, v)), { auto, lanes }))
        s:vectorize(inner)
        if threads > 1 and f.points >= 32768 then
            s:parallel(first > 2 and s:fuse(table.unpack(loops, 1, first - 1)) or loops[1])
        end
    end
    return true
end

-- ---- the block with the most work

-- The block with the most work, when it is a convolution.
function image.anchor(s)
    local best, work
    for _, name in ipairs(facts.blocks(s)) do
        local f = facts.of(s, s:get_block(name))
        if f and #f.reduce > 0 and (not work or f.points > work) then best, work = name, f.points end
    end
    return best
end

-- The elementwise block that follows the anchor point by point; nil: none does, or it leaves results out.
function image.follower(s, name, f)
    local consumer = plain.follower(s, name)
    local of = consumer and facts.of(s, s:get_block(consumer))
    return of and of.points == image.product(f, f.spatial) and consumer or nil
end

-- Adds what whole(s, consumer) makes of the program: with the elementwise block that follows the
-- anchor in the tiles; where that is refused, and where there is none, whole(s, nil). The stages
-- beside them (all but those named in `own`) are blocks by themselves.
function image.sketch(list, program, name, target, threads, own, consumer, whole)
    local function made(with)
        return function(s)
            whole(s, with, function()
                for _, n in ipairs(facts.blocks(s)) do
                    if not own[n] and n ~= with then
                        facts.try(s, function(x)
                            if not image.in_lines(x, n, target, threads) then plain.block(x, n, target, threads) end
                        end)
                    end
                end
            end)
        end
    end
    local before = #list
    facts.sketch(list, program, name, made(consumer))
    if consumer and #list == before then facts.sketch(list, program, name, made(nil)) end
end

-- The period of what is read along each iterator; 1: there is none.
local function periods(f)
    local list = {}
    for k, it in ipairs(f.iters) do
        list[k] = 1
        for _, r in ipairs(it.kind == "spatial" and f.reads or {}) do
            if list[k] == 1 and r.by[k] and r.period[k] then list[k] = r.period[k] end
        end
    end
    return list
end

-- Parity classes: a sum over an image with zeros between its elements becomes sums over the
-- image itself, one for each remainder of the position, which becomes an iterator of its own. whole: results
-- of a number that is no multiple get others beside them, which nobody copies. Whether there were zeros.
function image.split_parity(s, name, whole)
    if not facts.try(s, function(x) x:skip_zeros(name) end) then return false end
    local f = facts.of(s, s:get_block(name))
    if not f then return true end
    local period = periods(f)
    if whole and facts.try(s, function(x) x:pad_einsum(name, period) end) then plain.inline(s, {}) end
    f = facts.of(s, s:get_block(name))
    local from, to = {}, {}
    for k, it in ipairs(f.iters) do
        local name_of = "i" .. k
        from[k] = name_of
        if period[k] > 1 and it.extent % period[k] == 0 then
            to[#to + 1] = ("%s %% %d"):format(name_of, period[k])
            name_of = ("%s // %d"):format(name_of, period[k])
        end
        to[#to + 1] = name_of
    end
    local map = ("lambda %s: (%s,)"):format(table.concat(from, ", "), table.concat(to, ", "))
    if #to > #from then facts.try(s, function(x) x:transform_block_layout(name, map) end) end
    return true
end

-- The program brought to one block with the most work, parity classes apart; its name, nil:
-- there is none; and whether it has such classes.
function image.prepare(s)
    plain.inline(s, {})
    local name = image.anchor(s)
    return name, name and image.split_parity(s, name, true)
end

return image

-- facts - what rules ask of a program, and the pieces that schedules are made of.
--
-- Source: auto-scheduler 2 to 5.
local moon, core = ...

local facts = {}
-- ---- what a program is made of

-- Facts of a block, or nil when no rule knows what to do with it. tuple: reductions of
-- several values at once, f.stores of them, are known.
function facts.of(s, block, tuple)
    local f = core.block_body(s, block, tuple)
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
function facts.contiguous(f)
    for _, k in ipairs(f.spatial) do
        if f.write.strides[k] == 1 and f.iters[k].extent > 1 then return k end
    end
end

function facts.blocks(s)
    local list = {}
    for _, b in ipairs(s:blocks()) do
        local name = s:get(b).name
        if name ~= "root" then list[#list + 1] = name end
    end
    return list
end

-- ---- pieces of schedules

local function uniform(n)
    local p = {}
    for k = 1, n do p[k] = 1.0 / n end
    return p
end

-- A choice among integers whose first is the rule's own.
function facts.choose(s, list, first)
    return s:sample_categorical { candidates = list, probs = uniform(#list), decision = first or 0 }
end

function facts.bytes(dtype)
    local bits = tonumber(dtype:match("%d+")) or 32
    return math.max(1, bits // 8)
end

function facts.lanes(target, dtype) return math.max(1, target.vector_bits // 8 // facts.bytes(dtype)) end

facts.serial_below = 32768 -- points: waking threads costs more than they save

-- Whether the results below a loop are stored past the caches: the rule's own choice is yes
-- where they are given back and fill the caches of the cores, so that nobody finds them there.
function facts.stream(s, loop, f, target)
    if not f.write.param then return end
    local bytes = f.write.elements * facts.bytes(f.write.dtype)
    if bytes < target.l2 then return end
    local list = bytes >= target.l2 * target.cores and { 1, 0 } or { 0, 1 }
    s:annotate(loop, "non_temporal", facts.choose(s, list))
end

-- Does fn to s where a copy of s stands it.
function facts.try(s, fn)
    local copy = s:copy()
    if pcall(fn, copy) then
        fn(s)
        return true
    end
    return false
end

-- Adds what fn makes of the program to the list; a refusal is kept with the reason.
function facts.sketch(list, program, name, fn)
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

return facts

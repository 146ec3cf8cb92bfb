-- predicates - what schedule rules ask of a block. Nothing here is recorded in a trace.
--
-- view is core.block_view of a block: its signature as numbers. Source: auto-scheduler 5.
local _, core = ...

local is = {}

-- The view of a block as it is in s; nil: it is gone.
function is.view(s, block)
    local h = s:handle(block)
    return h.alive and core.block_view(s, h) or nil
end

-- Whether fn, done to a copy, is refused; s stays as it is.
function is.refused(s, fn)
    local ok, e = pcall(fn, s:copy())
    if not ok and (type(e) ~= "userdata" or e.code == "interrupted") then error(e, 0) end
    return not ok
end

-- Does fn to s; nothing where it is refused (a primitive is done whole or not at all). What is no refusal goes on.
function is.done(fn, ...)
    local ok, result = pcall(fn, ...)
    if ok then return true, result end
    if type(result) ~= "userdata" or result.code == "interrupted" then error(result, 0) end
    return false, result
end

function is.spatial(view)
    for _, it in ipairs(view.iters) do
        if it.kind ~= "spatial" then return false end
    end
    return true
end

-- All blocks of the function that s works on, but its root.
function is.spatial_function(s)
    for _, b in ipairs(s:blocks()) do
        if not is.spatial(core.block_view(s, b)) then return false end
    end
    return true
end

function is.tiled(view) return view.annotations["meta_schedule.tiling_structure"] ~= nil end

function is.trivially_bound(s, block, view)
    local loops = s:loops(block)
    if #loops ~= #view.iters then return false end
    for k, it in ipairs(view.iters) do
        if it.loop ~= loops[k] then return false end
    end
    return true
end

-- By loop of the block: "S", "R" or "O".
function is.loop_types(s, block)
    local types, loops = {}, s:loops(block)
    for k, l in ipairs(loops) do types[k] = core.loop_type(s, l) end
    return types, loops
end

-- Whether data are read again by another instance, so that tiles pay.
function is.worth_tiling(s, block, view)
    view = view or core.block_view(s, s:handle(block))
    if is.tiled(view) or #view.writes ~= 1 or #view.reads == 0 or is.spatial(view) or
        not is.trivially_bound(s, block, view) then
        return false
    end
    local seen, unused = {}, 0
    for _, r in ipairs(view.reads) do
        if seen[r.id] then return false end
        seen[r.id] = true
        if r.id ~= view.writes[1].id then
            if not r.constant then return false end
            for k, it in ipairs(view.iters) do
                if it.kind == "spatial" and it.extent ~= 1 and not r.uses[k] then unused = unused + 1 end
            end
        end
    end
    return unused >= 1
end

-- How a read follows a write: {surjective=, injective=, ordered=, no_constant=, no_shift=}, all false where indices
-- are no iterators of the write with constants added.
function is.pattern(read, write)
    local none = { surjective = false, injective = false, ordered = false, no_constant = false, no_shift = false }
    local dim_of, times, last = {}, {}, 0
    if not read.point or not write.point then return none end
    for d, x in ipairs(write.dims) do
        if not x or x.constant or x.shift ~= 0 then return none end
        dim_of[x.iter], times[d] = d, 0
    end
    local p = { surjective = true, injective = true, ordered = true, no_constant = true, no_shift = true }
    for _, x in ipairs(read.dims) do
        if not x then return none end
        if x.constant then
            p.no_constant = false
        else
            local d = dim_of[x.iter]
            if not d then return none end
            if x.shift ~= 0 then p.no_shift = false end
            times[d] = times[d] + 1
            if d <= last then p.ordered = false end
            last = d
        end
    end
    for _, n in ipairs(times) do
        if n < 1 then p.surjective = false end
        if n > 1 then p.injective = false end
    end
    return p
end

function is.write_cache(view)
    if #view.writes ~= 1 then return false end
    for _, r in ipairs(view.reads) do
        local p = is.pattern(r, view.writes[1])
        if not (p.injective and p.ordered) then return false end
    end
    return true
end

-- Whether a reduction has so few results for its terms (more than `limit` results are enough) that its terms are
-- better divided.
function is.worth_dividing(s, block, limit)
    local view = core.block_view(s, s:handle(block))
    if #view.writes < 1 or not view.init or not core.info(s, block).reduction or is.tiled(view) or
        not is.trivially_bound(s, block, view) then
        return false
    end
    local types, loops = is.loop_types(s, block)
    local n, spatial, reduce = 0, 1, 1
    for k, l in ipairs(loops) do
        local extent = s:get(l).extent
        if not extent or types[k] == "O" or core.loop_body(s, l) ~= 1 then return false end
        if types[k] == "R" then
            n, reduce = n + 1, reduce * extent
        else
            spatial = spatial * extent
        end
    end
    if n == 0 then return false end
    if is.worth_tiling(s, block, view) then return not (spatial >= reduce or spatial > limit) end
    return reduce > 1
end

-- ---- steps that several rules make

-- Loops of sums inside of the others and as one: its handle, and the number of the others.
function is.fuse_reductions(s, block)
    local loops = s:get_loops(block)
    local types = is.loop_types(s, block)
    local spatial, reduce, moved = {}, {}, false
    for k, l in ipairs(loops) do
        if types[k] == "R" then
            reduce[#reduce + 1] = l
        else
            moved = moved or #reduce > 0
            spatial[#spatial + 1] = l
        end
    end
    if moved then
        local order = { table.unpack(spatial) }
        for _, l in ipairs(reduce) do order[#order + 1] = l end
        s:reorder(table.unpack(order))
    end
    return #reduce > 1 and s:fuse(table.unpack(reduce)) or reduce[1], #spatial
end

-- One of a list by lot, recorded.
function is.choice(s, list)
    local p = {}
    for k = 1, #list do p[k] = 1.0 / #list end
    return s:sample_categorical { candidates = list, probs = p }
end

-- Whether a loop is the only statement of what is around it.
function is.alone(s, node) return s:get_sref(node).index == -1 end

return is

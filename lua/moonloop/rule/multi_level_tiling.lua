-- multi-level-tiling - loops cut into tiles that lie in caches, registers and threads.
--
-- opts: structure ("SSRSRS": what stands at each position, outside in), binds (threads of the first positions),
-- inner (largest innermost factor, -1: any), vector_loads (lengths of cooperative loads), reuse_read and reuse_write
-- ({req = "no", "may" or "must", levels=, scope=}), filter(s, block). Level l means: the last loop of position l,
-- counted from 1. A state is {s=, block=, tiles={by position, loops}, factors=}: its steps are functions here, which
-- rules that tile otherwise put together. Source: auto-scheduler 6.5.
local _, core, is = ...

local mlt = {}

function mlt.copy(state)
    local to = { s = state.s:copy(), tiles = {}, factors = {} }
    for k, v in pairs(state) do
        if to[k] == nil then to[k] = v end
    end
    for p, list in ipairs(state.tiles or {}) do to.tiles[p] = { table.unpack(list) } end
    for p, list in ipairs(state.factors or {}) do to.factors[p] = { table.unpack(list) } end
    return to
end

-- Positions of S and of R in the structure.
function mlt.positions(structure)
    local at = { S = {}, R = {} }
    for k = 1, #structure do
        local c = structure:sub(k, k)
        if not at[c] then core.fail("bad-argument", ("multi-level-tiling: structure is made of S and R, got '%s'"):format(c)) end
        at[c][#at[c] + 1] = k
    end
    return at
end

-- n parts of a loop, by lot: their factors, and loops.
function mlt.split(s, _, loop, n, opts)
    local factors = s:sample_perfect_tile(loop, n, opts.inner)
    return factors, s:split(loop, factors)
end

-- innermost: only so many of the last spatial loops are cut.
function mlt.tile(state, opts, target, innermost)
    local s, block = state.s, state.block
    local view, loops = core.block_view(s, s:handle(block)), s:get_loops(block)
    local at, product, outer, skip = mlt.positions(opts.structure), 1, {}, 0
    state.tiles, state.factors = {}, {}
    for p = 1, #opts.structure do state.tiles[p], state.factors[p] = {}, {} end
    if innermost then
        for _, it in ipairs(view.iters) do skip = skip + (it.kind == "spatial" and 1 or 0) end
        skip = skip - innermost
        if skip < 0 then core.fail("bad-argument", "multi-level-tiling: fewer than " .. innermost .. " spatial loops") end
    end
    for k, l in ipairs(loops) do
        local kind = view.iters[k].kind
        local where = kind == "spatial" and at.S or kind == "reduce" and at.R or nil
        if kind == "spatial" and skip > 0 then
            outer[#outer + 1], skip, where = l, skip - 1, nil
        elseif kind == "spatial" then
            product = product * (s:get(l).extent or math.huge)
        end
        if where and #where == 1 then
            table.insert(state.tiles[where[1]], l)
        elseif where and #where > 1 then
            local factors, parts = (opts.split or mlt.split)(s, block, l, #where, opts)
            for j, p in ipairs(where) do
                table.insert(state.tiles[p], parts[j])
                table.insert(state.factors[p], factors[j])
            end
        end
    end
    local order = {}
    for _, list in ipairs(state.tiles) do
        for _, l in ipairs(list) do order[#order + 1] = l end
    end
    s:reorder(table.unpack(order))
    local binds = opts.binds or {}
    if #binds > 0 then
        for k = #outer, 1, -1 do table.insert(state.tiles[1], 1, outer[k]) end
    end
    for p = 1, math.min(#binds, #state.tiles) do
        local fused = s:fuse(table.unpack(state.tiles[p]))
        s:bind(fused, binds[p])
        state.tiles[p] = { fused }
    end
    if target.warp then
        s:annotate(block, "meta_schedule.thread_extent_low_inclusive",
            product > 2 * target.warp and target.warp or 1)
        s:annotate(block, "meta_schedule.thread_extent_high_inclusive", target.max_threads)
    end
    return { state }
end

local function last_of(state, level)
    local list = state.tiles[level]
    if not list or #list == 0 then core.fail("bad-argument", "multi-level-tiling: no loop is at level " .. level) end
    return list[#list]
end

function mlt.write_reuse(state, opts)
    local config = opts.reuse_write or {}
    local req, levels = config.req or "no", config.levels
    if req == "no" then return { state } end
    local s, block, results = state.s, state.block, {}
    local said = core.block_view(s, s:handle(block)).annotations["meta_schedule.write_cache_level"]
    if said then req, levels = "must", said end
    local function put(consumer)
        for _, level in ipairs(levels) do
            local to = mlt.copy(state)
            to.s:reverse_compute_at(consumer, last_of(to, level), true)
            results[#results + 1] = to
        end
    end
    if req == "may" then
        local consumers = s:get_consumers(block)
        if #consumers == 1 and is.write_cache(core.block_view(s, consumers[1])) then
            put(consumers[1])
            state.write_cache = consumers[1]
            results[#results + 1] = state
            return results
        end
        results[1] = mlt.copy(state)
    end
    state.write_cache = s:cache_write(block, 0, config.scope)
    put(state.write_cache)
    return results
end

-- Lengths of vectors that a thread may load of a type.
function mlt.loads(dtype, lengths)
    local list = {}
    for _, n in ipairs(lengths or {}) do
        local fits = true
        if dtype == "float32" then
            fits = n <= 4
        elseif dtype == "float16" then
            fits = (n == 1 or n % 2 == 0) and n <= 8
        elseif dtype == "int8" then
            fits = n <= 16
        end
        if fits then list[#list + 1] = n end
    end
    return list
end

function mlt.fetch_together(s, copy, opts)
    local lengths = mlt.loads(core.block_view(s, copy).writes[1].dtype, opts.vector_loads)
    if #lengths > 0 then s:annotate(copy, "meta_schedule.cooperative_fetch", is.choice(s, lengths)) end
end

function mlt.read_reuse(state, opts)
    local config = opts.reuse_read or {}
    if (config.req or "no") == "no" then return { state } end
    if config.req == "may" then core.fail("bad-argument", "multi-level-tiling: reuse_read is 'no' or 'must'") end
    local results = {}
    for _, level in ipairs(config.levels) do
        local to = mlt.copy(state)
        local s, block = to.s, to.block
        local view = core.block_view(s, s:handle(block))
        to.read_caches = {}
        for k, r in ipairs(view.reads) do
            if r.id ~= (view.writes[1] and view.writes[1].id) then
                local copy = s:cache_read(block, k - 1, config.scope, { block })
                s:compute_at(copy, last_of(to, level), true)
                local loops = s:get_loops(copy)
                s:fuse(table.unpack(loops, #loops - r.rank + 1))
                mlt.fetch_together(s, copy, opts)
                to.read_caches[k] = copy
            end
        end
        results[#results + 1] = to
    end
    return results
end

-- Copies go on while the tile before is computed: so many stages, where the machine can do that.
function mlt.async_pipeline(state, opts, target)
    local at = mlt.positions(opts.structure).R[1]
    local list = at and state.tiles[at]
    if not target.async or not list or #list == 0 then return { state } end
    local n, loops = core.loop_body(state.s, state.s:handle(list[#list]))
    if n < 2 or loops ~= n then return { state } end
    local results = { state }
    local zeros, order = {}, {}
    for k = 1, n do zeros[k], order[k] = 0, k - 1 end
    for _, stages in ipairs { 4, 5 } do
        local to = mlt.copy(state)
        local fused = to.s:fuse(table.unpack(to.tiles[at]))
        zeros[n] = stages - 2
        to.s:annotate(fused, "software_pipeline_stage", { table.unpack(zeros) })
        to.s:annotate(fused, "software_pipeline_order", order)
        to.s:annotate(fused, "software_pipeline_async_stages", { 0 })
        to.tiles[at] = { fused }
        results[#results + 1] = to
    end
    return results
end

mlt.steps = { mlt.tile, mlt.write_reuse, mlt.read_reuse, mlt.async_pipeline }

-- The states that the steps make of one. A state that a step is refused for is dropped.
function mlt.run(state, opts, target, steps)
    local states = { state }
    for _, step in ipairs(steps or mlt.steps) do
        local next_states = {}
        for _, x in ipairs(states) do
            local ok, made = is.done(step, x, opts, target)
            if ok then
                table.move(made, 1, #made, #next_states + 1, next_states)
            elseif target.refused then
                target.refused(made)
            end
        end
        states = next_states
    end
    return states
end

function mlt.applies(s, block, opts)
    local view = core.block_view(s, s:handle(block))
    return not view.root and (opts.filter and opts.filter(s, block) or is.worth_tiling(s, block, view))
end

function mlt.apply(s, block, opts, target, steps)
    if not mlt.applies(s, block, opts) then return { s } end
    mlt.positions(opts.structure)
    local whole, results = s:copy(), {}
    s:annotate(block, "meta_schedule.tiling_structure", opts.structure)
    for k, state in ipairs(mlt.run({ s = s, block = block }, opts, target, steps)) do results[k] = state.s end
    return #results > 0 and results or { whole }
end

return setmetatable(mlt, {
    __call = function(_, opts)
        return function(s, block, target) return mlt.apply(s, block, opts, target) end
    end,
})

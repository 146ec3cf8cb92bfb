-- mlt-tensor-core - multi-level tiling around what a warp computes with its tensor cores.
--
-- opts: as multi-level-tiling; group: "wmma", "mma", or "lanes", which is wmma with mma.sync on registers that the program
-- lays out over the lanes, loaded by ldmatrix; pipeline: whether copies of the next tile go on while one is
-- computed. Each product that the block maps to starts one state: the block in the form of the intrinsic
-- (moonloop.mapping), tiled, its result and operands staged through shared memory and fragments. The block as it was
-- competes too. Source: auto-scheduler 10.
local moon, core, is, mlt = ...

local mapping = core.load("mapping")(moon, core)
local tensorize, warp = "meta_schedule.auto_tensorize", "warp_execution"

-- ---- groups of intrinsics: init, load_a, load_b, compute, store

local groups = {}

local function wmma(operands, of, out, trans, sm)
    local s = "wmma_%s_16x16x16_%s"
    return {
        init = s:format("fill", out), compute = s:format("sync", operands) .. (trans and "_trans" or ""),
        load_a = s:format("load", of) .. "_a_shared_dyn",
        load_b = s:format("load", of) .. (trans and "_b_trans" or "_b") .. "_shared_dyn",
        store = s:format("store", out) .. "_shared_dyn", sm = sm,
        scopes = { "wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator" }, tiles = { { 16, 16 }, { 16, 16 } },
    }
end

groups.wmma = {}
for _, x in ipairs { { "f16f16f32", "f16", "f32", 70 }, { "f16f16f16", "f16", "f16", 70 },
    { "bf16bf16f32", "bf16", "f32", 80 }, { "s8s8s32", "s8", "s32", 72 }, { "u8u8s32", "u8", "s32", 72 } } do
    for _, trans in ipairs { false, true } do table.insert(groups.wmma, wmma(x[1], x[2], x[3], trans, x[4])) end
end

groups.mma = {}
for _, out in ipairs { "f16", "f32" } do
    table.insert(groups.mma, {
        init = "mma_init_m16n8k8_" .. out, compute = "mma_sync_m16n8k8_f16f16" .. out,
        load_a = "mma_load_m16n8k8_f16_A_shared_dyn", load_b = "mma_load_m16n8k8_f16_B_shared_dyn",
        store = ("mma_store_m16n8k8_%s_global"):format(out), sm = 75,
        scopes = { "m16n8k8.matrixA", "m16n8k8.matrixB", "m16n8k8.matrixC" },
        tiles = { { 32, 8 }, { 8, 32 } }, multiple = { i = 32, j = 32 }, -- what the loads of a warp take at once
    })
end

groups.lanes = {}
for _, x in ipairs { { "f16f16f32", "f16", "f32" }, { "f16f16f16", "f16", "f16" }, { "bf16bf16f32", "bf16", "f32" } } do
    for _, trans in ipairs { false, true } do
        table.insert(groups.lanes, {
            init = "mma_fill_16x16_" .. x[3], compute = "mma_" .. x[1] .. (trans and "_trans_b" or ""),
            like = "wmma_sync_16x16x16_" .. x[1] .. (trans and "_trans" or ""), -- the same, with indices that are plain
            load_a = ("mma_ldmatrix_%s_a_dyn"):format(x[2]),
            load_b = ("mma_ldmatrix_%s_b%s_dyn"):format(x[2], trans and "_trans" or ""),
            store = ("mma_store_16x16_%s_shared_dyn"):format(x[3]), sm = 80,
            scopes = { "warp", "warp", "warp" }, tiles = { { 16, 16 }, { 16, 16 } },
            lanes = { { "i", "j" }, trans and { "i", "j", true } or { "j", "i", true }, { "i", "j" } },
        })
    end
end

-- ---- steps

-- Registers of lanes in place of the last two dimensions of a buffer, tile by tile (those of the result are tiles
-- already): lane and element of the one in a line (a row of A and of the result, a column of B) and along it.
local function spread(s, copy, which, group, k)
    if not group.lanes then return end
    local line, along, is_b = table.unpack(group.lanes[k])
    local view = core.block_view(s, s:handle(copy))
    local names, to = {}, {}
    for d = 1, (which == "read" and view.reads[1] or view.writes[1]).rank - 2 do names[d], to[d] = "u" .. d, "u" .. d end
    table.move({ "i", "j" }, 1, 2, #names + 1, names)
    local f = (k < 3 and "i // 16, j // 16, " or "") .. ("%s %% 8 * 4 + %s %% 8 // 2, %s %% 16 // 8 * %d + %s %% 16 // 8 * %d + %s %% 2"):format(
        line, along, along, is_b and 2 or 4, line, is_b and 4 or 2, along)
    s:transform_layout(copy, { which, 0 }, ("lambda %s: (%s)"):format(table.concat(names, ", "),
        table.concat(table.move({ f }, 1, 1, #to + 1, to), ", ")), nil, true)
end

local function said(s, block, key, value) s:annotate(block, key, value) end

-- The last n loops of a block.
local function last(s, block, n)
    local loops = s:get_loops(block)
    return table.unpack(loops, #loops - n + 1)
end

local function last_of(state, level) return state.tiles[level][#state.tiles[level]] end

local function rank_of(s, block, k)
    local view = core.block_view(s, s:handle(block))
    return (k and view.reads[k + 1] or view.writes[1]).rank
end

-- Tiles of the result lie one after the other: [.., m, n] becomes [.., m // 16, n // 16, m % 16, n % 16].
local function output_layout(s, block, all)
    local names, to = {}, {}
    for k = 1, rank_of(s, block) do names[k] = "u" .. k end
    local m, n = all.iters[1].tile, all.iters[2].tile
    local u, v = names[#names - 1], names[#names]
    table.move(names, 1, #names - 2, 1, to)
    for _, e in ipairs { ("%s // %d"):format(u, m), ("%s // %d"):format(v, n), ("%s %% %d"):format(u, m),
        ("%s %% %d"):format(v, n) } do to[#to + 1] = e end
    s:transform_layout(block, { "write", 0 }, ("lambda %s: (%s,)"):format(table.concat(names, ", "), table.concat(to, ", ")),
        nil, true)
end

-- The block in the form of the group's product, its inner tile a block of its own.
local function transform(state, opts)
    local s, block, group = state.s, state.block, state.group
    local m = mapping.list(s, block, group.like or group.compute)[1]
    if not m then return {} end
    state.form = mapping.form(s, block, m, { pack = false, multiple = group.multiple })
    if opts.group ~= "mma" then output_layout(s, block, m.all) end
    local loop = s:tile_with_intrinsic(block, group.like or group.compute)
    if not loop then return {} end
    local outer = s:blockize(loop)
    said(s, outer, tensorize, group.compute)
    said(s, outer, "meta_schedule.auto_tensorize_init", group.init)
    said(s, outer, warp, 1)
    state.inner, state.block = block, outer
    return { state }
end

-- mma: a warp's part is a multiple of 32 x 32.
local function split_mma()
    local nth = 0
    return function(s, _, loop, n, opts)
        if n ~= 5 then
            local f = s:sample_perfect_tile(loop, n, opts.inner)
            return f, s:split(loop, f)
        end
        nth = nth + 1
        local f = s:sample_partitioned_tile(loop, n, 3, nth == 1 and 2 or 4)
        return f, s:split(loop, f)
    end
end

local function tile(state, opts, target)
    if opts.group == "mma" and #state.s:loops(state.block) ~= 3 then return {} end
    local with = opts.group == "mma" and setmetatable({ split = split_mma() }, { __index = opts }) or opts
    return mlt.tile(state, with, target, 2)
end

-- The copy that brings results where the program wants them goes into the one that leaves shared memory or fragments;
-- where it cannot (rows that padding added would be left out by threads together), it stays behind the product.
local function inline_store(state, copy)
    local s = state.s
    for _, b in ipairs(s:get_consumers(copy)) do is.done(s.reverse_compute_inline, s, b) end
end

-- Each warp's fragments to shared memory, and from there on together.
local function store_wmma(state, opts)
    local s, copy = state.s, state.write_cache
    local out = s:cache_write(state.block, 0, state.group.scopes[3])
    s:reverse_compute_at(out, last_of(state, 3), true)
    inline_store(state, copy)
    spread(s, out, "read", state.group, 3)
    local outer = s:blockize((last(s, out, 2)))
    said(s, outer, tensorize, state.group.store)
    said(s, outer, warp, 1)
    s:fuse(last(s, copy, 4))
    mlt.fetch_together(s, copy, opts)
    return { state }
end

-- Fragments straight to where the program wants them.
local function store_mma(state)
    local s = state.s
    local out = s:write_at(last_of(state, 3), state.block, 0, state.group.scopes[3])
    said(s, out, warp, 1)
    inline_store(state, out)
    return { state }
end

local function store(state, opts)
    return (opts.group == "mma" and store_mma or store_wmma)(state, opts)
end

-- Copies of tiles by blocks that say what they copy, how is decided when they are lowered.
local function read_at(state, opts)
    local s, caches = state.s, {}
    for k, name in ipairs { "A", "B" } do
        caches[k] = s:read_at(last_of(state, opts.reuse_read.levels[1]), state.block, k - 1, opts.reuse_read.scope)
        said(s, caches[k], "permuted_layout", "g2s_" .. name)
    end
    state.read_caches = caches
    return { state }
end

local function read_reuse(state, opts)
    if opts.group == "mma" then return read_at(state, opts) end
    return mlt.read_reuse(state, opts)
end

-- The last two loops of an operand's copy in tiles, each a block; nil: they do not divide.
local function tile_of(s, copy, group, operand)
    local outer, inner, tile = {}, {}, group.tiles[operand]
    for k, l in ipairs { last(s, copy, 2) } do
        local extent = s:get(l).extent
        if not extent or extent % tile[k] ~= 0 then return nil end
        outer[k], inner[k] = table.unpack(s:split(l, { moon.auto, tile[k] }))
    end
    s:reorder(outer[1], outer[2], inner[1], inner[2])
    spread(s, copy, "write", group, operand)
    return s:blockize(inner[1])
end

local align = { float16 = { 32, 8 }, bfloat16 = { 32, 8 }, int8 = { 32, 16 }, uint8 = { 32, 16 } }

-- Operands from shared memory into fragments, beside the innermost sum; what brought them into form goes into the copy
-- to shared memory.
local function load_fragments(state, opts, target)
    local s, group = state.s, state.group
    local at = mlt.positions(opts.structure).R[2]
    local inner = at and state.tiles[at]
    if not inner or #inner == 0 then core.fail("bad-argument", "mlt-tensor-core: structure has no second R with loops") end
    for k, name in ipairs { group.load_a, group.load_b } do
        local copy = s:cache_read(state.block, k - 1, group.scopes[k])
        s:compute_at(copy, inner[#inner], true)
        local outer = tile_of(s, copy, group, k)
        if not outer then return {} end
        said(s, outer, tensorize, name)
        said(s, outer, warp, 1)
        if opts.group == "mma" then said(s, outer, "permuted_layout", k == 1 and "s2l_A" or "s2l_B") end
    end
    for _, copy in ipairs(state.read_caches) do
        local view = core.block_view(s, s:handle(copy))
        local by = align[view.writes[1].dtype]
        for _, b in ipairs(s:get_producers(copy)) do s:compute_inline(b) end
        if by then
            s:storage_align(copy, 0, -2, by[1], by[2])
        else
            target.warn(("mlt-tensor-core: no alignment is known for %s"):format(view.writes[1].dtype))
        end
    end
    return { state }
end

-- The next tile is fetched while one is computed: stages and order of the statements of both loops of the sum.
local function software_pipeline(state, opts)
    local at = mlt.positions(opts.structure).R
    if not opts.pipeline or #at < 2 then return { state } end
    local s, length = state.s, 1
    for _, p in ipairs(at) do
        for _, l in ipairs(state.tiles[p]) do
            local extent = s:get(l).extent
            if not extent then return { state } end
            length = length * extent
        end
    end
    if length <= 1 then return { state } end
    local outer, inner = last_of(state, at[1]), last_of(state, at[2])
    local function staged(loop, stage, order)
        said(s, loop, "software_pipeline_stage", stage)
        said(s, loop, "software_pipeline_order", order)
    end
    for _, copy in ipairs(state.read_caches) do
        if opts.group == "mma" then
            said(s, copy, "vector_bytes", 16)
        else
            said(s, copy, "tirx.manifest_shared_memory_local_stage", 1)
            said(s, copy, "double_buffer_scope", 0)
        end
    end
    staged(inner, { 0, 0, 1 }, { 0, 1, 2 })
    if opts.group == "mma" then
        said(s, outer, "software_pipeline_async_stages", { 0 })
        staged(outer, { 0, 0, 1, 2, 2 }, { 0, 1, 3, 2, 4 })
    else
        staged(outer, { 0, 0, 0, 0, 0, 1, 1 }, { 0, 3, 1, 4, 5, 2, 6 })
    end
    return { state }
end

local steps = { transform, tile,
    function(state, opts) return opts.group ~= "mma" and mlt.write_reuse(state, opts) or { state } end,
    store, read_reuse, load_fragments, software_pipeline }

local function sm_of(target) return math.tointeger(tonumber(tostring(target.arch):match("^sm_(%d+)"))) or 0 end

local rule = { groups = groups }

return setmetatable(rule, { __call = function(_, opts)
    for _, name in ipairs(opts.binds or {}) do
        if name == "threadIdx.x" then core.fail("bad-argument", "mlt-tensor-core: threadIdx.x is the lane of a warp") end
    end
    if not groups[opts.group] then
        core.fail("bad-argument", "mlt-tensor-core: group is wmma, mma or lanes, not " .. tostring(opts.group))
    end
    local write = opts.reuse_write or {}
    if opts.group ~= "mma" and (write.req ~= "must" or not tostring(write.scope):find("^shared")) then
        core.fail("bad-argument", ("mlt-tensor-core: %s needs reuse_write 'must' in shared memory"):format(opts.group))
    end
    return function(s, block, target)
        if not mlt.applies(s, block, opts) then return { s } end
        local whole, results = s:copy(), {}
        local apart = s:copy() -- groups of a convolution are batches of products
        mapping.separate(apart, s:get(block).name)
        for _, group in ipairs(groups[opts.group]) do
            if sm_of(target) >= group.sm and #mapping.list(apart, apart:handle(block), group.like or group.compute) > 0 then
                local start = apart:copy()
                said(start, block, "meta_schedule.tiling_structure", opts.structure)
                local states = mlt.run({ s = start, block = start:handle(block), group = group }, opts, target, steps)
                for _, state in ipairs(states) do results[#results + 1] = state.s end
            end
        end
        results[#results + 1] = whole
        return results
    end
end })

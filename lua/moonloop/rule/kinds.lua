-- kinds - which rules, postprocessors and mutators a target has, where nobody says otherwise.
--
-- A target is a table of facts: of a CPU what core.tune_target tells; of a GPU arch, max_threads, warp, limits (as the
-- table of targets has them), and async, whether copies go on in the background. Source: auto-scheduler 4.
local _, core = ...

local kinds = {}

-- "90a" of "sm_90a" counts as 90; nil: not to be read.
local function generation(arch) return arch and math.tointeger(tonumber(tostring(arch):match("^sm_(%d+)%a*$"))) end

function kinds.of(target)
    local f = function(name) return (target.features or ""):find("+" .. name .. ",", 1, true) ~= nil end
    if target.kind == "cuda" then
        local sm = generation(target.arch)
        if not sm and target.arch and target.warn then
            target.warn(("the architecture %s is not known: no tensor cores, no copies in the background"):format(target.arch))
        end
        return sm and sm >= 75 and "cuda-tensorcore" or "cuda"
    end
    if target.kind == "hexagon" then return "hexagon" end
    if target.kind and target.kind ~= "llvm" then
        core.fail("not-supported", ("no rules for a target of kind %s: llvm, cuda, hexagon have some"):format(target.kind))
    end
    if target.vnni or target.avxvnni then return "vnni" end
    if target.level == "avx512" or f("avx512bw") then return "avx512" end
    if f("v") and target.rvv then return "rvv" end
    if f("dotprod") then return "dotprod" end
    return f("neon") and "asimd" or "llvm"
end

-- What rules read of a target, with what is left out filled in.
function kinds.complete(target)
    local t = {}
    for k, v in pairs(target) do t[k] = v end
    t.kind = t.kind or "llvm"
    if t.kind:find("^cuda") then
        local row = core.target_limits(t.kind, t.arch)
        t.name = row.name == "cuda" and t.arch and "cuda-" .. t.arch or row.name
        t.limits = { kind = row.name } -- as moon.verify takes it
        for k, v in pairs(row) do
            if k:find("^max_") or k == "thread_warp_size" then t.limits[k] = target[k] or v end
        end
        t.kind, t.arch = "cuda", t.arch or row.arch or row.name == "cuda-sim" and "sm_90" or nil
        t.max_threads = t.max_threads or t.limits.max_threads_per_block
        t.warp = t.warp or t.limits.thread_warp_size
        t.limits.max_threads_per_block, t.limits.thread_warp_size = t.max_threads, t.warp
        local sm = generation(t.arch)
        t.async = sm ~= nil and sm >= 80
        t.keys = t.keys or { "cuda", "gpu" }
    else
        t.cores = t.cores or t["num-cores"] or core.machine_cores and core.machine_cores() or 1
        t.keys = t.keys or (t.kind == "hexagon" and { "hexagon" } or { "cpu" })
    end
    t.warn = t.warn or function() end
    return t
end

local cpu_inline = { into_producer = false, into_consumer = true, constants = true, no_branch = true, injective = true,
    ordered = true, disallowed = { "exp" } }
local gpu_inline = { into_producer = true, into_consumer = true, constants = true }
local may = { req = "may", levels = { 1, 2 }, scope = "global" }
local loads = { 1, 2, 3, 4, 8, 16 }

-- with: names of intrinsics, tiled for before the plain tiling.
local function cpu(jobs, inner, steps, with)
    local tiles = { structure = "SSRSRS", inner = inner, reuse_write = may }
    local list = {
        { "apply-custom-rule" }, { "inline-constant-scalars" }, { "auto-inline", cpu_inline },
        { "add-rfactor", { jobs = jobs, inner = inner } },
    }
    for _, name in ipairs(with or {}) do
        local t = { intrin = name }
        for k, v in pairs(tiles) do t[k] = v end
        list[#list + 1] = { "mlt-with-intrin", t }
    end
    list[#list + 1] = { "multi-level-tiling", tiles }
    list[#list + 1] = { "parallelize-vectorize-unroll", { jobs = jobs, vector = inner, steps = steps, explicit = true } }
    list[#list + 1] = { "random-compute-location" }
    return list
end

local function extents(low, high)
    local list = {}
    while low <= high do list[#list + 1], low = low, low * 2 end
    return list
end

local function cuda()
    return {
        { "apply-custom-rule" },
        { "multi-level-tiling", { structure = "SSSRRSRS", binds = { "blockIdx.x", "vthread.x", "threadIdx.x" },
            inner = 64, vector_loads = loads, reuse_read = { req = "must", levels = { 4 }, scope = "shared" },
            reuse_write = { req = "must", levels = { 3 }, scope = "local" } } },
        { "inline-constant-scalars" }, { "auto-inline", gpu_inline },
        { "cross-thread-reduction", { extents = extents(4, 512) } },
        { "parallelize-vectorize-unroll", { jobs = -1, vector = -1, steps = { 0, 16, 32, 64, 128, 256, 512, 1024 }, explicit = true } },
        { "auto-bind", { blocks = 256, extents = extents(32, 1024) } },
    }
end

local steps, small = { 0, 16, 64, 512 }, { 0, 8, 32, 256 }

kinds.rules = {
    llvm = function() return cpu(16, 64, steps) end,
    vnni = function() return cpu(16, 64, steps, { "dot_16x4_vnni" }) end,
    avx512 = function() return cpu(16, 64, steps, { "dot_16x4_avx512" }) end,
    asimd = function() return cpu(8, 32, small, { "dot_4x4_i8i8s32_neon" }) end,
    dotprod = function()
        return cpu(8, 32, small, { "dot_4x4_i8i8s32_sdot", "dot_4x4_u8u8u32_udot", "dot_4x4_u8u8i32_hdot" })
    end,
    rvv = function(registry) return cpu(16, 64, steps, registry.intrins("^rvv_")) end,
    cuda = cuda,
    ["cuda-tensorcore"] = function()
        local list = cuda()
        local binds = { "blockIdx.y", "blockIdx.x", "threadIdx.y" }
        local function tensor(group, write, pipeline)
            return { "mlt-tensor-core", { group = group, structure = "SSSRRSRS", binds = binds, inner = 4,
                vector_loads = loads, reuse_read = { req = "must", levels = { 4 }, scope = "shared.dyn" },
                reuse_write = write, pipeline = pipeline } }
        end
        table.insert(list, 2, tensor("wmma", { req = "must", levels = { 2 }, scope = "shared.dyn" }, false))
        table.insert(list, 3, tensor("mma", { req = "no" }, true))
        table.insert(list, 4, tensor("lanes", { req = "must", levels = { 2 }, scope = "shared.dyn" }, false))
        return list
    end,
    hexagon = function()
        return {
            { "apply-custom-rule" }, { "inline-constant-scalars" }, { "auto-inline", cpu_inline },
            { "mlt-wide-vector", { structure = "SRSRS", bits = 1024, inner = 128, reuse_write = may } },
            { "parallelize-vectorize-unroll", { jobs = 16, vector = 128, steps = steps, explicit = true } },
        }
    end,
}

local cpu_posts = { "disallow-dynamic-loop", "rewrite-parallel-vectorize-unroll", "rewrite-reduction-block", "rewrite-layout" }
local gpu_posts = { "disallow-dynamic-loop", "rewrite-cooperative-fetch", "rewrite-unbound-block",
    "rewrite-parallel-vectorize-unroll", "rewrite-reduction-block", "verify-gpu-code" }

function kinds.postprocs(kind)
    local list = {}
    local gpu = kind:find("^cuda")
    for k, name in ipairs(gpu and gpu_posts or cpu_posts) do list[k] = { name, {} } end
    local tensorize = { "rewrite-tensorize", { vectorize_init = not gpu and kind ~= "rvv" } }
    if kind == "cuda-tensorcore" then
        list[#list + 1] = tensorize
    elseif kind == "hexagon" then
        list[#list + 1] = { "verify-vtcm-limit", {} }
        list[#list + 1] = { "disallow-async-strided-copy", {} }
    elseif not gpu and kind ~= "llvm" then
        table.insert(list, #list, tensorize)
    end
    return list
end

-- {name, mass, options}
function kinds.mutators(kind)
    if kind:find("^cuda") then
        return { { "tile-size", 0.9 }, { "unroll", 0.08 }, { "thread-binding", 0.02 } }
    end
    return { { "tile-size", 0.9 }, { "compute-location", 0.05 }, { "unroll", 0.03 }, { "parallel", 0.02, { jobs = 16 } } }
end

return kinds

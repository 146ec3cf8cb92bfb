-- net - the layers of a network, each with how often it occurs. Source: workloads 7.
--
-- moon.net("resnet50" [, {dtype =, acc =, batch =, seq =}]): a list of {workload = module, weight = count, id = name,
-- role = what it is}. The products are rows of the workloads; what is between them follows. Additions of several sizes
-- are one row, the largest of them, weighted so that it has the elements of all. Where the products are of integers
-- what needs floats is float32.
local moon, core = ...
local workload = moon.workload
local base = core.workload_base

-- A row of a list: the product that has a name, or what a builder of workload makes.
local function named(family, roles)
    local out = {}
    for _, f in ipairs(base.families) do
        for k, row in ipairs(f.name == family and f.rows or {}) do
            out[k] = { id = f.form:format(f.name, k), weight = row.times, role = roles and roles[k] or row.builder }
        end
    end
    return out
end

local function add(list, weight, role, builder, sizes)
    list[#list + 1] = { builder = builder, sizes = sizes, weight = weight, role = role }
end

-- Additions of so many matrices {count, m, n}: as one row of the first, which is the largest.
local function additions(list, relu, sizes)
    local elements = 0
    for _, e in ipairs(sizes) do elements = elements + e[1] * e[2] * e[3] end
    local m, n = sizes[1][2], sizes[1][3]
    local weight = elements / (m * n)
    add(list, math.tointeger(weight) or weight, relu and "residual add, relu" or "residual add", "add",
        { m = m, n = n, relu = relu })
end

-- What each layer of a transformer has beside its products: rows of scores, LNM, GELU, biases, additions.
local function transformer(list, layers, heads, s, width, inner, mask)
    add(list, layers, "softmax of scores", "softmax", { m = heads * s, n = s, scale = 0.125, mask = mask })
    add(list, 2 * layers + 1, "layer norm", "layer_norm", { m = s, n = width })
    add(list, layers, "gelu", "gelu", { m = s, n = inner })
    add(list, 5 * layers, "bias", "bias_add", { m = s, n = width })
    add(list, layers, "bias of FFN up", "bias_add", { m = s, n = inner })
    add(list, 2 * layers, "residual add", "add", { m = s, n = width })
end

local of_floats = { mean_pool = true, softmax = true, layer_norm = true, gelu = true } -- builders
local products = { "q, k, v, output", "Q K", "P V", "FFN up", "FFN down" }

-- name -> function(options) that gives the rows
local nets = {
    resnet50 = function(o)
        local list = named("R")
        add(list, 1, "dense", "batch_matmul", { n = o.batch, m = 1000, k = 2048 })
        add(list, 1, "max pool", "max_pool", { n = o.batch, h = 112, w = 112, c = 64, k = 3, s = 2, p = 1 })
        add(list, 1, "mean pool", "mean_pool", { n = o.batch, h = 7, w = 7, c = 2048 })
        local b = o.batch
        additions(list, true, { { 3, b * 56 * 56, 256 }, { 4, b * 28 * 28, 512 }, { 6, b * 14 * 14, 1024 }, { 3, b * 7 * 7, 2048 } })
        return list
    end,
    mobilenet_v2 = function(o)
        local list = named("M")
        add(list, 1, "dense", "batch_matmul", { n = o.batch, m = 1000, k = 1280 })
        add(list, 1, "mean pool", "mean_pool", { n = o.batch, h = 7, w = 7, c = 1280 })
        local b = o.batch
        additions(list, nil, { { 1, b * 56 * 56, 24 }, { 2, b * 28 * 28, 32 }, { 3, b * 14 * 14, 64 }, { 2, b * 14 * 14, 96 },
            { 2, b * 7 * 7, 160 } })
        return list
    end,
    bert_large = function(o)
        local list = named("B", { products[1], products[2], products[3], products[4], products[5], "pooler" })
        for _, row in ipairs(list) do row.id = row.id .. (o.seq == 384 and ".s384" or "") end
        transformer(list, 24, 16, o.seq, 1024, 4096, true)
        add(list, 1, "embedding", "embedding", { m = o.seq, n = 1024, vocabulary = 30522 })
        return list
    end,
    vit_b16 = function()
        local list = named("V", { "patch embedding", products[1], products[2], products[3], products[4], products[5], "head" })
        transformer(list, 12, 12, 197, 768, 3072)
        return list
    end,
}

local function check(name, opts)
    base.option_names(opts, { dtype = true, acc = true, batch = true, seq = true })
    local o = base.with({ batch = 1, seq = 128 }, opts)
    local convolutional = name == "resnet50" or name == "mobilenet_v2"
    if not convolutional and o.batch ~= 1 then base.bad("net: %s has no batch", name) end
    if name ~= "bert_large" and o.seq ~= 128 then base.bad("net: %s has no seq", name) end
    if o.seq ~= 128 and o.seq ~= 384 then base.bad("net: seq: 128 or 384 is needed") end
    if math.type(o.batch) ~= "integer" or o.batch < 1 then base.bad("net: batch: an integer of at least 1 is needed") end
    return o, convolutional
end

local aligned = { -- how the list is shown
    __tostring = function(list)
        local lines = {}
        for k, row in ipairs(list) do
            lines[k] = ("%-30s %6s  %10.2f MFLOP  %s"):format(row.id, row.weight, row.workload.flop / 1e6, row.role)
        end
        return table.concat(lines, "\n")
    end,
}

return function(name, opts)
    core.want(name, "string?", "net: the name")
    local names = {}
    for key in pairs(nets) do names[#names + 1] = key end
    table.sort(names)
    if not name then return names end
    if not nets[name] then
        core.fail("unknown-name", ("no network is named %s; there are %s"):format(name, table.concat(names, ", ")))
    end
    local o, convolutional = check(name, opts)
    local list = nets[name](o)
    for k, row in ipairs(list) do
        local types = { dtype = o.dtype, acc = o.acc }
        if row.builder then
            local _, acc = base.dtypes(types)
            if of_floats[row.builder] and not acc:find("float", 1, true) then types = {} end
            row.id = name .. "." .. row.role:gsub("[^%w]+", "_")
            row.workload = workload[row.builder](base.with(base.with(row.sizes, types), { id = row.id }))
        else
            types.batch = convolutional and o.batch ~= 1 and o.batch or nil
            row.workload = workload(row.id, types)
        end
        list[k] = { workload = row.workload, weight = row.weight, id = row.id, role = row.role }
    end
    return setmetatable(list, aligned)
end

-- te - tensor expressions: what a tensor holds, written as a Lua function of its indices.
--
-- te.func turns a graph of computed tensors into one TensorIR function: a block for each
-- tensor, named after it, under loops named after the function's parameters, its iterators
-- `v` and that name; spatial loops before reduction loops; an init for reductions.
local moon, core = ...
local ir = core.ir
local te = {}

local function bad(fmt, ...) core.fail("bad-argument", fmt:format(...)) end

-- ---- expressions

te.var, te.size_var, te.const, te.cast = ir.var, ir.size, ir.const, ir.cast
te.select, te.if_then_else = ir.select, ir.if_then_else
te.truncdiv, te.truncmod, te.floordiv, te.floormod, te.div = ir.truncdiv, ir.truncmod, ir.floordiv, ir.floormod, ir.div
te.lt, te.le, te.gt, te.ge, te.eq, te.ne, te.not_ = ir.lt, ir.le, ir.gt, ir.ge, ir.eq, ir.ne, ir.not_
te.and_, te.or_ = ir.and_, ir.or_

local function fold(fn, name)
    return function(...)
        local args = { ... }
        if #args == 1 and type(args[1]) == "table" and getmetatable(args[1]) == nil then args = args[1] end
        if #args == 0 then bad("%s: at least one condition is needed", name) end
        local e = args[1]
        for k = 2, #args do e = fn(e, args[k]) end
        return e
    end
end
te.all, te.any = fold(ir.and_, "all"), fold(ir.or_, "any")

for _, op in ipairs { "exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sigmoid", "tanh",
    "sinh", "cosh", "tan", "sin", "cos", "asin", "acos", "atan", "asinh", "acosh", "atanh", "erf", "fabs", "floor",
    "ceil", "round", "trunc", "nearbyint", "popcount", "bitwise_not", "bitwise_and", "bitwise_or", "bitwise_xor",
    "shift_left", "shift_right", "pow", "fmod", "atan2", "hypot", "copysign" } do
    te[op] = function(...) return ir.call(op, nil, ...) end
end
te.abs = te.fabs
for _, op in ipairs { "isnan", "isinf", "isfinite" } do
    te[op] = function(x) return ir.call(op, "bool", x) end
end

-- te.load("B", i, j [, dtype]): in padding values of transform_layout, an element of the old
-- layout; the dtype, where it is not all of the value, is the buffer's
function te.load(name, ...)
    local args, dtype = { ... }, "float32"
    if type(name) ~= "string" then core.fail("bad-argument", "te.load: the name of a buffer comes first") end
    if type(args[#args]) == "string" then dtype = table.remove(args) end
    for k, i in ipairs(args) do
        if type(i) == "number" and math.tointeger(i) then args[k] = ir.const(math.tointeger(i), "int32") end
    end
    return ir.call("named_load", dtype, ir.const(name), table.unpack(args))
end

-- ---- reduction axes and reductions

local axes = setmetatable({}, { __mode = "k" }) -- expression object -> {name, extent}

-- Names behind the rest, as Python gives them: {name = "A"}; else nil.
local function named(v)
    return type(v) == "table" and getmetatable(v) == nil and rawlen(v) == 0 and next(v) ~= nil and v or nil
end

-- extent, or {0, extent}
function te.reduce_axis(extent, name)
    if type(extent) == "table" and rawlen(extent) == 2 then
        if extent[1] ~= 0 then bad("reduce_axis: it begins at 0: te.reduce_axis(extent, name)") end
        extent = extent[2]
    end
    local opts = named(name)
    if opts then name = opts.name end
    name = name or "k"
    local v = ir.var(name)
    axes[v] = { name = name, extent = extent, var = v }
    return v
end

local Reduction = { __name = "te reduction" }

local function reduction(kind)
    return function(source, ...)
        local list = { ... }
        if #list == 1 and type(list[1]) == "table" then list = list[1] end
        if named(list) then list = type(list.axis) == "table" and list.axis or { list.axis } end
        for k, v in ipairs(list) do
            if not axes[v] then bad("%s: argument %d is no te.reduce_axis", kind, k + 1) end
        end
        return setmetatable({ kind = kind, source = source, axes = list }, Reduction)
    end
end

te.sum = reduction("sum")
-- te.max(e, axis...) reduces; te.max(a, b) of two values is their maximum
local reduce_max, reduce_min = reduction("max"), reduction("min")
local function is_axis(v) return axes[v] ~= nil or (type(v) == "table" and (axes[v[1]] or v.axis) ~= nil) end
function te.max(a, b, ...)
    if b ~= nil and is_axis(b) then return reduce_max(a, b, ...) end
    return ir.max(a, b)
end
function te.min(a, b, ...)
    if b ~= nil and is_axis(b) then return reduce_min(a, b, ...) end
    return ir.min(a, b)
end

local combine = {
    sum = function(a, b) return a + b end,
    max = function(a, b) return ir.max(a, b) end,
    min = function(a, b) return ir.min(a, b) end,
}
local identity = {
    sum = function(dtype) return ir.const(0, dtype) end,
    max = function(dtype) return ir.limit(dtype, false) end,
    min = function(dtype) return ir.limit(dtype, true) end,
}

-- ---- tensors

local Tensor = { __name = "te tensor" }

-- "A(i, j)": an element of the tensor, as it is written
local function element(t)
    local letters, index = { "i", "j", "k", "l", "m", "n" }, {}
    for d = 1, rawlen(t.shape) do index[d] = letters[d] or "i" .. d end
    return ("%s(%s)"):format(t.name, table.concat(index, ", "))
end

function Tensor.__index(t, key)
    if type(key) == "string" then return nil end
    bad("a tensor is indexed as %s, not %s[…]", element(t), t.name)
end

function Tensor.__newindex(t, key, value)
    if type(key) == "string" then return rawset(t, key, value) end
    bad("%s[…] = …: a tensor is not written to; te.compute makes one of its elements", t.name)
end

-- A whole tensor has no arithmetic.
local function is_tensor(t) return type(t) == "table" and getmetatable(t) == Tensor end
for _, op in ipairs { "add", "sub", "mul", "div", "mod", "pow", "unm", "idiv", "band", "bor", "bxor", "shl", "shr",
    "bnot", "lt", "le" } do
    Tensor["__" .. op] = function(a, b)
        local t = is_tensor(a) and a or b
        bad("%s is a whole tensor; te.compute takes its elements, %s", t.name, element(t))
    end
end

local reading -- tensors read by the function at work

function Tensor.__call(t, ...)
    if reading then
        if not reading[t] then
            reading[t] = true
            reading[#reading + 1] = t
        end
    end
    return ir.load(t.buffer, ...)
end

function Tensor.__tostring(t) return tostring(t.buffer) end

local function new_tensor(shape, dtype, name)
    if type(shape) ~= "table" then bad("shape: a list is needed") end
    local t = { name = name, shape = shape, dtype = dtype }
    t.buffer = ir.buffer(name, shape, dtype)
    return setmetatable(t, Tensor)
end

function te.placeholder(shape, dtype, name)
    local opts = named(name) or named(dtype)
    if opts then dtype, name = opts ~= dtype and dtype or opts.dtype, opts.name end
    return new_tensor(shape, dtype or "float32", name or "placeholder")
end

-- Evaluates `body` with the given index objects, noting which tensors it reads.
local function run(body, indices)
    local outer = reading
    reading = {}
    local ok, e = pcall(body, table.unpack(indices))
    local reads = reading
    reading = outer
    if not ok then error(e, 0) end
    return e, reads
end

-- te.compute(shape, function(i, j) ... end [, name [, loops]]): a computed tensor; loops: their names, where they are
-- not the function's parameters
function te.compute(shape, body, name, loops)
    core.want(shape, "table", "compute: the shape")
    if type(body) ~= "function" then bad("compute: a function is needed, got a %s", type(body)) end
    local opts = named(name)
    if opts then name = opts.name end
    core.want(opts and opts.annotations, "table?", "compute: annotations")
    name = name or "compute"
    core.want(loops, "table?", "compute: the names of the loops")
    local names, rank = loops or core.params(body), rawlen(shape)
    if names and #names ~= rank then
        bad("compute %s: %s %d %s, the shape %d dimensions", name, loops and "there are" or "the function has", #names,
            loops and "names of loops" or "parameters", rank)
    end
    local spatial = {}
    for k = 1, rank do
        local axis = names and names[k] or ("i" .. (k - 1))
        core.want(axis, "string", "compute: the name of a loop")
        spatial[k] = { name = axis, extent = shape[k], iter = ir.var("v" .. axis) }
    end
    local iters = {}
    for k, axis in ipairs(spatial) do iters[k] = axis.iter end
    local e, reads = run(body, iters)
    local reduce
    if type(e) == "table" and getmetatable(e) == Reduction then reduce, e = e, e.source end
    if type(e) == "number" then e = ir.const(e, math.type(e) == "integer" and "int32" or "float32") end
    if is_tensor(e) then bad("compute %s: %s is a whole tensor; its elements are %s", name, e.name, element(e)) end
    if type(e) ~= "userdata" then bad("compute %s: the function gives no expression", name) end
    local t = new_tensor(shape, e.dtype, name)
    t.body, t.spatial, t.reduce, t.reads = e, spatial, reduce, reads
    t.annotations = opts and opts.annotations
    return t
end

-- te.extern({{shape, dtype, name}, ...}, function(Y, ...) ... end): tensors that one statement of moon.ir computes, for
-- what te.compute has no form for: a scan, a reduction to several values. The function gets the tensors (Y.buffer is
-- what ir.store takes) and is called for each te.func.
function te.extern(outs, body)
    core.want(outs, "table", "extern: the list of results")
    if type(body) ~= "function" then bad("extern: a function is needed, got a %s", type(body)) end
    if #outs == 0 then bad("extern: at least one result is needed") end
    local stage = { body = body }
    for k, out in ipairs(outs) do
        core.want(out, "table", "extern: result " .. k)
        stage[k] = new_tensor(out[1], out[2] or "float32", out[3] or "extern")
        stage[k].stage = stage
    end
    local st, reads = run(body, stage)
    if type(st) ~= "userdata" then bad("extern %s: the function gives no statement", stage[1].name) end
    stage.reads = {}
    for _, t in ipairs(reads) do
        if t.stage ~= stage then table.insert(stage.reads, t) end
    end
    return table.unpack(stage)
end

-- ---- functions

local function axis_kind(kind, axis, loop, iter)
    return { var = iter, extent = axis.extent, kind = kind, value = loop }
end

-- The loop nest of one computed tensor.
local function nest(t)
    local loops, iters, index = {}, {}, {}
    for k, axis in ipairs(t.spatial) do
        local loop = ir.var(axis.name)
        loops[#loops + 1] = { loop, axis.extent }
        iters[#iters + 1] = axis_kind("spatial", axis, loop, axis.iter)
        index[k] = axis.iter
    end
    local value, init = t.body, nil
    if t.reduce then
        local renamed = {} -- an axis may serve several tensors: each block has its own iterator
        for _, r in ipairs(t.reduce.axes) do
            local axis = axes[r]
            local loop, iter = ir.var(axis.name), ir.var("v" .. axis.name)
            loops[#loops + 1] = { loop, axis.extent }
            iters[#iters + 1] = axis_kind("reduce", axis, loop, iter)
            renamed[#renamed + 1] = r
            renamed[#renamed + 1] = iter
        end
        value = ir.subst(value, table.unpack(renamed))
        init = ir.store(t.buffer, identity[t.reduce.kind](t.dtype), index)
        value = combine[t.reduce.kind](ir.load(t.buffer, table.unpack(index)), value)
    end
    local st = ir.block { name = t.name, iters = iters, init = init, body = ir.store(t.buffer, value, index),
        annotations = t.annotations }
    for k = #loops, 1, -1 do st = ir.loop { var = loops[k][1], extent = loops[k][2], body = st } end
    return st
end

-- te.func({A, B, C} [, name]): parameters in this order; tensors computed on the way are
-- allocated by the root block
function te.func(params, name)
    if type(params) ~= "table" then bad("func: a list of tensors is needed") end
    local given, seen, order, buffers, allocs = {}, {}, {}, {}, {}
    for k, t in ipairs(params) do
        if is_tensor(t) then
            given[t] = true
            buffers[k] = t.buffer
        elseif type(t) == "userdata" then
            buffers[k] = t -- a scalar
        else
            bad("func: parameter %d is no tensor", k)
        end
    end
    local function visit(t, depth)
        if seen[t] then return end
        if depth > 150 then bad("func: tensors are nested too deep") end
        local parts = t.stage or { t }
        for _, part in ipairs(parts) do seen[part] = true end
        for _, r in ipairs((t.stage or t).reads or {}) do visit(r, depth + 1) end
        if t.stage or t.body then
            order[#order + 1] = t.stage or t
            for _, part in ipairs(parts) do
                if not given[part] then allocs[#allocs + 1] = part.buffer end
            end
        elseif not given[t] then
            bad("func: placeholder %s is read, but is no parameter", t.name)
        end
    end
    for _, t in ipairs(params) do
        if is_tensor(t) then visit(t, 0) end
    end
    if #order == 0 then bad("func: nothing is computed") end
    local nests = {}
    for k, t in ipairs(order) do nests[k] = is_tensor(t) and nest(t) or run(t.body, t) end
    local root = ir.block { name = "root", allocs = allocs, body = ir.seq(nests) }
    return ir.func { name = name or "main", params = buffers, body = root }
end

return te

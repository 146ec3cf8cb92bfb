-- workload/base - what the families of workloads share: options and sizes, finished modules, rows of the lists.
--
-- A file of this folder defines builders (workload.NAME) and adds its families (base.family).
local moon, core, workload = ...
local te = moon.te

local base = { workload = workload, families = {} }

function base.bad(fmt, ...) core.fail("bad-argument", fmt:format(...)) end
local bad = base.bad

-- ---- options

local accumulators = {
    float32 = "float32", float64 = "float64", float16 = "float32", bfloat16 = "float32",
    int8 = "int32", uint8 = "int32", int16 = "int32", int32 = "int32", int64 = "int64",
}
local short = { f16 = "float16", bf16 = "bfloat16", f32 = "float32", f64 = "float64", i8 = "int8", u8 = "uint8" }
local acc_words = { acc16 = "float16", acc32 = "float32", acc64 = "float64" }
local bytes_of = { float64 = 8, float32 = 4, float16 = 2, bfloat16 = 2, int8 = 1, uint8 = 1, int16 = 2, int32 = 4, int64 = 8 }

-- The dtypes of storage and accumulation: opts.dtype may be short (f16) and say both (f16.acc16).
function base.dtypes(opts)
    local dtype = opts and opts.dtype or "float32"
    local acc = opts and opts.acc
    if type(dtype) ~= "string" then bad("dtype: a string is needed") end
    local whole, suffix = dtype:match("^(.-)%.(acc%d+)$")
    if whole then
        dtype = whole
        acc = acc or acc_words[suffix]
    end
    dtype = short[dtype] or dtype
    if not accumulators[dtype] then bad("dtype: %s has no workloads", dtype) end
    if acc ~= nil and (type(acc) ~= "string" or not bytes_of[short[acc] or acc]) then
        bad("acc: %s has no workloads", tostring(acc))
    end
    return dtype, acc and (short[acc] or acc) or accumulators[dtype]
end

-- The same for what has no meaning in integers.
function base.float_dtypes(opts, what)
    local dtype, acc = base.dtypes(opts)
    if not acc:find("float", 1, true) then bad("%s: a float dtype is needed", what) end
    return dtype, acc
end

function base.option_names(opts, names)
    core.want(opts, "table?", "options")
    for k in pairs(opts or {}) do
        if not names[k] then bad("no option is named %s", tostring(k)) end
    end
end

local general = { dtype = true, acc = true, id = true } -- of every operator, beside its sizes
local MOST = (1 << 31) - 1 -- of a size: loops count in 32 bits

-- Refuses sizes that are not given by name.
function base.by_name(opts)
    if type(opts) ~= "table" then bad("sizes are given by name, as in {m = 64, n = 128}: got %s", type(opts)) end
end

-- Positive integers by name, with defaults (true: none); other names are refused. A default that is a boolean
-- in `flags` may be given as one.
function base.sizes(opts, defaults, flags)
    base.by_name(opts)
    local out = {}
    for k, v in pairs(opts) do
        if defaults[k] == nil and not general[k] and not (flags and flags[k]) then
            local names = {}
            for name in pairs(base.with(defaults, flags)) do names[#names + 1] = name end
            table.sort(names)
            bad("no size is named %s; there are %s", tostring(k), table.concat(names, ", "))
        end
        if flags and flags[k] and type(v) ~= "boolean" then bad("%s: true or false is needed", k) end
        out[k] = v
    end
    for k, default in pairs(defaults) do
        if out[k] == nil then
            if default == true then bad("size %s is missing", k) end
            out[k] = default
        end
        local least = k == "p" and 0 or 1
        local n = type(out[k]) == "number" and math.tointeger(out[k]) -- 1e3 is one
        if not n or n < least or n > MOST then bad("size %s: an integer from %d to %d is needed", k, least, MOST) end
        out[k] = n
    end
    return out
end

-- The product of positive integers, refused from 2^60 on: sums of a few of them fit 64 bits.
function base.times(...)
    local n = 1
    for _, e in ipairs { ... } do
        if n > (1 << 60) // e then bad("the sizes are too large: their product is beyond 2^60") end
        n = n * e
    end
    return n
end

function base.count(shape) return base.times(table.unpack(shape)) end

function base.with(defaults, more)
    local out = {}
    for k, v in pairs(defaults) do out[k] = v end
    for k, v in pairs(more or {}) do out[k] = v end
    return out
end

-- ---- programs

-- Operands in the accumulator's dtype, cast before they are multiplied.
function base.product(a, b, acc) return te.cast(a, acc) * te.cast(b, acc) end

-- The size of what a window of k leaves of `size`: s = {k, s, p [, d]}.
function base.out_size(size, s)
    local out = (size + 2 * s.p - (s.d or 1) * (s.k - 1) - 1) // s.s + 1
    if out < 1 then bad("the kernel is larger than the padded input") end
    return out
end

-- The pad stage: X with `value` (0) around `dims` dimensions, those from `first` (2) on. loops: their names;
-- annotations: of its block.
function base.padded(X, p, loops, dims, value, first, annotations)
    first = first or 2
    local shape = {}
    for k, e in ipairs(X.shape) do shape[k] = (k >= first and k < first + dims) and e + 2 * p or e end
    local function body(...)
        local at, inside = { ... }, {}
        for k = first, first + dims - 1 do
            if p > 0 then
                inside[#inside + 1] = te.ge(at[k], p)
                inside[#inside + 1] = te.lt(at[k], X.shape[k] + p)
                at[k] = at[k] - p
            end
        end
        local e = X(table.unpack(at))
        if p == 0 then return e end
        return te.if_then_else(te.all(table.unpack(inside)), e, value or te.const(0, X.dtype))
    end
    return te.compute(shape, body, { name = "Xp", annotations = p > 0 and annotations or nil }, loops)
end

-- Loops around a block: axes {letter, extent}, body(loop variables) gives the block.
function base.nest(axes, body)
    local vars = {}
    for k, axis in ipairs(axes) do vars[k] = moon.ir.var(axis[1]) end
    local st = body(table.unpack(vars))
    for k = #axes, 1, -1 do st = moon.ir.loop { var = vars[k], extent = axes[k][2], body = st } end
    return st
end

-- An index of a contraction: its offset and the coefficients of the loops.
-- ix(4, {h = 2, r = 1}) with loops {"n", "h", "r"}; ix "h" is ix(0, {h = 1})
function base.indexer(names)
    local at = {}
    for k, name in ipairs(names) do at[name] = k end
    return function(offset, coefs)
        if type(offset) == "string" then offset, coefs = 0, { [offset] = 1 } end
        local out = { offset }
        for k = 1, #names do out[k + 1] = 0 end
        for name, c in pairs(coefs) do out[at[name] + 1] = c end
        return out
    end
end

-- ---- a finished module

-- spec: id, inputs and outputs (te tensors), flop, ranges[name] = {lo, hi}, reference(by name)
function base.finish(spec)
    local params = {}
    for _, t in ipairs(spec.inputs) do params[#params + 1] = t end
    for _, t in ipairs(spec.outputs) do params[#params + 1] = t end
    local bytes, info_in, info_out = 0, {}, {}
    for k, t in ipairs(params) do
        bytes = bytes + base.times(base.count(t.shape), bytes_of[t.dtype])
        local list = k <= #spec.inputs and info_in or info_out
        list[#list + 1] = { name = t.name, shape = t.shape, dtype = t.dtype }
    end
    local m = core.module(te.func(params, "main"))
    local id, ranges, reference = spec.id, spec.ranges or {}, spec.reference

    -- inputs(seed [, filling]): tensors in the order of the arguments, and by name
    local function inputs(a, b, c)
        if type(a) == "userdata" then a, b = b, c end
        local seed, how = a or 1, b or "random"
        local out = {}
        for k, t in ipairs(info_in) do
            local r = ranges[t.name] or { 0, 0 }
            local x = core.tensor(t.shape, t.dtype):generate(how, id, k - 1, seed, r[1], r[2])
            out[k], out[t.name] = x, x
        end
        return out
    end
    -- outputs(): tensors for the results, filled with what must not be read
    local function outputs()
        local out = {}
        for k, t in ipairs(info_out) do
            local y = core.tensor(t.shape, t.dtype, "poison")
            out[k], out[t.name] = y, y
        end
        return out
    end
    core.attach(m, core.guard("module:", {
        id = id, flop = spec.flop, bytes = bytes, inputs = inputs, outputs = outputs,
        -- reference(inputs): the results, in the order of the outputs and by name
        reference = function(a, b)
            local given = type(a) == "userdata" and b or a
            if type(given) ~= "table" then bad("reference: the list of inputs is needed") end
            local by_name, out = {}, {}
            for k, t in ipairs(info_in) do by_name[t.name] = given[k] or given[t.name] end
            for k, t in ipairs(info_out) do
                local y = core.tensor(t.shape, t.dtype)
                out[k], out[t.name], by_name[t.name] = y, y, y
            end
            reference(by_name)
            return out
        end,
        -- arguments(seed): inputs, then outputs
        arguments = function(...)
            local all = inputs(...)
            for _, y in ipairs(outputs()) do all[#all + 1] = y end
            return all
        end,
    }))
    return m
end

-- ---- the lists

local order = setmetatable({}, { __mode = "k" }) -- row -> names of its sizes, as they are told

-- Values of each row by name, with those that all have.
function base.rows(names, list, fixed)
    local out = {}
    for k, values in ipairs(list) do
        out[k] = base.with({}, fixed)
        for i, name in ipairs(names) do out[k][name] = values[i] end
        order[out[k]] = names
    end
    return out
end

-- What a row is, in a line: "convolution: h 14, w 14, ci 256".
function base.describe(family, row)
    local sizes, told, rest = {}, { builder = true, times = true }, {}
    for _, name in ipairs(order[row] or {}) do
        if row[name] ~= nil then sizes[#sizes + 1] = name .. " " .. row[name] end
        told[name] = true
    end
    for name, value in pairs(row) do
        if not told[name] then rest[#rest + 1] = name .. " " .. value end
    end
    table.sort(rest)
    table.move(rest, 1, #rest, #sizes + 1, sizes)
    return family.about .. ": " .. table.concat(sizes, ", ")
end

-- Adds a family: name, about (it, in a few words), builder (a name of workload), rows (arguments of each), extended (more of them, NAME.x0),
-- batch (the size that is the batch, or batch_times: has it as a factor), set (of workloads 10), form (of its names: "%s-%d" without one), first (the
-- number of the first row, 0), keys (a number for each row), flags (word after a dot -> options).
function base.family(f)
    f.form, f.first, f.extended, f.flags = f.form or "%s-%d", f.first or 0, f.extended or {}, f.flags or {}
    base.families[#base.families + 1] = f
end

-- The options that a name says after its row, such as .f16.acc16.
function base.variant(family, words, opts, id)
    for word in words:gmatch("[^.]+") do
        local dtype = short[word] or (accumulators[word] and word)
        if family.flags[word] then
            for k, v in pairs(family.flags[word]) do opts[k] = v end
        elseif dtype then
            opts.dtype = dtype
        elseif acc_words[word] then
            opts.acc = acc_words[word]
        else
            bad("workload: %s: %s is no variant of %s", id, word, family.name)
        end
    end
end

return base

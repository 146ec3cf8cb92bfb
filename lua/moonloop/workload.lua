-- workload - the programs that are measured, with their inputs, reference results and counts.
--
-- moon.workload("C2D-0" [, {dtype=, acc=, batch=}]) or by shape, moon.workload.conv2d{...}.
-- The reference is computed by direct loops in double precision, never from the program.
local moon, core = ...
local te = moon.te

local workload = {}

local function bad(fmt, ...) core.fail("bad-argument", fmt:format(...)) end

-- ---- options

local accumulators = {
    float32 = "float32", float64 = "float64", float16 = "float32", bfloat16 = "float32",
    int8 = "int32", uint8 = "int32", int16 = "int32", int32 = "int32", int64 = "int64",
}
local short = { f16 = "float16", bf16 = "bfloat16", f32 = "float32", f64 = "float64", i8 = "int8" }

-- The dtypes of storage and accumulation.
local function dtypes(opts)
    local dtype = opts and opts.dtype or "float32"
    local acc = opts and opts.acc
    if type(dtype) ~= "string" then bad("dtype: a string is needed") end
    local base, suffix = dtype:match("^(.-)%.(acc%d+)$")
    if base then
        dtype = base
        acc = acc or (suffix == "acc16" and "float16") or (suffix == "acc32" and "float32")
    end
    dtype = short[dtype] or dtype
    acc = acc and (short[acc] or acc) or accumulators[dtype]
    if not acc then bad("dtype: %s has no workloads", dtype) end
    return dtype, acc
end

local function option_names(opts, names)
    core.want(opts, "table?", "options")
    for k in pairs(opts or {}) do
        if not names[k] then bad("no option is named %s", tostring(k)) end
    end
end

local general = { dtype = true, acc = true, id = true } -- of every operator, beside its sizes

-- Positive integers by name, with defaults; other names are refused.
local function sizes(opts, defaults)
    core.want(opts, "table", "sizes by name")
    local out = {}
    for k, v in pairs(opts) do
        if defaults[k] == nil and not general[k] then bad("no size is named %s", tostring(k)) end
        out[k] = v
    end
    for k, default in pairs(defaults) do
        if out[k] == nil then
            if default == true then bad("size %s is missing", k) end
            out[k] = default
        end
        local least = k == "p" and 0 or 1
        if math.type(out[k]) ~= "integer" or out[k] < least then
            bad("size %s: an integer of at least %d is needed", k, least)
        end
    end
    return out
end

-- Operands in the accumulator's dtype, cast before they are multiplied.
local function product(a, b, acc) return te.cast(a, acc) * te.cast(b, acc) end

-- ---- a finished module

local bytes_of = { float64 = 8, float32 = 4, float16 = 2, bfloat16 = 2, int8 = 1, uint8 = 1, int16 = 2, int32 = 4, int64 = 8 }

local function count(shape)
    local n = 1
    for _, e in ipairs(shape) do n = n * e end
    return n
end

-- spec: id, inputs and outputs (te tensors), flop, ranges[name] = {lo, hi}, reference(by name)
local function finish(spec)
    local params = {}
    for _, t in ipairs(spec.inputs) do params[#params + 1] = t end
    for _, t in ipairs(spec.outputs) do params[#params + 1] = t end
    local m = core.module(te.func(params, "main"))
    local bytes, info_in, info_out = 0, {}, {}
    for k, t in ipairs(params) do
        bytes = bytes + count(t.shape) * bytes_of[t.dtype]
        local list = k <= #spec.inputs and info_in or info_out
        list[#list + 1] = { name = t.name, shape = t.shape, dtype = t.dtype }
    end
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

-- An index of a contraction: its offset and the coefficients of the loops.
-- ix(4, {h = 2, r = 1}) with loops {"n", "h", "r"}
local function indexer(names)
    local at = {}
    for k, name in ipairs(names) do at[name] = k end
    return function(offset, coefs)
        local out = { offset }
        for k = 1, #names do out[k + 1] = 0 end
        for name, c in pairs(coefs) do out[at[name] + 1] = c end
        return out
    end
end

-- ---- matrix products

function workload.matmul(m, n, k, opts)
    if type(m) == "table" then
        local s = sizes(m, { m = true, n = true, k = true })
        opts, m, n, k = { dtype = m.dtype, acc = m.acc }, s.m, s.n, s.k
    end
    option_names(opts, { dtype = true, acc = true })
    sizes({ m = m, n = n, k = k }, { m = true, n = true, k = true })
    local dtype, acc = dtypes(opts)
    local A = te.placeholder({ m, k }, dtype, "A")
    local B = te.placeholder({ k, n }, dtype, "B")
    local kk = te.reduce_axis(k, "k")
    local C = te.compute({ m, n }, function(i, j) return te.sum(product(A(i, kk), B(kk, j), acc), kk) end, "C")
    return finish {
        id = "matmul", inputs = { A, B }, outputs = { C }, flop = 2 * m * n * k,
        reference = function(t)
            local ix = indexer { "i", "k", "j" }
            core.contract({ m, k, n }, { t.C, ix(0, { i = 1 }), ix(0, { j = 1 }) },
                { t.A, ix(0, { i = 1 }), ix(0, { k = 1 }) }, { t.B, ix(0, { k = 1 }), ix(0, { j = 1 }) })
        end,
    }
end

-- batch_matmul{b=1, n=, m=, k=}: Z[b,i,j] = sum over k of X[b,i,k] * Y[b,k,j]
function workload.batch_matmul(opts)
    local s = sizes(opts, { b = 1, n = true, m = true, k = true })
    local dtype, acc = dtypes(opts)
    local X = te.placeholder({ s.b, s.n, s.k }, dtype, "X")
    local Y = te.placeholder({ s.b, s.k, s.m }, dtype, "Y")
    local kk = te.reduce_axis(s.k, "k")
    local Z = te.compute({ s.b, s.n, s.m },
        function(b, i, j) return te.sum(product(X(b, i, kk), Y(b, kk, j), acc), kk) end, "Z")
    return finish {
        id = s.id or "batch_matmul", inputs = { X, Y }, outputs = { Z }, flop = 2 * s.b * s.n * s.m * s.k,
        reference = function(t)
            local ix = indexer { "b", "i", "k", "j" }
            local b, i, j, k = ix(0, { b = 1 }), ix(0, { i = 1 }), ix(0, { j = 1 }), ix(0, { k = 1 })
            core.contract({ s.b, s.n, s.k, s.m }, { t.Z, b, i, j }, { t.X, b, i, k }, { t.Y, b, k, j })
        end,
    }
end

-- ---- convolutions

local function out_size(size, s) return (size + 2 * s.p - s.d * (s.k - 1) - 1) // s.s + 1 end

local function check_out(size, s)
    local out = out_size(size, s)
    if out < 1 then bad("the kernel is larger than the padded input") end
    return out
end

-- The pad stage: X with zeros around its spatial dimensions (those from 2 to rank - 1).
local function padded(X, p, names)
    local shape = {}
    local rank = #X.shape
    for k, e in ipairs(X.shape) do shape[k] = (k > 1 and k < rank) and e + 2 * p or e end
    local function body(...)
        local at, inside = { ... }, {}
        for k = 2, rank - 1 do
            if p > 0 then
                inside[#inside + 1] = te.ge(at[k], p)
                inside[#inside + 1] = te.lt(at[k], X.shape[k] + p)
                at[k] = at[k] - p
            end
        end
        local value = X(table.unpack(at))
        if p == 0 then return value end
        return te.if_then_else(te.all(table.unpack(inside)), value, te.const(0, X.dtype))
    end
    return te.compute(shape, names(body), "Xp")
end

-- Functions whose parameters have the wanted names: loops are named after them.
local names_of = {
    [1] = function(f) return function(n, l, c) return f(n, l, c) end end,
    [2] = function(f) return function(n, h, w, c) return f(n, h, w, c) end end,
    [3] = function(f) return function(n, d, h, w, c) return f(n, d, h, w, c) end end,
}
local out_names_of = {
    [1] = function(f) return function(n, l, o) return f(n, l, o) end end,
    [2] = function(f) return function(n, h, w, o) return f(n, h, w, o) end end,
    [3] = function(f) return function(n, d, h, w, o) return f(n, d, h, w, o) end end,
}
local kernel_names = { [1] = { "r" }, [2] = { "r", "t" }, [3] = { "u", "r", "t" } }
local spatial_names = { [1] = { "l" }, [2] = { "h", "w" }, [3] = { "d", "h", "w" } }

-- The convolution of n spatial dimensions: placeholders, the result, and its reference.
local function convolution(dims, space, s, opts, out_name)
    local dtype, acc = dtypes(opts)
    if s.ci % s.g ~= 0 or s.co % s.g ~= 0 then bad("the channels are no multiple of g") end
    local cig, cog = s.ci // s.g, s.co // s.g
    local xs, ws, ys = { s.n }, {}, { s.n }
    for k = 1, dims do
        xs[#xs + 1] = space[k]
        ws[#ws + 1] = s.k
        ys[#ys + 1] = check_out(space[k], s)
    end
    xs[#xs + 1] = s.ci
    ws[#ws + 1], ws[#ws + 2] = cig, s.co
    ys[#ys + 1] = s.co
    local X, W = te.placeholder(xs, dtype, "X"), te.placeholder(ws, dtype, "W")
    local Xp = padded(X, s.p, names_of[dims])
    local axes = {}
    for k = 1, dims do axes[k] = te.reduce_axis(s.k, kernel_names[dims][k]) end
    local c = te.reduce_axis(cig, "c")
    axes[#axes + 1] = c
    local function body(...)
        local at = { ... }
        local o = at[#at]
        local x, w = { at[1] }, {}
        for k = 1, dims do
            x[k + 1] = at[k + 1] * s.s + axes[k] * s.d
            w[k] = axes[k]
        end
        x[#x + 1] = s.g == 1 and c or o // cog * cig + c
        w[#w + 1] = c
        w[#w + 1] = o
        return te.sum(product(Xp(table.unpack(x)), W(table.unpack(w)), acc), axes)
    end
    local Y = te.compute(ys, out_names_of[dims](body), out_name or "Y")
    local flop = 2 * count(ys) * s.k ^ dims * cig

    -- groups are a loop of their own here: o = group * cog + inner
    local function reference(x, w, y)
        local loops, extents = { "n", "g", "q" }, { s.n, s.g, cog }
        for k = 1, dims do
            loops[#loops + 1] = spatial_names[dims][k]
            extents[#extents + 1] = ys[k + 1]
        end
        for k = 1, dims do
            loops[#loops + 1] = kernel_names[dims][k]
            extents[#extents + 1] = s.k
        end
        loops[#loops + 1], extents[#extents + 1] = "c", cig
        local ix = indexer(loops)
        local xv, wv, yv = { x, ix(0, { n = 1 }) }, { w }, { y, ix(0, { n = 1 }) }
        for k = 1, dims do
            xv[#xv + 1] = ix(-s.p, { [spatial_names[dims][k]] = s.s, [kernel_names[dims][k]] = s.d })
            wv[#wv + 1] = ix(0, { [kernel_names[dims][k]] = 1 })
            yv[#yv + 1] = ix(0, { [spatial_names[dims][k]] = 1 })
        end
        xv[#xv + 1] = ix(0, { g = cig, c = 1 })
        wv[#wv + 1] = ix(0, { c = 1 })
        wv[#wv + 1] = ix(0, { g = cog, q = 1 })
        yv[#yv + 1] = ix(0, { g = cog, q = 1 })
        core.contract(extents, yv, xv, wv)
    end
    return X, W, Y, math.tointeger(flop), reference, acc
end

local conv_defaults = { ci = true, co = true, k = true, s = 1, p = 0, d = 1, g = 1, n = 1 }
local function with(defaults, more)
    local out = {}
    for k, v in pairs(defaults) do out[k] = v end
    for k, v in pairs(more) do out[k] = v end
    return out
end

local function conv(name, dims, space_names)
    local defaults = with(conv_defaults, {})
    for _, n in ipairs(space_names) do defaults[n] = true end
    return function(opts)
        local s = sizes(opts, defaults)
        local space = {}
        for k, n in ipairs(space_names) do space[k] = s[n] end
        local X, W, Y, flop, reference = convolution(dims, space, s, opts)
        return finish {
            id = s.id or name, inputs = { X, W }, outputs = { Y }, flop = flop,
            reference = function(t) reference(t.X, t.W, t.Y) end,
        }
    end
end
workload.conv1d = conv("conv1d", 1, { "l" })
workload.conv2d = conv("conv2d", 2, { "h", "w" })
workload.conv3d = conv("conv3d", 3, { "depth", "h", "w" })

-- conv2d_bias_relu{...}: relu((conv + bias) * scale + offset)
function workload.conv2d_bias_relu(opts)
    local s = sizes(opts, with(conv_defaults, { h = true, w = true }))
    local X, W, conv_out, flop, reference, acc = convolution(2, { s.h, s.w }, s, opts, "conv")
    local bias = te.placeholder({ s.co }, "float32", "bias")
    local offset = te.placeholder({ s.co }, "float32", "offset")
    local scale = te.placeholder({ s.co }, "float32", "scale")
    local shape = conv_out.shape
    local added = te.compute(shape, function(n, h, w, o) return conv_out(n, h, w, o) + bias(o) end, "bias_add")
    local scaled = te.compute(shape, function(n, h, w, o) return added(n, h, w, o) * scale(o) end, "mul")
    local moved = te.compute(shape, function(n, h, w, o) return scaled(n, h, w, o) + offset(o) end, "add")
    local Y = te.compute(shape, function(n, h, w, o)
        return te.max(te.cast(moved(n, h, w, o), acc), te.const(0, acc))
    end, "Y")
    return finish {
        id = s.id or "conv2d_bias_relu", inputs = { X, W, bias, offset, scale }, outputs = { Y },
        flop = flop + 4 * count(shape), ranges = { scale = { 0.5, 1.5 } },
        reference = function(t)
            local exact = core.tensor(shape, "float64")
            reference(t.X, t.W, exact)
            core.epilogue(exact, t.bias, t.scale, t.offset)
            core.assign(t.Y, exact)
        end,
    }
end

-- depthwise{h=, w=, c=, k=, s=1, p=0, n=1}
function workload.depthwise(opts)
    local s = sizes(opts, { h = true, w = true, c = true, k = true, s = 1, p = 0, d = 1, n = 1 })
    local dtype, acc = dtypes(opts)
    local oh, ow = check_out(s.h, s), check_out(s.w, s)
    local X = te.placeholder({ s.n, s.h, s.w, s.c }, dtype, "X")
    local W = te.placeholder({ 1, s.k, s.k, s.c }, dtype, "W")
    local Xp = padded(X, s.p, names_of[2])
    local r, t = te.reduce_axis(s.k, "r"), te.reduce_axis(s.k, "t")
    local Y = te.compute({ s.n, oh, ow, s.c }, function(n, h, w, c)
        return te.sum(product(Xp(n, h * s.s + r * s.d, w * s.s + t * s.d, c), W(0, r, t, c), acc), r, t)
    end, "Y")
    return finish {
        id = s.id or "depthwise", inputs = { X, W }, outputs = { Y }, flop = 2 * s.n * oh * ow * s.c * s.k * s.k,
        reference = function(v)
            local ix = indexer { "n", "h", "w", "c", "r", "t" }
            local n, c = ix(0, { n = 1 }), ix(0, { c = 1 })
            core.contract({ s.n, oh, ow, s.c, s.k, s.k }, { v.Y, n, ix(0, { h = 1 }), ix(0, { w = 1 }), c },
                { v.X, n, ix(-s.p, { h = s.s, r = s.d }), ix(-s.p, { w = s.s, t = s.d }), c },
                { v.W, ix(0, {}), ix(0, { r = 1 }), ix(0, { t = 1 }), c })
        end,
    }
end

-- conv2d_transposed{h=, w=, ci=, co=, k=, s=1, p=0, n=1}
function workload.conv2d_transposed(opts)
    local s = sizes(opts, { h = true, w = true, ci = true, co = true, k = true, s = 1, p = 0, n = 1 })
    local dtype, acc = dtypes(opts)
    local q = s.k - 1 - s.p
    if q < 0 then bad("p: at most k - 1 is possible") end
    local function out_of(size) return (size - 1) * s.s - 2 * s.p + s.k end
    local oh, ow = out_of(s.h), out_of(s.w)
    if oh < 1 or ow < 1 then bad("the result is empty") end
    local P = (q + s.s - 1) // s.s
    local X = te.placeholder({ s.n, s.h, s.w, s.ci }, dtype, "X")
    local W = te.placeholder({ s.k, s.k, s.ci, s.co }, dtype, "W")
    local Xp = padded(X, P, names_of[2])
    local r, t, c = te.reduce_axis(s.k, "r"), te.reduce_axis(s.k, "t"), te.reduce_axis(s.ci, "c")
    local shift = P * s.s - q -- makes the dilated position non-negative, without changing its remainder
    local Y = te.compute({ s.n, oh, ow, s.co }, function(n, h, w, o)
        local i, j = h + r + shift, w + t + shift
        local x = Xp(n, i // s.s, j // s.s, c)
        if s.s > 1 then
            x = te.select(te.all(te.eq(i % s.s, 0), te.eq(j % s.s, 0)), x, te.const(0, dtype))
        end
        return te.sum(product(x, W(s.k - 1 - r, s.k - 1 - t, c, o), acc), r, t, c)
    end, "Y")
    return finish {
        id = s.id or "conv2d_transposed", inputs = { X, W }, outputs = { Y },
        flop = 2 * s.n * oh * ow * s.co * s.k * s.k * s.ci,
        -- scattered: input (i, j) adds to output (i * s + r - p, j * s + t - p)
        reference = function(v)
            local ix = indexer { "n", "i", "j", "r", "t", "c", "o" }
            local n, cc, o = ix(0, { n = 1 }), ix(0, { c = 1 }), ix(0, { o = 1 })
            core.contract({ s.n, s.h, s.w, s.k, s.k, s.ci, s.co },
                { v.Y, n, ix(-s.p, { i = s.s, r = 1 }), ix(-s.p, { j = s.s, t = 1 }), o },
                { v.X, n, ix(0, { i = 1 }), ix(0, { j = 1 }), cc },
                { v.W, ix(0, { r = 1 }), ix(0, { t = 1 }), cc, o })
        end,
    }
end

-- capsule{h=, w=, ci=, co=, k=, s=1, p=0, n=1}
function workload.capsule(opts)
    local s = sizes(opts, { h = true, w = true, ci = true, co = true, k = true, s = 1, p = 0, d = 1, n = 1 })
    local dtype, acc = dtypes(opts)
    local oh, ow = check_out(s.h, s), check_out(s.w, s)
    local X = te.placeholder({ s.n, s.h, s.w, 4, 4, s.ci }, dtype, "X")
    local W = te.placeholder({ s.k, s.k, 4, 4, s.ci, s.co }, dtype, "W")
    local p = s.p
    local Xp = te.compute({ s.n, s.h + 2 * p, s.w + 2 * p, 4, 4, s.ci }, function(n, h, w, i, u, c)
        if p == 0 then return X(n, h, w, i, u, c) end
        return te.if_then_else(te.all(te.ge(h, p), te.lt(h, s.h + p), te.ge(w, p), te.lt(w, s.w + p)),
            X(n, h - p, w - p, i, u, c), te.const(0, dtype))
    end, "Xp")
    local r, t = te.reduce_axis(s.k, "r"), te.reduce_axis(s.k, "t")
    local u, c = te.reduce_axis(4, "u"), te.reduce_axis(s.ci, "c")
    local Y = te.compute({ s.n, oh, ow, 4, 4, s.co }, function(n, h, w, i, j, o)
        return te.sum(product(Xp(n, h * s.s + r, w * s.s + t, i, u, c), W(r, t, u, j, c, o), acc), r, t, u, c)
    end, "Y")
    return finish {
        id = s.id or "capsule", inputs = { X, W }, outputs = { Y },
        flop = 2 * s.n * oh * ow * 16 * s.co * s.k * s.k * 4 * s.ci,
        reference = function(v)
            local ix = indexer { "n", "h", "w", "i", "j", "o", "r", "t", "u", "c" }
            local function at(name) return ix(0, { [name] = 1 }) end
            core.contract({ s.n, oh, ow, 4, 4, s.co, s.k, s.k, 4, s.ci },
                { v.Y, at "n", at "h", at "w", at "i", at "j", at "o" },
                { v.X, at "n", ix(-p, { h = s.s, r = 1 }), ix(-p, { w = s.s, t = 1 }), at "i", at "u", at "c" },
                { v.W, at "r", at "t", at "u", at "j", at "c", at "o" })
        end,
    }
end

-- winograd{h=, w=, ci=, co=, n=1, pre=}: F(4x4, 3x3) with k = 3, s = 1, p = 1; pre: the transformed
-- kernel, of shape 6x6xCoxCi, is an argument
local win_b = { { 4, 0, 0, 0, 0, 0 }, { 0, -4, 4, -2, 2, 4 }, { -5, -4, -4, -1, -1, 0 }, { 0, 1, -1, 2, -2, -5 },
    { 1, 1, 1, 1, 1, 0 }, { 0, 0, 0, 0, 0, 1 } }
local win_g = { { 1 / 4, 0, 0 }, { -1 / 6, -1 / 6, -1 / 6 }, { -1 / 6, 1 / 6, -1 / 6 }, { 1 / 24, 1 / 12, 1 / 6 },
    { 1 / 24, -1 / 12, 1 / 6 }, { 0, 0, 1 } }
local win_a = { { 1, 0, 0, 0 }, { 1, 1, 1, 1 }, { 1, -1, 1, -1 }, { 1, 2, 4, 8 }, { 1, -2, 4, -8 }, { 0, 0, 0, 1 } }

-- The element (i, j) of a constant matrix, as a choice that unrolling folds.
local function constant(matrix, i, j, dtype)
    local e = te.const(0, dtype)
    for r, row in ipairs(matrix) do
        for c, v in ipairs(row) do
            if v ~= 0 then e = te.select(te.all(te.eq(i, r - 1), te.eq(j, c - 1)), te.const(v, dtype), e) end
        end
    end
    return e
end

function workload.winograd(opts)
    core.want(opts, "table", "sizes by name")
    local pre = opts.pre or false
    local s = with(opts, {})
    s.pre = nil
    s = sizes(s, { h = true, w = true, ci = true, co = true, n = 1 })
    local dtype, acc = dtypes(opts)
    if not acc:find("float") then bad("winograd: a float dtype is needed") end
    local th, tw = (s.h + 3) // 4, (s.w + 3) // 4
    local tiles = s.n * th * tw
    local X = te.placeholder({ s.n, s.h, s.w, s.ci }, dtype, "X")
    local W = te.placeholder(pre and { 6, 6, s.co, s.ci } or { 3, 3, s.ci, s.co }, dtype, "W")
    local Xp = te.compute({ s.n, th * 4 + 2, tw * 4 + 2, s.ci }, function(n, h, w, c)
        return te.if_then_else(te.all(te.ge(h, 1), te.lt(h, s.h + 1), te.ge(w, 1), te.lt(w, s.w + 1)),
            X(n, h - 1, w - 1, c), te.const(0, dtype))
    end, "Xp")
    local tile = te.compute({ 6, 6, tiles, s.ci }, function(a, e, p, c)
        return Xp(p // (th * tw), p // tw % th * 4 + a, p % tw * 4 + e, c)
    end, "tile")
    local r, t = te.reduce_axis(6, "r"), te.reduce_axis(6, "t")
    local data = te.compute({ 6, 6, tiles, s.ci }, function(a, e, p, c)
        return te.sum(te.cast(tile(r, t, p, c), acc) * constant(win_b, r, a, acc) * constant(win_b, t, e, acc), r, t)
    end, "data")
    local kernel = W
    if not pre then
        local u, v = te.reduce_axis(3, "r"), te.reduce_axis(3, "t")
        kernel = te.compute({ 6, 6, s.co, s.ci }, function(a, e, o, c)
            return te.sum(te.cast(W(u, v, c, o), acc) * constant(win_g, a, u, acc) * constant(win_g, e, v, acc), u, v)
        end, "kernel")
    end
    local c = te.reduce_axis(s.ci, "c")
    local M = te.compute({ 6, 6, tiles, s.co }, function(a, e, p, o)
        return te.sum(data(a, e, p, c) * te.cast(kernel(a, e, o, c), acc), c)
    end, "gemm")
    local i, j = te.reduce_axis(6, "r"), te.reduce_axis(6, "t")
    local inverse = te.compute({ 4, 4, tiles, s.co }, function(a, e, p, o)
        return te.sum(M(i, j, p, o) * constant(win_a, i, a, acc) * constant(win_a, j, e, acc), i, j)
    end, "inverse")
    local Y = te.compute({ s.n, s.h, s.w, s.co }, function(n, h, w, o)
        return inverse(h % 4, w % 4, (n * th + h // 4) * tw + w // 4, o)
    end, "Y")
    return finish {
        id = s.id or "winograd", inputs = { X, W }, outputs = { Y }, flop = 2 * 36 * tiles * s.ci * s.co,
        reference = function(v)
            local w = v.W
            if pre then core.fail("not-supported", "winograd with a transformed kernel has no direct reference") end
            local ix = indexer { "n", "h", "w", "o", "r", "t", "c" }
            local n, o, cc = ix(0, { n = 1 }), ix(0, { o = 1 }), ix(0, { c = 1 })
            core.contract({ s.n, s.h, s.w, s.co, 3, 3, s.ci }, { v.Y, n, ix(0, { h = 1 }), ix(0, { w = 1 }), o },
                { v.X, n, ix(-1, { h = 1, r = 1 }), ix(-1, { w = 1, t = 1 }), cc },
                { w, ix(0, { r = 1 }), ix(0, { t = 1 }), cc, o })
        end,
    }
end

-- ---- rows

-- norm{b=1, m=, n=}: D[b] = sqrt of the sum of A[b,i,j]^2
function workload.norm(opts)
    local s = sizes(opts, { b = 1, m = true, n = true })
    local dtype, acc = dtypes(opts)
    local A = te.placeholder({ s.b, s.m, s.n }, dtype, "A")
    local i, j = te.reduce_axis(s.m, "i"), te.reduce_axis(s.n, "j")
    local C = te.compute({ s.b }, function(b) return te.sum(product(A(b, i, j), A(b, i, j), acc), i, j) end, "C")
    local D = te.compute({ s.b }, function(b) return te.sqrt(C(b)) end, "D")
    return finish {
        id = s.id or "norm", inputs = { A }, outputs = { D }, flop = 2 * s.b * s.m * s.n, ranges = { A = { -4, 4 } },
        reference = function(t) core.norm(t.D, t.A) end,
    }
end

-- softmax{m=, n=}
function workload.softmax(opts)
    local s = sizes(opts, { m = true, n = true })
    local dtype, acc = dtypes(opts)
    local A = te.placeholder({ s.m, s.n }, dtype, "A")
    local k = te.reduce_axis(s.n, "k")
    local top = te.compute({ s.m }, function(i) return te.max(te.cast(A(i, k), acc), k) end, "max")
    local e = te.compute({ s.m, s.n }, function(i, j) return te.exp(te.cast(A(i, j), acc) - top(i)) end, "exp")
    local sum = te.compute({ s.m }, function(i) return te.sum(e(i, k), k) end, "sum")
    local Y = te.compute({ s.m, s.n }, function(i, j) return e(i, j) / sum(i) end, "Y")
    return finish {
        id = s.id or "softmax", inputs = { A }, outputs = { Y }, flop = 4 * s.m * s.n, ranges = { A = { -4, 4 } },
        reference = function(t) core.softmax(t.Y, t.A) end,
    }
end

-- transpose_batch_matmul{b=1, s=, h=, d=}
function workload.transpose_batch_matmul(opts)
    local s = sizes(opts, { b = 1, s = true, h = true, d = true })
    local dtype, acc = dtypes(opts)
    local Q = te.placeholder({ s.b, s.s, s.h, s.d }, dtype, "Q")
    local V = te.placeholder({ s.b, s.s, s.h, s.d }, dtype, "V")
    local Qt = te.compute({ s.b, s.h, s.s, s.d }, function(b, h, i, d) return Q(b, i, h, d) end, "Qt")
    local Vt = te.compute({ s.b, s.h, s.d, s.s }, function(b, h, d, j) return V(b, j, h, d) end, "Vt")
    local d = te.reduce_axis(s.d, "d")
    local C = te.compute({ s.b, s.h, s.s, s.s }, function(b, h, i, j)
        return te.sum(product(Qt(b, h, i, d), Vt(b, h, d, j), acc), d)
    end, "C")
    return finish {
        id = s.id or "transpose_batch_matmul", inputs = { Q, V }, outputs = { C }, flop = 2 * s.b * s.h * s.s * s.s * s.d,
        reference = function(t)
            local ix = indexer { "b", "h", "i", "j", "d" }
            local function at(name) return ix(0, { [name] = 1 }) end
            core.contract({ s.b, s.h, s.s, s.s, s.d }, { t.C, at "b", at "h", at "i", at "j" },
                { t.Q, at "b", at "i", at "h", at "d" }, { t.V, at "b", at "j", at "h", at "d" })
        end,
    }
end

-- ---- the lists

local function conv_args(names, list, fixed)
    local out = {}
    for k, values in ipairs(list) do
        local o = {}
        for i, name in ipairs(names) do o[name] = values[i] end
        for name, v in pairs(fixed or {}) do o[name] = v end
        out[k] = o
    end
    return out
end

local c1d = { "l", "ci", "co", "k", "s", "p" }
local c2d = { "h", "w", "ci", "co", "k", "s", "p", "d", "g" }
local c3d = { "depth", "h", "w", "ci", "co", "k", "s", "p" }

local resnet = { { 224, 3, 64, 7, 2, 3 }, { 56, 64, 128, 3, 2, 1 }, { 56, 64, 128, 1, 2, 0 }, { 56, 64, 64, 3, 1, 1 },
    { 56, 64, 64, 1, 1, 0 }, { 28, 128, 256, 3, 2, 1 }, { 28, 128, 256, 1, 2, 0 }, { 28, 128, 128, 3, 1, 1 },
    { 14, 256, 512, 3, 2, 1 }, { 14, 256, 512, 1, 2, 0 }, { 14, 256, 256, 3, 1, 1 }, { 7, 512, 512, 3, 1, 1 } }

local function from_resnet(first, more)
    local out = {}
    for k = first, #resnet do
        local r = resnet[k]
        local o = { h = r[1], w = r[1], ci = r[2], co = r[3], k = r[4], s = r[5], p = r[6] }
        for name, v in pairs(more or {}) do o[name] = v end
        out[#out + 1] = o
    end
    return out
end

local mobilenet = { { 112, 32, 1 }, { 112, 64, 2 }, { 56, 128, 1 }, { 56, 128, 2 }, { 28, 256, 1 }, { 28, 256, 2 },
    { 14, 512, 1 }, { 14, 512, 2 }, { 7, 1024, 1 } }
local dep_x = {}
for k, r in ipairs(mobilenet) do dep_x[k] = { h = r[1], w = r[1], c = r[2], k = 3, s = r[3], p = 1 } end

-- name -> {builder, the list, the extended list, the name of the batch size}
local families = {
    C1D = { "conv1d", conv_args(c1d, { { 256, 64, 128, 3, 2, 1 }, { 128, 128, 256, 1, 2, 0 }, { 64, 256, 256, 5, 1, 2 },
        { 32, 512, 512, 3, 1, 1 } }), conv_args(c1d, { { 256, 64, 128, 3, 2, 1 }, { 256, 64, 128, 1, 2, 0 },
        { 256, 64, 64, 1, 1, 0 }, { 128, 128, 256, 3, 2, 1 }, { 128, 128, 256, 1, 2, 0 }, { 128, 128, 128, 3, 1, 1 },
        { 64, 256, 512, 3, 2, 1 }, { 64, 256, 512, 1, 2, 0 }, { 64, 256, 256, 5, 1, 2 }, { 32, 512, 512, 3, 1, 1 } }), "n" },
    C2D = { "conv2d", conv_args(c2d, { { 224, 224, 3, 64, 7, 2, 3 }, { 56, 56, 64, 64, 1, 1, 0 },
        { 14, 14, 256, 256, 3, 1, 1 }, { 7, 7, 512, 512, 3, 1, 1 } }), from_resnet(1), "n" },
    C3D = { "conv3d", conv_args(c3d, { { 16, 224, 224, 3, 64, 7, 2, 3 }, { 16, 56, 56, 64, 64, 1, 1, 0 },
        { 16, 14, 14, 256, 256, 3, 1, 1 }, { 16, 7, 7, 512, 512, 3, 1, 1 } }), from_resnet(1, { depth = 16 }), "n" },
    GRP = { "conv2d", conv_args(c2d, { { 56, 56, 64, 128, 3, 2, 1, 1, 4 }, { 56, 56, 64, 64, 1, 1, 0, 1, 4 },
        { 14, 14, 256, 256, 3, 1, 1, 1, 4 }, { 7, 7, 512, 512, 3, 1, 1, 1, 4 } }), from_resnet(2, { g = 4 }), "n" },
    DIL = { "conv2d", conv_args(c2d, { { 224, 224, 3, 64, 7, 2, 3, 2 }, { 56, 56, 64, 64, 1, 1, 0, 2 },
        { 14, 14, 256, 256, 3, 1, 1, 2 }, { 7, 7, 512, 512, 3, 1, 1, 2 } }), from_resnet(1, { d = 2 }), "n" },
    DEP = { "depthwise", conv_args({ "h", "w", "c", "k", "s", "p" }, { { 112, 112, 32, 3, 1, 1 },
        { 112, 112, 64, 3, 2, 1 }, { 14, 14, 512, 3, 2, 1 }, { 7, 7, 1024, 3, 1, 1 } }), dep_x, "n" },
    T2D = { "conv2d_transposed", conv_args(c2d, { { 4, 4, 512, 256, 4, 2, 1 }, { 8, 8, 256, 128, 4, 2, 1 },
        { 16, 16, 128, 64, 4, 2, 1 }, { 32, 32, 64, 3, 4, 2, 1 } }), {}, "n" },
    GMM = { "batch_matmul", conv_args({ "b", "n", "m", "k" }, { { 1, 128, 128, 128 }, { 1, 512, 32, 512 },
        { 1, 512, 512, 512 }, { 1, 1024, 1024, 1024 } }), {}, "b" },
    CAP = { "capsule", conv_args({ "h", "w", "ci", "co", "k", "s", "p" }, { { 16, 16, 32, 32, 3, 2, 1 },
        { 8, 8, 32, 32, 3, 1, 1 }, { 16, 16, 8, 16, 3, 2, 1 }, { 8, 8, 16, 16, 3, 1, 1 } }), {}, "n" },
    NRM = { "norm", conv_args({ "b", "m", "n" }, { { 1, 256, 256 }, { 1, 512, 512 }, { 1, 1024, 1024 },
        { 1, 4096, 1024 } }), {}, "b" },
    SFM = { "softmax", conv_args({ "m", "n" }, { { 256, 256 }, { 512, 512 }, { 1024, 1024 }, { 2048, 2048 } }), {} },
    CBR = { "conv2d_bias_relu", conv_args(c2d, { { 224, 224, 3, 64, 7, 2, 3 }, { 56, 56, 64, 128, 3, 2, 1 },
        { 28, 28, 128, 256, 1, 2, 0 }, { 7, 7, 512, 512, 3, 1, 1 } }), {}, "n" },
    TBG = { "transpose_batch_matmul", conv_args({ "b", "s", "h", "d" }, { { 1, 128, 12, 64 }, { 1, 128, 16, 64 },
        { 1, 64, 12, 128 }, { 1, 128, 12, 128 } }), {}, "b" },
}
families.WIN = { "winograd", conv_args({ "h", "w", "ci", "co" }, { { 14, 14, 128, 128 } }), {}, "n" }
local order = { "C1D", "C2D", "C3D", "DEP", "DIL", "GMM", "GRP", "T2D", "CAP", "NRM", "SFM", "CBR", "TBG", "WIN" }

-- workload.list([pattern [, extended]]): names, those of the default runs unless extended
function workload.list(pattern, extended)
    core.want(pattern, "string?", "list: the pattern")
    local out = {}
    for _, f in ipairs(order) do
        for k = 1, #families[f][2] do out[#out + 1] = f .. "-" .. (k - 1) end
        for k = 1, extended and #families[f][3] or 0 do out[#out + 1] = f .. ".x" .. (k - 1) end
    end
    if not pattern then return out end
    local kept = {}
    for _, name in ipairs(out) do
        if name:find(pattern) then kept[#kept + 1] = name end
    end
    return kept
end

local function find(id)
    if type(id) ~= "string" then bad("workload: a name is needed, such as \"GMM-2\"") end
    local family, kind, number, rest = id:match("^(%u%w%w)([-.]x?)(%d+)(.*)$")
    local f = family and families[family]
    local list = f and ((kind == "-" and f[2]) or (kind == ".x" and f[3]))
    local args = list and list[tonumber(number) + 1]
    if not args or not (rest == "" or rest:match("^%.%w+$") or rest:match("^%.%w+%.acc%d+$")) then
        core.fail("unknown-name", "no workload is named " .. id .. "; moon.workload.list() gives the names")
    end
    return f, args, rest ~= "" and rest:sub(2) or nil
end

return setmetatable(workload, {
    __call = function(_, id, opts)
        local f, args, variant = find(id)
        option_names(opts, { dtype = true, acc = true, batch = true })
        local o = with(args, {})
        o.dtype, o.acc = variant or (opts and opts.dtype), opts and opts.acc
        if opts and opts.batch then
            if not f[4] then bad("batch: %s has no batch", id) end
            o[f[4]] = opts.batch
        end
        o.id = id
        return workload[f[1]](o)
    end,
    __name = "moonloop.workload",
})

-- workload/quantized - products and convolutions of 8-bit integers, plain and packed, with requantisation.
--
-- The data are uint8 or int8 (dtype), the weights int8, sums int32. u7: data up to 127, for what adds pairs in 16
-- bits. packed: the weights in blocks as dot products of four take them: 16 columns, 4 where the data are int8. rq:
-- the result is int8, ((sum + bias) * mult + half) >> shift, + zero, clipped.
local moon, core, base = ...
local te, workload = moon.te, base.workload

local flags = { packed = true, rq = true, u7 = true }
local words = { p = { packed = true }, rq = { rq = true }, u7 = { u7 = true } }
local zero_point = 3

-- The dtype of the data, and of how many columns a block is.
local function data_of(s)
    s.dtype = s.dtype or "uint8"
    local dtype = base.dtypes(s)
    if dtype ~= "uint8" and dtype ~= "int8" then base.bad("dtype: uint8 or int8 is needed, not %s", dtype) end
    if s.acc and s.acc ~= "int32" then base.bad("acc: sums of 8-bit products are int32") end
    if s.u7 and dtype ~= "uint8" then base.bad("u7: data of uint8 are needed, not %s", dtype) end
    s.weight = "int8"
    return dtype, dtype == "uint8" and 16 or 4
end

-- Inputs, outputs and ranges of a module whose sums are `sum`, of `channels`; channel(index...) is the one of an
-- element. The sums are the result, or are requantised into it.
local function results(s, inputs, sum, name, names, channels, channel)
    local ranges = { [inputs[1].name] = s.u7 and { 0, 128 } or nil }
    if not s.rq then return { inputs = inputs, outputs = { sum }, ranges = ranges } end
    local bias = te.placeholder({ channels }, "int32", "bias")
    local mult = te.placeholder({ channels }, "int32", "mult")
    local shift = te.placeholder({ channels }, "int32", "shift")
    ranges.mult, ranges.shift = { 1 << 14, 1 << 15 }, { 26, 30 }
    local function wide(e) return te.cast(e, "int64") end
    local function number(v) return te.const(v, "int64") end
    local Y = te.compute(sum.shape, function(...)
        local o = channel(...)
        local by = wide(shift(o))
        local half = te.shift_left(number(1), by - number(1))
        local v = te.shift_right((wide(sum(...)) + wide(bias(o))) * wide(mult(o)) + half, by) + number(zero_point)
        return te.cast(te.max(te.min(v, number(127)), number(-128)), "int8")
    end, name, names)
    return { inputs = { inputs[1], inputs[2], bias, mult, shift }, outputs = { Y }, ranges = ranges }
end

-- Finishes the module: exact(tensor of int64, by name) computes the sums; blocked: channels are the second and the last
-- dimension. Per element of the result requantisation
-- is 7 operations: bias, product, half and its exponent, zero, two of the clip.
local function finish(s, id, spec, flop, exact, blocked)
    local out = spec.outputs[1]
    spec.id, spec.flop = s.id or id, flop + (s.rq and base.times(7, base.count(out.shape)) or 0)
    spec.reference = function(t)
        if not s.rq then return exact(t[out.name], t) end
        local sum = core.tensor(out.shape, "int64")
        exact(sum, t)
        core.requantise(t[out.name], sum, t.bias, t.mult, t.shift, zero_point, blocked)
    end
    return base.finish(spec)
end

-- quantized_matmul{m=, n=, k=, packed=, rq=, u7=}: C[i,j] = sum over k of A[i,k] * B[k,j]; packed: B is
-- (n / 16, k / 4, 16, 4)
function workload.quantized_matmul(opts)
    local s = base.sizes(opts, { m = true, n = true, k = true }, flags)
    local dtype, block = data_of(s)
    local columns, taps = (s.n + block - 1) // block, (s.k + 3) // 4
    local A = te.placeholder({ s.m, s.k }, dtype, "A")
    local B = te.placeholder(s.packed and { columns, taps, block, 4 } or { s.k, s.n }, "int8", "B")
    local kk = te.reduce_axis(s.k, "k")
    local function weight(k, j)
        if s.packed then return B(j // block, k // 4, j % block, k % 4) end
        return B(k, j)
    end
    local C = te.compute({ s.m, s.n },
        function(i, j) return te.sum(base.product(A(i, kk), weight(kk, j), "int32"), kk) end, s.rq and "sum" or "C")
    local spec = results(s, { A, B }, C, "C", { "i", "j" }, s.n, function(_, j) return j end)
    local function exact(sum, t)
        local ix = base.indexer { "i", "K", "J", "q", "l" } -- k = 4 K + l, j = block J + q
        local j, k = ix(0, { J = block, q = 1 }), ix(0, { K = 4, l = 1 })
        local b = s.packed and { t.B, ix "J", ix "K", ix "q", ix "l" } or { t.B, k, j }
        core.contract({ s.m, taps, columns, block, 4 }, { sum, ix "i", j }, { t.A, ix "i", k }, b)
    end
    return finish(s, "quantized_matmul", spec, base.times(2, s.m, s.n, s.k), exact, false)
end

-- The convolution in blocks of channels: X (n, ci / 16, h, w, 16), W (co / 16, ci / 16, k, k, 4, 16, 4),
-- Y (n, co / 16, h, w, 16).
local function packed_conv(s)
    local dtype, block = data_of(s)
    if s.ci % 16 ~= 0 or s.co % block ~= 0 then
        base.bad("packed: ci of a multiple of 16 and co of one of %d are needed", block)
    end
    local oh, ow, inner, outer = base.out_size(s.h, s), base.out_size(s.w, s), s.ci // 16, s.co // block
    local X = te.placeholder({ s.n, inner, s.h, s.w, 16 }, dtype, "X")
    local W = te.placeholder({ outer, inner, s.k, s.k, 4, block, 4 }, "int8", "W")
    local p = s.p
    local Xp = base.padded(X, p, { "n", "b", "h", "w", "c" }, 2, nil, 3)
    local r, t = te.reduce_axis(s.k, "r"), te.reduce_axis(s.k, "t")
    local cb, c = te.reduce_axis(inner, "a"), te.reduce_axis(16, "c")
    local sum = te.compute({ s.n, outer, oh, ow, block }, function(n, b, h, w, q)
        return te.sum(base.product(Xp(n, cb, h * s.s + r, w * s.s + t, c), W(b, cb, r, t, c // 4, q, c % 4), "int32"),
            cb, r, t, c)
    end, s.rq and "conv" or "Y")
    local spec = results(s, { X, W }, sum, "Y", { "n", "b", "h", "w", "q" }, s.co, function(_, b, _, _, q)
        return b * block + q
    end)
    local function exact(out, v)
        local ix = base.indexer { "n", "b", "h", "w", "q", "r", "t", "a", "f", "l" }
        core.contract({ s.n, outer, oh, ow, block, s.k, s.k, inner, 4, 4 },
            { out, ix "n", ix "b", ix "h", ix "w", ix "q" },
            { v.X, ix "n", ix "a", ix(-p, { h = s.s, r = 1 }), ix(-p, { w = s.s, t = 1 }), ix(0, { f = 4, l = 1 }) },
            { v.W, ix "b", ix "a", ix "r", ix "t", ix "f", ix "q", ix "l" })
    end
    return finish(s, "quantized_conv2d", spec, base.times(2, s.n, oh, ow, s.co, s.k, s.k, s.ci), exact, true)
end

-- quantized_conv2d{h=, w=, ci=, co=, k=, s=1, p=0, n=1, packed=, rq=, u7=}
function workload.quantized_conv2d(opts)
    local s = base.sizes(opts, { h = true, w = true, ci = true, co = true, k = true, s = 1, p = 0, n = 1 }, flags)
    if s.packed then return packed_conv(s) end
    data_of(s)
    s.d, s.g = 1, 1
    local X, W, sum, flop, reference = base.convolution(2, { s.h, s.w }, s, s, s.rq and "conv" or "Y")
    local spec = results(s, { X, W }, sum, "Y", { "n", "h", "w", "o" }, s.co, function(_, _, _, o) return o end)
    return finish(s, "quantized_conv2d", spec, flop, function(out, t) reference(t.X, t.W, out) end, false)
end

-- ---- rows

base.family { name = "QMM", about = "matrix product of 8-bit integers",
    builder = "quantized_matmul", set = "int8", flags = words, rows = base.rows({ "m", "n", "k" }, {
    { 128, 768, 768 }, { 128, 3072, 768 }, { 512, 512, 512 }, { 1024, 1024, 1024 }, { 3136, 64, 64 }, { 1, 1000, 2048 } }) }
base.family { name = "QCV", about = "convolution of 8-bit integers",
    builder = "quantized_conv2d", batch = "n", set = "int8", flags = words,
    rows = base.rows({ "h", "w", "ci", "co", "k", "s", "p" }, { { 56, 56, 64, 64, 3, 1, 1 }, { 56, 56, 64, 256, 1, 1, 0 },
        { 28, 28, 128, 128, 3, 1, 1 }, { 14, 14, 256, 256, 3, 1, 1 }, { 7, 7, 512, 512, 3, 1, 1 } }) }

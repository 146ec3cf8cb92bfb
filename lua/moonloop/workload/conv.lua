-- workload/conv - convolutions over one, two and three axes, in groups, dilated, with an epilogue.
local moon, core, base = ...
local te, workload = moon.te, base.workload

local loop_names = { [1] = { "n", "l", "c" }, [2] = { "n", "h", "w", "c" }, [3] = { "n", "d", "h", "w", "c" } }
local out_names = { [1] = { "n", "l", "o" }, [2] = { "n", "h", "w", "o" }, [3] = { "n", "d", "h", "w", "o" } }
local kernel_names = { [1] = { "r" }, [2] = { "r", "t" }, [3] = { "u", "r", "t" } }
local spatial_names = { [1] = { "l" }, [2] = { "h", "w" }, [3] = { "d", "h", "w" } }

-- The convolution of n spatial dimensions: placeholders, the result, its operations, its reference. opts.weight:
-- the dtype of W, where it is another.
function base.convolution(dims, space, s, opts, out_name)
    local dtype, acc = base.dtypes(opts)
    if s.ci % s.g ~= 0 or s.co % s.g ~= 0 then base.bad("the channels are no multiple of g") end
    local cig, cog = s.ci // s.g, s.co // s.g
    local xs, ws, ys = { s.n }, {}, { s.n }
    for k = 1, dims do
        xs[#xs + 1] = space[k]
        ws[#ws + 1] = s.k
        ys[#ys + 1] = base.out_size(space[k], s)
    end
    xs[#xs + 1] = s.ci
    ws[#ws + 1], ws[#ws + 2] = cig, s.co
    ys[#ys + 1] = s.co
    local X, W = te.placeholder(xs, dtype, "X"), te.placeholder(ws, opts.weight or dtype, "W")
    -- taps beside the image are none by the definition: zeros there are no factors
    local Xp = base.padded(X, s.p, loop_names[dims], dims, nil, nil, { padding_is_absent = true })
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
        return te.sum(base.product(Xp(table.unpack(x)), W(table.unpack(w)), acc), axes)
    end
    local Y = te.compute(ys, body, out_name or "Y", out_names[dims])
    local taps = dims == 1 and { s.k } or dims == 2 and { s.k, s.k } or { s.k, s.k, s.k }
    local flop = base.times(2, base.count(ys), base.count(taps), cig)

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
        local ix = base.indexer(loops)
        local xv, wv, yv = { x, ix "n" }, { w }, { y, ix "n" }
        for k = 1, dims do
            xv[#xv + 1] = ix(-s.p, { [spatial_names[dims][k]] = s.s, [kernel_names[dims][k]] = s.d })
            wv[#wv + 1] = ix(0, { [kernel_names[dims][k]] = 1 })
            yv[#yv + 1] = ix(0, { [spatial_names[dims][k]] = 1 })
        end
        xv[#xv + 1] = ix(0, { g = cig, c = 1 })
        wv[#wv + 1] = ix "c"
        wv[#wv + 1] = ix(0, { g = cog, q = 1 })
        yv[#yv + 1] = ix(0, { g = cog, q = 1 })
        core.contract(extents, yv, xv, wv)
    end
    return X, W, Y, flop, reference, acc
end

local conv_defaults = { ci = true, co = true, k = true, s = 1, p = 0, d = 1, g = 1, n = 1 }

local function conv(name, dims, space_names)
    local defaults = base.with(conv_defaults, {})
    for _, n in ipairs(space_names) do defaults[n] = true end
    return function(opts)
        local s = base.sizes(opts, defaults)
        local space = {}
        for k, n in ipairs(space_names) do space[k] = s[n] end
        local X, W, Y, flop, reference = base.convolution(dims, space, s, opts)
        return base.finish {
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
    local s = base.sizes(opts, base.with(conv_defaults, { h = true, w = true }))
    base.float_dtypes(opts, "conv2d_bias_relu")
    local X, W, conv_out, flop, reference, acc = base.convolution(2, { s.h, s.w }, s, opts, "conv")
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
    return base.finish {
        id = s.id or "conv2d_bias_relu", inputs = { X, W, bias, offset, scale }, outputs = { Y },
        flop = flop + 4 * base.count(shape), ranges = { scale = { 0.5, 1.5 } },
        reference = function(t)
            local exact = core.tensor(shape, "float64")
            reference(t.X, t.W, exact)
            core.epilogue(exact, t.bias, t.scale, t.offset)
            core.assign(t.Y, exact)
        end,
    }
end

-- ---- rows

local c1d = { "l", "ci", "co", "k", "s", "p" }
local c2d = { "h", "w", "ci", "co", "k", "s", "p", "d", "g" }
local c3d = { "depth", "h", "w", "ci", "co", "k", "s", "p" }

-- The convolutions of ResNet-18: input, channels, kernel, stride, padding.
local resnet = { { 224, 3, 64, 7, 2, 3 }, { 56, 64, 128, 3, 2, 1 }, { 56, 64, 128, 1, 2, 0 }, { 56, 64, 64, 3, 1, 1 },
    { 56, 64, 64, 1, 1, 0 }, { 28, 128, 256, 3, 2, 1 }, { 28, 128, 256, 1, 2, 0 }, { 28, 128, 128, 3, 1, 1 },
    { 14, 256, 512, 3, 2, 1 }, { 14, 256, 512, 1, 2, 0 }, { 14, 256, 256, 3, 1, 1 }, { 7, 512, 512, 3, 1, 1 } }

local function from_resnet(first, more)
    local list = {}
    for k = first, #resnet do list[#list + 1] = { resnet[k][1], table.unpack(resnet[k]) } end
    return base.rows({ "h", "w", "ci", "co", "k", "s", "p" }, list, more)
end

base.family { name = "C1D", about = "convolution over one axis",
    builder = "conv1d", batch = "n", set = "paper8", rows = base.rows(c1d, {
    { 256, 64, 128, 3, 2, 1 }, { 128, 128, 256, 1, 2, 0 }, { 64, 256, 256, 5, 1, 2 }, { 32, 512, 512, 3, 1, 1 } }),
    extended = base.rows(c1d, { { 256, 64, 128, 3, 2, 1 }, { 256, 64, 128, 1, 2, 0 }, { 256, 64, 64, 1, 1, 0 },
        { 128, 128, 256, 3, 2, 1 }, { 128, 128, 256, 1, 2, 0 }, { 128, 128, 128, 3, 1, 1 }, { 64, 256, 512, 3, 2, 1 },
        { 64, 256, 512, 1, 2, 0 }, { 64, 256, 256, 5, 1, 2 }, { 32, 512, 512, 3, 1, 1 } }) }
base.family { name = "C2D", about = "convolution",
    builder = "conv2d", batch = "n", set = "paper8", rows = base.rows(c2d, {
    { 224, 224, 3, 64, 7, 2, 3 }, { 56, 56, 64, 64, 1, 1, 0 }, { 14, 14, 256, 256, 3, 1, 1 }, { 7, 7, 512, 512, 3, 1, 1 } }),
    extended = from_resnet(1) }
base.family { name = "C3D", about = "convolution over three axes",
    builder = "conv3d", batch = "n", set = "paper8", rows = base.rows(c3d, {
    { 16, 224, 224, 3, 64, 7, 2, 3 }, { 16, 56, 56, 64, 64, 1, 1, 0 }, { 16, 14, 14, 256, 256, 3, 1, 1 },
    { 16, 7, 7, 512, 512, 3, 1, 1 } }), extended = from_resnet(1, { depth = 16 }) }
base.family { name = "GRP", about = "convolution in groups",
    builder = "conv2d", batch = "n", set = "paper8", rows = base.rows(c2d, {
    { 56, 56, 64, 128, 3, 2, 1, 1, 4 }, { 56, 56, 64, 64, 1, 1, 0, 1, 4 }, { 14, 14, 256, 256, 3, 1, 1, 1, 4 },
    { 7, 7, 512, 512, 3, 1, 1, 1, 4 } }), extended = from_resnet(2, { g = 4 }) }
base.family { name = "DIL", about = "dilated convolution",
    builder = "conv2d", batch = "n", set = "paper8", rows = base.rows(c2d, {
    { 224, 224, 3, 64, 7, 2, 3, 2 }, { 56, 56, 64, 64, 1, 1, 0, 2 }, { 14, 14, 256, 256, 3, 1, 1, 2 },
    { 7, 7, 512, 512, 3, 1, 1, 2 } }), extended = from_resnet(1, { d = 2 }) }
base.family { name = "CBR", about = "convolution, bias, scale, relu",
    builder = "conv2d_bias_relu", batch = "n", set = "suite", rows = base.rows(c2d, {
    { 224, 224, 3, 64, 7, 2, 3 }, { 56, 56, 64, 128, 3, 2, 1 }, { 28, 28, 128, 256, 1, 2, 0 }, { 7, 7, 512, 512, 3, 1, 1 } }) }
-- Stand-ins: the shapes behind the published names are not known.
base.family { name = "CONV", about = "convolution, by LoopNest's names",
    builder = "conv2d", batch = "n", set = "ln", first = 1, rows = base.rows(c2d, {
    { 56, 56, 64, 64, 3, 1, 1 }, { 28, 28, 128, 128, 3, 1, 1 }, { 14, 14, 256, 256, 3, 1, 1 }, { 7, 7, 512, 512, 3, 1, 1 } }),
    extended = base.rows(c2d, { { 114, 114, 64, 64, 3, 1, 0 }, { 62, 62, 128, 131, 3, 1, 0 } }) }

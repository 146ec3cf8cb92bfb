-- workload/depthwise - a convolution of each channel by itself.
local moon, core, base = ...
local te, workload = moon.te, base.workload

-- depthwise{h=, w=, c=, k=, s=1, p=0, n=1}
function workload.depthwise(opts)
    local s = base.sizes(opts, { h = true, w = true, c = true, k = true, s = 1, p = 0, d = 1, n = 1 })
    local dtype, acc = base.dtypes(opts)
    local oh, ow = base.out_size(s.h, s), base.out_size(s.w, s)
    local X = te.placeholder({ s.n, s.h, s.w, s.c }, dtype, "X")
    local W = te.placeholder({ 1, s.k, s.k, s.c }, dtype, "W")
    local Xp = base.padded(X, s.p, { "n", "h", "w", "c" }, 2)
    local r, t = te.reduce_axis(s.k, "r"), te.reduce_axis(s.k, "t")
    local Y = te.compute({ s.n, oh, ow, s.c }, function(n, h, w, c)
        return te.sum(base.product(Xp(n, h * s.s + r * s.d, w * s.s + t * s.d, c), W(0, r, t, c), acc), r, t)
    end, "Y")
    return base.finish {
        id = s.id or "depthwise", inputs = { X, W }, outputs = { Y }, flop = base.times(2, s.n, oh, ow, s.c, s.k, s.k),
        reference = function(v)
            local ix = base.indexer { "n", "h", "w", "c", "r", "t" }
            local n, c = ix "n", ix "c"
            core.contract({ s.n, oh, ow, s.c, s.k, s.k }, { v.Y, n, ix "h", ix "w", c },
                { v.X, n, ix(-s.p, { h = s.s, r = s.d }), ix(-s.p, { w = s.s, t = s.d }), c },
                { v.W, ix(0, {}), ix "r", ix "t", c })
        end,
    }
end

-- ---- rows

-- Those of MobileNet-V1: input, channels, stride.
local mobilenet = { { 112, 32, 1 }, { 112, 64, 2 }, { 56, 128, 1 }, { 56, 128, 2 }, { 28, 256, 1 }, { 28, 256, 2 },
    { 14, 512, 1 }, { 14, 512, 2 }, { 7, 1024, 1 } }

local function squares(list)
    local rows = {}
    for k, r in ipairs(list) do rows[k] = { r[1], r[1], r[2], 3, r[3], 1 } end
    return base.rows({ "h", "w", "c", "k", "s", "p" }, rows)
end

base.family { name = "DEP", about = "depthwise convolution",
    builder = "depthwise", batch = "n", set = "paper8",
    rows = squares { { 112, 32, 1 }, { 112, 64, 2 }, { 14, 512, 2 }, { 7, 1024, 1 } }, extended = squares(mobilenet) }
-- Stand-ins: the shapes behind the published names are not known.
base.family { name = "DWCONV", about = "depthwise convolution, by LoopNest's names",
    builder = "depthwise", batch = "n", set = "ln", first = 1,
    rows = squares { { 112, 32, 1 }, { 56, 128, 1 }, { 28, 256, 1 }, { 14, 512, 1 } } }

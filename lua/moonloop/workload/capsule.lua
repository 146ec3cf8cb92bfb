-- workload/capsule - a convolution whose elements are 4x4 matrices.
local moon, core, base = ...
local te, workload = moon.te, base.workload

-- capsule{h=, w=, ci=, co=, k=, s=1, p=0, n=1}
function workload.capsule(opts)
    local s = base.sizes(opts, { h = true, w = true, ci = true, co = true, k = true, s = 1, p = 0, n = 1 })
    local dtype, acc = base.dtypes(opts)
    local oh, ow = base.out_size(s.h, s), base.out_size(s.w, s)
    local X = te.placeholder({ s.n, s.h, s.w, 4, 4, s.ci }, dtype, "X")
    local W = te.placeholder({ s.k, s.k, 4, 4, s.ci, s.co }, dtype, "W")
    local p = s.p
    local Xp = base.padded(X, p, { "n", "h", "w", "i", "u", "c" }, 2, nil, nil, { padding_is_absent = true })
    local r, t = te.reduce_axis(s.k, "r"), te.reduce_axis(s.k, "t")
    local u, c = te.reduce_axis(4, "u"), te.reduce_axis(s.ci, "c")
    local Y = te.compute({ s.n, oh, ow, 4, 4, s.co }, function(n, h, w, i, j, o)
        return te.sum(base.product(Xp(n, h * s.s + r, w * s.s + t, i, u, c), W(r, t, u, j, c, o), acc), r, t, u, c)
    end, "Y")
    return base.finish {
        id = s.id or "capsule", inputs = { X, W }, outputs = { Y },
        flop = base.times(2, s.n, oh, ow, 16, s.co, s.k, s.k, 4, s.ci),
        reference = function(v)
            local ix = base.indexer { "n", "h", "w", "i", "j", "o", "r", "t", "u", "c" }
            core.contract({ s.n, oh, ow, 4, 4, s.co, s.k, s.k, 4, s.ci },
                { v.Y, ix "n", ix "h", ix "w", ix "i", ix "j", ix "o" },
                { v.X, ix "n", ix(-p, { h = s.s, r = 1 }), ix(-p, { w = s.s, t = 1 }), ix "i", ix "u", ix "c" },
                { v.W, ix "r", ix "t", ix "u", ix "j", ix "c", ix "o" })
        end,
    }
end

base.family { name = "CAP", about = "capsule convolution",
    builder = "capsule", batch = "n", set = "suite",
    rows = base.rows({ "h", "w", "ci", "co", "k", "s", "p" }, { { 16, 16, 32, 32, 3, 2, 1 }, { 8, 8, 32, 32, 3, 1, 1 },
        { 16, 16, 8, 16, 3, 2, 1 }, { 8, 8, 16, 16, 3, 1, 1 } }) }

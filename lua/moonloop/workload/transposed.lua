-- workload/transposed - the transposed convolution.
local moon, core, base = ...
local te, workload = moon.te, base.workload

-- conv2d_transposed{h=, w=, ci=, co=, k=, s=1, p=0, n=1}
function workload.conv2d_transposed(opts)
    local s = base.sizes(opts, { h = true, w = true, ci = true, co = true, k = true, s = 1, p = 0, n = 1 })
    local dtype, acc = base.dtypes(opts)
    local q = s.k - 1 - s.p
    if q < 0 then base.bad("p: at most k - 1 is possible") end
    local function out_of(size) return (size - 1) * s.s - 2 * s.p + s.k end
    local oh, ow = out_of(s.h), out_of(s.w)
    if oh < 1 or ow < 1 then base.bad("the result is empty") end
    local P = (q + s.s - 1) // s.s
    local X = te.placeholder({ s.n, s.h, s.w, s.ci }, dtype, "X")
    local W = te.placeholder({ s.k, s.k, s.ci, s.co }, dtype, "W")
    local Xp = base.padded(X, P, { "n", "h", "w", "c" }, 2, nil, nil, { padding_is_absent = true })
    local r, t, c = te.reduce_axis(s.k, "r"), te.reduce_axis(s.k, "t"), te.reduce_axis(s.ci, "c")
    local shift = P * s.s - q -- makes the dilated position non-negative, without changing its remainder
    local Y = te.compute({ s.n, oh, ow, s.co }, function(n, h, w, o)
        local i, j = h + r + shift, w + t + shift
        local x = base.product(Xp(n, i // s.s, j // s.s, c), W(s.k - 1 - r, s.k - 1 - t, c, o), acc)
        -- what lies between the elements is no factor: 0 times an infinite weight is not added
        if s.s > 1 then x = te.select(te.all(te.eq(i % s.s, 0), te.eq(j % s.s, 0)), x, te.const(0, acc)) end
        return te.sum(x, r, t, c)
    end, "Y")
    return base.finish {
        id = s.id or "conv2d_transposed", inputs = { X, W }, outputs = { Y },
        flop = base.times(2, s.n, oh, ow, s.co, s.k, s.k, s.ci),
        -- scattered: input (i, j) adds to output (i * s + r - p, j * s + t - p)
        reference = function(v)
            local ix = base.indexer { "n", "i", "j", "r", "t", "c", "o" }
            local n, cc, o = ix "n", ix "c", ix "o"
            core.contract({ s.n, s.h, s.w, s.k, s.k, s.ci, s.co },
                { v.Y, n, ix(-s.p, { i = s.s, r = 1 }), ix(-s.p, { j = s.s, t = 1 }), o },
                { v.X, n, ix "i", ix "j", cc },
                { v.W, ix "r", ix "t", cc, o })
        end,
    }
end

base.family { name = "T2D", about = "transposed convolution",
    builder = "conv2d_transposed", batch = "n", set = "paper8",
    rows = base.rows({ "h", "w", "ci", "co", "k", "s", "p" }, { { 4, 4, 512, 256, 4, 2, 1 }, { 8, 8, 256, 128, 4, 2, 1 },
        { 16, 16, 128, 64, 4, 2, 1 }, { 32, 32, 64, 3, 4, 2, 1 } }) }

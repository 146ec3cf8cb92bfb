-- workload/winograd - a convolution of 3x3 by Winograd's transforms.
local moon, core, base = ...
local te, workload = moon.te, base.workload

-- The factors of data, kernel and result.
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

-- A constant matrix as a tensor.
local function matrix(rows)
    local t = core.tensor({ #rows, #rows[1] }, "float64")
    for r, row in ipairs(rows) do
        for c, v in ipairs(row) do t[{ r - 1, c - 1 }] = v end
    end
    return t
end

-- The reference where the kernel is given transformed: the definition, one factor after the other.
local function transformed(v, s, th, tw)
    local function double(...) return core.tensor({ ... }, "float64") end
    local half, data = double(6, 6, s.n, th, tw, s.ci), double(6, 6, s.n, th, tw, s.ci)
    local sums, part = double(6, 6, s.n, th, tw, s.co), double(4, 6, s.n, th, tw, s.co)
    local B, A = matrix(win_b), matrix(win_a)
    local ix = base.indexer { "a", "e", "n", "y", "x", "c", "r" }
    local n, y, x, c, a, e, r = ix "n", ix "y", ix "x", ix "c", ix "a", ix "e", ix "r"
    core.contract({ 6, 6, s.n, th, tw, s.ci, 6 }, { half, a, e, n, y, x, c },
        { v.X, n, ix(-1, { y = 4, r = 1 }), ix(-1, { x = 4, e = 1 }), c }, { B, r, a })
    core.contract({ 6, 6, s.n, th, tw, s.ci, 6 }, { data, a, e, n, y, x, c }, { half, a, r, n, y, x, c }, { B, r, e })
    local jx = base.indexer { "a", "e", "n", "y", "x", "o", "c" }
    core.contract({ 6, 6, s.n, th, tw, s.co, s.ci }, { sums, jx "a", jx "e", jx "n", jx "y", jx "x", jx "o" },
        { data, jx "a", jx "e", jx "n", jx "y", jx "x", jx "c" }, { v.W, jx "a", jx "e", jx "o", jx "c" })
    core.contract({ 4, 6, s.n, th, tw, s.co, 6 }, { part, a, e, n, y, x, c }, { sums, r, e, n, y, x, c }, { A, r, a })
    core.contract({ 4, 4, s.n, th, tw, s.co, 6 }, { v.Y, n, ix(0, { y = 4, a = 1 }), ix(0, { x = 4, e = 1 }), c },
        { part, a, r, n, y, x, c }, { A, r, e })
end

-- winograd{h=, w=, ci=, co=, n=1, pre=}: F(4x4, 3x3) with k = 3, s = 1, p = 1; pre: the transformed
-- kernel, of shape 6x6xCoxCi, is an argument
function workload.winograd(opts)
    local s = base.sizes(opts, { h = true, w = true, ci = true, co = true, n = 1 }, { pre = true })
    local pre = s.pre
    local dtype, acc = base.float_dtypes(opts, "winograd")
    local th, tw = (s.h + 3) // 4, (s.w + 3) // 4
    local tiles = base.times(s.n, th, tw)
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
    return base.finish {
        id = s.id or "winograd", inputs = { X, W }, outputs = { Y }, flop = base.times(2, 36, tiles, s.ci, s.co),
        reference = function(v)
            if pre then return transformed(v, s, th, tw) end
            local ix = base.indexer { "n", "h", "w", "o", "r", "t", "c" }
            core.contract({ s.n, s.h, s.w, s.co, 3, 3, s.ci }, { v.Y, ix "n", ix "h", ix "w", ix "o" },
                { v.X, ix "n", ix(-1, { h = 1, r = 1 }), ix(-1, { w = 1, t = 1 }), ix "c" },
                { v.W, ix "r", ix "t", ix "c", ix "o" })
        end,
    }
end

base.family { name = "WIN", about = "convolution by Winograd's transforms",
    builder = "winograd", batch = "n", set = "suite", flags = { pre = { pre = true } },
    rows = base.rows({ "h", "w", "ci", "co" }, { { 14, 14, 128, 128 } }) }

-- workload/attention - products over heads.
local moon, core, base = ...
local te, workload = moon.te, base.workload

-- transpose_batch_matmul{b=1, s=, h=, d=}
function workload.transpose_batch_matmul(opts)
    local s = base.sizes(opts, { b = 1, s = true, h = true, d = true })
    local dtype, acc = base.dtypes(opts)
    local Q = te.placeholder({ s.b, s.s, s.h, s.d }, dtype, "Q")
    local V = te.placeholder({ s.b, s.s, s.h, s.d }, dtype, "V")
    local Qt = te.compute({ s.b, s.h, s.s, s.d }, function(b, h, i, d) return Q(b, i, h, d) end, "Qt")
    local Vt = te.compute({ s.b, s.h, s.d, s.s }, function(b, h, d, j) return V(b, j, h, d) end, "Vt")
    local d = te.reduce_axis(s.d, "d")
    local C = te.compute({ s.b, s.h, s.s, s.s }, function(b, h, i, j)
        return te.sum(base.product(Qt(b, h, i, d), Vt(b, h, d, j), acc), d)
    end, "C")
    return base.finish {
        id = s.id or "transpose_batch_matmul", inputs = { Q, V }, outputs = { C }, flop = base.times(2, s.b, s.h, s.s, s.s, s.d),
        reference = function(t)
            local ix = base.indexer { "b", "h", "i", "j", "d" }
            core.contract({ s.b, s.h, s.s, s.s, s.d }, { t.C, ix "b", ix "h", ix "i", ix "j" },
                { t.Q, ix "b", ix "i", ix "h", ix "d" }, { t.V, ix "b", ix "j", ix "h", ix "d" })
        end,
    }
end

-- attention{h=, s=, d=}: Y = softmax(Q K^T / sqrt(d)) V of each head. Both products, and 5 operations per score.
function workload.attention(opts)
    local s = base.sizes(opts, { h = true, s = true, d = true })
    local dtype, acc = base.float_dtypes(opts, "attention")
    local shape, square, rows = { s.h, s.s, s.d }, { s.h, s.s, s.s }, { s.h, s.s }
    local Q, K, V = te.placeholder(shape, dtype, "Q"), te.placeholder(shape, dtype, "K"), te.placeholder(shape, dtype, "V")
    local c, k = te.reduce_axis(s.d, "d"), te.reduce_axis(s.s, "j")
    local factor = 1 / s.d ^ 0.5
    local scores = te.compute(square,
        function(h, i, j) return te.sum(base.product(Q(h, i, c), K(h, j, c), acc), c) end, "scores")
    local scale = te.compute(square, function(h, i, j) return scores(h, i, j) * te.const(factor, acc) end, "scale")
    local top = te.compute(rows, function(h, i) return te.max(scale(h, i, k), k) end, "max")
    local e = te.compute(square, function(h, i, j) return te.exp(scale(h, i, j) - top(h, i)) end, "exp")
    local sum = te.compute(rows, function(h, i) return te.sum(e(h, i, k), k) end, "sum")
    local weight = te.compute(square, function(h, i, j) return e(h, i, j) / sum(h, i) end, "weight")
    local Y = te.compute(shape, function(h, i, d) return te.sum(weight(h, i, k) * te.cast(V(h, k, d), acc), k) end, "Y")
    return base.finish {
        id = s.id or "attention", inputs = { Q, K, V }, outputs = { Y },
        flop = base.times(4, s.h, s.s, s.s, s.d) + base.times(5, s.h, s.s, s.s),
        reference = function(t)
            local a, b = core.tensor(square, "float64"), core.tensor(square, "float64")
            local ix = base.indexer { "h", "i", "j", "d" }
            core.contract({ s.h, s.s, s.s, s.d }, { a, ix "h", ix "i", ix "j" }, { t.Q, ix "h", ix "i", ix "d" },
                { t.K, ix "h", ix "j", ix "d" })
            core.softmax(b, a, factor)
            core.contract({ s.h, s.s, s.s, s.d }, { t.Y, ix "h", ix "i", ix "d" }, { b, ix "h", ix "i", ix "j" },
                { t.V, ix "h", ix "j", ix "d" })
        end,
    }
end

-- ---- rows

base.family { name = "ATT", about = "attention",
    builder = "attention", set = "ops", rows = base.rows({ "h", "s", "d" }, {
    { 12, 128, 64 }, { 16, 384, 64 }, { 12, 197, 64 }, { 32, 2048, 128 } }) }
base.family { name = "TBG", about = "transposes and a batched product",
    builder = "transpose_batch_matmul", batch = "b", set = "suite",
    rows = base.rows({ "b", "s", "h", "d" }, { { 1, 128, 12, 64 }, { 1, 128, 16, 64 }, { 1, 64, 12, 128 }, { 1, 128, 12, 128 } }) }

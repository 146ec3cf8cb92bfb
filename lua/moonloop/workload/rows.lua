-- workload/rows - what is done to matrices by element or by row: layer norm, GELU, sums, addition, transposition.
local moon, core, base = ...
local te, workload = moon.te, base.workload

-- The reference sums through a contraction with one.
local function sum_into(out, extents, names, of_out, A)
    local ix = base.indexer(names)
    local view = { out }
    for _, name in ipairs(of_out) do view[#view + 1] = name == "" and ix(0, {}) or ix(name) end
    core.contract(extents, view, { A, ix "i", ix "j" }, { core.tensor({ 1 }, A.dtype, "ones"), ix(0, {}) })
end

-- sum_rows{m=, n=}: B[i] = sum over j of A[i,j]
function workload.sum_rows(opts)
    local s = base.sizes(opts, { m = true, n = true })
    local dtype, acc = base.dtypes(opts)
    local A = te.placeholder({ s.m, s.n }, dtype, "A")
    local j = te.reduce_axis(s.n, "j")
    local B = te.compute({ s.m }, function(i) return te.sum(te.cast(A(i, j), acc), j) end, "B")
    return base.finish {
        id = s.id or "sum_rows", inputs = { A }, outputs = { B }, flop = base.times(s.m, s.n),
        reference = function(t) sum_into(t.B, { s.m, s.n }, { "i", "j" }, { "i" }, t.A) end,
    }
end

-- sum_columns{m=, n=}: B[j] = sum over i of A[i,j]
function workload.sum_columns(opts)
    local s = base.sizes(opts, { m = true, n = true })
    local dtype, acc = base.dtypes(opts)
    local A = te.placeholder({ s.m, s.n }, dtype, "A")
    local i = te.reduce_axis(s.m, "i")
    local B = te.compute({ s.n }, function(j) return te.sum(te.cast(A(i, j), acc), i) end, "B")
    return base.finish {
        id = s.id or "sum_columns", inputs = { A }, outputs = { B }, flop = base.times(s.m, s.n),
        reference = function(t) sum_into(t.B, { s.m, s.n }, { "i", "j" }, { "j" }, t.A) end,
    }
end

-- sum_all{m=, n=}: B[0] = sum over i, j of A[i,j]
function workload.sum_all(opts)
    local s = base.sizes(opts, { m = true, n = true })
    local dtype, acc = base.dtypes(opts)
    local A = te.placeholder({ s.m, s.n }, dtype, "A")
    local i, j = te.reduce_axis(s.m, "i"), te.reduce_axis(s.n, "j")
    local B = te.compute({ 1 }, function(o) return te.sum(te.cast(A(i, j), acc), i, j) end, "B")
    return base.finish {
        id = s.id or "sum_all", inputs = { A }, outputs = { B }, flop = base.times(s.m, s.n),
        reference = function(t) sum_into(t.B, { s.m, s.n }, { "i", "j" }, { "" }, t.A) end,
    }
end

-- add{m=, n=, relu=}: C = A + B; relu: of that what is positive
function workload.add(opts)
    local s = base.sizes(opts, { m = true, n = true }, { relu = true })
    local dtype, acc = base.dtypes(opts)
    local A = te.placeholder({ s.m, s.n }, dtype, "A")
    local B = te.placeholder({ s.m, s.n }, dtype, "B")
    local C = te.compute({ s.m, s.n }, function(i, j)
        local sum = te.cast(A(i, j), acc) + te.cast(B(i, j), acc)
        return s.relu and te.max(sum, te.const(0, acc)) or sum
    end, "C")
    return base.finish {
        id = s.id or "add", inputs = { A, B }, outputs = { C }, flop = base.times(s.relu and 2 or 1, s.m, s.n),
        reference = function(t) core.add(t.C, t.A, t.B, s.relu) end,
    }
end

-- transpose{m=, n=}: B[i,j] = A[j,i] for A of m rows
function workload.transpose(opts)
    local s = base.sizes(opts, { m = true, n = true })
    local dtype = base.dtypes(opts)
    local A = te.placeholder({ s.m, s.n }, dtype, "A")
    local B = te.compute({ s.n, s.m }, function(i, j) return A(j, i) end, "B")
    return base.finish {
        id = s.id or "transpose", inputs = { A }, outputs = { B }, flop = 0,
        reference = function(t) sum_into(t.B, { s.m, s.n }, { "i", "j" }, { "j", "i" }, t.A) end,
    }
end

-- gelu{m=, n=}: Y = X * (1 + erf(X / sqrt 2)) / 2
function workload.gelu(opts)
    local s = base.sizes(opts, { m = true, n = true })
    local dtype, acc = base.float_dtypes(opts, "gelu")
    local X = te.placeholder({ s.m, s.n }, dtype, "X")
    local function number(v) return te.const(v, acc) end
    local Y = te.compute({ s.m, s.n }, function(i, j)
        local x = te.cast(X(i, j), acc)
        return x * (number(1.0) + te.erf(x / number(2 ^ 0.5))) / number(2.0)
    end, "Y")
    return base.finish {
        id = s.id or "gelu", inputs = { X }, outputs = { Y }, flop = base.times(4, s.m, s.n),
        reference = function(t) core.gelu(t.Y, t.X) end,
    }
end

-- layer_norm{m=, n=}: (X - mean) / sqrt(variance + 1e-5) * gamma + beta of each row. Per element 8 operations, per
-- row 3: the mean, the variance, the constant added to it.
function workload.layer_norm(opts)
    local s = base.sizes(opts, { m = true, n = true })
    local dtype, acc = base.float_dtypes(opts, "layer_norm")
    local X = te.placeholder({ s.m, s.n }, dtype, "X")
    local gamma = te.placeholder({ s.n }, acc, "gamma")
    local beta = te.placeholder({ s.n }, acc, "beta")
    local k = te.reduce_axis(s.n, "k")
    local n, epsilon = te.const(s.n + 0.0, acc), te.const(1e-5, acc)
    local sum = te.compute({ s.m }, function(i) return te.sum(te.cast(X(i, k), acc), k) end, "sum")
    local mean = te.compute({ s.m }, function(i) return sum(i) / n end, "mean")
    local centred = te.compute({ s.m, s.n }, function(i, j) return te.cast(X(i, j), acc) - mean(i) end, "centred")
    local square = te.compute({ s.m }, function(i) return te.sum(centred(i, k) * centred(i, k), k) end, "square")
    local deviation = te.compute({ s.m }, function(i) return te.sqrt(square(i) / n + epsilon) end, "deviation")
    local Y = te.compute({ s.m, s.n }, function(i, j)
        return (te.cast(X(i, j), acc) - mean(i)) / deviation(i) * gamma(j) + beta(j)
    end, "Y")
    return base.finish {
        id = s.id or "layer_norm", inputs = { X, gamma, beta }, outputs = { Y },
        flop = base.times(8, s.m, s.n) + 3 * s.m, ranges = { X = { -4, 4 }, gamma = { 0.5, 1.5 } },
        reference = function(t) core.layer_norm(t.Y, t.X, t.gamma, t.beta, 1e-5) end,
    }
end

-- ---- rows

local function matrices(name, about, builder, list)
    base.family { name = name, about = about, builder = builder, set = "ops", rows = base.rows({ "m", "n" }, list) }
end
matrices("LNM", "layer norm of rows", "layer_norm", { { 128, 1024 }, { 384, 1024 }, { 197, 768 }, { 4096, 4096 } })
matrices("GEL", "GELU of each element", "gelu", { { 128, 4096 } })
matrices("SUMR", "sums of rows", "sum_rows", { { 4096, 4096 }, { 64, 65536 } })
matrices("SUMC", "sums of columns", "sum_columns", { { 4096, 4096 }, { 65536, 64 } })
matrices("SUMA", "sum of a matrix", "sum_all", { { 4096, 4096 } })
matrices("ADD", "sum of two matrices", "add", { { 4096, 4096 } })
matrices("TRN", "transposition", "transpose", { { 4096, 4096 }, { 1000, 3000 } })

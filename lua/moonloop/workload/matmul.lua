-- workload/matmul - matrix products.
local moon, core, base = ...
local te, workload = moon.te, base.workload

function workload.matmul(m, n, k, opts)
    if type(m) == "table" then
        local s = base.sizes(m, { m = true, n = true, k = true })
        opts, m, n, k = { dtype = m.dtype, acc = m.acc, id = m.id }, s.m, s.n, s.k
    end
    base.option_names(opts, { dtype = true, acc = true, id = true })
    base.sizes({ m = m, n = n, k = k }, { m = true, n = true, k = true })
    local dtype, acc = base.dtypes(opts)
    local A = te.placeholder({ m, k }, dtype, "A")
    local B = te.placeholder({ k, n }, dtype, "B")
    local kk = te.reduce_axis(k, "k")
    local C = te.compute({ m, n }, function(i, j) return te.sum(base.product(A(i, kk), B(kk, j), acc), kk) end, "C")
    return base.finish {
        id = opts and opts.id or "matmul", inputs = { A, B }, outputs = { C }, flop = base.times(2, m, n, k),
        reference = function(t)
            local ix = base.indexer { "i", "k", "j" }
            core.contract({ m, k, n }, { t.C, ix "i", ix "j" },
                { t.A, ix "i", ix "k" }, { t.B, ix "k", ix "j" })
        end,
    }
end

-- batch_matmul{b=1, n=, m=, k=}: Z[b,i,j] = sum over k of X[b,i,k] * Y[b,k,j]
function workload.batch_matmul(opts)
    local s = base.sizes(opts, { b = 1, n = true, m = true, k = true })
    local dtype, acc = base.dtypes(opts)
    local X = te.placeholder({ s.b, s.n, s.k }, dtype, "X")
    local Y = te.placeholder({ s.b, s.k, s.m }, dtype, "Y")
    local kk = te.reduce_axis(s.k, "k")
    local Z = te.compute({ s.b, s.n, s.m },
        function(b, i, j) return te.sum(base.product(X(b, i, kk), Y(b, kk, j), acc), kk) end, "Z")
    return base.finish {
        id = s.id or "batch_matmul", inputs = { X, Y }, outputs = { Z }, flop = base.times(2, s.b, s.n, s.m, s.k),
        reference = function(t)
            local ix = base.indexer { "b", "i", "k", "j" }
            local b, i, j, k = ix "b", ix "i", ix "j", ix "k"
            core.contract({ s.b, s.n, s.k, s.m }, { t.Z, b, i, j }, { t.X, b, i, k }, { t.Y, b, k, j })
        end,
    }
end

-- dense_relu{m=, n=, k=}: Y[i,j] = relu of the sum over k of X[i,k] * W[k,j], + bias[j]
function workload.dense_relu(opts)
    local s = base.sizes(opts, { m = true, n = true, k = true })
    local dtype, acc = base.dtypes(opts)
    local X = te.placeholder({ s.m, s.k }, dtype, "X")
    local W = te.placeholder({ s.k, s.n }, dtype, "W")
    local bias = te.placeholder({ s.n }, acc, "bias")
    local kk = te.reduce_axis(s.k, "k")
    local dense = te.compute({ s.m, s.n },
        function(i, j) return te.sum(base.product(X(i, kk), W(kk, j), acc), kk) end, "dense")
    local added = te.compute({ s.m, s.n }, function(i, j) return dense(i, j) + bias(j) end, "bias_add")
    local Y = te.compute({ s.m, s.n }, function(i, j) return te.max(added(i, j), te.const(0, acc)) end, "Y")
    return base.finish {
        id = s.id or "dense_relu", inputs = { X, W, bias }, outputs = { Y },
        flop = base.times(2, s.m, s.n, s.k) + base.times(2, s.m, s.n),
        reference = function(t)
            local exact = core.tensor({ s.m, s.n }, acc:find("float") and "float64" or "int64")
            local ix = base.indexer { "i", "k", "j" }
            core.contract({ s.m, s.k, s.n }, { exact, ix "i", ix "j" }, { t.X, ix "i", ix "k" }, { t.W, ix "k", ix "j" })
            core.bias_relu(t.Y, exact, t.bias)
        end,
    }
end

-- ---- rows

base.family { name = "GMM", about = "batched matrix product",
    builder = "batch_matmul", batch = "b", set = "paper8", rows = base.rows({ "b", "n", "m", "k" }, {
    { 1, 128, 128, 128 }, { 1, 512, 32, 512 }, { 1, 512, 512, 512 }, { 1, 1024, 1024, 1024 } }),
    extended = base.rows({ "b", "n", "m", "k" }, { { 1, 256, 256, 256 }, { 1, 2048, 2048, 2048 }, { 1, 4096, 4096, 4096 } }) }
base.family { name = "DBR", about = "dense layer: product, bias, relu",
    builder = "dense_relu", set = "ops", rows = base.rows({ "m", "n", "k" }, {
    { 128, 4096, 1024 }, { 128, 3072, 768 }, { 512, 512, 512 }, { 1024, 1024, 1024 } }) }
base.family { name = "BMM", about = "batched matrix product",
    builder = "batch_matmul", batch = "b", set = "ops", rows = base.rows({ "b", "n", "m", "k" }, {
    { 12, 128, 128, 64 }, { 16, 384, 384, 64 }, { 16, 384, 64, 384 }, { 192, 128, 128, 64 } }) }
base.family { name = "MM", about = "matrix product, by LoopNest's names",
    builder = "matmul", set = "ln", keys = { 64, 128, 256, 512 }, rows = base.rows({ "m", "n", "k" }, {
    { 64, 64, 64 }, { 128, 128, 128 }, { 256, 256, 256 }, { 512, 512, 512 } }),
    extended = base.rows({ "m", "n", "k" }, { { 333, 333, 333 }, { 32, 512, 512 }, { 72, 256, 64 }, { 333, 1, 333 } }) }

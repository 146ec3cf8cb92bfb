-- workload/reduce - reductions that are no sums: the greatest of a row and where it is, pooling.
local moon, core, base = ...
local te, workload, ir = moon.te, base.workload, moon.ir

-- argmax{m=, n=}: Y[i], the greatest of row i, and index[i], where it is first. Ties are decided by the index, so that the
-- reduction may be taken in any order.
function workload.argmax(opts)
    local s = base.sizes(opts, { m = true, n = true })
    local dtype = base.dtypes(opts)
    local X = te.placeholder({ s.m, s.n }, dtype, "X")
    local Y, at = te.extern({ { { s.m }, dtype, "Y" }, { { s.m }, "int32", "index" } }, function(Y, at)
        local vi, vk = ir.var("vi"), ir.var("vk")
        local top, old, x = ir.load(Y.buffer, vi), ir.load(at.buffer, vi), X(vi, vk)
        local index, value = ir.var("v_index"), ir.var("v_Y", dtype)
        local better = ir.or_(ir.gt(x, top), ir.and_(ir.eq(x, top), ir.lt(vk, old)))
        return base.nest({ { "i", s.m }, { "k", s.n } }, function(i, k)
            return ir.block {
                name = "Y",
                iters = { { var = vi, extent = s.m, value = i }, { var = vk, extent = s.n, kind = "reduce", value = k } },
                init = ir.seq { ir.store(Y.buffer, ir.limit(dtype, false), { vi }),
                    ir.store(at.buffer, ir.limit("int32", true), { vi }) },
                body = ir.seq { ir.bind(index, ir.select(better, vk, old)), ir.bind(value, ir.max(x, top)),
                    ir.store(Y.buffer, value, { vi }), ir.store(at.buffer, index, { vi }) },
            }
        end)
    end)
    return base.finish {
        id = s.id or "argmax", inputs = { X }, outputs = { Y, at }, flop = base.times(s.m, s.n),
        reference = function(t) core.argmax(t.Y, t.index, t.X) end,
    }
end

-- max_pool{h=, w=, c=, k=, s=1, p=0, n=1}: the greatest of each window, with nothing less than -infinity around
function workload.max_pool(opts)
    local s = base.sizes(opts, { h = true, w = true, c = true, k = true, s = 1, p = 0, n = 1 })
    local dtype = base.dtypes(opts)
    if s.p >= s.k then base.bad("p: less than k is needed, so that each window holds an element") end
    local oh, ow = base.out_size(s.h, s), base.out_size(s.w, s)
    local X = te.placeholder({ s.n, s.h, s.w, s.c }, dtype, "X")
    local least = dtype:find("float") and te.const(-math.huge, dtype) or ir.limit(dtype, false)
    local Xp = base.padded(X, s.p, { "n", "h", "w", "c" }, 2, least)
    local r, t = te.reduce_axis(s.k, "r"), te.reduce_axis(s.k, "t")
    local Y = te.compute({ s.n, oh, ow, s.c },
        function(n, h, w, c) return te.max(Xp(n, h * s.s + r, w * s.s + t, c), r, t) end, "Y")
    return base.finish {
        id = s.id or "max_pool", inputs = { X }, outputs = { Y }, flop = base.times(s.n, oh, ow, s.c, s.k, s.k),
        reference = function(v) core.max_pool(v.Y, v.X, s.k, s.s, s.p) end,
    }
end

-- mean_pool{h=, w=, c=, n=1}: the mean of each channel. Per element 1 operation, per channel the division.
function workload.mean_pool(opts)
    local s = base.sizes(opts, { h = true, w = true, c = true, n = 1 })
    local dtype, acc = base.float_dtypes(opts, "mean_pool")
    local X = te.placeholder({ s.n, s.h, s.w, s.c }, dtype, "X")
    local h, w = te.reduce_axis(s.h, "h"), te.reduce_axis(s.w, "w")
    local sum = te.compute({ s.n, s.c }, function(n, c) return te.sum(te.cast(X(n, h, w, c), acc), h, w) end, "sum")
    local area = base.times(s.h, s.w)
    local Y = te.compute({ s.n, s.c }, function(n, c) return sum(n, c) / te.const(area + 0.0, acc) end, "Y")
    return base.finish {
        id = s.id or "mean_pool", inputs = { X }, outputs = { Y },
        flop = base.times(s.n, s.h, s.w, s.c) + s.n * s.c,
        reference = function(v)
            local exact, ix = core.tensor({ s.n, s.c }, "float64"), base.indexer { "n", "h", "w", "c" }
            core.contract({ s.n, s.h, s.w, s.c }, { exact, ix "n", ix "c" }, { v.X, ix "n", ix "h", ix "w", ix "c" },
                { core.tensor({ 1 }, "float64"):fill(1 / area), ix(0, {}) })
            core.assign(v.Y, exact)
        end,
    }
end

-- ---- rows

base.family { name = "ARG", about = "greatest of a row and where it is",
    builder = "argmax", set = "ops", rows = base.rows({ "m", "n" }, { { 1024, 50257 } }) }
base.family { name = "MXP", about = "greatest of windows",
    builder = "max_pool", batch = "n", set = "ops",
    rows = base.rows({ "h", "w", "c", "k", "s", "p" }, { { 112, 112, 64, 3, 2, 1 } }) }
base.family { name = "AVP", about = "mean of channels",
    builder = "mean_pool", batch = "n", set = "ops",
    rows = base.rows({ "h", "w", "c" }, { { 7, 7, 2048 } }) }

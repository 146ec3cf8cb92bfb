-- workload/scan - running sums: what is computed from its own last element, in order.
local moon, core, base = ...
local te, workload, ir = moon.te, base.workload, moon.ir

-- A tensor along whose last axis each element needs the one before: value(before, index...) where before is 0 at
-- first. axes: {letter, extent} of each loop, the last one opaque; place(iters...): the index of the tensor.
local function serial(name, shape, dtype, axes, place, value, first)
    return te.extern({ { shape, dtype, name } }, function(Y)
        local iters = {}
        for k, axis in ipairs(axes) do iters[k] = ir.var("v" .. axis[1]) end
        local last = iters[#iters]
        local before = { table.unpack(iters) }
        before[#before] = last - 1
        local at = { place(table.unpack(iters)) }
        local previous = ir.load(Y.buffer, place(table.unpack(before)))
        local start = first and first(table.unpack(iters)) or ir.const(0, dtype)
        return base.nest(axes, function(...)
            local loops, list = { ... }, {}
            for k, axis in ipairs(axes) do
                list[k] = { var = iters[k], extent = axis[2], kind = k == #axes and "opaque" or "spatial", value = loops[k] }
            end
            return ir.block {
                name = name, iters = list,
                body = ir.store(Y.buffer, value(ir.gt(last, 0), previous, start, table.unpack(iters)), at),
            }
        end)
    end)
end

-- cumsum{m=, n=}: Y[i,j] = Y[i,j-1] + X[i,j]
function workload.cumsum(opts)
    local s = base.sizes(opts, { m = true, n = true })
    local dtype, acc = base.dtypes(opts)
    local X = te.placeholder({ s.m, s.n }, dtype, "X")
    local Y = serial("Y", { s.m, s.n }, acc, { { "i", s.m }, { "j", s.n } }, function(i, j) return i, j end,
        function(inner, previous, start, i, j) return ir.if_then_else(inner, previous, start) + te.cast(X(i, j), acc) end)
    return base.finish {
        id = s.id or "cumsum", inputs = { X }, outputs = { Y }, flop = base.times(s.m, s.n),
        reference = function(t) core.cumsum(t.Y, t.X) end,
    }
end

-- cumsum_blocked{m=, n=, block=256}: the same by blocks: their sums, a scan of those, a scan within each. Nominal are
-- 2 operations per element; the scan of the sums is left out.
function workload.cumsum_blocked(opts)
    local s = base.sizes(opts, { m = true, n = true, block = 256 })
    local dtype, acc = base.dtypes(opts)
    if s.n % s.block ~= 0 then base.bad("n: a multiple of block is needed") end
    local blocks, size = s.n // s.block, s.block
    local X = te.placeholder({ s.m, s.n }, dtype, "X")
    local k = te.reduce_axis(size, "k")
    local sum = te.compute({ s.m, blocks }, function(i, b) return te.sum(te.cast(X(i, b * size + k), acc), k) end, "sum")
    local start = serial("start", { s.m, blocks }, acc, { { "i", s.m }, { "b", blocks } }, function(i, b) return i, b end,
        function(inner, previous, zero, i, b) return ir.if_then_else(inner, previous + sum(i, b - 1), zero) end)
    local Y = serial("Y", { s.m, s.n }, acc, { { "i", s.m }, { "b", blocks }, { "k", size } },
        function(i, b, j) return i, b * size + j end,
        function(inner, previous, first, i, b, j)
            return ir.if_then_else(inner, previous, first) + te.cast(X(i, b * size + j), acc)
        end, function(i, b) return start(i, b) end)
    return base.finish {
        id = s.id or "cumsum_blocked", inputs = { X }, outputs = { Y }, flop = base.times(2, s.m, s.n),
        reference = function(t) core.cumsum(t.Y, t.X) end,
    }
end

-- ---- rows

base.family { name = "CUM", about = "running sums",
    builder = "cumsum", set = "ops", rows = base.rows({ "m", "n" }, { { 1024, 4096 } }),
    extended = base.rows({ "m", "n" }, { { 64, 256 } }) }
base.family { name = "CUB", about = "running sums by blocks",
    builder = "cumsum_blocked", set = "ops", rows = base.rows({ "m", "n" }, { { 1, 4194304 } }) }

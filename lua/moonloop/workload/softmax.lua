-- workload/softmax - softmax of rows.
local moon, core, base = ...
local te, workload = moon.te, base.workload

-- softmax{m=, n=, scale=, mask=}: of rows; scale, mask: of A * scale + mask[j], a stage of its own
function workload.softmax(opts)
    base.by_name(opts)
    local scale = opts.scale
    if scale ~= nil and (type(scale) ~= "number" or scale ~= scale or scale <= 0 or scale == math.huge) then
        base.bad("scale: a positive number is needed")
    end
    local s = base.with(opts)
    s.scale = nil
    s = base.sizes(s, { m = true, n = true }, { mask = true })
    local dtype, acc = base.float_dtypes(opts, "softmax")
    local A, mask = te.placeholder({ s.m, s.n }, dtype, "A"), te.placeholder({ s.n }, acc, "mask")
    local k = te.reduce_axis(s.n, "k")
    local function x(i, j) return te.cast(A(i, j), acc) end
    if scale or s.mask then
        x = te.compute({ s.m, s.n }, function(i, j)
            local v = te.cast(A(i, j), acc)
            if scale then v = v * te.const(scale + 0.0, acc) end
            return s.mask and v + mask(j) or v
        end, "scale")
    end
    local top = te.compute({ s.m }, function(i) return te.max(x(i, k), k) end, "max")
    local e = te.compute({ s.m, s.n }, function(i, j) return te.exp(x(i, j) - top(i)) end, "exp")
    local sum = te.compute({ s.m }, function(i) return te.sum(e(i, k), k) end, "sum")
    local Y = te.compute({ s.m, s.n }, function(i, j) return e(i, j) / sum(i) end, "Y")
    return base.finish {
        id = s.id or "softmax", inputs = s.mask and { A, mask } or { A }, outputs = { Y },
        flop = base.times(4 + (scale and 1 or 0) + (s.mask and 1 or 0), s.m, s.n), ranges = { A = { -4, 4 } },
        reference = function(t)
            if not s.mask then return core.softmax(t.Y, t.A, scale or 1) end
            local v = core.tensor({ s.m, s.n }, "float64")
            core.bias_add(v, t.A, t.mask, scale or 1)
            core.softmax(t.Y, v)
        end,
    }
end

base.family { name = "SFM", about = "softmax of rows",
    builder = "softmax", batch = "m", batch_times = true, set = "suite", rows = base.rows({ "m", "n" }, {
    { 256, 256 }, { 512, 512 }, { 1024, 1024 }, { 2048, 2048 } }) }

-- workload/norm - the root of the sum of squares.
local moon, core, base = ...
local te, workload = moon.te, base.workload

-- norm{b=1, m=, n=}: D[b] = sqrt of the sum of A[b,i,j]^2
function workload.norm(opts)
    local s = base.sizes(opts, { b = 1, m = true, n = true })
    local dtype, acc = base.float_dtypes(opts, "norm")
    local A = te.placeholder({ s.b, s.m, s.n }, dtype, "A")
    local i, j = te.reduce_axis(s.m, "i"), te.reduce_axis(s.n, "j")
    local C = te.compute({ s.b }, function(b) return te.sum(base.product(A(b, i, j), A(b, i, j), acc), i, j) end, "C")
    local D = te.compute({ s.b }, function(b) return te.sqrt(C(b)) end, "D")
    return base.finish {
        id = s.id or "norm", inputs = { A }, outputs = { D }, flop = base.times(2, s.b, s.m, s.n), ranges = { A = { -4, 4 } },
        reference = function(t) core.norm(t.D, t.A) end,
    }
end

base.family { name = "NRM", about = "root of the sum of squares",
    builder = "norm", batch = "b", set = "suite", rows = base.rows({ "b", "m", "n" }, {
    { 1, 256, 256 }, { 1, 512, 512 }, { 1, 1024, 1024 }, { 1, 4096, 1024 } }) }

-- why_planted - schedules with one cause planted in each: name, the cause that :why-slow must name first, and a
-- function that makes the schedule. The rest of each is as good as a few lines make it, and each runs below 50 ms.
local planted = {}

local function plant(cause, what, make)
    planted[#planted + 1] = { cause = cause, what = what, make = make }
end

-- A matrix product by tiles; o says what is left out.
local function product(m, n, k, o)
    local s = schedule(workload.matmul(m, n, k))
    local ti, tj = o.ti or 8, o.tj or 32
    s:split("j", { auto, tj })
    s:split("i", { auto, ti })
    local outer = o.outer or { "j_0", "i_0" }
    s:reorder(outer[1], outer[2], "k", "i_1", "j_1")
    if not o.rolled then s:unroll("i_1") end
    if not o.scalar then s:vectorize("j_1") end
    if not o.serial then s:parallel(outer[1]) end
    if not o.init_inside then s:decompose_reduction("C", "k") end
    return s
end

plant("no-vector", "matrix product, rows of B by elements", function()
    local s = schedule(workload.matmul(192, 192, 192))
    s:reorder("i", "k", "j")
    s:parallel("i")
    s:decompose_reduction("C", "k")
    return s
end)

plant("few-accumulators", "matrix product, one vector at a time", function()
    local s = schedule(workload.matmul(256, 256, 256))
    s:split("j", { auto, 16 })
    s:reorder("j_0", "i", "k", "j_1")
    s:vectorize("j_1")
    s:parallel("j_0")
    s:decompose_reduction("C", "k")
    return s
end)

plant("no-vector", "sum of rows, one after the other", function()
    local s = schedule(workload.sum_rows { m = 512, n = 1024 })
    s:parallel("i")
    s:decompose_reduction("B", "j")
    return s
end)

plant("spills", "matrix product, tiles of 16 by 64", function()
    return product(256, 256, 256, { ti = 16, tj = 64 })
end)

plant("threads-idle", "matrix product, no parallel loop", function()
    return product(256, 256, 256, { serial = true })
end)

plant("threads-idle", "matrix product, three parallel iterations", function()
    local s = schedule(workload.matmul(384, 384, 256))
    s:split("i", { 3, auto, 8 })
    s:split("j", { auto, 32 })
    s:reorder("i_0", "j_0", "i_1", "k", "i_2", "j_1")
    s:unroll("i_2")
    s:vectorize("j_1")
    s:parallel("i_0")
    s:decompose_reduction("C", "k")
    return s
end)

plant("guard", "matrix product, the init in the reduction", function()
    return product(256, 256, 64, { init_inside = true })
end)

plant("short-loop", "matrix product, the rows of a tile in a loop", function()
    return product(256, 256, 256, { rolled = true })
end)

plant("set-conflict", "matrix product, a panel whose rows are 4096 bytes apart", function()
    return product(512, 1024, 256, { tj = 16 })
end)

plant("no-reuse", "matrix product, all of B for each row of tiles", function()
    local s = schedule(workload.matmul(128, 8192, 256))
    s:split("j", { auto, 64 })
    s:split("i", { 2, auto, 2 })
    s:reorder("i_0", "i_1", "j_0", "k", "i_2", "j_1")
    s:unroll("i_2")
    s:vectorize("j_1")
    s:parallel("i_0")
    s:decompose_reduction("C", "k")
    return s
end)

plant("strided", "sum of matrices, by columns", function()
    local s = schedule(workload.add { m = 512, n = 1024 })
    s:reorder("j", "i")
    s:parallel("j")
    return s
end)

plant("strided", "transposition, row by row", function()
    return schedule(workload.transpose { m = 2048, n = 2048 })
end)

-- Two stages over a matrix, one after the other.
local function stages(m, n, first, second)
    local te = moon.te
    local A = te.placeholder({ m, n }, "float32", "A")
    local B = te.compute({ m, n }, first(A), "B")
    local C = te.compute({ m, n }, second(B), "C")
    return schedule(te.func { A, C })
end

plant("gather", "product with a transposed matrix", function()
    local te = moon.te
    local A, B = te.placeholder({ 256, 256 }, "float32", "A"), te.placeholder({ 256, 256 }, "float32", "B")
    local k = te.reduce_axis(256, "k")
    local C = te.compute({ 256, 256 }, function(i, j) return te.sum(A(i, k) * B(j, k), { k }) end, "C")
    local s = schedule(te.func { A, B, C })
    s:split("j", { auto, 32 })
    s:split("i", { auto, 8 })
    s:reorder("j_0", "i_0", "k", "i_1", "j_1")
    s:unroll("i_1")
    s:vectorize("j_1")
    s:parallel("j_0")
    s:decompose_reduction("C", "k")
    return s
end)

plant("bandwidth", "two passes over a matrix", function()
    local s = stages(2048, 3072, function(A)
        return function(i, j) return A(i, j) * 2 end
    end, function(B)
        return function(i, j) return B(i, j) + 1 end
    end)
    for _, b in ipairs { "B", "C" } do
        local l = s:get_loops(b)
        s:vectorize(l[2])
        s:parallel(l[1])
    end
    return s
end)

plant("repeated-work", "a stencil of a stencil, the first one inlined", function()
    local te = moon.te
    local A = te.placeholder({ 1040, 512 }, "float32", "A")
    local B = te.compute({ 1032, 512 }, function(i, j)
        local sum = A(i, j)
        for d = 1, 8 do
            sum = sum + A(i + d, j) * (1 + d)
        end
        return sum
    end, "B")
    local C = te.compute({ 1024, 512 }, function(i, j)
        local sum = B(i, j)
        for d = 1, 8 do
            sum = sum + B(i + d, j) * (2 + d)
        end
        return sum
    end, "C")
    local s = schedule(te.func { A, C })
    for _, b in ipairs { "B", "C" } do
        local l = s:get_loops(b)
        s:vectorize(l[2])
        s:parallel(l[1])
    end
    s:compute_inline("B")
    return s
end)

-- A convolution by rows, tiles of columns and vectors of channels; o says what is left out.
local function convolution(o)
    local s = schedule(workload.conv2d { h = 28, w = 28, ci = 64, co = 64, k = 3, p = 1 })
    local pad = s:get_loops("Xp")
    s:vectorize(pad[4])
    s:parallel(pad[2])
    s:split("w_1", { auto, o.tile or 7 })
    s:split("o", { auto, 32 })
    s:reorder("h_1", "o_0", "w_1_0", "r", "t", "c_1", "w_1_1", "o_1")
    s:unroll("w_1_1")
    s:vectorize("o_1")
    if not o.serial then s:parallel("h_1") end
    s:decompose_reduction("Y", "r")
    return s
end

plant("few-accumulators", "convolution, one column at a time", function()
    return convolution { tile = 1 }
end)

plant("threads-idle", "convolution, no parallel loop", function()
    return convolution { serial = true }
end)

-- A softmax with its four stages by vectors and rows; o says what is left out.
local function softmax(o)
    local s = schedule(workload.softmax { m = 512, n = 1024 })
    for _, b in ipairs { "exp", "Y" } do
        local l = s:get_loops(b)
        if b ~= o.scalar then s:vectorize(l[2]) end
        s:parallel(l[1])
    end
    for _, b in ipairs { "max", "sum" } do
        local l = s:get_loops(b)
        local j = s:split(l[2], { auto, 64 })
        if b ~= o.in_order then
            local parts = s:rfactor(j[2], -1)
            local row, _, lane = table.unpack(s:get_loops(parts))
            s:vectorize(lane)
            s:parallel(row)
            s:parallel(s:get_loops(b)[1])
        else
            s:parallel(l[1])
        end
    end
    return s
end

plant("no-vector", "softmax, the sum of a row one after the other", function()
    return softmax { in_order = "sum" }
end)

plant("no-vector", "softmax, exp by elements", function()
    return softmax { scalar = "exp" }
end)

return planted

-- Attention of heads by hand: the scores of some rows are computed, made weights and used while
-- they are in the second cache; no matrix of all scores exists.
-- Usage: moonloop -b examples/attention.lua
local report = dofile((arg[0]:gsub("[^/]*$", "report.lua")))
local program = workload("ATT-0") -- 12 heads, 128 x 64; stages scores, scale, max, exp, sum, weight, Y
local s = schedule(program)
local lanes = moon.machine().vector_bits // 32

-- Lanes of vectors are rows i of the scores, not columns j: then the maximum and the sum of a row
-- are one vector operation for each j, and nothing is ever summed across lanes. So what is between
-- the products is kept as [h, j, i], and Q is copied as [h, d, i].
local q = s:cache_read("scores", 0, "global")
local swap = function(h, i, j) return h, j, i end
for _, b in ipairs { q, "scores", "scale", "exp", "weight" } do s:transform_layout(b, { "write", 0 }, swap) end

-- A task is a head and 2 vectors of rows. Whatever they need is computed where their weights are,
-- the last stages first: 128 x 32 scores are 16 KiB.
local h, i, j = table.unpack(s:get_loops("weight"))
local io, iv, il = table.unpack(s:split(i, { moon.auto, 2, lanes }))
s:reorder(io, j, iv, il)
local out = s:cache_write("Y", 0, "local")
s:reverse_compute_at("Y", io)
for _, b in ipairs { "sum", "exp", "max", "scale", "scores", q } do s:compute_at(b, io) end

-- Vectors inside; `more` loops around them are unrolled, so that each element has a register.
local function inner(block, more)
    local l = s:get_loops(block)
    s:vectorize(l[#l])
    for k = #l - more, #l - 1 do s:unroll(l[k]) end
end
-- The loop over 32 rows becomes 2 vectors inside of the loop over columns, which it gives.
local function rows_inside(block, at)
    local l = s:get_loops(block)
    local v, lane = table.unpack(s:split(l[at or 3], { moon.auto, lanes }))
    s:reorder(l[#l], v, lane)
    inner(block, 1)
    return l[#l]
end
rows_inside("exp")
inner("weight", 1)
for _, b in ipairs { "max", "sum" } do
    s:set_scope(b, 0, "local")
    inner(s:decompose_reduction(b, rows_inside(b)), 1)
end
-- Q is copied by tiles: vectors along i would be gathered, but the compiler turns them round.
local _, _, i, d = table.unpack(s:get_loops(q))
local v, lane = table.unpack(s:split(i, { moon.auto, lanes }))
s:reorder(v, d, lane)
s:vectorize(lane)

-- The first product: 8 columns by 2 vectors of rows are accumulators, 4 steps of d unrolled. They
-- are scaled where they are stored, so that scores live in registers alone.
local _, _, i, j, d = table.unpack(s:get_loops("scores"))
local iv, il = table.unpack(s:split(i, { moon.auto, lanes }))
local jo, ji = table.unpack(s:split(j, { moon.auto, 8 }))
local d0, d1 = table.unpack(s:split(d, { moon.auto, 4 }))
s:reorder(jo, d0, d1, ji, iv, il)
s:set_scope("scores", 0, "local")
s:reverse_compute_at("scale", jo)
s:unroll(rows_inside("scale", 4))
local scores = s:get_block("scores")
for _, b in ipairs { scores, s:decompose_reduction(scores, d0) } do inner(b, 2) end
s:unroll(d1)

-- The second: 4 rows by the 64 columns of V, summed over j.
local _, _, i, d, j = table.unpack(s:get_loops("Y"))
local ir, ii = table.unpack(s:split(i, { moon.auto, 4 }))
local dv, dl = table.unpack(s:split(d, { moon.auto, lanes }))
local j0, j1 = table.unpack(s:split(j, { moon.auto, 4 }))
s:reorder(ir, j0, j1, ii, dv, dl)
s:reverse_compute_at(out, ir)
local l = s:get_loops(out)
s:split(l[#l], { moon.auto, lanes })
local Y = s:get_block("Y")
for _, b in ipairs { out, Y, s:decompose_reduction(Y, j0) } do inner(b, 2) end
s:unroll(j1)
s:parallel(s:fuse(h, io))

report(program, s, "Y")

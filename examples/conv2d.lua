-- A convolution by hand, float32: pixels by output channels are a matrix product, whose rows are
-- read where they lie in the image.
-- Usage: moonloop -b examples/conv2d.lua
local report = dofile((arg[0]:gsub("[^/]*$", "report.lua")))
local program = workload("C2D-2") -- 14 x 14 x 256 to 256 channels, 3 x 3, one pixel of padding
local s = schedule(program)
local machine = moon.machine()
local lanes = machine.vector_bits // 32

-- The padding stays a stage: in it a pixel is looked at once, inlined it would be a condition for
-- each of the 9 x 256 uses. Vectors of channels, rows of pixels for the threads.
local n, h, w, c = table.unpack(s:get_loops("Xp"))
local _, lane = table.unpack(s:split(c, { moon.auto, lanes }))
s:vectorize(lane)
s:parallel(s:fuse(n, h))

-- A register tile of MR pixels by NV vectors of channels, where MR divides a row of the image:
-- 28 accumulators of the 32 registers of AVX-512 and NEON; of the 16 that AVX2 has, 7.
local wide = machine.vector_bits ~= 256
local MR, NV = wide and 14 or 7, wide and 2 or 1
local tile = s:cache_write("Y", 0, "local")
-- A panel of weights: in W a step of the reduction is 256 channels further on, in the copy the next
-- cache line. It is read for each row of the image, and packed once.
local panel = s:cache_read("Y", 1, "global")

local n, h, w, o, r, t, c = table.unpack(s:get_loops("Y"))
local oo, ov, ol = table.unpack(s:split(o, { moon.auto, NV, lanes }))
local wo, wi = table.unpack(s:split(w, { moon.auto, MR }))
-- Channels are summed innermost: a pixel's lie in a row, and 4 steps of them are unrolled.
local co, ci = table.unpack(s:split(c, { moon.auto, 4 }))
s:reorder(oo, n, h, wo, r, t, co, ci, wi, ov, ol)
s:compute_at(panel, oo)
s:reverse_compute_at(tile, wo)
local init = s:decompose_reduction("Y", r)

-- The tile's loops are unrolled, so that every element has a register; channels are the vectors.
s:vectorize(ol)
for _, l in ipairs { ci, wi, ov } do s:unroll(l) end
for _, b in ipairs { panel, tile } do
    local l = s:get_loops(b)
    s:split(l[#l], { moon.auto, lanes })
end
for _, b in ipairs { panel, tile, init } do
    local l = s:get_loops(b)
    s:vectorize(l[#l])
    s:unroll(l[#l - 1])
    if b ~= panel then s:unroll(l[#l - 2]) end
end

-- Each thread packs the panels that it uses.
s:parallel(oo)

report(program, s, "Y")

-- A depthwise convolution by hand: 9 multiply-adds an element leave it near the bandwidth of the
-- caches, so a tile takes what it loads for as many results as registers hold.
-- Usage: moonloop -b examples/depthwise.lua
local report = dofile((arg[0]:gsub("[^/]*$", "report.lua")))
local program = workload("DEP-2") -- 14 x 14 x 512 float32, 3 x 3, stride 2: 7 x 7 results
local s = schedule(program)
local machine = moon.machine()
local lanes = machine.vector_bits // 32

-- The padding is a stage that writes the image once more, as much as the rest of the work moves.
-- Inlined it is a condition around each load, of which most are decided when the loops are unrolled.
s:compute_inline("Xp")

-- Channels are contiguous and independent: vectors of them, and a part of them for each thread.
-- A row of 7 results by a vector of channels is a tile of 7 registers, which stay there over the
-- whole window. Rows go outside of vectors: the next vector of a row lies in the next cache lines.
local parts = 1
while parts * 2 <= machine.threads and parts < 512 // lanes do parts = parts * 2 end
local out = s:cache_write("Y", 0, "local")
local n, h, w, c, r, t = table.unpack(s:get_loops("Y"))
local ct, co, cv = table.unpack(s:split(c, { parts, moon.auto, lanes }))
local wo, wi = table.unpack(s:split(w, { moon.auto, 7 }))
s:reorder(n, ct, h, co, wo, r, t, wi, cv)
s:reverse_compute_at(out, wo)

-- Sums begin in registers, not under a condition of the first step of the window.
local init = s:decompose_reduction("Y", r)
-- The window is unrolled, so that each of its 9 weights is loaded once for the row of results.
for _, l in ipairs { r, t, wi } do s:unroll(l) end
s:vectorize(cv)
for _, b in ipairs { init, out } do
    local l = s:get_loops(b)
    s:vectorize(l[#l])
    s:unroll(l[#l - 1])
end

-- What one part of the channels loads no other one needs.
s:parallel(ct)

report(program, s, "Y")

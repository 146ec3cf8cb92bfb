-- A matrix product of bytes by hand, u8 times s8 into s32: the processor's dot product multiplies
-- four bytes a lane and adds them up, so that a core does four times as much as in float32.
-- Usage: moonloop -b examples/gemm_int8.lua [plain]; plain: as on a machine without the instruction.
local report = dofile((arg[0]:gsub("[^/]*$", "report.lua")))
local program = workload("QMM-2") -- 512 x 512 x 512
local s = schedule(program)
local machine = moon.machine()

-- The widest instruction there is: TAPS bytes of a row of A meet as many of each of LANES columns.
local LANES, TAPS, dot = machine.vector_bits // 32, 1, nil
if (...) ~= "plain" then
    for _, d in ipairs { { "+avx512vnni", 16, "dot_16x4_vnni_local" }, { "+avxvnni", 8, "dot_8x4_avxvnni_local" } } do
        if not dot and machine.features:find(d[1], 1, true) then LANES, TAPS, dot = d[2], 4, d[3] end
    end
end
print(dot and "instruction: " .. dot or "no dot product of bytes here: s32 products of a vector of columns")

-- Registers hold 4 rows by NV vectors of results for the whole reduction: 16 of the 32 that AVX-512
-- has, 8 of the 16 of AVX2. Both divide the shape, so that no tile is cut.
local MR, NV = 4, LANES == 16 and 4 or 2
local tile = s:cache_write("C", 0, "local")

-- A copy of B, in which the 4 bytes of a column lie side by side, as the instruction takes them.
local packed = s:cache_read("C", 1, "global")
if dot then
    s:transform_layout(packed, { "write", 0 },
        function(k, j) return k // TAPS, j // LANES, j % LANES, k % TAPS end)
end

-- Panels of columns outside, tiles of rows, the reduction in steps of 2 instructions, the tile.
local i, j, k = table.unpack(s:get_loops("C"))
local jc, jv, jl = table.unpack(s:split(j, { moon.auto, NV, LANES }))
local ir, ii = table.unpack(s:split(i, { moon.auto, MR }))
local k0, k1, kt = table.unpack(s:split(k, { moon.auto, 2, TAPS }))
s:reorder(jc, ir, k0, k1, ii, jv, jl, kt)

-- A panel is packed where its columns begin, and stays in the first caches while all rows pass.
-- Four bytes are a vector of the copy: the compiler joins them to words and interleaves rows.
s:compute_at(packed, jc)
local _, pk, pj = table.unpack(s:get_loops(packed))
local rest, lane = table.unpack(s:split(dot and pk or pj, { moon.auto, dot and TAPS or LANES }))
if dot then s:reorder(rest, pj, lane) end
s:vectorize(lane)

-- A tile begins as zeros before its reduction, and is stored when it is done.
s:reverse_compute_at(tile, ir)
local init = s:decompose_reduction("C", k0)

-- What is left inside is what the instruction computes; tensorize compares them, and says where
-- they differ. Without one, the vectors are of columns, and the compiler widens the bytes.
if dot then s:tensorize(jl, dot) else s:vectorize(jl) end
for _, l in ipairs { k1, ii, jv } do s:unroll(l) end
local li, lt = s:get_loops(init), s:get_loops(tile)
local tv, tl = table.unpack(s:split(lt[#lt], { moon.auto, LANES }))
s:vectorize(li[#li])
s:vectorize(tl)
for _, l in ipairs { li[#li - 1], li[#li - 2], tv, lt[#lt - 1] } do s:unroll(l) end

-- Columns are independent: each thread packs the panels that it uses.
s:parallel(jc)

report(program, s, "C")

-- A transposition by hand: nothing is computed, so all that counts is how memory is walked.
-- Usage: moonloop -b examples/transpose.lua
local report = dofile((arg[0]:gsub("[^/]*$", "report.lua")))
local program = workload("TRN-1") -- 1000 x 3000 float32
local s = schedule(program)
local lanes = moon.machine().vector_bits // 32

-- As written, B is stored row by row and A read down a column: each element read brings a whole
-- cache line, of which the next one needed lies a row further on. A square tile uses the lines that
-- it brings in both directions, so both loops are cut by the lanes of a vector.
local i, j = table.unpack(s:get_loops("B"))
local io, ii = table.unpack(s:split(i, { moon.auto, lanes }))
local jo, jm, ji = table.unpack(s:split(j, { moon.auto, 4, lanes }))
-- Tiles beside each other along j store runs of several lines, which the memory takes well.
s:reorder(io, jo, jm, ii, ji)

-- One tile: a vector along j for each ii. The vectors read A with the stride of a row, which no
-- machine loads at once; but lane l of all of them lies in one row of A, and when ii is unrolled
-- the compiler sees it: it loads rows, and interleaves them in registers (`:ir transpose` shows it).
s:vectorize(ji)
s:unroll(ii)

-- Tiles are independent. What is stored is not read again here, so it may pass by the caches:
-- without that each line of B is fetched before it is overwritten, half of B's traffic.
local tiles = s:fuse(io, jo)
s:parallel(tiles)
s:annotate(tiles, "non_temporal", 1)

report(program, s, "B")

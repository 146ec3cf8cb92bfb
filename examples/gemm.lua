-- A matrix product scheduled by hand to run near the machine's peak on one core, checked, and
-- timed beside OpenBLAS. Usage: moonloop -b examples/gemm.lua [N], N a multiple of 128.
--
-- The order is: two column panels of B at a time (jc), row tiles of A and C (ir), the panels
-- (jr), the reduction (k0, four steps of it unrolled), and a register tile of MR rows by NV
-- vectors that stays in registers for the whole reduction (C_local). The panels of B are
-- packed just before they are used, by a copy (B_global) that compute_at moves to where they
-- begin and that shrinks to what is used there: it stays in the second cache while the rows
-- of A stream past, and each row tile is read from far away once for both panels.
local n, only = ...
n = tonumber(n) or 1024
assert(n > 0 and n % 128 == 0, "N is a multiple of 128")

-- The tile by the instruction set: 6 rows of 4 vectors are 24 of AVX-512's 32 registers, 6 rows
-- of 2 vectors 12 of the 16 that AVX2 has. What is left of the rows becomes a loop of its own.
local machine = moon.machine()
local lanes = machine.vector_bits // 32
local MR, NV = 6, lanes == 16 and 4 or 2
local NR = NV * lanes

local s = schedule(workload.matmul(n, n, n))
local packed = s:cache_read("C", 1, "global")
local tile = s:cache_write("C", 0, "local")

local i, j, k = table.unpack(s:get_loops("C"))
local jc, jr, jv, jl = table.unpack(s:split(j, { moon.auto, 2, NV, lanes }))
local ir, ii = table.unpack(s:split(i, { moon.auto, MR }))
local k0, k1 = table.unpack(s:split(k, { moon.auto, 4 }))
s:reorder(jc, ir, jr, k0, k1, ii, jv, jl)

s:compute_at(packed, jc)
s:reverse_compute_at(tile, jr)
local init = s:decompose_reduction("C", k0)

-- Vectors and registers: the tile's loops are unrolled, so that every element has a register.
s:vectorize(jl)
for _, l in ipairs { jv, ii, k1 } do s:unroll(l) end
local li = s:get_loops(init)
s:vectorize(li[#li])
s:unroll(li[#li - 1])
s:unroll(li[#li - 2])
local lt = s:get_loops(tile)
local rest, lane = table.unpack(s:split(lt[#lt], { moon.auto, lanes }))
s:vectorize(lane)
s:unroll(rest)
s:unroll(lt[#lt - 1])
local lp = s:get_loops(packed)
local _, column = table.unpack(s:split(lp[#lp], { moon.auto, lanes }))
s:vectorize(column)
-- The C tile is fetched before the reduction begins; last, since an annotated loop cannot be split.
s:annotate(jr, "prefetch", { { buffer = "C", rw = 1 } })

if only then return s end -- for others that want the schedule

local check = moon.check(s)
assert(check.ok, "the schedule does not compute what the program computes")
print(string.format("checked: C equals the start within %.1e (largest difference %.1e)", check.atol, check.largest))

-- One thread. The probe is taken anew around it, since clocks differ with what else runs.
local best
for _ = 1, 3 do
    local t = moon.time(s, { threads = 1, against = "openblas", alone = true })
    if not best or t.min < best.min then best = t end
end
print(string.format("%d x %d x %d float32, one thread: %.2f ms, %.1f GFLOP/s", n, n, n, best.median * 1e3,
    best.flop_rate * 1e-9))
if best.share_of_peak then
    print(string.format("%.0f %% of peak (measured %.0f GFLOP/s)", best.share_of_peak * 100, best.peak_rate * 1e-9))
else
    print("the machine's peak is not known here")
end
if best.against then
    print(string.format("OpenBLAS in the same run, by turns: %.1f GFLOP/s%s; this is %.2f times its speed",
        best.against.flop_rate * 1e-9,
        best.peak_rate and string.format(", %.0f %% of peak", best.against.flop_rate / best.peak_rate * 100) or "",
        best.against.median / best.median))
else
    print("OpenBLAS: " .. (best.not_against or "not compared"))
end

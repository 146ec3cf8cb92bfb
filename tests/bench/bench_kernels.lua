-- bench_kernels - compiling, the hand-written GEMM, and tuning: one line per figure.
-- Run by bench_kernels.sh with a database of its own; --json gives JSON lines.
local json = arg and arg[1] == "--json"
local missed = 0

local function report(what, value, sign, target, unit)
    local met = sign == "<=" and value <= target or sign == ">=" and value >= target
    if not met then missed = missed + 1 end
    if json then
        print(string.format('{"name": "%s", "value": %.6g, "target": %.6g, "unit": "%s", "met": %s}',
            what, value, target, unit, met))
    else
        print(string.format("%-58s %10.4g  %s %8.4g %-5s %s", what, value, sign, target, unit,
            met and "met" or "NOT MET"))
    end
    io.stdout:flush()
end

-- Seconds of the wall clock.
local function now()
    local f <close> = assert(io.popen("date +%s.%N"))
    return tonumber(f:read("l"))
end

-- The schedule of the example, which returns it when it is asked to.
local chunk = assert(loadfile("examples/gemm.lua"))
local function gemm(n) return chunk(n, "schedule only") end

-- Compilation: LLVM is open after the first; the shapes differ, so that none is kept.
local least = math.huge
for _, n in ipairs { 128, 256, 384, 512, 640, 768, 896 } do
    local t = moon.time(gemm(n), { threads = 1, alone = true })
    if n > 128 then least = math.min(least, t.compile) end
end
report("compile of the GEMM kernel, LLVM open", least * 1e3, "<=", 15, "ms")

-- The hand schedule beside OpenBLAS, by turns; the best of three runs.
local best
for _ = 1, 3 do
    local t = moon.time(gemm(1024), { threads = 1, against = "openblas", alone = true })
    if not best or t.min < best.min then best = t end
end
local wide = moon.machine().vector_bits == 512
report("hand GEMM 1024, one thread, share of the peak", best.flop / best.min / best.peak_rate, ">=",
    wide and 0.90 or 0.88, "")
if best.against then
    report("hand GEMM 1024, speed against OpenBLAS", best.against.median / best.median, ">=", 1, "x")
end

-- Products by the instructions for bytes and bfloat16, as they are drafted; the operand along the vectors is packed in
-- the call, but for .p, where it comes so.
for _, row in ipairs { "QMM-2", "QMM-3.p", "GMM-2.bf16", "GMM-3.bf16" } do
    local s, share = moon.draft(workload(row)), nil
    for _ = 1, 3 do
        local t = moon.time(s, { threads = 1, alone = true })
        share = math.max(share or 0, t.share_of_bound and t.bound_seconds / t.min or 0)
    end
    report(row .. " drafted, one thread, share of its bound", share, ">=", 0.85, "")
end

-- Tuning: candidates built and measured a second, and a whole run.
local started = now()
local r = moon.tune(workload("GMM-0"), { trials = 120, seed = 1 })
report("tuner, GMM-0, candidates a second", #r.records / (now() - started), ">=", 40, "/s")
started = now()
r = moon.tune(workload("GMM-2"), { trials = 64, seed = 1 })
report(":tune --trials 64 on GMM-2, wall", now() - started, "<=", 6, "s")
local t = moon.time(r.schedule(), { alone = true })
report("its result, share of the peak of all threads", t.share_of_peak or 0, ">=", 0.80, "")

if not json then print(missed > 0 and missed .. " targets not met" or "all targets met") end

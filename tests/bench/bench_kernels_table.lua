-- bench_kernels_table - every row of a set beside rivals: JSON lines, then a Markdown table.
--
--   moonloop -b bench_kernels_table.lua set=suite threads=2 rivals=openblas,onednn,torch trials=64 seeds=1
--       rows=GRP-2,... prepack=0 loops=0 seed=1 out=FILE python=PROGRAM home=FOLDER
--
-- Each contender is a process of its own: our kernels run in the worker, rivals in rivals/rival.py. They take
-- turns, and are asleep while another is timed. All compute on the same inputs, and what a rival computed is
-- compared with our result. loops=1: another contender is the best of a search of ours without tensor intrinsics.
-- Source: workloads 10, lowering-and-codegen 12.
local bench = dofile("tests/bench/bench.lua")
local opt = { set = "suite", threads = "2", rivals = "openblas,onednn,torch", trials = "64", seeds = "1", seed = "1",
    rows = "", prepack = "0", loops = "0", out = "", python = "python3", home = "tests/bench" }
bench.options("bench_kernels_table", opt)
local say, split, median, geomean = bench.say, bench.split, bench.median, bench.geomean
local THREADS, TRIALS, SEEDS = tonumber(opt.threads), tonumber(opt.trials), tonumber(opt.seeds)
local TURNS, SAMPLES, SECONDS, WARM = 5, 5, 0.01, 0.05

local scratch = os.tmpname()
os.remove(scratch)
assert(os.execute("mkdir -m 700 " .. scratch))
local out = opt.out ~= "" and assert(io.open(opt.out, "a")) or nil

-- ---- rows

local function family(id) return (id:match("^%a+%d*%a*")) end

local sets = { -- a family's set is the first that has it; ops are what no other has
    paper8 = "C1D C2D C3D DEP DIL GMM GRP T2D", suite = "C1D C2D C3D DEP DIL GMM GRP T2D CAP NRM SFM CBR TBG WIN",
    int8 = "QMM QCV", ln = "CONV DWCONV MM",
}
local function has(list, name) return (" " .. list .. " "):find(" " .. name .. " ", 1, true) ~= nil end
local function is_in(set, f)
    if set == "ops" then return not (has(sets.suite, f) or has(sets.int8, f) or has(sets.ln, f)) end
    return has(sets[set], f)
end

local function rows()
    local list = {}
    if opt.rows ~= "" then return split(opt.rows) end
    if opt.set ~= "ops" and not sets[opt.set] then
        error("bench_kernels_table: set is paper8, suite, ops, int8 or ln, not " .. opt.set, 0)
    end
    for _, id in ipairs(workload.list()) do
        if is_in(opt.set, family(id)) then list[#list + 1] = id end
    end
    return list
end

-- ---- rivals: one line is asked, one is answered

local function start(name)
    local pipe = scratch .. "/" .. name
    assert(os.execute("mkfifo " .. pipe))
    local to = io.popen(string.format("exec %s %s/rivals/rival.py %s %d %s >%s 2>%s.log", opt.python, opt.home, name,
        THREADS, opt.prepack == "1" and "prepack" or "", pipe, pipe), "w")
    local from = assert(io.open(pipe))
    local r = { name = name, to = to }
    function r.ask(...)
        to:write(string.format(...), "\n")
        to:flush()
        local word, rest = (from:read("l") or "absent it ended"):match("^(%S+) ?(.*)$")
        return word, rest
    end
    local word, rest = (from:read("l") or "absent " .. opt.python .. " does not run it"):match("^(%S+) ?(.*)$")
    if word ~= "here" then
        to:close()
        return nil, rest
    end
    r.version = select(2, r.ask("version"))
    return r
end

-- Enough of JSON for names, numbers and lists of pairs.
local function json(v)
    if type(v) == "table" and (#v > 0 or next(v) == nil) then
        local t = {}
        for k, e in ipairs(v) do t[k] = json(e) end
        return "[" .. table.concat(t, ", ") .. "]"
    elseif type(v) == "table" then
        local t = {}
        for k, e in pairs(v) do t[#t + 1] = string.format("%q: %s", k, json(e)) end
        table.sort(t)
        return "{" .. table.concat(t, ", ") .. "}"
    elseif type(v) == "string" then
        return '"' .. v:gsub('[%c"\\]', " ") .. '"'
    elseif type(v) == "number" then
        return v == v and math.abs(v) ~= math.huge and string.format("%.9g", v) or "null"
    end
    return tostring(v)
end

-- Makes the rivals ready for a row; those that have it, and why the others have not.
local function ready(rivals, id, program, ours)
    local there, absent, names = {}, {}, {}
    if #rivals == 0 then return there, absent end
    local inputs, results = program.inputs(1), program.outputs()
    local all = {}
    for k, x in ipairs(inputs) do
        names[k] = { program.main.params[k].name, string.format("%s/%d.npy", scratch, k) }
        x:save(names[k][2])
        all[k] = x
    end
    for _, y in ipairs(results) do all[#all + 1] = y end
    do
        local k <close> = moon.build(ours, { threads = THREADS })
        k(table.unpack(all))
    end
    local result = scratch .. "/result.npy"
    for _, r in ipairs(rivals) do
        os.remove(result)
        local word, text = r.ask("row %s", json { id = id, family = family(id), args = workload.args(id),
            inputs = names, out = result })
        local got = word == "ready" and text:find("not compared", 1, true) == nil and moon.tensor.load(result)
        local c = got and results[1]:compare(got, { rtol = 1e-3, atol = 1e-3 })
        if word ~= "ready" then
            absent[r.name] = text
        elseif c and not c.ok then
            absent[r.name] = string.format("it computes something else (%s of %s elements)", c.outside, c.n)
        else
            there[#there + 1] = { rival = r, form = text, samples = {} }
        end
    end
    for _, n in ipairs(names) do os.remove(n[2]) end
    return there, absent
end

-- ---- statistics

local function spread(v)
    local m, d = median(v), {}
    for k, x in ipairs(v) do d[k] = math.abs(x - m) end
    return median(d)
end

-- ---- one row

local failing = { "replay", "build", "run", "verify", "timeout" }

-- Seconds of the wall clock.
local function now()
    local f <close> = assert(io.popen("date +%s.%N"))
    return tonumber(f:read("l"))
end

-- The space without what takes a tensor intrinsic: as if the processor had no instruction for one.
local loops_alone = { name = "loops-alone", sketches = function(program, opts)
    local o = { threads = opts and opts.threads, target = { vnni = false, avxvnni = false, bf16 = false } }
    return moon.space.sketches(program, o)
end }

local function is_tensorized(s) return s:trace():json():find('"Tensorize"', 1, true) ~= nil end

local function schedule_of(id, program, seed, space)
    local began = now()
    if TRIALS == 0 then
        local s = space and space.sketches(program, { threads = THREADS })[1].schedule or moon.draft(program, { threads = THREADS })
        return s, { wall = now() - began, failed = 0 }
    end
    local r = moon.tune(program, { trials = TRIALS, seed = seed, db = ":memory:", threads = THREADS, name = id, space = space })
    local spent = { wall = r.elapsed, search = r.spent.search, build = r.spent.build, run = r.spent.run,
        failed = 0, tried = #r.records }
    for _, phase in ipairs(failing) do spent.failed = spent.failed + (r.failed and r.failed[phase] or 0) end
    return r.schedule(), spent
end

-- FNV-1a of the steps: equal where two runs found the same schedule.
local function hash(text)
    local h = 0xcbf29ce484222325
    for k = 1, #text do h = (h ~ text:byte(k)) * 0x100000001b3 end
    return string.format("%016x", h)
end

-- Samples of our schedule, and of the one without intrinsics, if any; what :time says of ours.
local function take_turns(s, there, plain)
    local ours, loops, t = {}, {}, nil
    local function time(x) return moon.time(x, { alone = true, report = true, runs = SAMPLES, threads = THREADS }) end
    for _ = 1, TURNS do
        t = time(s)
        ours[#ours + 1] = t.median
        if plain then loops[#loops + 1] = time(plain).median end
        for _, c in ipairs(there) do
            local word, text = c.rival.ask("turn %d %g %g", SAMPLES, SECONDS, WARM)
            if word ~= "samples" then error(c.rival.name .. ": " .. text, 0) end
            local v = {}
            for x in text:gmatch("%S+") do v[#v + 1] = tonumber(x) end
            c.samples[#c.samples + 1] = median(v)
        end
    end
    return ours, t, loops
end

local function measure(id, rivals, seed)
    local program = workload(id)
    local s, spent = schedule_of(id, program, seed)
    local plain = opt.loops == "1" and schedule_of(id, program, seed, loops_alone) or nil
    if plain and is_tensorized(plain) then error("the search without intrinsics has one", 0) end
    local there, absent = ready(rivals, id, program, s)
    local ours, t, loops = take_turns(s, there, plain)
    local row = { id = id, seed = seed, seconds = median(ours), samples = ours, flop = program.flop,
        bytes = program.bytes, spent = spent, rivals = {}, absent = absent, compile = t.compile, roof = t.roof,
        trace = hash(s:trace():json()), tensorized = is_tensorized(s) }
    if plain then row.loops = { seconds = median(loops), samples = loops, ratio = median(loops) / row.seconds } end
    local bound = t.bound_seconds -- that of :time: no other is told anywhere
    row.bound, row.share = bound, t.share_of_bound and bound <= 1.02 * row.seconds and math.min(1, bound / row.seconds) or nil
    for _, c in ipairs(there) do
        local m = median(c.samples)
        local ratio, noise = m / row.seconds, 3 * math.max(spread(c.samples), spread(ours))
        row.rivals[c.rival.name] = { seconds = m, samples = c.samples, form = c.form, ratio = ratio,
            differs = math.abs(m - row.seconds) > math.max(noise, 0.01 * row.seconds) }
        row.best = math.min(row.best or math.huge, ratio)
    end
    return row
end

-- ---- what is told

local levels = { L1 = true, L2 = true, L3 = true, memory = true }

local function per_second(row)
    if row.flop > 0 and not levels[row.roof] then return string.format("%.1f GFLOP/s", row.flop / row.seconds / 1e9) end
    return string.format("%.1f GB/s", row.bytes / row.seconds / 1e9)
end

local function put_line(row, machine, versions)
    if not out then return end
    local line = { id = row.id, seed = row.seed, dtype = "float32", threads = THREADS, trials = TRIALS,
        prepack = opt.prepack == "1", cpu = machine.cpu, versions = versions, flop = row.flop, bound_by = row.roof,
        bytes = row.bytes, seconds = row.seconds, samples = row.samples, bound_seconds = row.bound,
        share_of_bound = row.share, tensorized = row.tensorized, loops = row.loops, trace = row.trace, spent = row.spent, compile = row.compile, rivals = next(row.rivals) and row.rivals or nil,
        absent = next(row.absent) and row.absent or nil }
    out:write(json(line), "\n")
    out:flush()
end

local function share_text(x) return x and string.format("%.2f", x) or "" end

local function table_line(row, names)
    local cells = { row.id, string.format("%.4g", row.seconds * 1e6), per_second(row), row.roof or "", share_text(row.share) }
    for _, n in ipairs(names) do
        local r = row.rivals[n]
        cells[#cells + 1] = r and string.format("%.2f%s", r.ratio, r.differs and "" or " =") or ""
    end
    if row.loops then
        cells[#cells + 1] = row.tensorized and "yes" or "no"
        cells[#cells + 1] = string.format("%.4g", row.loops.seconds * 1e6)
        cells[#cells + 1] = string.format("%.2f", row.loops.ratio)
    end
    local p = row.spent
    cells[#cells + 1] = string.format("%.1f", p.wall)
    cells[#cells + 1] = p.search and string.format("%.1f / %.1f / %.1f", p.search, p.build, p.run) or ""
    cells[#cells + 1] = string.format("%d", p.failed)
    return "| " .. table.concat(cells, " | ") .. " |"
end

local function summary(done, names)
    local best, shares, walls, gains = {}, {}, {}, {}
    for _, row in ipairs(done) do
        if row.loops then gains[#gains + 1] = row.loops.ratio end
        if row.best then best[#best + 1] = row.best end
        if row.share then shares[#shares + 1] = row.share end
        walls[#walls + 1] = row.spent.wall
    end
    for _, n in ipairs(names) do
        local v, won, lost = {}, 0, 0
        for _, row in ipairs(done) do
            local r = row.rivals[n]
            if r then
                v[#v + 1] = r.ratio
                won = won + (r.differs and r.ratio > 1 and 1 or 0)
                lost = lost + (r.differs and r.ratio < 1 and 1 or 0)
            end
        end
        if #v > 0 then
            table.sort(v)
            say("%s: geomean %.2f over %d rows, %d won, %d lost, worst %.2f", n, geomean(v), #v, won, lost, v[1])
        end
    end
    if #best > 0 then
        table.sort(best)
        say("best rival of each row: geomean %.2f over %d rows, worst %.2f", geomean(best), #best, best[1])
    end
    if #shares > 0 then say("share of the row's bound: geomean %.2f over %d rows", geomean(shares), #shares) end
    if #gains > 0 then
        table.sort(gains)
        say("our best without intrinsics: geomean %.2f over %d rows, worst %.2f", geomean(gains), #gains, gains[1])
    end
    table.sort(walls)
    say("search: median %.1f s, worst %.1f s", median(walls), walls[#walls])
end

-- Searches of one row with several seeds, their results by turns in one run.
local function put_seeds(id, list)
    local found = {}
    for k = 1, SEEDS do
        local program = workload(id)
        local s, spent = schedule_of(id, program, tonumber(opt.seed) + k - 1)
        found[k] = { s = s, spent = spent, t = {} }
    end
    for _ = 1, TURNS do
        for _, f in ipairs(found) do
            f.t[#f.t + 1] = moon.time(f.s, { alone = true, report = true, runs = SAMPLES, threads = THREADS }).median
        end
    end
    local best, near, cells, walls = math.huge, 0, {}, {}
    for k, f in ipairs(found) do
        best = math.min(best, median(f.t))
        walls[k] = f.spent.wall
    end
    for k, f in ipairs(found) do
        near = near + (median(f.t) <= 1.05 * best and 1 or 0)
        cells[k] = string.format("%.4g", median(f.t) * 1e6)
    end
    say("| %s | %s | %d of %d | %.1f |", id, table.concat(cells, " "), near, SEEDS, median(walls))
    list[#list + 1] = near / SEEDS
end

local function main()
    local machine = moon.machine()
    local all = THREADS > 1 and "all" or "one"
    say("%s, %d threads of %d, %d trials; float32 peak %.1f GFLOP/s, an empty parallel region %.2f us", machine.cpu,
        THREADS, machine.cores, TRIALS, machine.peaks.float32[all] / 1e9, (machine.fork_join or 0) * 1e6)
    if SEEDS > 1 then
        say("| row | us by seed | within 5 %% of the best | search, s |\n|---|---|---|---|")
        for _, id in ipairs(rows()) do put_seeds(id, {}) end
        return
    end
    local rivals, names, versions, done = {}, {}, {}, {}
    for name in opt.rivals:gmatch("[%w]+") do
        local r, why = start(name)
        if r then
            rivals[#rivals + 1], names[#names + 1], versions[name] = r, name, r.version
            say("%s: %s", name, r.version)
        else
            say("%s: absent (%s)", name, why)
        end
    end
    local head, rule = "| row | us | rate | bound by | share |", "|---|---|---|---|---|"
    for _, n in ipairs(names) do
        head, rule = head .. " " .. n .. " / ours |", rule .. "---|"
    end
    if opt.loops == "1" then
        head, rule = head .. " tensorized | loops alone, us | loops / ours |", rule .. "---|---|---|"
    end
    say("%s search, s | search / build / run | failed |\n%s---|---|---|", head, rule)
    for _, id in ipairs(rows()) do
        local ok, row = pcall(measure, id, rivals, tonumber(opt.seed))
        if ok then
            done[#done + 1] = row
            say("%s", table_line(row, names))
            put_line(row, machine, versions)
        else
            say("| %s | failed: %s |", id, tostring(row):gsub("\n.*", ""))
        end
    end
    if #done > 0 then summary(done, names) end
end

local ok, e = pcall(main)
os.execute("rm -rf " .. scratch)
if not ok then error(e, 0) end

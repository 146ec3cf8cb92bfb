-- bench_tune - strategies of the search by turns on the rows of a set: what they find in so many trials.
--
--   moonloop -b bench_tune.lua set=suite with=mutate,evolve trials=64 runs=3 threads=2 rows=GMM-2,... out=FILE
--       long=1000 seed=1 space=NAME
--
-- A strategy may have a model of its own: evolve/analytic. Each run of a row searches once with every strategy, by turns, with records in memory and a seed of its own; then
-- what they found is timed again, by turns. The first strategy is what the others are compared with. long: so many
-- trials of the last strategy are what "95 %" means, and what there is to be gained; 0: the best of all runs. space: the name of a design space, or a
-- file (.lua) that returns one, searched instead of moon.space. Source: auto-scheduler 12.
local bench = dofile("tests/bench/bench.lua")
local opt = { set = "suite", with = "mutate,evolve", trials = "64", runs = "3", threads = "2", rows = "", out = "",
    long = "0", seed = "1", space = "" }
bench.options("bench_tune", opt)
local say, split, median, geomean = bench.say, bench.split, bench.median, bench.geomean
local TRIALS, RUNS, THREADS, LONG = tonumber(opt.trials), tonumber(opt.runs), tonumber(opt.threads), tonumber(opt.long)
local TURNS, SHARE = 5, 0.95
local out = opt.out ~= "" and assert(io.open(opt.out, "a")) or nil

local WITH = split(opt.with)
local SPACE = opt.space:find("%.lua$") and dofile(opt.space) or opt.space ~= "" and opt.space or nil

-- ---- one search

local function search(id, with, trials, seed)
    local strategy, model = with:match("^([^/]*)/?(.*)$")
    local r = moon.tune(workload(id), { trials = trials, seed = seed, threads = THREADS, db = ":memory:",
        with = strategy, model = model ~= "" and model or nil, name = id, space = SPACE })
    local curve = {}
    for k, rec in ipairs(r.records) do curve[k] = math.min(curve[k - 1] or math.huge, rec.min or math.huge) end
    local failed = 0
    for phase, n in pairs(r.failed) do failed = failed + (phase ~= "replay" and n or 0) end
    return { schedule = r.schedule(), curve = curve, search = r.spent.search, wall = r.elapsed, failed = failed,
        steps = r.schedule():trace():json(), times = {}, tried = #r.records }
end

-- Trials until a measurement was within the share of the best; nil: never.
local function trials_until(curve, best)
    for k, x in ipairs(curve) do
        if best / x >= SHARE then return k end
    end
end

-- Times what was found, by turns; equal programs once.
local function time_all(found)
    for _ = 1, TURNS do
        local now = {}
        for _, f in ipairs(found) do
            now[f.steps] = now[f.steps] or moon.time(f.schedule, { alone = true, report = true, threads = THREADS }).median
            f.times[#f.times + 1] = now[f.steps]
        end
    end
    for _, f in ipairs(found) do f.seconds = median(f.times) end
end

local function measure(id)
    local row, all = { id = id, by = {} }, {}
    for _, with in ipairs(WITH) do row.by[with] = {} end
    for run = 1, RUNS do
        for k = 1, #WITH do -- the first to go changes
            local with = WITH[(k + run) % #WITH + 1]
            local f = search(id, with, TRIALS, tonumber(opt.seed) + run - 1)
            row.by[with][run] = f
            all[#all + 1] = f
        end
    end
    local best = math.huge
    if LONG > 0 then
        row.long = search(id, WITH[#WITH], LONG, 99)
        all[#all + 1] = row.long
        best = row.long.curve[#row.long.curve] or best
    end
    if best == math.huge then
        for _, f in ipairs(all) do best = math.min(best, f.curve[#f.curve]) end
    end
    time_all(all)
    for _, with in ipairs(WITH) do
        local seconds, needed, side, walls = {}, {}, {}, {}
        for k, f in ipairs(row.by[with]) do
            seconds[k], side[k], walls[k] = f.seconds, f.search, f.wall
            needed[k] = trials_until(f.curve, best) or TRIALS + 1
        end
        row.by[with] = { seconds = median(seconds), needed = median(needed), search = median(side), wall = median(walls),
            all = seconds }
    end
    return row
end

-- ---- what is told

local function put_line(row)
    if not out then return end
    local cells = {}
    for _, with in ipairs(WITH) do
        local b, v = row.by[with], {}
        for k, x in ipairs(b.all) do v[k] = string.format("%.6g", x) end
        cells[#cells + 1] = string.format('"%s": {"seconds": [%s], "until": %g, "search": %.4f, "wall": %.3f}', with,
            table.concat(v, ", "), b.needed, b.search, b.wall)
    end
    if row.long then
        cells[#cells + 1] = string.format('"long": {"seconds": %.6g, "trials": %d}', row.long.seconds, row.long.tried)
    end
    out:write(string.format('{"id": "%s", "trials": %d, "threads": %d, "runs": %d, %s}\n', row.id, TRIALS, THREADS, RUNS,
        table.concat(cells, ", ")))
    out:flush()
end

local function head()
    local a, b = { "row" }, { "---" }
    for k, with in ipairs(WITH) do
        a[#a + 1], b[#b + 1] = with .. " µs", "--:"
        if k > 1 then a[#a + 1], b[#b + 1] = "×", "--:" end
        a[#a + 1], b[#b + 1] = "trials to 95 %", "--:"
        a[#a + 1], b[#b + 1] = "search s", "--:"
    end
    for _, title in ipairs(LONG > 0 and { "long µs", "×", "programs" } or {}) do a[#a + 1], b[#b + 1] = title, "--:" end
    say("| %s |\n|%s|", table.concat(a, " | "), table.concat(b, "|"))
end

local function line(row)
    local c = { row.id }
    for k, with in ipairs(WITH) do
        local b = row.by[with]
        c[#c + 1] = string.format("%.4g", b.seconds * 1e6)
        if k > 1 then c[#c + 1] = string.format("%.3f", row.by[WITH[1]].seconds / b.seconds) end
        c[#c + 1] = b.needed > TRIALS and "-" or string.format("%g", b.needed)
        c[#c + 1] = string.format("%.2f", b.search)
    end
    if row.long then
        c[#c + 1] = string.format("%.4g", row.long.seconds * 1e6)
        c[#c + 1] = string.format("%.3f", row.by[WITH[1]].seconds / row.long.seconds)
        c[#c + 1] = string.format("%d", row.long.tried)
    end
    say("| %s |", table.concat(c, " | "))
end

local function summary(rows)
    for k, with in ipairs(WITH) do
        local ratios, needed, side, worst = {}, {}, {}, nil
        for m, row in ipairs(rows) do
            local b = row.by[with]
            ratios[m], needed[m], side[m] = row.by[WITH[1]].seconds / b.seconds, b.needed, b.search
            if not worst or ratios[m] < worst.x then worst = { x = ratios[m], id = row.id } end
        end
        say("%-12s %strials to 95 %%: median %g; search side: median %.2f s, worst %.2f s", with,
            k > 1 and string.format("geomean %.3f against %s, worst %.3f (%s); ", geomean(ratios), WITH[1], worst.x,
                worst.id) or "", median(needed), median(side), math.max(table.unpack(side)))
    end
end

local function summary_of_long(rows)
    local ratios, whole = {}, 0
    for k, row in ipairs(rows) do
        ratios[k] = row.by[WITH[1]].seconds / row.long.seconds
        whole = whole + (row.long.tried < LONG and 1 or 0)
    end
    say("%d trials of %s: geomean %.3f against %s; there are no more programs in %d of %d rows", LONG, WITH[#WITH],
        geomean(ratios), WITH[1], whole, #rows)
end

local ids, rows = opt.rows ~= "" and split(opt.rows) or workload.set(opt.set), {}
head()
for _, id in ipairs(ids) do
    local ok, row = pcall(measure, id)
    if ok then
        rows[#rows + 1] = row
        line(row)
        put_line(row)
    else
        say("| %s | %s |", id, tostring(row):gsub("\n.*", ""))
    end
end
if #rows > 0 then summary(rows) end
if #rows > 0 and LONG > 0 then summary_of_long(rows) end
